"""`agent new`: the files are printed, and the folder is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder

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


def test_without_a_folder_the_name_is_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["agent", "new", "Gas"])
    assert (result.exit_code, "must be kebab-case" in result.stderr) == (2, True)
    assert CliRunner().invoke(main, ["agent", "new", "gas"]).exit_code == 0
    assert CliRunner().invoke(main, ["agent", "validate", "gas"]).exit_code == 0
