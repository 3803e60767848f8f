"""Stored generations are found by all threads, forks and processes, after any failure."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import Store
from pyevm_agents.models.store import store as store_module
from pyevm_agents.models.store.statistics import compute_statistics
from pyevm_agents.models.store.store import MIN_MAX_BYTES
from tests.deadlines import HANG_SECONDS
from tests.stored_generations import generation, question, sound

if TYPE_CHECKING:
    from precompiles.language_model import Generation

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


def key(number: int) -> bytes:
    return question(number).compute_key()


def bulky(number: int, text_bytes: int = 10_000) -> Generation:
    """Return a generation with a long text."""
    return replace(generation(number), text=f"{number:08}" * (text_bytes // 8))


def test_what_was_put_is_got_also_by_another_process(path: Path) -> None:
    with Store(path) as store:
        for number in range(5):
            store.put(question(number), generation(number))
    code = (
        "import sys; from pathlib import Path; from pyevm_agents.models import Store;"
        "from tests.stored_generations import *;"
        "s = Store(Path(sys.argv[1]));"
        "print([s.get(question(n).compute_key()) == generation(n) for n in range(6)])"
    )
    command = [sys.executable, "-c", code, str(path)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str([True] * 5 + [False])


def test_one_in_memory_ends_with_itself() -> None:
    with Store() as store:
        store.put(question(1), generation(1))
        assert store.get(key(1)) == generation(1)
    with Store() as other:
        assert other.get(key(1)) is None


def test_a_longer_one_replaces_a_shorter_and_never_the_other_way_round() -> None:
    with Store() as store:
        for put, kept in ((5, 5), (20, 20), (10, 20), (None, None), (30, None), (1, None)):
            store.put(question(1), generation(1, length=put))
            assert store.get(key(1)) == generation(1, length=kept)
        assert store.trouble is None


def test_two_computations_that_disagree_are_told() -> None:
    with Store() as store:
        store.put(question(1), generation(1))
        store.put(question(1), generation(2))
        assert store.get(key(1)) == generation(1)
        assert store.session["contradicted"] == 1
        assert "differs from a new computation" in (store.trouble or "")


def test_closed_it_knows_nothing_and_fails_nobody(path: Path) -> None:
    store = Store(path)
    store.put(question(1), generation(1))
    store.close()
    store.close()
    store.put(question(2), generation(2))
    store.record_use(key(1))
    assert store.get(key(1)) is None
    with pytest.raises(ConfigError, match="is closed"):
        store.clear()


def test_what_no_row_can_hold_is_not_kept() -> None:
    with Store() as store:
        store.put(question(1), replace(generation(1), tokens=(2**32,)))
        assert store.get(key(1)) is None
        assert "can't hold a generation" in (store.trouble or "")


# -- damage -- #


@pytest.mark.parametrize(
    "damage",
    [
        "tokens = x'00'",
        "text = 'words'",
        "is_complete = 0",
        "forced_tokens = forced_tokens + 1",
        "margin = NULL",
        "prompt = x''",
        "checksum = x'00'",
    ],
)
def test_a_row_that_was_changed_is_none_and_goes(path: Path, damage: str) -> None:
    Store(path).put(question(1), generation(1))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE generations SET {damage}")  # noqa: S608 - from the list above
    with Store(path) as store:
        assert store.get(key(1)) is None
        assert store.session["damaged"] == 1
        assert compute_statistics(store).complete + compute_statistics(store).incomplete == 0
        assert compute_statistics(store).counts["damaged"] == 1
        store.put(question(1), generation(1))
        assert store.get(key(1)) == generation(1)


def test_a_damaged_row_does_not_outdo_a_sound_one(path: Path) -> None:
    with Store(path) as store:
        store.put(question(1), generation(1))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE generations SET text = x'00'")
        store.put(question(1), generation(1, length=3))
        assert store.get(key(1)) == generation(1, length=3)


def test_a_damaged_file_is_told_and_faults_nobody(path: Path) -> None:
    with Store(path) as store:
        for number in range(200):
            store.put(question(number), generation(number))
    whole = bytearray(path.read_bytes())
    chance = random.Random(1)  # noqa: S311 - noise
    for start in range(8 * 4096, len(whole), 4096):
        whole[start : start + 512] = chance.randbytes(512)
    path.write_bytes(whole)
    told: list[str] = []
    with Store(path, report=told.append) as store:
        got = [store.get(key(number)) for number in range(200)]
        assert all(one in {None, generation(number)} for number, one in enumerate(got))
        assert None in got
        for number in range(200):
            store.put(question(number), generation(number))
        assert len(told) <= 1


# -- the bound -- #


def test_the_file_keeps_its_bound_and_the_least_recently_used_goes(path: Path) -> None:
    with Store(path, max_bytes=MIN_MAX_BYTES) as store:
        for number in range(100):
            store.put(question(number), bulky(number))
            assert store.get(key(0)) == bulky(0)
            store.record_use(key(0))
            assert compute_statistics(store).file_bytes <= MIN_MAX_BYTES
            assert store.get(key(number)) == bulky(number)
        kept = [number for number in range(100) if store.get(key(number)) is not None]
        newest = kept[1:]
        assert kept[0] == 0
        assert newest == list(range(newest[0], 100))
        assert len(kept) > 10
        evicted = 100 - len(kept)
        assert store.session["evicted"] == compute_statistics(store).counts["evicted"] == evicted
        assert store.trouble is None
    assert path.stat().st_size <= MIN_MAX_BYTES


def test_nothing_goes_before_the_bound_is_reached(path: Path) -> None:
    with Store(path, max_bytes=MIN_MAX_BYTES) as store:
        number = 0
        while "evicted" not in store.session:
            store.put(question(number), bulky(number))
            number += 1
        before = compute_statistics(store).file_bytes
        assert before > MIN_MAX_BYTES - 5 * 4096
        assert [store.get(key(n)) is None for n in range(number)].count(True) == 1
        assert store.get(key(0)) is None


def test_a_lower_bound_makes_the_file_smaller(path: Path) -> None:
    with Store(path) as store:
        for number in range(100):
            store.put(question(number), bulky(number))
    assert path.stat().st_size > 3 * MIN_MAX_BYTES
    with Store(path, max_bytes=MIN_MAX_BYTES) as store:
        store.put(question(100), bulky(100))
        assert store.get(key(100)) == bulky(100)
    assert path.stat().st_size <= MIN_MAX_BYTES


def test_one_that_would_drive_out_the_others_is_not_kept() -> None:
    with Store(max_bytes=MIN_MAX_BYTES) as store:
        store.put(question(1), generation(1))
        store.put(question(2), bulky(2, MIN_MAX_BYTES))
        assert store.get(key(2)) is None
        assert store.get(key(1)) == generation(1)


def test_grammars_and_profiles_go_with_their_generations(path: Path) -> None:
    with Store(path, max_bytes=MIN_MAX_BYTES) as store:
        for number in range(60):
            asked = replace(question(number), grammar=f"g{number}", fingerprint=f"f{number}")
            store.put(asked, bulky(number), seconds=1.5)
        kept = compute_statistics(store)
        assert store.connection is not None
        for table in ("grammars", "profiles", "uses", "durations"):
            query = f"SELECT count(*) FROM {table}"  # noqa: S608 - from the list above
            (count,) = store.connection.execute(query).fetchone()
            assert count == kept.complete < 60


def test_no_room_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"max_bytes 262,143: .* at least 262,144"):
        Store(max_bytes=MIN_MAX_BYTES - 1)


# -- counting -- #


def test_uses_and_counts_are_written_in_batches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "FLUSH_EVENTS", 10)
    with Store(path) as store, closing(sqlite3.connect(path)) as other:
        store.put(question(1), generation(1))
        (version,) = other.execute("PRAGMA data_version").fetchone()
        for _ in range(9):
            store.record_use(key(1))
        assert other.execute("PRAGMA data_version").fetchone() == (version,)
        store.record_use(key(1))
        assert other.execute("PRAGMA data_version").fetchone() != (version,)
        assert other.execute("SELECT * FROM counters").fetchall() == [("hits", 10)]


def test_counts_outlive_the_process_and_add_up(path: Path) -> None:
    for _ in range(3):
        with Store(path) as store:
            store.count("misses")
            store.record_use(key(1))
            store.record_use(key(1))
            store.count("resumes")
            assert store.session == {"misses": 1, "hits": 2, "resumes": 1}
    with Store(path) as store:
        assert compute_statistics(store).counts == {"misses": 3, "hits": 6, "resumes": 3}
        assert compute_statistics(store).hit_rate == 0.5


def test_cleared_it_holds_and_has_counted_nothing(path: Path) -> None:
    with Store(path) as store:
        for number in range(100):
            store.put(question(number), bulky(number))
        store.count("misses")
        assert store.clear() == 100
        figures = compute_statistics(store)
        assert (figures.profiles, figures.counts, figures.hit_rate) == ((), {}, None)
        assert path.stat().st_size < 100_000
        store.put(question(1), generation(1))
        assert store.get(key(1)) == generation(1)


# -- threads, forks, processes -- #


def test_threads_share_it(path: Path) -> None:
    with Store(path) as store, ThreadPoolExecutor(8) as pool:

        def work(seed: int) -> bool:
            numbers = random.Random(seed).sample(range(50), 50)  # noqa: S311 - an order
            for number in numbers:
                store.put(question(number), generation(number))
                if store.get(key(number)) != generation(number):
                    return False
                store.record_use(key(number))
            return True

        assert all(pool.map(work, range(8)))
        assert store.trouble is None
        assert store.session["hits"] == 400


FORKING = """
import os, sys, threading
from pathlib import Path
from pyevm_agents.models import Store
from tests.stored_generations import generation, question, sound
file, memory = Store(Path(sys.argv[1])), Store()
for store in (file, memory):
    store.put(question(0), generation(0))
    store.count("misses")
done = threading.Event()
def work():
    number = 1000
    while not done.is_set():
        for store in (file, memory):
            store.put(question(number), generation(number))
            store.get(question(number).compute_key())
        number += 1
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
children = []
for child in range(1, 21):
    process = os.fork()
    if process == 0:
        fine = True
        for store in (file, memory):
            fine &= store.get(question(0).compute_key()) == generation(0)
            store.put(question(child), generation(child))
            fine &= store.get(question(child).compute_key()) == generation(child)
            fine &= store.trouble is None
        file.close()
        os._exit(0 if fine else 1)
    children.append(process)
codes = {os.waitpid(child, 0)[1] for child in children}
done.set()
for thread in threads:
    thread.join()
print(codes, file.trouble, memory.trouble)
print(all(file.get(question(n).compute_key()) == generation(n) for n in range(21)))
print([memory.get(question(n).compute_key()) for n in range(1, 21)] == [None] * 20)
file.close()
"""


def test_a_fork_has_a_connection_of_its_own(path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, str(path)]
    printed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert printed.stdout.splitlines() == ["{0} None None", "True", "True"]
    with Store(path) as store:
        assert sound(store)
        assert compute_statistics(store).counts == {"misses": 1}
