"""`agent new`: the files are printed, and the folder is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from pyevm_agents.manifests.documents import DocumentKind
from tests.pyevm_agents.manifests.documents_of_tests import read_written

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_new_agent_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    words = ["agent", "new", "gas-watcher", "--folder", str(path)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        *(str(each) for each in sorted(path.iterdir())),
        f"Next: {path / 'README.md'}",
    ]
    assert validate_folder(AgentFolder(path)) == ()
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "must not be there yet" in result.stderr) == (2, True)


def test_what_is_written_passes_the_schemas(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    words = ["agent", "new", "gas-watcher", "--folder", str(path)]
    assert CliRunner().invoke(main, words).exit_code == 0
    for kind in DocumentKind:
        form = read_written((path / kind.file_name).read_bytes(), kind)
        assert form.get("registrations", []) == []


def test_without_a_folder_the_name_is_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["agent", "new", "Gas"])
    assert (result.exit_code, "must be kebab-case" in result.stderr) == (2, True)
    assert CliRunner().invoke(main, ["agent", "new", "gas"]).exit_code == 0
    assert CliRunner().invoke(main, ["agent", "validate", "gas"]).exit_code == 0
