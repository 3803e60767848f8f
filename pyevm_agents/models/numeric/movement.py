"""Operators that move elements and change no value: shapes, slices, padding and tables."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric import cost
from pyevm_agents.models.numeric.limits import MAX_ELEMENTS, MAX_RANK
from pyevm_agents.models.numeric.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.numeric.plan import Array, Attribute, Bounds, Kernel, NodeCall, Operand

PAD_AXES = 18
"""Operator set from which on Pad has axes."""

MAX_COMPARED = 2**21
"""Upper bound of the elements that the ranges of a lookup compare; a table with more has one range
for all indices."""


def _build(  # noqa: PLR0913 - one for each fact of an operator
    call: NodeCall,
    shape: Sequence[int],
    kernel: Kernel,
    operations: int,
    *,
    operands: Sequence[tuple[int, Operand]],
    attributes: dict[str, Attribute] | None = None,
) -> Plan:
    """Return the plan of a movement: bounds move as values do."""
    return Plan(
        type=operands[0][1].type,
        shape=call.require_shape(shape),
        kernel=kernel,
        bound=lambda: (
            kernel(*(each.low for _, each in operands)),
            kernel(*(each.high for _, each in operands)),
        ),
        operations=operations,
        operands=tuple(index for index, _ in operands),
        attributes={} if attributes is None else attributes,
    )


def _reshape(shape: tuple[int, ...], a: Array) -> Array:
    return a.reshape(shape)


def _build_reshape(
    call: NodeCall, shape: Sequence[int], attributes: dict[str, Attribute] | None = None
) -> Plan:
    a = call.get(0)
    if math.prod(call.require_shape(shape)) != math.prod(a.shape):
        raise call.fail(
            f"shapes {[*a.shape]} and {[*shape]}: must have as many elements; correct the shape"
        )
    return _build(
        call,
        shape,
        partial(_reshape, tuple(shape)),
        cost.NODE + cost.CALL,
        operands=[(0, a)],
        attributes=attributes,
    )


def plan_identity(call: NodeCall) -> Plan:
    """Plan an Identity."""
    return _build_reshape(call, call.get(0).shape)


def plan_reshape(call: NodeCall) -> Plan:
    """Plan a Reshape; 0 keeps a dimension, and one -1 stands for the rest."""
    a = call.get(0)
    given = call.get_argument(1, MAX_RANK)
    allowzero = call.get_integer("allowzero", 0, range(2))
    if given is None or given.count(-1) > 1 or min(given, default=0) < -1:
        raise call.fail("input 1: must be a constant shape with at most one -1; correct it")
    if not allowzero:
        given = tuple(
            a.shape[axis] if size == 0 and axis < len(a.shape) else size
            for axis, size in enumerate(given)
        )
    known = math.prod(size for size in given if size != -1)
    rest = math.prod(a.shape) // known if known else 0
    shape = tuple(rest if size == -1 else size for size in given)
    return _build_reshape(call, shape, {"shape": shape})


def plan_flatten(call: NodeCall) -> Plan:
    """Plan a Flatten to two dimensions."""
    shape = call.get(0).shape
    rank = len(shape)
    axis = call.get_integer("axis", 1, range(-rank, rank + 1))
    axis = axis + rank if axis < 0 else axis
    new = (math.prod(shape[:axis]), math.prod(shape[axis:]))
    return _build_reshape(call, new, {"axis": axis})


def plan_squeeze(call: NodeCall) -> Plan:
    """Plan a Squeeze of the given axes, or of all of size 1."""
    shape = call.get(0).shape
    given = call.get_argument(1, MAX_RANK)
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)
    axes = ones if given is None else tuple(sorted(call.get_axes(given, len(shape))))
    if not set(axes) <= set(ones):
        raise call.fail(f"axes {[*axes]}: must have size 1; correct them")
    new = [size for axis, size in enumerate(shape) if axis not in axes]
    return _build_reshape(call, new, {"axes": axes})


def plan_unsqueeze(call: NodeCall) -> Plan:
    """Plan an Unsqueeze: axes of size 1, counted in the output."""
    shape = call.get(0).shape
    given = call.get_argument(1, MAX_RANK)
    if given is None:
        raise call.fail("input 1: must be constant axes; make them an initializer")
    rank = len(shape) + len(given)
    axes = tuple(sorted(call.get_axes(given, rank)))
    sizes = iter(shape)
    new = [1 if axis in axes else next(sizes) for axis in range(rank)]
    return _build_reshape(call, new, {"axes": axes})


def _transpose(order: tuple[int, ...], a: Array) -> Array:
    return a.transpose(order).copy()


def plan_transpose(call: NodeCall) -> Plan:
    """Plan a Transpose; without an order the axes are reversed."""
    a = call.get(0)
    rank = len(a.shape)
    given = call.get_integers("perm", range(rank - 1, -1, -1), rank, range(rank) or (0,))
    order = call.get_axes(given, rank)
    shape = tuple(a.shape[axis] for axis in order)
    run = 1
    for axis in range(rank - 1, -1, -1):
        if order[axis] != axis:
            break
        run *= a.shape[axis]
    return _build(
        call,
        shape,
        partial(_transpose, order),
        cost.cost_move(shape, run),
        operands=[(0, a)],
        attributes={"perm": order},
    )


def _concatenate(axis: int, *arrays: Array) -> Array:
    return np.concatenate(arrays, axis=axis)


def plan_concat(call: NodeCall) -> Plan:
    """Plan a Concat along an axis."""
    operands = call.get_all()
    first = operands[0].shape
    rank = len(first)
    axis = call.get_axis(call.get_integer("axis", None, range(-MAX_RANK, MAX_RANK)), rank)
    for each in operands:
        others = [*each.shape[:axis], *each.shape[axis + 1 :]]
        if len(each.shape) != rank or others != [*first[:axis], *first[axis + 1 :]]:
            raise call.fail(
                f"shapes {[*first]}, {[*each.shape]}: must differ along axis {axis} alone"
            )
    size = sum(each.shape[axis] for each in operands)
    shape = (*first[:axis], size, *first[axis + 1 :])
    return _build(
        call,
        shape,
        partial(_concatenate, axis),
        cost.cost_concat(shape, math.prod(first[:axis]), len(operands)),
        operands=[*enumerate(operands)],
        attributes={"axis": axis},
    )


def _slice(slices: tuple[slice, ...], a: Array) -> Array:
    return a[slices].copy()


def plan_slice(call: NodeCall) -> Plan:
    """Plan a Slice: starts, ends, axes and steps are constants."""
    a = call.get(0)
    rank = len(a.shape)
    starts, ends = call.get_argument(1, MAX_RANK), call.get_argument(2, MAX_RANK)
    if starts is None or ends is None:
        raise call.fail("starts and ends: must be constants; make them initializers")
    axes = call.get_axes(call.get_argument(3, MAX_RANK) or range(len(starts)), rank)
    steps = call.get_argument(4, MAX_RANK) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise call.fail("starts, ends, axes and steps: must be as many, and steps not 0")
    ranges = [range(size) for size in a.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        ranges[axis] = range(*slice(start, end, step).indices(a.shape[axis]))
    shape = tuple(len(each) for each in ranges)
    slices = tuple(
        slice(each.start, each.stop if each.stop >= 0 else None, each.step) for each in ranges
    )
    run = shape[-1] if rank and ranges[-1].step == 1 else 1
    return _build(
        call,
        shape,
        partial(_slice, slices),
        cost.cost_move(call.require_shape(shape), run),
        operands=[(0, a)],
        attributes={
            "starts": tuple(each.start for each in ranges),
            "steps": tuple(each.step for each in ranges),
        },
    )


def _pad(shape: tuple[int, ...], begins: tuple[int, ...], a: Array, value: Array) -> Array:
    padded = np.empty(shape, dtype=np.int64)
    padded.fill(value[()])
    sizes = zip(begins, a.shape, strict=True)
    padded[tuple(slice(begin, begin + size) for begin, size in sizes)] = a
    return padded


def _pad_with_zero(shape: tuple[int, ...], begins: tuple[int, ...], a: Array) -> Array:
    return _pad(shape, begins, a, np.zeros((), dtype=np.int64))


def plan_pad(call: NodeCall) -> Plan:
    """Plan a Pad with a constant."""
    a, value = call.get(0), call.find(2)
    call.require_text("mode", "constant")
    if len(call.operands) > 3 and call.opset < PAD_AXES:  # noqa: PLR2004 - the fourth input
        raise call.fail(f"axes of Pad: must be left out before operator set {PAD_AXES}")
    rank = len(a.shape)
    given = call.get_argument(1, 2 * MAX_RANK)
    axes = call.get_axes(call.get_argument(3, MAX_RANK) or range(rank), rank)
    if given is None or len(given) != 2 * len(axes):
        raise call.fail("pads: must be constants, two for each axis; make them an initializer")
    if any(not 0 <= pad <= MAX_ELEMENTS for pad in given):
        raise call.fail(f"pads {[*given]}: must be 0 to {MAX_ELEMENTS:,}; use Slice to cut")
    begins, ends = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        begins[axis], ends[axis] = given[index], given[len(axes) + index]
    shape = tuple(s + b + e for s, b, e in zip(a.shape, begins, ends, strict=True))
    operands = [(0, a)]
    kernel = partial(_pad_with_zero, shape, tuple(begins))
    if value is not None:
        call.require_one_type((a, value))
        if value.low.size != 1 or value.shape:
            raise call.fail(f"value of shape {[*value.shape]}: must be a scalar; reshape it to []")
        operands, kernel = [(0, a), (2, value)], partial(_pad, shape, tuple(begins))
    return _build(
        call,
        shape,
        kernel,
        cost.cost_move(call.require_shape(shape), shape[-1] if rank else 1)
        + cost.cost_move(a.shape, a.shape[-1] if rank else 1, calls=3),
        operands=operands,
        attributes={"pads": (*begins, *ends)},
    )


def _gather(axis: int, a: Array, indices: Array) -> Array:
    return np.take(a, indices, axis=axis)


def plan_gather(call: NodeCall) -> Plan:
    """Plan a Gather: a lookup along an axis, whose indices are proved to be within the table."""
    a, indices = call.get(0), call.get(1)
    rank = len(a.shape)
    if not rank:
        raise call.fail("table without dimensions: must have at least 1; reshape it")
    axis = call.get_axis(call.get_integer("axis", 0, range(-rank, rank)), rank)
    size = a.shape[axis]
    if indices.type not in {"int32", "int64"}:
        raise call.fail(f"indices of type {indices.type}: must be int32 or int64; add a Cast")
    least, most = int(indices.low.min()), int(indices.high.max())
    if least < -size or most >= size:
        raise call.fail(
            f"indices' interval {least} to {most}: must be within {-size} to {size - 1}, the "
            f"table; add Clip before"
        )
    shape = call.require_shape((*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))
    return Plan(
        type=a.type,
        shape=shape,
        kernel=partial(_gather, axis),
        bound=lambda: _bound_lookup(a, indices, axis),
        operations=cost.cost_move(shape, math.prod(a.shape[axis + 1 :]), cost.LOOKUP, 4),
        operands=(0, 1),
        attributes={"axis": axis},
    )


def _bound_lookup(a: Operand, indices: Operand, axis: int) -> Bounds:
    """Return the ranges of looked-up elements: those of the table over each index's range."""
    if np.array_equal(indices.low, indices.high):
        return np.take(a.low, indices.low, axis=axis), np.take(a.high, indices.low, axis=axis)
    size = a.shape[axis]
    least, most = indices.low.reshape(-1), indices.high.reshape(-1)
    if a.low.size * size.bit_length() > MAX_COMPARED:
        least, most = least.min(keepdims=True), most.max(keepdims=True)
    # Indices below 0 count from the end. A range on one side of 0 stands for both parts.
    is_below, is_above = most < 0, least >= 0
    above = (
        np.where(is_below, least + size, np.maximum(least, 0)),
        np.where(is_below, most + size, most),
    )
    below = (
        np.where(is_above, above[0], least + size),
        np.where(is_above, above[1], np.minimum(most, -1) + size),
    )
    low, high = (
        choose(
            _compare_ranges(choose, np.moveaxis(values, axis, 0), *above),
            _compare_ranges(choose, np.moveaxis(values, axis, 0), *below),
        )
        for choose, values in ((np.minimum, a.low), (np.maximum, a.high))
    )
    rest = (*a.shape[:axis], *a.shape[axis + 1 :])
    rank = len(indices.shape)
    return _place(low, indices.shape, rest, axis, rank), _place(
        high, indices.shape, rest, axis, rank
    )


def _place(
    found: Array, shape: tuple[int, ...], rest: tuple[int, ...], axis: int, rank: int
) -> Array:
    """Return a range for each index, or one for all, in the shape of the lookup's output."""
    spread = np.broadcast_to(found, (math.prod(shape), *rest)).reshape((*shape, *rest))
    return np.moveaxis(spread, range(rank), range(axis, axis + rank))


def _compare_ranges(choose: np.ufunc, table: Array, starts: Array, ends: Array) -> Array:
    """Return the least (or most) elements of a table over ranges of the first axis.

    Each range is covered by two windows of the same power of 2, whose extremes are computed of
    those of half the width.
    """
    result = np.empty((starts.size, *table.shape[1:]), dtype=np.int64)
    lengths = ends - starts + 1
    width = 1
    while True:
        chosen = (lengths >= width) & (lengths < 2 * width)
        result[chosen] = choose(table[starts[chosen]], table[ends[chosen] - width + 1])
        if 2 * width > lengths.max():
            return result
        table = choose(table[:-width], table[width:])
        width *= 2
