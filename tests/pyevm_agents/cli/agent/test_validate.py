"""`agent validate`: a folder, a file, and what is printed about each problem."""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.manifests.documents import DocumentKind
from tests.pyevm_agents.manifests.documents_of_tests import write_agent_folder

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from pyevm_agents.manifests.agent_folder import AgentFolder


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    return write_agent_folder(tmp_path)


def run(*words: object, status: int = 0) -> Result:
    """Run `agent validate`; check its exit status."""
    result = CliRunner().invoke(main, ["agent", "validate", *map(str, words)])
    assert result.exit_code == status, result.output
    return result


def test_a_folder_and_its_files_are_valid(folder: AgentFolder) -> None:
    assert run(folder.path).stdout == f"{folder.path} is an agent; no problems\n"
    printed = run(folder.locate(DocumentKind.REGISTRATION)).stdout
    assert printed.endswith("is a registration document as ERC-8004 has it; no problems\n")
    assert json.loads(run(folder.path, "--json").stdout) == {"valid": True, "problems": []}


def test_a_problem_is_a_line_with_place_value_rule_and_next_step(folder: AgentFolder) -> None:
    path = folder.locate(DocumentKind.MANIFEST)
    path.write_text(path.read_text("utf-8").replace('"maxSteps": 10', '"maxSteps": 0'))
    line, count = run(folder.path, status=2).stdout.splitlines()
    assert line == (
        f"{path}: computeConstraints.maxSteps 0: must be an integer of at least 1; correct it"
    )
    assert count == "1 problem"
    [problem] = json.loads(run(path, "--json", status=2).stdout)["problems"]
    assert problem == {
        "file": str(path),
        "path": "computeConstraints.maxSteps",
        "value": "0",
        "rule": "must be an integer of at least 1",
        "advice": "correct it",
    }


def test_registration_documents_are_written_from_the_manifest(folder: AgentFolder) -> None:
    path = folder.locate(DocumentKind.MANIFEST)
    path.write_text(path.read_text("utf-8").replace("My Agent", "Renamed"))
    assert "name: must be as agent.json has it" in run(folder.path, status=2).stdout
    run(folder.path, "--write")
    for kind in (DocumentKind.REGISTRATION, DocumentKind.OPENFI_REGISTRATION):
        assert json.loads(folder.locate(kind).read_text("utf-8"))["name"] == "Renamed"
    assert run(path, "--write", status=2).stderr.startswith("Error: --write: ")


def test_a_missing_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    printed = run(tmp_path / "none.json", status=2).stderr
    assert printed == f"Error: {tmp_path / 'none.json'}: can't be read: No such file or directory\n"


def test_without_the_extra_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "pyevm_agents.cli.agent.extra.find_spec",
        lambda name: None if name in {"mcp", "uvicorn"} else find(name),
    )
    assert run("anything", status=2).stderr == (
        "Error: mcp, uvicorn are not installed; `pyevm-agents agent` and `pyevm-agents run` need "
        "the extra `agents`: pip install 'pyevm-agents[agents]'\n"
    )
