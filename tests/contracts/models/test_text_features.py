"""The feature map of texts in Solidity, against a reference in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.plain_evm import Contract, Evm, plain_evm, reverts

if TYPE_CHECKING:
    from collections.abc import Sequence

WORD = re.compile(rb"[0-9A-Za-z'$%#]+")
pytestmark = pytest.mark.slow

MAX_WORD_BYTES, MAX_TEXT_BYTES = 32, 4_096
VECTORS = Path(__file__).parents[2] / "pyevm_agents/models/numeric/text_features.json"
GAS_PER_BYTE, GAS_PER_WORD, BASE_GAS = 140, 300, 2_000
"""Bounds of the map's gas: measured, and a little more."""


@pytest.fixture(scope="module")
def library() -> Contract:
    evm: Evm = plain_evm()
    return evm.deploy("LibraryCalls")


def reference(text: str, words: int, buckets: int) -> tuple[int, ...]:
    found = [word[:MAX_WORD_BYTES].lower() for word in WORD.findall(text.encode())][:words]
    values = [int.from_bytes(keccak(word)) % buckets + 1 for word in found]
    return (*values, *[0] * (words - len(values)))


def test_the_shared_vectors(library: Contract) -> None:
    if not VECTORS.exists():
        pytest.skip("the vectors of the Python twin are not in this checkout")
    vectors: Sequence[dict[str, object]] = json.loads(VECTORS.read_text())
    assert vectors
    for each in vectors:
        found, _ = library("features", each["text"], each["words"], each["buckets"])
        assert list(found) == each["features"]


@settings(max_examples=30, deadline=None)
@given(
    text=st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab AZ09'$%#-_\n")))
    .filter(lambda text: len(text.encode()) < MAX_TEXT_BYTES),
    words=st.integers(0, 12),
    buckets=st.sampled_from([1, 4_096, 16_384, 2**63 - 1]),
)  # fmt: skip
def test_the_map_is_the_reference(library: Contract, text: str, words: int, buckets: int) -> None:
    found, _ = library("features", text, words, buckets)
    assert found == reference(text, words, buckets)


@pytest.mark.parametrize(
    "text",
    ["a" * MAX_TEXT_BYTES, "a " * (MAX_TEXT_BYTES // 2), " " * MAX_TEXT_BYTES, "Z9" * 20],
)
def test_gas_grows_with_bytes_and_words_alone(library: Contract, text: str) -> None:
    found, gas = library("features", text, 48, 16_384)
    assert found == reference(text, 48, 16_384)
    assert gas <= BASE_GAS + GAS_PER_BYTE * len(text) + GAS_PER_WORD * 48


def test_a_long_text_is_refused(library: Contract) -> None:
    with reverts("TextTooLong", MAX_TEXT_BYTES + 1, MAX_TEXT_BYTES):
        library("features", "a" * (MAX_TEXT_BYTES + 1), 48, 4_096)
