"""Recorded chains and a cassette as `pyevm-agents show` writes them, from a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.rpc.recorded_answers import format_request
from pyevm_agents.server.recorded_page import RecordedPage, render_recorded_page
from tests.checkout import ROOT
from tests.page.page_node import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.page.browser import Browser

pytestmark = pytest.mark.slow

FIXTURES = ROOT / "chain_fixtures"
(CASSETTE,) = (ROOT / "tests" / "examples" / "cassettes" / "test_cassette").glob("*.json")


def write_page(source: Path, folder: Path) -> Path:
    file = folder / f"{source.stem}.html"
    told = CliRunner().invoke(main, ["show", str(source), "-o", str(file)])
    assert told.exit_code == 0, told.output
    return file


@pytest.mark.parametrize(
    ("name", "asked", "done"),
    [
        ("wallet", "What is my USDC balance?", "No ether and no tokens moved."),
        ("nested", "Ask the Counting Agent: add 7 to the counter", "Storage: 3 slots"),
        ("rollback", "Add 7 to the counter", "NoFinalAnswer(maxIterations=1)"),
    ],
)
def test_a_recorded_chain_is_shown_from_a_file(
    browser: Browser, tmp_path: Path, name: str, asked: str, done: str
) -> None:
    file = write_page(FIXTURES / f"{name}.json", tmp_path)
    with browser.page(file.as_uri()) as page:
        page.wait(f"recorded: {name}", ".connection")
        page.click(f".runs td a:has-text('{asked}')")
        page.wait(asked, ".request")
        assert done in page.text("main")
        page.wait("Prompt", ".tree summary")
        page.click(".tree .agent a[href^='#/address/']")
        page.wait("base prompt", "main")
        page.wait(asked, ".rows")
        assert "Ask this agent" not in page.texts(".button")
        page.click("summary:has-text('Storage')")
        page.wait("Slot", ".section")
        page.click(".home")
        page.click(".blocks td a[href='#/block/1']")
        page.wait("Block 1", "h1")
        page.click(".rows a[href^='#/tx/']")
        page.wait("gas", ".facts-grid")
        assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}


def test_a_recording_has_nobody_to_ask(browser: Browser, tmp_path: Path) -> None:
    file = write_page(FIXTURES / "rollback.json", tmp_path)
    with browser.page(f"{file.as_uri()}#/ask/0x{'11' * 20}") as page:
        page.wait("This is a recording", "main")


def test_a_cassette_is_shown_from_a_file(browser: Browser, tmp_path: Path) -> None:
    file = write_page(CASSETTE, tmp_path)
    with browser.page(file.as_uri()) as page:
        page.wait("Action: DeployTool", "pre")
        page.click("summary:has-text('Prompt')")
        page.wait("Question: ", "details pre")
        assert page.violations() == []
        assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}


def test_texts_of_a_recording_are_data(browser: Browser, tmp_path: Path) -> None:
    text = f"</script><script>alert(9)</script><!--{HOSTILE}"
    output = {"text": text, "tokens": 1, "forcedTokens": 0, "isComplete": False}
    said = {"model": text, "prompt": text, "promptTokens": 1, "maxTokens": 1}
    form = {
        "test": text,
        "tool": text,
        "models": [{"name": text, "digest": text}],
        "generations": [
            said | {"output": None},
            said
            | {
                "output": output
                | {"margin": {"gap": 0.5, "tokenIndex": 0, "chosen": text, "other": text}}
            },
        ],
    }
    file = tmp_path / "hostile.html"
    results = {format_request("recorded_generations", []): json.dumps(form)}
    page_text = render_recorded_page(
        RecordedPage(title=text, kind="cassette", note=text, results=results)
    )
    file.write_text(page_text, encoding="utf-8")
    with browser.page(file.as_uri()) as page:
        page.wait("alert(9)", "pre")
        assert page.evaluate("() => document.querySelectorAll('script').length") == 2
        assert page.evaluate("() => document.querySelectorAll('img').length") == 0
