"""The feature map of texts: vectors, which the Solidity twin's test reads too, and rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.models.numeric.text_features import (
    MAX_WORD_BYTES,
    text_features,
    text_to_words,
)
from tests.checkout import ROOT

VECTORS: list[dict[str, Any]] = json.loads(
    (ROOT / "tests/pyevm_agents/models/numeric/text_features.json").read_text()
)
WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789'$%#")


@pytest.mark.parametrize("vector", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_vector(vector: dict[str, Any]) -> None:
    assert text_to_words(vector["text"]) == vector["split"]
    features = text_features(vector["text"], vector["words"], vector["buckets"])
    assert features == vector["features"]


def test_a_word_is_hashed_in_lower_case() -> None:
    bucket = int.from_bytes(keccak(b"bullish"), "big") % 4096 + 1
    assert text_features("BULLISH!", 2, 4096) == [bucket, 0]


@pytest.mark.parametrize(("words", "buckets"), [(0, 4096), (48, 0), (-1, 1)])
def test_sizes_must_be_positive(words: int, buckets: int) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        text_features("text", words, buckets)


@given(text=st.text(), words=st.integers(1, 60), buckets=st.integers(1, 20_000))
def test_each_text_has_values_in_range(text: str, words: int, buckets: int) -> None:
    split = text_to_words(text)
    features = text_features(text, words, buckets)

    assert len(features) == words
    assert all(0 <= value <= buckets for value in features)
    assert sum(value > 0 for value in features) == min(len(split), words)
    assert all(set(word.encode()) <= WORD_BYTES for word in split)
    assert all(1 <= len(word) <= MAX_WORD_BYTES for word in split)


@given(text=st.text(alphabet="aZ9 '$%#é🚀-", max_size=200))
def test_words_cover_the_text_bytes(text: str) -> None:
    kept = sum(byte in WORD_BYTES for byte in text.lower().encode())
    lengths = sum(map(len, text_to_words(text)))
    assert lengths <= kept
    assert lengths == kept or len(text) > MAX_WORD_BYTES
