"""Nonlinear functions: tables with linear interpolation, and Softmax."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.quantised import (
    Quantised,
    choose_scale,
    clip,
    object_array,
    require_proved,
    round_half_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.numeric.convert.writer import IntegerWriter

DIGITS = 40
"""Digits of a table's values before they are rounded; decimal's exp is correctly rounded, so a
table does not depend on a processor's libm."""

EXPONENTIAL_SCALE = Fraction(1, 2**20)
"""Scale of Softmax's exponentials: e^-13, the least of the table, is 2 units."""

EXPONENTIAL_RANGE = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """An increasing function, flat beyond an interval."""

    compute: Callable[[Decimal], Decimal]
    evaluate: Callable[[np.ndarray], np.ndarray]
    least: int
    most: int
    steps: int
    """Entries of the table for each unit of the argument; a power of two."""


def _logistic(x: Decimal) -> Decimal:
    return 1 / (1 + (-x).exp())


def _tanh(x: Decimal) -> Decimal:
    return 2 / (1 + (-2 * x).exp()) - 1


def _evaluate_logistic(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


SIGMOID = Curve(compute=_logistic, evaluate=_evaluate_logistic, least=-12, most=12, steps=32)
"""Interpolation errs by at most 1.2e-5, the ends by 6e-6."""

TANH = Curve(compute=_tanh, evaluate=np.tanh, least=-6, most=6, steps=64)
"""Interpolation errs by at most 2.4e-5, the ends by 1.2e-5."""

EXPONENTIAL = Curve(
    compute=Decimal.exp, evaluate=np.exp, least=-EXPONENTIAL_RANGE, most=0, steps=64
)
"""Interpolation errs by at most 3.1e-5 of the value."""


def apply_curve(
    writer: IntegerWriter, tensor: Quantised, curve: Curve, scale: Fraction | None = None
) -> Quantised:
    """Add the nodes of a function: the two entries around the argument, and the line between.

    Input:
        tensor: plain.
        scale: of the result; by default chosen from the calibrated values.
    """
    values = curve.evaluate(tensor.values)
    result_scale = choose_scale(values) if scale is None else scale
    per_step = Fraction(1, curve.steps) / tensor.scale
    step = max(1, per_step.numerator // per_step.denominator)
    least = round_half_up(curve.least / tensor.scale)
    most = round_half_up(curve.most / tensor.scale)
    count = -(-(most - least) // step) + 1
    table = _build_table(curve, [(least + step * i) * tensor.scale for i in range(count)],
                         result_scale)  # fmt: skip
    low, high = np.clip(tensor.least, least, most), np.clip(tensor.most, least, most)
    name = clip(writer, tensor.name, least, most)
    name = writer.add_binary("Sub", name, least)
    name = _interpolate(writer, name, table, step)
    first, last = np.array(int(table[0]), object), np.array(int(table[-1]), object)
    positions = (low - least) // step, -(-(high - least) // step)
    bounds = [object_array(table[position.astype(np.int64)]) for position in positions]
    return Quantised(
        name=name,
        scale=result_scale,
        least=np.clip(bounds[0], first, last),
        most=np.clip(bounds[1], first, last),
        values=values,
    )


def _build_table(curve: Curve, points: list[Fraction], scale: Fraction) -> np.ndarray:
    entries = []
    with localcontext() as context:
        context.prec = DIGITS
        for point in points:
            value = curve.compute(Decimal(point.numerator) / Decimal(point.denominator))
            entries.append(round_half_up(Fraction(value) / scale))
    return np.array(entries, dtype=np.int64)


def _interpolate(writer: IntegerWriter, name: str, table: np.ndarray, step: int) -> str:
    """Add the nodes of a table at an argument from 0; the last entry has no successor."""
    if step == 1:
        return writer.gather_rows(table, name)
    table = np.append(table, table[-1])
    index = writer.add_binary("Div", name, step)
    rest = writer.add_binary("Mod", name, step)
    entry = writer.gather_rows(table, index)
    rise = writer.gather_rows(np.diff(table, append=table[-1]), index)
    rise = writer.add("Mul", rise, rest)
    rise = writer.add_binary("Div", writer.add_binary("Add", rise, step // 2), step)
    return writer.add("Add", entry, rise)


def apply_softmax(
    writer: IntegerWriter, tensor: Quantised, scale: Fraction | None = None
) -> Quantised:
    """Add the nodes of a Softmax over the last axis: exponentials below the greatest, their share.

    Input:
        tensor: plain, of rank 1.
    """
    axes = writer.add_constant([0])
    greatest = writer.add("ReduceMax", tensor.name, axes, keepdims=1)
    below = writer.add("Sub", tensor.name, greatest)
    spread = int(tensor.most.max()) - int(tensor.least.min())
    shifted = tensor.values - tensor.values.max(axis=-1, keepdims=True)
    argument = Quantised(
        name=below,
        scale=tensor.scale,
        least=object_array(-spread, tensor.shape),
        most=object_array(0, tensor.shape),
        values=shifted,
    )
    powers = apply_curve(writer, argument, EXPONENTIAL, EXPONENTIAL_SCALE)
    total = writer.add("ReduceSum", powers.name, axes, keepdims=1)
    values = powers.values / powers.values.sum(axis=-1, keepdims=True)
    result_scale = choose_scale(values) if scale is None else scale
    units = round_half_up(1 / result_scale)
    require_proved(powers.least * units, powers.most * units)
    shares = writer.add_binary("Mul", powers.name, units)
    half = writer.add_binary("Div", total, 2)
    name = writer.add("Div", writer.add("Add", shares, half), total)
    return Quantised(
        name=clip(writer, name, 0, units),
        scale=result_scale,
        least=object_array(0, tensor.shape),
        most=object_array(units, tensor.shape),
        values=values,
    )
