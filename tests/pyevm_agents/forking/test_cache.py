"""The cache file: first value wins, bounded memory, damage found."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import RemoteFault
from pyevm_agents.forking.cache import ENTRY_BYTES, AnswerCache, RecentValues

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys
from pathlib import Path
from pyevm_agents.forking.cache import AnswerCache
cache = AnswerCache(Path(sys.argv[1]))
kept = [cache.put(b"%d" % i, sys.argv[2].encode()) for i in range(200)]
cache.close()
print(*{each.decode() for each in kept})
"""


def test_the_first_value_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "forks" / "one.sqlite3"
    with closing(AnswerCache(path)) as cache, closing(AnswerCache(path)) as other:
        assert cache.get(b"key") is None
        assert cache.put(b"key", b"") == b""
        assert other.put(b"key", b"second") == b""
        assert other.get(b"key") == b""
    with closing(AnswerCache(path)) as cache:
        assert cache.get(b"key") == b""
        cache.delete(b"key")
        assert cache.get(b"key") is None


def test_two_processes_keep_the_same_values(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite3"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, name], stdout=subprocess.PIPE, text=True
        )
        for name in ("left", "right")
    ]
    ends = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    with closing(AnswerCache(path)) as cache:
        kept = {(cache.get(b"%d" % i) or b"").decode() for i in range(200)}
    assert kept == {name for end in ends for name in end}


OPENER = """
import sys
from pathlib import Path
from pyevm_agents.forking.cache import AnswerCache
for number in range(60):
    print(number, flush=True)
    sys.stdin.readline()
    AnswerCache(Path(sys.argv[1]) / f"{number}.sqlite3").close()
"""


@pytest.mark.slow
def test_processes_that_create_a_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for number in range(60):
        for opener in openers:
            assert opener.stdout is not None
            assert opener.stdout.readline() == f"{number}\n"
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write("\n")
            opener.stdin.flush()
    for opener in openers:
        opener.communicate()
        assert opener.returncode == 0


def test_a_temporary_cache_leaves_no_file(tmp_path: Path) -> None:
    with closing(AnswerCache(None)) as cache:
        assert cache.put(b"key", b"value") == cache.get(b"key") == b"value"
    assert [*tmp_path.iterdir()] == []


def test_memory_is_bounded_in_bytes() -> None:
    recent = RecentValues(3 * (ENTRY_BYTES + 10))
    for name in (b"a", b"b", b"c"):
        recent.put(name, bytes(10))
    assert recent.get(b"a") == bytes(10)
    recent.put(b"d", bytes(10))
    assert recent.get(b"b") is None  # Used least recently.
    assert recent.get(b"a") == bytes(10)
    recent.put(b"a", bytes(11))
    assert recent.get(b"c") is None
    assert recent.size_bytes == 2 * ENTRY_BYTES + 21
    recent.put(b"e", bytes(4 * ENTRY_BYTES))
    assert recent.size_bytes == 0


def test_a_changed_value_is_found(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite3"
    with closing(AnswerCache(path)) as cache:
        cache.put(b"key", b"value")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE answers SET value = ?", (b"valuf",))
    with closing(AnswerCache(path)) as cache, pytest.raises(RemoteFault, match="checksum is wrong"):
        cache.get(b"key")


def test_keys_are_listed_by_prefix(tmp_path: Path) -> None:
    with closing(AnswerCache(tmp_path / "one.sqlite3")) as cache:
        for key in (b"x2", b"x1", b"w9", b"y0"):
            cache.put(key, b"value")
        assert cache.list_suffixes(b"x") == [b"1", b"2"]
