"""State in a file: whole or not at all."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.local_node import state_file
from pyevm_agents.local_node.state_file import read_state, require_writable, write_state

if TYPE_CHECKING:
    from pathlib import Path

FORM = {"format": "x", "accounts": {"0x12": {"nonce": "0x1"}}}


def test_what_is_written_is_read_plain_or_gzipped(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    assert write_state(file, FORM) == file.stat().st_size
    assert read_state(file) == FORM
    assert read_state(tmp_path) == FORM
    assert require_writable(tmp_path) == file
    packed = tmp_path / "state.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_state(packed) == FORM
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ConfigError, match="truncated or damaged"):
        read_state(packed)


def test_what_can_not_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.json"
    write_state(file, FORM)

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(AgentsError, match=r"can't be written: No space left .* file is unchanged"):
        write_state(file, {"format": "y"})
    assert read_state(file) == FORM
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_what_is_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file, "MAX_BYTES", 1_000)
    file = tmp_path / "state.json"
    for content in (b" " * 1_001, gzip.compress(b" " * 100_000)):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match="must be at most 1,000 bytes"):
            read_state(file)
    file.write_bytes(b"[" * 999)
    with pytest.raises(ConfigError, match="not JSON"):
        read_state(file)


def test_a_place_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pass another file"):
        require_writable(tmp_path / "none" / "state.json")
