"""Two other evaluations of a chooser's file: in integers, and in floating point.

Both read the file with gguf, and share no code with the product. The integers follow the same rule,
text by text, in arrays of Python's integers (dtype `object`) or of 64 bits, which are faster and
without BLAS as well. The floats are BERT on the same 8-bit weights.
"""

from __future__ import annotations

import math
import unicodedata
from decimal import Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import gguf
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    Integers: TypeAlias = NDArray[Any]
    Floats: TypeAlias = NDArray[np.float64]

EXACT = Context(prec=50)


def divide(numbers: Integers, bits: int) -> Integers:
    """Return numbers divided by 2^bits, rounded half to even; bits may be negative."""
    if bits <= 0:
        return numbers << -bits
    whole, rest, half = numbers >> bits, numbers & ((1 << bits) - 1), 1 << (bits - 1)
    rounded: Integers = whole + ((rest > half) | ((rest == half) & (whole % 2 == 1)))
    return rounded


def bit_excess(number: int, bits: int) -> int:
    return max(int(number).bit_length() - bits, 0)


def multiply(rows: Integers, others: Integers) -> Integers:
    """Return the product of each row with each of the others; einsum leaves out BLAS."""
    return np.asarray(np.einsum("ij,kj->ik", rows, others))


def apply_linear(
    weights: Integers, scales: Integers, biases: Integers, rows: Integers, unit_bits: int = 16
) -> Integers:
    """Return rows times weights, which are outputs x inputs."""
    shifts = [bit_excess(total, 17) for total in abs(rows).sum(axis=1)]
    small = np.stack([divide(row, shift) for row, shift in zip(rows, shifts, strict=True)])
    added = divide(biases, 16 - unit_bits)
    return np.stack(
        [
            divide(totals * scales, 26 + 16 - unit_bits - shift) + added
            for totals, shift in zip(multiply(small, weights), shifts, strict=True)
        ]
    )


def shorten(row: Integers) -> tuple[Integers, int]:
    short = divide(row, bit_excess(abs(row).max(), 21))
    return short, max(math.isqrt(int((short * short).sum())), 1)


