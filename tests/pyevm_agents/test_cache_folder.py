"""The folder of the commands' caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyevm_agents.cache_folder import get_cache_folder, get_facts_folder


def test_the_environment_names_the_folder_of_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_facts_folder() == tmp_path / "pyevm-agents" / "facts"


@pytest.mark.parametrize("named", ["", "relative/path"])
def test_else_it_is_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = get_cache_folder()
    assert folder is not None
    assert tmp_path in folder.parents


def test_who_has_no_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(Path, "home", no_home)
    assert get_facts_folder() is None
