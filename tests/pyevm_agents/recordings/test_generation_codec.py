"""Encoding of requests and generations."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Generation, Margin, Segment
from pyevm_agents.models.fakes.recorded import Exchange
from pyevm_agents.recordings.generation_codec import (
    encode_exchange,
    normalize_exchange,
    read_exchange,
)
from pyevm_agents.recordings.json_reader import JsonReader

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TOKENS = st.lists(st.integers(0, 2**32 - 1), max_size=8).map(tuple)

MARGINS = st.builds(
    Margin,
    gap=st.floats(0, 100),
    token_index=st.integers(0, 511),
    chosen=TEXTS,
    other=TEXTS,
)
GENERATIONS = st.builds(
    Generation,
    text=TEXTS,
    tokens=TOKENS,
    forced_tokens=st.integers(0, 8),
    is_complete=st.booleans(),
    margin=st.none() | MARGINS,
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
        expected = replace(generation, forced_tokens=0, margin=None)
        assert normalize_exchange(exchange) == replace(exchange, generation=expected)
