"""Fixed-point tensors, and rescaling in integers.

A tensor holds integers `q` of a scale `s`: the real value is about `q * s`. A product of
activations and weights has the scale `s_a * s_w`. Weights get the scale `s_w = s_y / (s_a * D)`
with an integer `D` for each output channel, and the result in scale `s_y` is the sum divided by
`D`, without a rounded multiplier. The division rounds half up: `floor((sum + floor(D / 2)) / D)`.
ONNX's Div truncates, so an offset makes the sum positive
first: `Div(sum + D//2 + D*B, D) - B`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.options import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.numeric.convert.writer import IntegerWriter

ACTIVATION_BITS = 20
"""Bits of a hidden value's calibrated range, its sign included: rounding adds about 2^-20 of it."""

HEADROOM_BITS = 2
"""Hidden values are clipped at 4 times the calibrated range, so that later layers have bounds."""

MAX_DIVISOR = 2**24
"""Weights of a channel need no finer scale: the sum then has 24 bits beyond the result's last."""

MAX_PROVED = 2**62
"""Sums must be less: an int64, and room for rounding's offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantised:
    """A tensor of the integer file, without the batch dimension."""

    name: str
    scale: Fraction
    least: np.ndarray
    """Least integer of each element, as Python's integers."""

    most: np.ndarray
    values: np.ndarray
    """The float model's values on the calibration data, batch first."""

    gain: np.ndarray | None = None
    """For inputs alone: the real value of an element is `q * scale * gain + offset`."""

    offset: np.ndarray | None = None
    read: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """For inputs alone: the float model's values of integers at indices, to the last bit."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.least.shape

    @property
    def is_plain(self) -> bool:
        """Whether the real value is `q * scale`."""
        return self.gain is None and self.offset is None


def object_array(values: object, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return an array of Python's integers."""
    array = np.asarray(values)
    plain = np.array([int(each) for each in array.ravel()], dtype=object).reshape(array.shape)
    return plain if shape is None else np.broadcast_to(plain, shape).copy()


def choose_scale(values: np.ndarray) -> Fraction:
    """Return a hidden tensor's scale: the power of two that gives the range `ACTIVATION_BITS`."""
    largest = float(np.abs(values).max(initial=0.0))
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    return Fraction(2) ** (exponent - ACTIVATION_BITS + 1)


def round_half_up(value: Fraction) -> int:
    """Return the nearest integer, the greater one of two."""
    return math.floor(value + Fraction(1, 2))


def choose_ratio(scale: Fraction, result_scale: Fraction, largest: float, bits: int) -> Fraction:
    """Return `N` or `1 / D`: the factor of a channel's sums.

    Input:
        scale: of the activations.
        largest: magnitude of the channel's largest weight.
        bits: of a weight.
    """
    if largest == 0:
        return Fraction(1)
    ratio = result_scale * (2 ** (bits - 1) - 1) / (scale * Fraction(largest))
    if ratio >= 1:
        return Fraction(1, min(math.floor(ratio), MAX_DIVISOR))
    return Fraction(math.ceil(1 / ratio))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaling:
    """From sums to the result's scale: `sum * N / D + bias`, rounded, then bounded."""

    ratio: np.ndarray
    """`N / D` of each channel: Fractions, one of the two is 1; broadcasts to the sums."""

    bias: np.ndarray
    """Fractions in units of the result; broadcasts to the sums."""

    is_relu: bool = False
    bound: int | None = None
    """Clip the result to this magnitude, where its interval is wider."""


