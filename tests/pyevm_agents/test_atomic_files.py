"""A file is written whole, or stays as it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    for data in (b"one", b"two\r\n"):
        write_atomically(file, data)
        assert file.read_bytes() == data
    assert [*tmp_path.iterdir()] == [file]


def test_a_link_stays_one(tmp_path: Path) -> None:
    file, link = tmp_path / "it.json", tmp_path / "link.json"
    link.symlink_to("it.json")
    for data in (b"one", b"two"):
        write_atomically(link, data)
        assert link.is_symlink()
        assert file.read_bytes() == data
    assert {*tmp_path.iterdir()} == {file, link}


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"one")
        assert os.read(reader, 9) == b"one"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_where_that_fails_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "it.json"
    file.write_bytes(b"before")

    def fail(_draft: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(ConfigError, match=r"it\.json: can't be written: No space left on device$"):
        write_atomically(file, b"after")
    assert file.read_bytes() == b"before"
    assert [*tmp_path.iterdir()] == [file]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't be written: No such file or directory$"):
        write_atomically(tmp_path / "gone" / "it.json", b"")
