"""Database files are created for the owner alone, and never opened beside SQLite."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.forking.cache import AnswerCache
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.models import Store
from pyevm_agents.private_files import create_private_file
from tests.stored_generations import generation, question

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNT_ROWS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(*connection.execute(f"SELECT count(*) FROM {sys.argv[2]}").fetchone())
connection.close()
"""


def write_run(store: RunStore, number: int) -> None:
    with store.commit():
        store.set_value("run-1", str(number), number)


def write_answer(cache: AnswerCache, number: int) -> None:
    cache.put(b"%d" % number, b"value")


def write_generation(store: Store, number: int) -> None:
    store.put(question(number), generation(number))
    store.flush()


@pytest.mark.parametrize(
    ("open_store", "write", "table"),
    [
        (RunStore, write_run, "blobs"),
        (AnswerCache, write_answer, "answers"),
        (Store, write_generation, "generations"),
    ],
)
def test_a_second_opening_keeps_the_locks_of_the_first(
    tmp_path: Path,
    open_store: Callable[[Path], Any],
    write: Callable[[Any, int], None],
    table: str,
) -> None:
    path = tmp_path / "store.sqlite3"

    def count_elsewhere() -> int:
        command = [sys.executable, "-c", COUNT_ROWS, str(path), table]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    with closing(open_store(path)) as first, closing(open_store(path)):
        write(first, 1)
        assert count_elsewhere() == 1
        write(first, 2)
        assert count_elsewhere() == 2
    assert count_elsewhere() == 2


def test_a_new_file_is_the_owners_and_an_old_one_stays(tmp_path: Path) -> None:
    create_private_file(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    (tmp_path / "old").write_bytes(b"content")
    create_private_file(tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == b"content"
