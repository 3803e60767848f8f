"""A BERT encoder in integers: the same hidden states on every machine, alone or in a batch.

Each number is an integer that float64 or float32 holds exactly, so that NumPy multiplies matrices
by BLAS. Activations are in units of 2^-16. Weights have 8 bits, and a scale for each output.
Rounding is half to even; a quotient is rounded down.

- Linear: the row divided by 2^s and rounded, with the least s >= 0 for which its absolute sum is
  below 2^17 * 2^s; times the weights; times the scale and 2^s, rounded; plus the bias.
- Attention: weights exp(-x) of 20 bits, with x rounded to steps of 2^-10; the weighted sum of
  values, divided by the sum of the weights.
- GELU: a table in steps of 2^-10, which saturates at 64.
- Norm: the row times the width, less its sum; divided by 2^t and rounded, with the least t >= 0 for
  which it fits 21 bits; times the gain, divided by its length, an integer square root; plus the
  bias. BERT's epsilon of 1e-12 is below the unit.

No sum rounds, so its order changes nothing, nor do BLAS, its threads and the batch:

- Linear, in float32: after rounding, a row's absolute sum is at most 2^17 + inputs / 2. Times 127,
  the largest weight, that is below 2^24 for up to 2,048 inputs, and bounds each partial sum of each
  order. In float64 it is times a scale below 2^24, hence below 2^48.
- Attention, in float64: queries, keys and values saturate at 2^22. The product of up to 128 numbers
  is at most 2^51; a sum of up to 1,024 values, with weights up to 2^20, is at most 2^52.
- Norm, in float64: a linear's output is below 2^43, so the row times the width is below 2^52. Up to
  512 squares of up to 2^42 are at most 2^51.

IEEE's division never rounds a quotient of integers below 2^53 up to the next integer, and its
square root no root of an integer below 2^52. So both are exact after rounding down.

Rows of all texts of a batch lie in one matrix, without padding. Only attention looks at other rows,
and only at those of the same text.

Source: Devlin et al., BERT, 2018; docs/architecture.md#chooser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.chooser.tables import (
    GELU_LIMIT,
    STEP_BITS,
    UNIT_BITS,
    build_gelu,
    build_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Singles: TypeAlias = NDArray[np.float32]
    Bytes: TypeAlias = NDArray[np.int8]

SCALE_BITS = 26
"""Scales of weights are integers in units of 2^-26, below `SCALE_END`: weights reach 31."""

SCALE_END = 1 << 24
NUMBER_END = 1 << 26
"""End of a norm's gains and of all biases: those of norms reach 1,024 in the row's length."""

MAX_WEIGHT = 127
SUM_BITS = 17
"""Bits of a row's absolute sum before a product."""

MAX_INPUTS = 2_048
"""Upper bound of a linear's inputs, so that sums are below 2^24."""

MAX_WIDTH = 512
"""Upper bound of a hidden state's numbers, so that sums of squares are below 2^52."""

MAX_HEAD_WIDTH = 128
LENGTH_BITS = 21
"""Bits of a row's largest number before its length is computed."""

MAX_PROJECTION = 1 << (UNIT_BITS + 6)
"""Queries, keys and values saturate at 64: MiniLM's own reach 10."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A linear layer. All numbers are whole."""

    weights: Singles
    """Inputs x outputs, -127 to 127."""

    scales: Floats
    """One for each output, 0 to `SCALE_END` - 1."""

    biases: Floats
    """One for each output, in units of 2^-16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Norm:
    """A normalisation of rows. All numbers are whole, in units of 2^-16."""

    gains: Floats
    """One for each column, times the square root of the width."""

    biases: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer of the encoder."""

    projection: Linear
    """Queries, keys and values. Queries are divided by the square root of a head's width."""

    output: Linear
    output_norm: Norm
    up: Linear
    down: Linear
    down_norm: Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderWeights:
    """The numbers of an encoder."""

    words: Bytes
    """Rows of the vocabulary, tokens x width, -127 to 127."""

    word_scales: Floats
    """One for each token, as `Linear.scales`."""

    positions: Floats
    """Rows of positions, in units of 2^-16; with the row of the token type."""

    norm: Norm
    layers: tuple[Layer, ...]
    heads: int


class Encoder:
    """Computes hidden states."""

    def __init__(self, weights: EncoderWeights) -> None:
        """Create an encoder.

        Raises:
            EngineFault: this machine's products of float32 are not exact.
        """
        require_exact_products()
        self._weights = weights
        self._blas = ThreadpoolController().select(user_api="blas")

    def encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """Return the last hidden states of texts, each tokens x width, in units of 2^-16.

        Input:  tokens of each text: at least one, and at most as many as there are positions.
        """
        # The products are small: on a busy machine two threads take four times as long as one.
        with self._blas.limit(limits=1):
            return self._encode(texts)

    def _encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        weights = self._weights
        lengths = [len(tokens) for tokens in texts]
        ends = np.cumsum(lengths).tolist()
        spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        tokens = np.concatenate([np.asarray(each, np.intp) for each in texts])
        rows = scale_rows(weights.words[tokens], weights.word_scales[tokens])
        rows += np.concatenate([weights.positions[:length] for length in lengths])
        rows = apply_norm(weights.norm, rows)
        for layer in weights.layers:
            rows = self._apply_layer(layer, rows, spans)
        return [rows[span] for span in spans]

    def _apply_layer(self, layer: Layer, rows: Floats, spans: Sequence[slice]) -> Floats:
        projected = apply_linear(layer.projection, rows)
        np.clip(projected, -MAX_PROJECTION, MAX_PROJECTION, out=projected)
        mixed = np.concatenate([attend(projected[span], self._weights.heads) for span in spans])
        mixed = apply_linear(layer.output, mixed)
        mixed += rows
        mixed = apply_norm(layer.output_norm, mixed)
        steps = apply_linear(layer.up, mixed, STEP_BITS)
        np.clip(steps, 1 - GELU_LIMIT, GELU_LIMIT - 1, out=steps)
        down = apply_linear(layer.down, build_gelu()[steps.astype(np.intp)])
        down += mixed
        return apply_norm(layer.down_norm, down)