def apply_norm(gains: Integers, biases: Integers, rows: Integers) -> Integers:
    parts = map(shorten, rows * rows.shape[1] - rows.sum(axis=1, keepdims=True))
    return np.stack([short * gains // length + biases for short, length in parts])


@cache
def exponential(units: int) -> int:
    """Return exp of -units * 2^-16 in units of 2^-30."""
    return round(EXACT.multiply(EXACT.exp(Decimal(-units) / 65_536), Decimal(2**30)))


def weigh(steps: int) -> int:
    """Return exp of -steps * 2^-10 in units of 2^-20."""
    if steps >= 16 * 1024:
        return 0
    units = steps * 64
    return exponential(units // 256 * 256) * exponential(units % 256) >> 40


def gelu(steps: int) -> int:
    x = steps / 1024
    return round(x * math.erfc(-x / math.sqrt(2)) / 2 * 65_536)


def tanh(units: int) -> int:
    doubled = min(2 * abs(units), 32 * 65_536)
    # A distance of 32 nats or more has no weight.
    first = 0 if doubled == 32 * 65_536 else exponential(doubled // 256 * 256)
    small = first * exponential(doubled % 256) >> 20
    size = (2**40 - small) * 65_536 // (2**40 + small)
    return size if units >= 0 else -size


@cache
def tabulate(function: Callable[[int], int], least: int, most: int) -> Integers:
    return np.array([function(step) for step in range(least, most + 1)])


def look_up(function: Callable[[int], int], steps: Integers, least: int, most: int) -> Integers:
    """Return a function of whole numbers, which saturate at two bounds."""
    places = steps.clip(least, most).astype(np.int64) - least
    return tabulate(function, least, most)[places].astype(steps.dtype)


def attend(projected: Integers, heads: int) -> Integers:
    """Return what each token attends to; rows are queries, keys and values."""
    mixed = []
    for head in range(heads):
        queries, keys, values = (
            np.split(part, heads, axis=1)[head] for part in np.split(projected, 3, axis=1)
        )
        scores = multiply(queries, keys)
        steps = divide(scores.max(axis=1, keepdims=True) - scores, 22)
        weights = look_up(weigh, steps, 0, 16 * 1024)
        mixed.append(multiply(weights, values.T) // weights.sum(axis=1, keepdims=True))
    return np.concatenate(mixed, axis=1)


def tokenize_as_bert(text: str, pieces: Collection[str]) -> list[str]:
    """Return the pieces of BERT's uncased tokenizer. Source: google-research/bert, tokenization.py.

    For ASCII: whole Unicode needs the database that the product does without.
    """
    words = [""]
    for character in text:
        if character in " \t\n\r":
            words.append("")
        elif unicodedata.category(character).startswith("C"):
            continue
        elif not character.isalnum():
            words += [character, ""]
        else:
            words[-1] += character.lower()
    found = []
    for word in filter(None, words):
        start, parts = 0, []
        while start < len(word) <= 100:
            ends = [
                end
                for end in range(start + 1, len(word) + 1)
                if ("##" if start else "") + word[start:end] in pieces
            ]
            if not ends:
                break
            parts.append(("##" if start else "") + word[start : ends[-1]])
            start = ends[-1]
        found += parts if start == len(word) else ["[UNK]"]
    return found


class FileNumbers:
    """The numbers of a chooser's file."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self.arrays: dict[str, Any] = {each.name: each.data for each in reader.tensors}
        facts = {name: field.contents() for name, field in reader.fields.items()}
        self.heads: int = facts["chooser.heads"]
        self.layers: int = facts["chooser.layers"]
        self.late_start: int = facts["chooser.late_start"]
        self.pieces: list[str] = facts["tokenizer.ggml.tokens"]

    def dequantise(self, name: str) -> Floats:
        found: Floats = self.arrays[f"{name}.weight"] * (
            self.arrays[f"{name}.scale"][:, None] / 2.0**26
        )
        return found

    def in_units(self, name: str) -> Floats:
        found: Floats = self.arrays[name] / 2.0**16
        return found


class IntegerOracle:
    """Scores of one input after another, in Python's integers or those of another dtype."""

    def __init__(self, path: Path, dtype: DTypeLike = object) -> None:
        self.file = FileNumbers(path)
        self.dtype = dtype

    @cache  # noqa: B019 - a test's oracle
    def get(self, name: str) -> Integers:
        return np.asarray(self.file.arrays[name].astype(self.dtype))

    def linear(self, name: str, rows: Integers, unit_bits: int = 16) -> Integers:
        weights, scales, biases = (
            self.get(f"{name}.{part}") for part in ("weight", "scale", "bias")
        )
        return apply_linear(weights, scales, biases, rows, unit_bits)

    def norm(self, name: str, rows: Integers) -> Integers:
        return apply_norm(self.get(f"{name}.weight"), self.get(f"{name}.bias"), rows)

    def embed(self, name: str, places: Sequence[int]) -> Integers:
        weights, scales = (self.get(f"{name}.{part}")[places] for part in ("weight", "scale"))
        return divide(weights * scales[:, None], 10)

    def encode(self, tokens: Sequence[int]) -> Integers:
        """Return the last hidden states."""
        words = self.embed("token_embd", tokens)
        rows = words + self.embed("position_embd", range(len(tokens)))
        rows = self.norm("token_embd_norm", rows)
        for layer in range(self.file.layers):
            rows = self.apply_layer(f"blk.{layer}", rows)
        return rows

    def apply_layer(self, layer: str, rows: Integers) -> Integers:
        most = 64 * 65_536
        projected = [self.linear(f"{layer}.attn_{part}", rows).clip(-most, most) for part in "qkv"]
        mixed = attend(np.concatenate(projected, axis=1), self.file.heads)
        out = self.linear(f"{layer}.attn_output", mixed)
        middle = self.norm(f"{layer}.attn_output_norm", rows + out)
        steps = self.linear(f"{layer}.ffn_up", middle, 10)
        down = self.linear(f"{layer}.ffn_down", look_up(gelu, steps, -65_535, 65_535))
        return self.norm(f"{layer}.layer_output_norm", middle + down)

    def score_head(self, name: str, states: Integers) -> int:
        mean = states.sum(axis=0) // len(states)
        inner = self.linear(f"{name}.0", np.concatenate([states[0], mean])[None])
        active = np.array([[tanh(int(number)) for number in inner[0]]], self.dtype)
        return int(self.linear(f"{name}.1", active)[0, 0])

    def score_mood(self, sentence: Sequence[int], specials: Sequence[int]) -> int:
        """Return the score of a sentence's tokens. Specials: beginning and end."""
        beginning, end = specials
        return self.score_head("mood", self.encode([beginning, *sentence, end]))

    def score_call(
        self, sentence: Sequence[int], call: Sequence[int], specials: Sequence[int]
    ) -> int:
        """Return the score of the tokens of a sentence and a call."""
        beginning, end = specials
        states = self.encode([beginning, *sentence, end, *call, end])
        directions = np.stack([short * 2**20 // length for short, length in map(shorten, states)])
        own = directions[1 : len(sentence) + 1]
        others = directions[len(sentence) + 2 : -1]
        best = divide(multiply(own, others).max(axis=1), 16)
        late = int(best.sum()) // len(own)
        return self.score_head("call", states) + (15 * (late - self.file.late_start) >> 8)


class FloatOracle:
    """Scores in nats of float64, of the same weights."""

    def __init__(self, path: Path) -> None:
        self.file = FileNumbers(path)

    def linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self.file.dequantise(name).T + self.file.in_units(f"{name}.bias")

    def norm(self, name: str, rows: Floats) -> Floats:
        centred = rows - rows.mean(axis=1, keepdims=True)
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        gains, biases = (self.file.in_units(f"{name}.{part}") for part in ("weight", "bias"))
        return np.asarray(centred / lengths * gains + biases)

    def encode(self, tokens: Sequence[int]) -> Floats:
        file = self.file
        rows = file.dequantise("token_embd")[list(tokens)]
        rows = self.norm("token_embd_norm", rows + file.dequantise("position_embd")[: len(tokens)])
        for layer in range(file.layers):
            rows = self.apply_layer(f"blk.{layer}", rows)
        return rows

    def apply_layer(self, layer: str, rows: Floats) -> Floats:
        size = rows.shape[1] // self.file.heads
        queries, keys, values = (self.linear(f"{layer}.attn_{part}", rows) for part in "qkv")
        mixed = np.empty_like(rows)
        for head in range(self.file.heads):
            part = slice(head * size, (head + 1) * size)
            weights = np.exp(queries[:, part] @ keys[:, part].T)
            mixed[:, part] = weights / weights.sum(axis=1, keepdims=True) @ values[:, part]
        middle = self.norm(
            f"{layer}.attn_output_norm", rows + self.linear(f"{layer}.attn_output", mixed)
        )
        up = self.linear(f"{layer}.ffn_up", middle)
        active = up * (1 + np.vectorize(math.erf)(up / math.sqrt(2))) / 2
        return self.norm(
            f"{layer}.layer_output_norm", middle + self.linear(f"{layer}.ffn_down", active)
        )

    def score_head(self, name: str, states: Floats) -> float:
        inner = self.linear(f"{name}.0", np.append(states[0], states.mean(axis=0))[None])
        return float(self.linear(f"{name}.1", np.tanh(inner))[0, 0])

    def score_mood(self, sentence: Sequence[int], specials: Sequence[int]) -> float:
        beginning, end = specials
        return self.score_head("mood", self.encode([beginning, *sentence, end]))

    def score_call(
        self, sentence: Sequence[int], call: Sequence[int], specials: Sequence[int]
    ) -> float:
        beginning, end = specials
        states = self.encode([beginning, *sentence, end, *call, end])
        directions = states / np.linalg.norm(states, axis=1, keepdims=True)
        cosines = directions[1 : len(sentence) + 1] @ directions[len(sentence) + 2 : -1].T
        late = cosines.max(axis=1).mean()
        start = self.file.late_start / 2.0**24
        return float(self.score_head("call", states) + 15 * (late - start))


class Reader:
    """An oracle that takes texts, of ASCII."""

    def __init__(self, oracle: IntegerOracle | FloatOracle) -> None:
        self.oracle = oracle
        self.tokens = {piece: token for token, piece in enumerate(oracle.file.pieces)}
        self.specials = [self.tokens[piece] for piece in ("[CLS]", "[SEP]")]

    def tokenize(self, text: str) -> list[int]:
        return [self.tokens[piece] for piece in tokenize_as_bert(text, self.tokens)]

    def score_mood(self, sentence: str) -> float:
        return self.oracle.score_mood(self.tokenize(sentence), self.specials)

    def score_call(self, sentence: str, call: str) -> float:
        texts = self.tokenize(sentence), self.tokenize(call)
        return self.oracle.score_call(*texts, self.specials)
