"""Two other evaluations of a chooser's file: in Python's integers, and in floating point.

Both read the file with gguf, and share no code with the product. The integers follow the same
rule, text by text and number by number; the floats are BERT on the same 8-bit weights.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import gguf
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Row: TypeAlias = list[int]
    Floats: TypeAlias = NDArray[np.float64]

EXACT = Context(prec=50)


def divide(number: int, bits: int) -> int:
    """Return a number divided by 2^bits, rounded half to even; bits may be negative."""
    return round(Fraction(number, 1 << bits)) if bits > 0 else number << -bits


def bit_excess(number: int, bits: int) -> int:
    return max(number.bit_length() - bits, 0)


def apply_linear(
    weights: Sequence[Row], scales: Row, biases: Row, row: Row, unit_bits: int = 16
) -> Row:
    """Return a row times weights, which are outputs x inputs."""
    shift = bit_excess(sum(map(abs, row)), 17)
    small = [divide(number, shift) for number in row]
    found = []
    for of, scale, bias in zip(weights, scales, biases, strict=True):
        total = sum(a * b for a, b in zip(small, of, strict=True))
        found.append(
            divide(total * scale, 26 + 16 - unit_bits - shift) + divide(bias, 16 - unit_bits)
        )
    return found


def shorten(row: Row) -> tuple[Row, int]:
    shift = bit_excess(max(map(abs, row)), 21)
    short = [divide(number, shift) for number in row]
    return short, max(math.isqrt(sum(number * number for number in short)), 1)


def apply_norm(gains: Row, biases: Row, row: Row) -> Row:
    short, length = shorten([number * len(row) - sum(row) for number in row])
    return [
        number * gain // length + bias
        for number, gain, bias in zip(short, gains, biases, strict=True)
    ]


@cache
def exponential(units: int) -> int:
    """Return exp of -units * 2^-16 in units of 2^-30."""
    return round(EXACT.multiply(EXACT.exp(Decimal(-units) / 65_536), Decimal(2**30)))


@cache
def weigh(steps: int) -> int:
    """Return exp of -steps * 2^-10 in units of 2^-20."""
    if steps >= 16 * 1024:
        return 0
    units = steps * 64
    return exponential(units // 256 * 256) * exponential(units % 256) >> 40


@cache
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


def attend(projected: Sequence[Row], heads: int) -> list[Row]:
    """Return what each token attends to; rows are queries, keys and values."""
    width = len(projected[0]) // 3
    size = width // heads
    mixed: list[Row] = [[] for _ in projected]
    for head in range(heads):
        parts = [slice(part * width + head * size, part * width + (head + 1) * size)
                 for part in range(3)]  # fmt: skip
        queries, keys, values = ([row[part] for row in projected] for part in parts)
        for query, row in zip(queries, mixed, strict=True):
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
            weights = [weigh(min(divide(max(scores) - x, 22), 16 * 1024)) for x in scores]
            columns = zip(*values, strict=True)
            row += [
                sum(a * b for a, b in zip(weights, column, strict=True)) // sum(weights)
                for column in columns
            ]
    return mixed


class FileNumbers:
    """The numbers of a chooser's file."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self.arrays: Mapping[str, Any] = {each.name: each.data for each in reader.tensors}
        facts = {name: field.contents() for name, field in reader.fields.items()}
        self.heads: int = facts["chooser.heads"]
        self.layers: int = facts["chooser.layers"]
        self.late_start: int = facts["chooser.late_start"]
        self.pieces: list[str] = facts["tokenizer.ggml.tokens"]
        self.lists = {name: array.tolist() for name, array in self.arrays.items()}

    def get(self, name: str) -> Any:  # noqa: ANN401 - rows of different depth
        return self.lists[name]

    def dequantise(self, name: str) -> Floats:
        found: Floats = self.arrays[f"{name}.weight"] * (
            self.arrays[f"{name}.scale"][:, None] / 2.0**26
        )
        return found

    def in_units(self, name: str) -> Floats:
        found: Floats = self.arrays[name] / 2.0**16
        return found


class IntegerOracle:
    """Scores of one input after another."""

    def __init__(self, path: Path) -> None:
        self.file = FileNumbers(path)

    def linear(self, name: str, row: Row, unit_bits: int = 16) -> Row:
        get = self.file.get
        weights, scales, biases = (get(f"{name}.{part}") for part in ("weight", "scale", "bias"))
        return apply_linear(weights, scales, biases, row, unit_bits)

    def norm(self, name: str, row: Row) -> Row:
        return apply_norm(self.file.get(f"{name}.weight"), self.file.get(f"{name}.bias"), row)

    def embed(self, name: str, place: int) -> Row:
        scale = self.file.get(f"{name}.scale")[place]
        return [divide(weight * scale, 10) for weight in self.file.get(f"{name}.weight")[place]]

    def encode(self, tokens: Sequence[int]) -> list[Row]:
        """Return the last hidden states."""
        rows = []
        for place, token in enumerate(tokens):
            pairs = zip(
                self.embed("token_embd", token), self.embed("position_embd", place), strict=True
            )
            rows.append(self.norm("token_embd_norm", [sum(pair) for pair in pairs]))
        for layer in range(self.file.layers):
            rows = self.apply_layer(f"blk.{layer}", rows)
        return rows

    def apply_layer(self, layer: str, rows: list[Row]) -> list[Row]:
        most = 64 * 65_536
        projected = [
            [
                min(max(number, -most), most)
                for part in "qkv"
                for number in self.linear(f"{layer}.attn_{part}", row)
            ]
            for row in rows
        ]
        found = []
        for row, mixed in zip(rows, attend(projected, self.file.heads), strict=True):
            out = self.linear(f"{layer}.attn_output", mixed)
            middle = self.norm(f"{layer}.attn_output_norm", [a + b for a, b in zip(row, out, strict=True)])  # noqa: E501  # fmt: skip
            steps = self.linear(f"{layer}.ffn_up", middle, 10)
            active = [gelu(min(max(step, -65_535), 65_535)) for step in steps]
            down = self.linear(f"{layer}.ffn_down", active)
            found.append(
                self.norm(
                    f"{layer}.layer_output_norm",
                    [a + b for a, b in zip(middle, down, strict=True)],
                )
            )
        return found

    def score_head(self, name: str, states: list[Row]) -> int:
        mean = [sum(column) // len(states) for column in zip(*states, strict=True)]
        inner = self.linear(f"{name}.0", states[0] + mean)
        return self.linear(f"{name}.1", [tanh(number) for number in inner])[0]

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
        directions = []
        for row in states:
            short, length = shorten(row)
            directions.append([number * 2**20 // length for number in short])
        own = directions[1 : len(sentence) + 1]
        others = directions[len(sentence) + 2 : -1]
        best = [
            divide(max(sum(a * b for a, b in zip(one, other, strict=True)) for other in others), 16)
            for one in own
        ]
        late = sum(best) // len(own)
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
