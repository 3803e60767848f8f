"""A new agent: its folder is valid, its own test passes, and it can be run."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.control.agent_loader import load_agent
from pyevm_agents.control.agent_template import create_agent_folder
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from tests.checkout import ROOT
from tests.pyevm_agents.control.agents_of_tests import make_agent

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]


def test_a_new_agent_passes_its_own_test(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    folder = create_agent_folder(pytester.path / "my-agent", "my-agent")
    pytester.runpytest_inprocess(str(folder.path)).assert_outcomes(passed=2)


def test_a_new_agent_is_valid_and_can_be_loaded(tmp_path: Path) -> None:
    folder = create_agent_folder(tmp_path / "a" / "b", "gas-watcher-2")
    assert validate_folder(folder) == ()
    agent = load_agent(folder)
    assert (agent.slug, agent.display_name, agent.version) == (
        "gas-watcher-2", "Gas Watcher 2", "0.1.0",
    )  # fmt: skip
    assert type(agent).__name__ == "GasWatcher2Agent"
    assert "$" not in folder.path.joinpath("README.md").read_text("utf-8")


@pytest.mark.slow  # mypy
def test_a_new_agent_is_typed_and_formatted(tmp_path: Path) -> None:
    folder = create_agent_folder(tmp_path / "my-agent", "my-agent")
    files = [str(folder.module_path)]
    for command in (["ruff", "format", "--check", "--isolated", "--line-length", "100"],
                    ["ruff", "check", "--isolated"], ["mypy", "--strict"]):  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-m", *command, *files],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("slug", ["", "My Agent", "my_agent", "2nd", "-a", "a--b", "a\n", "a" * 65])
def test_a_name_that_is_no_slug_is_refused(tmp_path: Path, slug: str) -> None:
    with pytest.raises(ConfigError, match="must be kebab-case, such as gas-watcher"):
        create_agent_folder(tmp_path / "folder", slug)
    assert [*tmp_path.iterdir()] == []


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="must not be there yet"):
        create_agent_folder(tmp_path, "my-agent")
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("AGENT = ", "OTHER = ", "must have a variable AGENT, the agent"),
        ("AGENT = ", "AGENT = object() or ", "AGENT must have slug, display_name, version"),
        ("from pathlib", "import no_such\nfrom pathlib", "can't be imported: ModuleNotFound"),
        ("__file__).parent)", "__file__).parent / '../other')", "must be that of agent.json"),
    ],
)  # fmt: skip
def test_a_module_that_is_no_agent_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    create_agent_folder(tmp_path / "other", "other")
    folder = make_agent(tmp_path)
    text = folder.module_path.read_text("utf-8")
    folder.module_path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ConfigError, match=message):
        load_agent(folder)


def test_a_module_that_changes_within_a_second_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = make_agent(tmp_path)
    path = folder.module_path
    seconds, text = path.stat().st_mtime, path.read_text("utf-8")
    for name in ("Watches", "Watched", "Watcher"):
        path.write_text(text.replace("GasWatcherAgent", f"Gas{name}Agent"), "utf-8")
        os.utime(path, (seconds, seconds))
        assert type(load_agent(folder)).__name__ == f"Gas{name}Agent"
    assert not (folder.path / "__pycache__").exists()


@pytest.mark.parametrize("name", ["slug", "version", "identity_mode", "manifest"])
def test_an_agent_whose_property_raises_is_refused(tmp_path: Path, name: str) -> None:
    folder = make_agent(tmp_path)
    lines = f"""
class Broken(type(AGENT)):
    @property
    def {name}(self):
        return 1 // 0

    @{name}.setter
    def {name}(self, value):
        pass

AGENT = Broken(AGENT.manifest)
"""
    with folder.module_path.open("a", encoding="utf-8") as file:
        file.write(lines)
    words = f"agent gas-watcher: {name}: ZeroDivisionError: .*; correct the module$"
    with pytest.raises(ConfigError, match=words):
        load_agent(folder)


@pytest.mark.parametrize("mode", ["", "none", "erc8004-optional", "ERC8004-required"])
def test_an_agent_of_another_identity_mode_is_refused(tmp_path: Path, mode: str) -> None:
    folder = make_agent(tmp_path)
    with folder.module_path.open("a", encoding="utf-8") as file:
        file.write(f"\nAGENT.identity_mode = {mode!r}\n")
    with pytest.raises(ConfigError, match="must be erc8004-required"):
        load_agent(folder)


def test_a_folder_without_a_module_is_refused(tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    folder.module_path.unlink()
    with pytest.raises(ConfigError, match="no such file; `pyevm-agents agent new NAME` makes"):
        load_agent(AgentFolder(folder.path))
