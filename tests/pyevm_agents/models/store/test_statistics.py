"""Statistics and samples of a store; rows whose inputs do not match their key."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import Store
from pyevm_agents.models.store.rows import DamagedRowError
from pyevm_agents.models.store.statistics import (
    ProfileCount,
    compute_statistics,
    read_generation,
    sample_keys,
)
from tests.stored_generations import DIGEST, FINGERPRINT, generation, question

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        for number in range(20):
            opened.put(question(number), generation(number, length=3 if number < 5 else None))
        opened.put(replace(question(1), fingerprint="{}"), generation(1))
        yield opened


def test_counts_by_model_and_profile(store: Store) -> None:
    figures = compute_statistics(store)
    assert figures.profiles == (
        ProfileCount(digest=DIGEST, fingerprint=FINGERPRINT, complete=15, incomplete=5),
        ProfileCount(digest=DIGEST, fingerprint="{}", complete=1, incomplete=0),
    )
    assert (figures.complete, figures.incomplete) == (16, 5)
    assert figures.oldest_us is not None
    assert figures.newest_us is not None
    assert figures.oldest_us < figures.newest_us


def test_an_entry_has_its_question(store: Store) -> None:
    for number in (1, 7):
        found = read_generation(store, question(number).compute_key())
        assert found is not None
        assert found.question == question(number)
    assert read_generation(store, b"nothing") is None


def test_a_sample_is_the_seeds_and_of_one_profile(store: Store) -> None:
    keys = {question(number).compute_key() for number in range(20)}
    assert set(sample_keys(store, DIGEST, FINGERPRINT, count=20, seed=1)) == keys
    drawn = [
        tuple(sample_keys(store, DIGEST, FINGERPRINT, count=5, seed=seed)) for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(len(set(each)) == 5 and set(each) < keys for each in drawn)
    assert sample_keys(store, DIGEST, "another", count=5, seed=1) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE grammars SET source = x'00'", "header|compressed"),
        ("UPDATE grammars SET source = 5", "missing"),
        ("DELETE FROM profiles", "missing"),
        ("UPDATE profiles SET digest = x'00'", "does not match its key"),
        ("UPDATE generations SET grammar = grammar % 7 + 1", "does not match its key"),
        ("UPDATE generations SET text = x'00'", "checksum"),
    ],
)
def test_what_is_damaged_is_told(store: Store, path: Path, damage: str, message: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM profiles WHERE fingerprint = '{}'")
        connection.execute(damage)
    with pytest.raises(DamagedRowError, match=message):
        read_generation(store, question(7).compute_key())


def test_what_is_closed_can_not_be_read() -> None:
    store = Store()
    store.close()
    with pytest.raises(ConfigError, match="closed"):
        compute_statistics(store)


def test_a_table_that_is_gone_is_told(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE generations")
    for read in (
        lambda: compute_statistics(store),
        lambda: read_generation(store, b""),
        lambda: sample_keys(store, DIGEST, FINGERPRINT, count=1, seed=1),
    ):
        with pytest.raises(ConfigError, match="can't be read: no such table"):
            read()
