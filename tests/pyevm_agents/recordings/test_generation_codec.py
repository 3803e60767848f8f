"""Encoding of requests and generations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Confidence, Generation, Margin, Segment
from pyevm_agents.errors import FixtureError
from pyevm_agents.models.fakes.recorded import Exchange
from pyevm_agents.recordings.generation_codec import (
    encode_exchange,
    normalize_exchange,
    read_exchange,
)
from pyevm_agents.recordings.json_reader import JsonReader

if TYPE_CHECKING:
    from pyevm_agents.recordings.canonical_json import Json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TOKENS = st.lists(st.integers(0, 2**32 - 1), max_size=8).map(tuple)

MARGINS = st.builds(
    Margin,
    gap=st.floats(0, 100),
    token_index=st.integers(0, 511),
    chosen=TEXTS,
    other=TEXTS,
)
CONFIDENCES = st.builds(Confidence, surprisal=st.integers(0, 2**40))
GENERATIONS = st.builds(
    Generation,
    text=TEXTS,
    tokens=TOKENS,
    forced_tokens=st.integers(0, 8),
    is_complete=st.booleans(),
    margin=st.none() | MARGINS,
    confidence=st.none() | CONFIDENCES,
)
EXCHANGES = st.builds(
    Exchange,
    model=TEXTS,
    segments=st.lists(st.builds(Segment, text=TEXTS, is_template=st.booleans())).map(tuple),
    prompt_tokens=TOKENS,
    grammar=st.none() | TEXTS,
    max_tokens=st.none() | st.integers(1, 512),
    generation=st.none() | GENERATIONS,
)


@given(EXCHANGES)
def test_what_is_written_is_read(exchange: Exchange) -> None:
    assert read_exchange(JsonReader(encode_exchange(exchange), "steps[0]")) == exchange


@given(EXCHANGES)
def test_only_what_a_limit_cut_is_settled(exchange: Exchange) -> None:
    generation = exchange.generation
    if generation is None or generation.is_complete:
        assert normalize_exchange(exchange) == exchange
    else:
        expected = replace(generation, forced_tokens=0, margin=None, confidence=None)
        assert normalize_exchange(exchange) == replace(exchange, generation=expected)


def test_a_recording_without_confidence_has_no_field_of_it() -> None:
    generation = Generation(text="a", tokens=(1,), forced_tokens=0, is_complete=True)
    exchange = Exchange(model="m", segments=(), prompt_tokens=(), generation=generation)
    form = encode_exchange(exchange)["generation"]
    assert form == {
        "text": "a",
        "tokens": [1],
        "forcedTokens": 0,
        "isComplete": True,
        "margin": None,
    }


@pytest.mark.parametrize(
    ("confidence", "path"),
    [
        (None, "confidence"),
        ({}, "confidence.surprisal"),
        ({"surprisal": 0.5}, "confidence.surprisal"),
    ],
)
def test_a_malformed_confidence_is_named(confidence: Json, path: str) -> None:
    generation = Generation(text="a", tokens=(1,), forced_tokens=0, is_complete=True)
    exchange = Exchange(model="m", segments=(), prompt_tokens=(), generation=generation)
    form = encode_exchange(exchange)
    form["generation"] = {**cast("dict[str, Json]", form["generation"]), "confidence": confidence}
    with pytest.raises(FixtureError, match=rf"steps\[0\].generation.{path}"):
        read_exchange(JsonReader(form, "steps[0]"))
