"""Round trip of rows; any flipped bit is detected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Confidence, Generation, Margin
from pyevm_agents.models.store import rows
from pyevm_agents.models.store.rows import (
    DamagedRowError,
    GenerationInputs,
    compress,
    decode,
    decompress,
    encode,
    pack_tokens,
    unpack_tokens,
)
from tests.stored_generations import generation, question

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKENS = st.lists(st.integers(0, 2**32 - 1), max_size=50).map(tuple)
MARGINS = st.builds(
    Margin,
    gap=st.floats(0, allow_nan=False),
    token_index=st.integers(0, 2**31),
    chosen=st.text(),
    other=st.text(),
)
CONFIDENCES = st.builds(Confidence, surprisal=st.integers(0, 2**40))
GENERATIONS = st.builds(
    Generation,
    text=st.text(st.characters(exclude_categories=())),
    tokens=TOKENS,
    forced_tokens=st.integers(0, 2**31),
    is_complete=st.booleans(),
    margin=st.none() | MARGINS,
    confidence=st.none() | CONFIDENCES,
)


@given(st.binary(min_size=32, max_size=32), TOKENS, GENERATIONS)
def test_a_generation_comes_back_as_it_was(
    key: bytes, prompt: tuple[int, ...], said: Generation
) -> None:
    fields = encode(key, prompt, said)
    assert decode(key, fields) == said
    assert unpack_tokens(decompress(fields[0])) == prompt


@pytest.mark.parametrize(
    ("margin", "stored"),
    [
        (None, None),
        (Margin(gap=0.5, token_index=3, chosen="é", other=""), b'[0.5, 3, "\\u00e9", ""]'),
    ],
)
def test_a_generation_without_confidence_is_stored_as_in_older_stores(
    margin: Margin | None, stored: bytes | None
) -> None:
    written = replace(generation(1), margin=margin)
    fields = encode(b"key", (1,), written)
    assert fields[5] == stored
    assert decode(b"key", fields) == written


@pytest.mark.parametrize(
    "stored",
    [
        b"[1, 2]",
        b"[null, []]",
        b'[null, ["a"]]',
        b'[null, [1, "a"]]',
        b"[[0.5, 3], [1]]",
        b"{}",
        b'[0.5, 3, "a"]',
        b'[0.5, "3", "a", "b"]',
    ],
)
def test_scores_of_another_form_are_damage(stored: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_encode_scores", lambda *_: stored)
    fields = encode(b"key", (1,), generation(1))
    with pytest.raises(DamagedRowError, match="not a "):
        decode(b"key", fields)


@given(st.data())
def test_one_bit_elsewhere_is_damage(data: st.DataObject) -> None:
    key = b"k" * 32
    fields: list[object] = list(encode(key, (1, 2, 3), generation(5)))
    index = data.draw(st.integers(0, len(fields) - 1))
    whole = fields[index]
    if isinstance(whole, int):
        fields[index] = whole ^ (1 << data.draw(st.integers(0, 62)))
    else:
        assert isinstance(whole, bytes)
        bit = data.draw(st.integers(0, 8 * len(whole) - 1))
        flipped = int.from_bytes(whole, "big") ^ (1 << bit)
        fields[index] = flipped.to_bytes(len(whole), "big")
    with pytest.raises(DamagedRowError, match="checksum"):
        decode(key, fields)


def test_a_row_under_another_key_is_damage() -> None:
    with pytest.raises(DamagedRowError, match="checksum"):
        decode(b"other", encode(b"key", (1,), generation(1)))


@pytest.mark.parametrize(
    "fields", [(), (b"", b"", "text", 0, 1, None, b""), (b"", b"", b"", 0.5, 1, None, b"")]
)
def test_fields_of_another_type_are_damage(fields: Sequence[object]) -> None:
    with pytest.raises(DamagedRowError, match="wrong type"):
        decode(b"key", fields)


@pytest.mark.parametrize("data", [b"", b"no zlib", compress(b"abc")[:-1], compress(b"abc") + b"d"])
def test_what_zlib_did_not_write_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedRowError):
        decompress(data)


def test_a_bomb_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = compress(bytes(10_000))
    monkeypatch.setattr(rows, "MAX_UNPACKED_BYTES", 9_999)
    with pytest.raises(DamagedRowError, match="followed by more"):
        decompress(packed)


def test_half_a_token_is_damage() -> None:
    with pytest.raises(DamagedRowError, match="5 bytes"):
        unpack_tokens(bytes(5))


def test_tokens_are_little_endian_numbers_of_32_bits() -> None:
    assert pack_tokens((1, 2**32 - 1)) == b"\x01\x00\x00\x00\xff\xff\xff\xff"
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match="invalid token"):
            pack_tokens((wrong,))


def test_the_key_is_of_all_that_decides() -> None:
    asked = question(1)
    others = [
        replace(asked, digest=b"\x02" * 32),
        replace(asked, fingerprint="{}"),
        replace(asked, prompt_tokens=asked.prompt_tokens[:-1]),
        replace(asked, grammar=asked.grammar + " "),
        # The seams between the parts count.
        GenerationInputs(digest=b"", fingerprint="a", prompt_tokens=(), grammar="b"),
        GenerationInputs(digest=b"", fingerprint="ab", prompt_tokens=(), grammar=""),
    ]
    assert len({other.compute_key() for other in (asked, *others)}) == 1 + len(others)
    assert replace(asked).compute_key() == asked.compute_key()