def scale_rows(rows: Bytes, scales: Floats) -> Floats:
    """Return rows of 8-bit numbers times their scales, in units of 2^-16, rounded half to even."""
    scaled: Floats = rows * scales[:, None]
    scaled *= 2.0 ** (UNIT_BITS - SCALE_BITS)
    return np.rint(scaled, out=scaled)


def apply_linear(linear: Linear, rows: Floats, unit_bits: int = UNIT_BITS) -> Floats:
    """Return rows times weights plus biases.

    Input:
        rows: whole numbers in units of 2^-16, with absolute sums below 2^53.
        unit_bits: the unit of the output is 2^-unit_bits.
    """
    sums = np.abs(rows).sum(axis=1, keepdims=True)
    shifts = np.maximum(np.frexp(sums)[1] - SUM_BITS, 0)
    small = np.rint(rows * np.ldexp(1.0, -shifts)).astype(np.float32)
    product = multiply(small, linear.weights)
    product *= linear.scales
    product *= np.ldexp(1.0, shifts + (unit_bits - UNIT_BITS - SCALE_BITS))
    np.rint(product, out=product)
    product += np.rint(linear.biases * 2.0 ** (unit_bits - UNIT_BITS))
    return product


def multiply(rows: Singles, weights: Singles) -> Floats:
    """Return the product of whole numbers whose partial sums are below 2^24."""
    return (rows @ weights).astype(np.float64)


def apply_norm(norm: Norm, rows: Floats) -> Floats:
    """Return rows of mean 0 and variance 1, times gains plus biases."""
    centred = rows * rows.shape[1]
    centred -= rows.sum(axis=1, keepdims=True)
    short, lengths = measure_rows(centred)
    short *= norm.gains
    short /= lengths
    np.floor(short, out=short)
    short += norm.biases
    return short


def measure_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Return rows that fit 21 bits, each divided by a power of 2, and their lengths, at least 1."""
    most = np.abs(rows).max(axis=1, keepdims=True)
    shifts = np.maximum(np.frexp(most)[1] - LENGTH_BITS, 0)
    short = np.rint(rows * np.ldexp(1.0, -shifts))
    squares = np.square(short).sum(axis=1, keepdims=True)
    return short, np.maximum(np.floor(np.sqrt(squares)), 1)


def attend(projected: Floats, heads: int) -> Floats:
    """Return the weighted means of values that each token of a text attends to.

    Input:  tokens x (queries, keys, values), whole numbers up to `MAX_PROJECTION`.
    Output: tokens x width.
    """
    tokens, width = len(projected), projected.shape[1] // 3
    shape = (tokens, 3, heads, width // heads)
    queries, keys, values = projected.reshape(shape).transpose(1, 2, 0, 3)
    # Products are in units of 2^-32 nats.
    steps = queries @ keys.swapaxes(1, 2)
    steps -= steps.max(axis=2, keepdims=True)
    steps *= -(2.0 ** (STEP_BITS - 2 * UNIT_BITS))
    np.rint(steps, out=steps)
    table = build_weights()
    np.minimum(steps, len(table) - 1, out=steps)
    weights = table[steps.astype(np.intp)]
    mixed = weights @ values
    mixed /= weights.sum(axis=2, keepdims=True)
    np.floor(mixed, out=mixed)
    result: Floats = mixed.swapaxes(0, 1).reshape(tokens, width)
    return result


def require_exact_products() -> None:
    """Check that float32 products of integers are exact up to the bound that `apply_linear` has.

    Some libraries compute float32 with fewer bits when an option of the environment says so.

    Raises:
        EngineFault: they are not.
    """
    # Absolute sums of 2^17 less 1: one number of 16 bits, and many small ones.
    rows = np.full((8, MAX_INPUTS), 1 << (SUM_BITS - 12))
    rows[np.arange(8), np.arange(8)] += (1 << (SUM_BITS - 1)) - 1
    weights = np.full((MAX_INPUTS, 8), MAX_WEIGHT)
    weights[np.arange(8), np.arange(8)] -= np.arange(8)
    product = multiply(rows.astype(np.float32), weights.astype(np.float32))
    if not np.array_equal(product, rows @ weights):
        raise EngineFault(
            "NumPy's float32 products of integers are not exact; unset the options of its BLAS "
            "that compute with fewer bits, or install NumPy's own wheel"
        )