def rescale(
    writer: IntegerWriter, name: str, least: np.ndarray, most: np.ndarray, how: Rescaling
) -> tuple[str, np.ndarray, np.ndarray]:
    """Add the nodes that rescale sums; return the result's name and interval."""
    factor = np.vectorize(lambda each: each.numerator, otypes=[object])(how.ratio)
    divisor = np.vectorize(lambda each: each.denominator, otypes=[object])(how.ratio)
    if (factor != 1).any():
        name = writer.add_binary("Mul", name, _compact(factor))
        least, most = least * factor, most * factor
    bias = np.vectorize(round_half_up, otypes=[object])(how.bias * divisor) + divisor // 2
    least, most = least + bias, most + bias
    low, high = least // divisor, most // divisor
    floor = 0 if how.is_relu else int(low.min())
    if how.bound is not None:
        floor = max(floor, -how.bound)
    base = -min(floor, 0)
    added = bias + divisor * base
    if (added != 0).any():
        name = writer.add_binary("Add", name, _compact(added))
    require_proved(least + divisor * base, most + divisor * base)
    if (divisor != 1).any():
        name = writer.add_binary("Div", name, _compact(divisor))
    ceiling = int(high.max()) if how.bound is None else min(int(high.max()), how.bound)
    ceiling = max(ceiling, floor)
    if int(low.min()) < floor or int(high.max()) > ceiling:
        name = clip(writer, name, floor + base, ceiling + base)
        low, high = np.clip(low, floor, ceiling), np.clip(high, floor, ceiling)
    if base:
        name = writer.add_binary("Sub", name, base)
    return name, low, high


def require_proved(least: np.ndarray, most: np.ndarray) -> None:
    """Check that sums fit.

    Raises: ConversionError.
    """
    largest = max(abs(int(least.min())), abs(int(most.max())))
    if largest >= MAX_PROVED:
        raise ConversionError(
            f"a sum of {largest.bit_length()} bits: must have at most 62; narrow the inputs' "
            "ranges, or use fewer decimals or bits"
        )


def clip(writer: IntegerWriter, name: str, least: int, most: int) -> str:
    """Add a Clip."""
    return writer.add("Clip", name, writer.add_constant(least), writer.add_constant(most))


def apply_affine(  # noqa: PLR0913 - each is a part of the formula
    writer: IntegerWriter,
    tensor: Quantised,
    gain: np.ndarray,
    offset: np.ndarray,
    *,
    scale: Fraction | None = None,
    bits: int = 24,
) -> Quantised:
    """Add the nodes of `tensor * gain + offset`, elementwise; the result is plain.

    Input:
        gain, offset: real numbers that broadcast to the tensor.
        scale: of the result; by default chosen from the calibrated values.
        bits: of a gain.
    """
    gain, offset = np.atleast_1d(gain).astype(np.float64), np.atleast_1d(offset).astype(np.float64)
    shape = np.broadcast_shapes(tensor.shape, *(g.shape for g in (gain, offset) if g.size > 1))
    values = (tensor.values * gain + offset).reshape(-1, *shape)
    result_scale = choose_scale(values) if scale is None else scale
    if tensor.offset is not None:
        offset = offset + tensor.offset * gain
    if tensor.gain is not None:
        gain = gain * tensor.gain
    ratios = [
        choose_ratio(tensor.scale, result_scale, abs(float(each)), bits) for each in gain.ravel()
    ]
    ratio = _fractions(ratios, gain.shape)
    weights = np.array(
        [
            round_half_up(Fraction(float(each)) * tensor.scale / (result_scale * one))
            for each, one in zip(gain.ravel(), ratios, strict=True)
        ],
        dtype=object,
    ).reshape(gain.shape)
    name, low, high = tensor.name, np.atleast_1d(tensor.least), np.atleast_1d(tensor.most)
    if (weights != 1).any():
        name = writer.add_binary("Mul", name, _compact(weights))
    low, high = np.minimum(low * weights, high * weights), np.maximum(low * weights, high * weights)
    require_proved(low, high)
    bias = _fractions(
        [Fraction(float(each)) / result_scale for each in offset.ravel()], offset.shape
    )
    name, low, high = rescale(
        writer, name, low, high, Rescaling(ratio=ratio, bias=bias, bound=None)
    )
    return Quantised(
        name=name,
        scale=result_scale,
        least=np.broadcast_to(low, shape or (1,)).reshape(shape).copy(),
        most=np.broadcast_to(high, shape or (1,)).reshape(shape).copy(),
        values=values,
    )


def _fractions(values: list[Fraction], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _compact(values: np.ndarray) -> object:
    """Return an array, or the one value where all are equal."""
    flat = values.ravel()
    return int(flat[0]) if (flat == flat[0]).all() else values.astype(np.int64)
