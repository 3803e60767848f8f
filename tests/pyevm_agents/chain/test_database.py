"""A database against plain dicts: writes, commits, discards, snapshots and going back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from precompiles.spec import HASH_BYTES
from pyevm_agents.chain.database import Database, MemoryRows
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.chain.database import Rows

POINTERS = [b"head", b"tx:1", b"tx:2", b"x" * (HASH_BYTES + 1)]
HASHES = [bytes([number]) * HASH_BYTES for number in range(3)]
KEYS = POINTERS + HASHES

keys = st.sampled_from(KEYS)


class DatabaseMachine(RuleBasedStateMachine):
    """A database behaves as dicts do: committed, uncommitted and earlier rows."""

    def rows(self) -> Rows:
        return MemoryRows()

    @initialize()
    def begin(self) -> None:
        self.database = Database(self.rows())
        self.committed: dict[bytes, bytes] = {}
        self.current: dict[bytes, bytes] = {}
        self.kept: dict[int, dict[bytes, bytes]] = {}
        self.taken = 0

    @rule(key=keys, value=st.binary(min_size=1, max_size=3))
    def write(self, key: bytes, value: bytes) -> None:
        self.database[key] = value
        self.current[key] = value

    @rule(key=keys)
    def remove(self, key: bytes) -> None:
        if key in self.current:
            del self.database[key]
            del self.current[key]
        else:
            with pytest.raises(KeyError):
                del self.database[key]

    @rule()
    def commit(self) -> None:
        self.database.commit()
        self.committed = dict(self.current)

    @rule()
    def discard(self) -> None:
        self.database.discard()
        self.current = dict(self.committed)

    @rule()
    def snapshot(self) -> None:
        number = self.database.snapshot()
        assert number == self.taken, "a number is never given again"
        self.taken += 1
        self.kept[number] = dict(self.committed)

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.kept)))
        self.database.revert(number)
        # What a hash names is true for ever, so such rows stay as they are now.
        rows = {key: value for key, value in self.committed.items() if key in HASHES}
        rows |= {key: value for key, value in self.kept[number].items() if key in POINTERS}
        self.committed, self.current = rows, dict(rows)
        self.kept = {n: rows for n, rows in self.kept.items() if n < number}

    @rule(number=st.integers(0, 20))
    def revert_to_none(self, number: int) -> None:
        if number not in self.kept:
            with pytest.raises(ConfigError, match=f"unknown snapshot {number}"):
                self.database.revert(number)

    @invariant()
    def says_what_the_dicts_say(self) -> None:
        assert self.database.snapshots == tuple(self.kept)
        for key in KEYS:
            assert (key in self.database) == (key in self.current)
            assert self.database.get(key) == self.current.get(key)


class LmdbMachine(DatabaseMachine):
    """The same over a folder; committed rows are there when it is opened again."""

    def rows(self) -> Rows:
        self.folder = TemporaryDirectory()
        return LmdbRows(Path(self.folder.name))

    @rule()
    def reopen(self) -> None:
        self.database.close()
        self.database = Database(LmdbRows(Path(self.folder.name)))
        self.current, self.kept, self.taken = dict(self.committed), {}, 0

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()


TestDatabase = DatabaseMachine.TestCase
TestLmdb = LmdbMachine.TestCase
TestLmdb.settings = settings(max_examples=15, stateful_step_count=25)


def test_a_discarded_removal_is_none() -> None:
    database = Database(MemoryRows())
    database[b"head"] = b"1"
    database.commit()
    del database[b"head"]
    assert b"head" not in database
    database.discard()
    assert database[b"head"] == b"1"


def test_nothing_reaches_the_rows_before_a_commit() -> None:
    rows = MemoryRows()
    database = Database(rows)
    database[b"head"] = b"1"
    assert rows.get(b"head") is None
    database.commit()
    assert rows.get(b"head") == b"1"


def test_without_a_snapshot_nothing_is_kept_of_the_past() -> None:
    database = Database(MemoryRows())
    number = database.snapshot()
    database.revert(number)
    for value in (b"1", b"2", b"3"):
        database[b"head"] = value
        database.commit()
    assert database._before == {}  # noqa: SLF001 - memory stays bounded


def test_a_snapshot_keeps_what_a_row_was_once_and_not_each_of_its_changes() -> None:
    database = Database(MemoryRows())
    number = database.snapshot()
    for value in range(100):
        database[b"head"] = bytes([value])
        database.commit()
    assert database._before == {number: {b"head": None}}  # noqa: SLF001 - memory stays bounded


def test_a_snapshot_that_is_forgotten_leaves_those_around_it() -> None:
    database = Database(MemoryRows())
    numbers = []
    for value in range(5):
        database[b"head"] = bytes([value])
        database.commit()
        numbers.append(database.snapshot())
    for number in (numbers[0], numbers[3], numbers[2]):
        database.forget_snapshot(number)
    assert database.snapshots == (numbers[1], numbers[4])
    database[b"head"] = b"last"
    database.commit()
    database.revert(numbers[4])
    assert database[b"head"] == bytes([4])
    database.revert(numbers[1])
    assert database[b"head"] == bytes([1])
