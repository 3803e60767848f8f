"""A base at its limits, on anvil: the gas of its most expensive search, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak

from benchmarks.retrieval import (
    BLOCK_GAS,
    HOSTILE_PASSAGES,
    HOSTILE_SEGMENTS,
    STORED,
    AnvilBase,
    RefusedError,
    fill_hostile_base,
)
from tests.clients.anvil_node import running_anvil

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

MOST_SEARCH_GAS = 26_000_000
"""What docs/retrieval.md states, with the transaction's own."""

MOST_ADD_GAS = 29_000_000


def test_the_limits_bound_the_gas(tmp_path: Path) -> None:
    with running_anvil(tmp_path, "--gas-limit", str(BLOCK_GAS)) as node:
        base = AnvilBase(url=node.url)
        query = fill_hostile_base(base)
        assert base.count_segments() == HOSTILE_SEGMENTS
        assert base.measure_search(query) < MOST_SEARCH_GAS
        # One common word more: the postings are too many, which is told before they are read.
        with pytest.raises(RefusedError, match=_selector("TooManyPostings(uint256,uint256)")):
            base.search(query.replace("absent0", "pad"))
        with pytest.raises(RefusedError, match=_selector("TooManySegments(uint256)")):
            _try_to_add(base, ["one more"])
        held = int(base.read("segments", 0)[2])
        base.remove(range(2, held + 1))  # the first one is removed already: the segment goes
        assert base.count_segments() == HOSTILE_SEGMENTS - 1
        with pytest.raises(RefusedError, match=_selector("TooManyPassages(uint256,uint256)")):
            _try_to_add(base, ["more"] * (held + 1))
        _try_to_add(base, ["more"] * held)
        assert base.read("statistics")[2] == HOSTILE_PASSAGES


@pytest.mark.parametrize(
    "texts",
    [
        ["a " * 2_048] * 5 + ["a " * 2_047],
        [" ".join(f"{n:04x}" for n in range(start, start + 160)) for start in range(0, 1_760, 160)],
        ["x"] * 255,
        ["\u07ff" * 2_047] * 6,
    ],
    ids=["one word", "different words", "short passages", "not ASCII"],
)
def test_a_batch_at_its_limits_fits_a_block(tmp_path: Path, texts: list[str]) -> None:
    with running_anvil(tmp_path, "--gas-limit", str(BLOCK_GAS)) as node:
        assert AnvilBase(url=node.url).add(texts) < MOST_ADD_GAS


def _selector(error: str) -> str:
    return keccak(text=error)[:4].hex()


def _try_to_add(base: AnvilBase, batch: list[str]) -> None:
    """Add a batch in a call: its error, unlike that of a transaction, has the revert's data."""
    base.read("add", batch, STORED)
    base.add(batch)
