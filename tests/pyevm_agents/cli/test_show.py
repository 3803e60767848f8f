"""`pyevm-agents show` writes one page, and refuses what it can't show or must not replace."""

from __future__ import annotations

import json
import webbrowser
from math import inf
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli import show
from pyevm_agents.cli.app import main
from pyevm_agents.rpc.recorded_answers import RecordLimits, record_answers
from pyevm_agents.server.recorded_page import read_recorded_page
from tests.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ROLLBACK = ROOT / "chain_fixtures" / "rollback.json"
(CASSETTE,) = (ROOT / "tests" / "examples" / "cassettes" / "test_cassette").glob("*.json")

MAX_BYTES = 400_000
"""A page of the smallest fixture: its script and style, and twice its answers."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder, however slow."""
    monkeypatch.setattr(show, "QUIET_SECONDS", inf)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["show", *map(str, words)])


def test_a_chain_is_a_page_in_this_folder(folder: Path) -> None:
    told = run(ROLLBACK)
    assert told.exit_code == 0, told.output
    file = folder / "rollback.html"
    size = file.stat().st_size
    assert told.output == f"rollback.html: {size:,} bytes\n"
    assert size < MAX_BYTES
    page = read_recorded_page(file.read_text())
    assert (page.title, page.kind, page.route, page.note) == ("rollback", "node", "#/", "")
    (run_,) = json.loads(page.results['["agent_getRuns",["0x0","0x1","0x64"]]'])
    assert (run_["request"], run_["isSuccess"]) == ("Add 7 to the counter", False)


def test_a_cassette_has_its_generations(folder: Path) -> None:
    told = run(CASSETTE, "-o", "said.html")
    assert told.exit_code == 0, told.output
    page = read_recorded_page((folder / "said.html").read_text())
    assert page.kind == "cassette"
    assert page.title.startswith("cassette of tests/examples/test_cassette.py::")
    ((request, text),) = page.results.items()
    assert request == '["recorded_generations",[]]'
    shown, recorded = json.loads(text), json.loads(CASSETTE.read_text())
    assert shown["test"] == recorded["_info"]["test"]
    assert shown["models"] == recorded["models"]
    for one, other in zip(shown["generations"], recorded["steps"], strict=True):
        assert one["promptTokens"] == len(other["promptTokens"])
        assert one["output"]["tokens"] == len(other["generation"]["tokens"])
        assert one["output"]["forcedTokens"] == other["generation"]["forcedTokens"]
        assert one["output"]["text"] == "".join(other["generation"]["text"])
        assert one["output"]["margin"] == other["generation"]["margin"]


def test_a_page_is_written_anew(folder: Path) -> None:
    run(CASSETTE, "-o", "said.html")
    file = folder / "said.html"
    whole = file.read_text()
    file.write_text(whole.replace("<div id=", "<div class='old' id="))
    assert run("said.html").exit_code == 0
    assert "class='old'" not in file.read_text()
    assert read_recorded_page(file.read_text()).kind == "cassette"


def test_another_file_is_not_replaced(folder: Path) -> None:
    (folder / "rollback.html").write_text("<p>Mine.")
    told = run(ROLLBACK)
    assert told.exit_code == 2
    assert "rollback.html exists and is not a page of `pyevm-agents show`" in told.stderr
    assert (folder / "rollback.html").read_text() == "<p>Mine."


def test_the_file_to_show_is_not_replaced() -> None:
    before = ROLLBACK.read_bytes()
    told = run(ROLLBACK, "-o", ROLLBACK)
    assert told.exit_code == 2
    assert "must not be the file to show; pass another with -o" in told.stderr
    assert ROLLBACK.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a chain of `pyevm-agents record`, a cassette"),
        ("\x00\xff", "must be a chain of `pyevm-agents record`, a cassette"),
        ('{"a": 1}', "page of `pytest --agent-html`\n"),
        ('{"a": ', "; not a recording: not JSON: line 1, column 7: Expecting value"),
        ("[" * 100_000, "; not a recording: must nest at most "),
        (ROLLBACK.read_text()[:9_000], "not a fixture: not JSON: line "),
        (ROLLBACK.read_text().replace('"version": 1', '"version": 7'), "version"),
        (ROLLBACK.read_text().replace("Add 7", "Add 8"), "altered: "),
        (CASSETTE.read_text().replace('"version": 1', '"version": 7'), "a cassette of version 7"),
        (CASSETTE.read_text()[:900], "not a cassette: not JSON"),
        (CASSETTE.read_text().replace("10 USDC", "11 USDC"), "does not fit its digest"),
    ],
)
def test_what_can_not_be_shown_has_a_message(folder: Path, text: str, message: str) -> None:
    (folder / "file.json").write_text(text)
    told = run("file.json")
    assert told.exit_code in {1, 2}
    assert told.stderr.startswith("Error: file.json: ")
    assert message in told.stderr
    assert "Traceback" not in told.output
    assert not (folder / "file.html").exists()


def test_a_page_that_was_cut_has_a_message(folder: Path) -> None:
    run(CASSETTE, "-o", "said.html")
    (folder / "said.html").write_text((folder / "said.html").read_text()[:14_000])
    told = run("said.html", "-o", "other.html")
    assert told.exit_code == 1
    assert told.stderr == "Error: said.html: no recorded page, or an altered one\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.json",), "none.json: can't be read: No such file or directory"),
        ((CASSETTE, "-o", "none/page.html"), "there is no folder "),
        ((CASSETTE, "-o", "."), "is a folder; name a file in it"),
    ],
)
def test_paths_that_can_not_be_used(words: tuple[object, ...], message: str) -> None:
    told = run(*words)
    assert told.exit_code == 2
    assert message in told.stderr


def test_what_is_left_out_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def record(*arguments: object, **options: object) -> object:
        return record_answers(*arguments, **options, limits=RecordLimits(accounts=1))  # type: ignore[arg-type]

    monkeypatch.setattr(show, "record_answers", record)
    told = run(ROLLBACK)
    assert told.exit_code == 0
    assert "warning: This recording leaves out " in told.stderr
    note = read_recorded_page((folder / "rollback.html").read_text()).note
    assert f"warning: {note}\n" == told.stderr


@pytest.mark.parametrize(("has_browser", "status"), [(True, 0), (False, 1)])
def test_the_page_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, has_browser: bool, status: int
) -> None:
    opened: list[str] = []

    def open_page(url: str) -> bool:
        opened.append(url)
        return has_browser

    monkeypatch.setattr(webbrowser, "open", open_page)
    told = run(CASSETTE, "-o", "said.html", "--open")
    assert told.exit_code == status
    assert opened == [(folder / "said.html").resolve().as_uri()]
    assert ("no browser was found" in told.stderr) != has_browser


def test_long_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(ROLLBACK).stderr == ""
    monkeypatch.setattr(show, "QUIET_SECONDS", 0.0)
    assert run(ROLLBACK).stderr == "… executing block 1\n"
