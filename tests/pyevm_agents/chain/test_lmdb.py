"""Rows in a folder: whole writes whenever their process ends, one process at a time."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import lmdb
import pytest

from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.chain.lmdb import LmdbRows, UnreadableChainError
from pyevm_agents.errors import ConfigError, EngineFault
from tests import counting_writer
from tests.counting_writer import PARTS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("times", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_whole_writes_and_all_that_it_acknowledged(
    tmp_path: Path, times: int
) -> None:
    chance = random.Random(times)  # noqa: S311 - moments to kill at
    before = 0
    # The processes have the modules from the beginning: each starts in milliseconds.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([counting_writer.__name__])
    for _ in range(times):
        reader, said = processes.Pipe(duplex=False)
        writer = processes.Process(target=counting_writer.count, args=(tmp_path, said))
        writer.start()
        said.close()
        acknowledged = [reader.recv()]
        assert acknowledged[0] > before
        time.sleep(chance.random() * 0.1)
        assert writer.is_alive(), "the writer failed"
        writer.kill()
        writer.join()
        with reader, suppress(EOFError):
            while True:
                acknowledged.append(reader.recv())
        rows = LmdbRows(tmp_path)
        found = {rows.get(part) for part in PARTS}
        rows.close()
        assert len(found) == 1, "a half-written commit"
        (value,) = found
        assert value is not None
        before = int(value)
        assert before >= acknowledged[-1], "an acknowledged commit is gone"


def test_rows_are_there_when_they_are_opened_again(tmp_path: Path) -> None:
    rows = LmdbRows(tmp_path / "new" / "folder")
    rows.write({b"a": b"1", b"b": b"2"})
    rows.write({b"a": None, b"b": b"3", b"never": None})
    rows.close()
    rows.close()
    again = LmdbRows(tmp_path / "new" / "folder")
    assert (again.get(b"a"), again.get(b"b"), again.get(b"never")) == (None, b"3", None)
    again.close()


@pytest.mark.parametrize("prefix", [b"", b"a", b"b:", b"b:2", b"c", b"\xff"])
def test_rows_with_a_prefix_are_in_order_and_as_in_memory(tmp_path: Path, prefix: bytes) -> None:
    content: dict[bytes, bytes | None] = {b"a": b"1", b"b:2": b"2", b"b:1": b"3", b"b;": b"4"}
    memory = MemoryRows()
    memory.write(content)
    with closing(LmdbRows(tmp_path)) as rows:
        rows.write(content)
        rows.sync()
        assert rows.list_rows(prefix) == memory.list_rows(prefix)
    wanted = sorted(key for key in content if key.startswith(prefix))
    assert [key for key, _ in memory.list_rows(prefix)] == wanted


def test_a_write_that_fails_writes_nothing(tmp_path: Path) -> None:
    rows = LmdbRows(tmp_path)
    with pytest.raises(EngineFault, match=f"the chain in {tmp_path} can't be written"):
        rows.write({b"a": b"1", b"k" * 10_000: b"a key that is too long"})
    assert rows.get(b"a") is None
    rows.close()


def test_one_process_has_a_folder_at_a_time(tmp_path: Path) -> None:
    rows = LmdbRows(tmp_path)
    with pytest.raises(ConfigError, match=f"another process has the chain in {tmp_path}"):
        LmdbRows(tmp_path)
    rows.close()
    LmdbRows(tmp_path).close()


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match="can't be used: File exists"):
        LmdbRows(tmp_path / "file")


def test_a_file_that_is_no_database_is_refused_and_the_folder_free_again(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"something else" * 1_000)
    for _ in range(2):
        with pytest.raises(ConfigError, match="not a readable chain"):
            LmdbRows(tmp_path)


def build_rows(folder: Path, count: int) -> dict[bytes, bytes]:
    """Write rows of half a page each, and return them."""
    chance = random.Random(count)  # noqa: S311 - rows that can't be compressed
    written: dict[bytes, bytes] = {
        chance.randbytes(32): chance.randbytes(2_000) for _ in range(count)
    }
    rows = LmdbRows(folder)
    rows.write(written)
    rows.close()
    return written


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_file_that_was_cut_is_refused(tmp_path: Path, share: float) -> None:
    build_rows(tmp_path, 50)
    data = tmp_path / "data.mdb"
    size_bytes = data.stat().st_size
    os.truncate(data, int(share * size_bytes))
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"{int(share * size_bytes):,} of {size_bytes:,} by"):
            LmdbRows(tmp_path)


def test_a_file_without_pages_that_were_never_written_is_whole(tmp_path: Path) -> None:
    written = build_rows(tmp_path, 50)
    data = tmp_path / "data.mdb"
    environment = lmdb.open(str(tmp_path), map_size=2**30)
    for size_bytes in range(40_000, 80_000, 4_000):
        with environment.begin(write=True) as transaction:
            transaction.put(b"freed", bytes(size_bytes))
            transaction.delete(b"freed")
            transaction.put(b"kept", b"1")
    used_bytes = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    environment.close()
    assert data.stat().st_size < used_bytes
    rows = LmdbRows(tmp_path)
    assert data.stat().st_size == used_bytes
    assert {key: rows.get(key) for key in written} == written
    assert rows.get(b"kept") == b"1"
    rows.close()


def test_a_damaged_page_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    written = build_rows(tmp_path, 50)
    data = tmp_path / "data.mdb"
    content = data.read_bytes()
    data.write_bytes(content[:8_192] + bytes(len(content) - 8_192))
    rows = LmdbRows(tmp_path)
    with pytest.raises(UnreadableChainError, match=f"the chain in {tmp_path} is damaged"):
        rows.get(next(iter(written)))
    rows.close()


@pytest.mark.parametrize("content", [b"x", bytes(100), bytes(9_000), b"\xff" * 200])
def test_any_bytes_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(ConfigError, match="not a readable chain"):
        LmdbRows(tmp_path)


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    build_rows(tmp_path, 1)
    for name in ("data.mdb", "lock.mdb"):
        (tmp_path / name).chmod(0o644)  # As earlier versions created them.
    LmdbRows(tmp_path).close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"data.mdb": 0o600, "lock.mdb": 0o600, "in-use": 0o600}
