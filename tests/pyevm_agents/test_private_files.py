"""Database and state files are the owner's alone, and never opened beside SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.atomic_files import replace_atomically
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.council.store import CouncilStore
from pyevm_agents.devnet.node_process import run_plain_node
from pyevm_agents.forking.cache import AnswerCache
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.models import Store
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.private_files import OTHERS, create_private_file
from pyevm_agents.workers.identity import StoreIdentity
from tests.checkout import product_modules
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.stored_generations import generation, question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


@contextmanager
def usual_mask() -> Iterator[None]:
    """Create files as most users' shells do: readable by all."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def list_open_files(folder: Path) -> dict[str, str]:
    """Return the files below a folder that others may use, with their modes."""
    modes = {each: each.stat().st_mode for each in folder.rglob("*") if each.is_file()}
    assert modes, "something was written"
    return {
        str(path.relative_to(folder)): oct(mode & 0o777)
        for path, mode in modes.items()
        if mode & OTHERS
    }


IDENTITY = StoreIdentity(
    chain_id=1, genesis_hash=b"\x01" * 32, contract=b"\x02" * 20, account=b"\x03" * 20
)

STORES: dict[str, Callable[[Path], Any]] = {
    "runs": RunStore,
    "answers of a fork": AnswerCache,
    "generations": Store,
    "a worker's": lambda path: WorkerStore(path, IDENTITY),
    "a participant's": lambda path: CouncilStore(path, IDENTITY),
    "a chain": LmdbRows,
}


@pytest.mark.parametrize("open_store", STORES.values(), ids=STORES)
def test_a_store_is_the_owners_and_an_old_one_becomes_so(
    tmp_path: Path, open_store: Callable[[Path], Any]
) -> None:
    path = tmp_path / "store"
    with usual_mask():
        with closing(open_store(path)):
            assert list_open_files(tmp_path) == {}
        for each in tmp_path.rglob("*"):
            each.chmod(0o755 if each.is_dir() else 0o644)
        with closing(open_store(path)):
            assert list_open_files(tmp_path) == {}
        assert list_open_files(tmp_path) == {}


def test_databases_are_opened_where_their_files_are_made_private() -> None:
    calls = ("sqlite3.connect(", "lmdb.open(")
    doors = ("create_private_file(", "make_private(")
    texts = {name: file.read_text() for name, file in product_modules().items()}
    openers = {name for name, text in texts.items() if any(each in text for each in calls)}
    assert openers
    assert {name for name in openers if not any(each in texts[name] for each in doors)} == set()


@pytest.mark.parametrize("before", [None, 0o644, 0o640, 0o600])
@pytest.mark.parametrize("is_private", [True, False])
def test_a_replaced_file_keeps_its_mode(
    tmp_path: Path,
    before: int | None,
    is_private: bool,
) -> None:
    path = tmp_path / "file"
    with usual_mask():
        if before is not None:
            path.touch()
            path.chmod(before)
        replace_atomically(path, b"new", is_private=is_private)
    mode = path.stat().st_mode & 0o777
    assert mode == (0o600 if is_private else before or 0o644)


@pytest.mark.slow
def test_commands_write_private_state(tmp_path: Path) -> None:
    agent, data, state = make_agent(tmp_path).path, tmp_path / "data", tmp_path / "state"
    state.mkdir()
    base = [sys.executable, "-m", "pyevm_agents"]
    run = [*base, "run", "What is my balance?", "--agent", str(agent), "--no-model", "--no-store"]
    with usual_mask():
        subprocess.run(
            [*run, "--data", str(data), "--treasury", "new"], check=True, capture_output=True
        )
        assert list_open_files(data) == {}
        options = ["--state-dir", str(state / "chain"), "--dump-state", str(state / "dump.json")]
        with run_plain_node("--no-store", *options):
            assert list_open_files(state) == {}
        assert list_open_files(state) == {}
        assert (state / "dump.json").exists()
