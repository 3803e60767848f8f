"""Files that are whole or not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.atomic_files import require_file_path, require_folder_path, write_output_file
from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_output_file(file, "one")
    write_output_file(file, b"two")
    assert file.read_text() == "two"
    assert [*tmp_path.iterdir()] == [file]
    mask = os.umask(0)
    os.umask(mask)
    assert file.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    write_output_file(file, "one")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AgentsError, match="No space left on device; what was there is there still"):
        write_output_file(file, "two")
    assert file.read_text() == "one"
    assert [*tmp_path.iterdir()] == [file]


def test_places_are_checked_before(tmp_path: Path) -> None:
    require_file_path(tmp_path / "report.html")
    require_folder_path(tmp_path)
    require_folder_path(tmp_path / "new")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(ConfigError, match="is a folder; name a file in it"):
        require_file_path(tmp_path)
    with pytest.raises(ConfigError, match="can't be written: there is no folder"):
        require_file_path(tmp_path / "none" / "report.html")
    with pytest.raises(ConfigError, match="can't be written: there is no folder"):
        require_folder_path(tmp_path / "none" / "reports")
    os.mkfifo(tmp_path / "pipe")
    require_file_path(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "none" / "report.html")
    with pytest.raises(ConfigError, match="link can't be written: there is no folder"):
        require_file_path(tmp_path / "link")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file; name a folder"):
        require_folder_path(tmp_path / "file")
