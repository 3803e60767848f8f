"""Operators that reduce axes: sums, extremes and their places."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric import bounds, cost
from pyevm_agents.models.numeric.limits import MAX_RANK
from pyevm_agents.models.numeric.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.numeric.plan import Array, Bounds, NodeCall

AXES_ARE_INPUTS = 18
"""Operator set from which on ReduceMax and ReduceMin have their axes as an input."""

BOTH = range(2)
"""Values of an attribute that is false or true."""


def _read_axes(call: NodeCall, rank: int, *, from_input: bool) -> tuple[int, ...]:
    """Return the reduced axes in rising order; empty if the node copies the input."""
    if from_input:
        given = call.get_argument(1, MAX_RANK)
    else:
        value = call.attributes.get("axes")
        if value is not None and not isinstance(value, tuple):
            raise call.fail("attribute axes: must be integers; correct it")
        given = value
    if given:
        return tuple(sorted(call.get_axes(given, rank)))
    noop = from_input and call.get_integer("noop_with_empty_axes", 0, BOTH)
    return () if noop else tuple(range(rank))


def _keep(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int) -> tuple[int, ...]:
    """Return the shape after a reduction."""
    sizes = (1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(sizes) if keepdims or axis not in axes)


def _reduce(compute: Callable[..., Array], axes: tuple[int, ...], keepdims: int, a: Array) -> Array:
    return compute(a, axis=axes, keepdims=bool(keepdims))


def plan_reduction(operator: str) -> Callable[[NodeCall], Plan]:
    """Return the plan of ReduceSum, ReduceMax or ReduceMin."""
    compute = {"ReduceSum": np.add.reduce, "ReduceMax": np.maximum.reduce,
               "ReduceMin": np.minimum.reduce}[operator]  # fmt: skip

    def plan(call: NodeCall) -> Plan:
        a = call.get(0)
        from_input = operator == "ReduceSum" or call.opset >= AXES_ARE_INPUTS
        if not from_input and len(call.operands) > 1:
            raise call.fail(f"axes as an input: must be an attribute before {AXES_ARE_INPUTS}")
        if from_input and "axes" in call.attributes:
            raise call.fail("attribute axes: must be an input; export the model again")
        axes = _read_axes(call, len(a.shape), from_input=from_input)
        keepdims = call.get_integer("keepdims", 1, BOTH)
        kernel = partial(_reduce, compute, axes, keepdims)

        def bound() -> Bounds:
            if operator != "ReduceSum":
                return kernel(a.low), kernel(a.high)
            (least, most), low, high = bounds.combine_sum(kernel, a.low, a.high)
            call.require_range(least, most, a.type)
            return low, high

        return Plan(
            type=a.type,
            shape=_keep(a.shape, axes, keepdims),
            kernel=kernel,
            bound=bound,
            operations=cost.cost_reduction(a.shape, axes),
            operands=(0,),
            attributes={"axes": axes, "keepdims": keepdims},
        )

    return plan


def _find_first(axis: int, keepdims: int, sign: int, a: Array) -> Array:
    find = np.argmax if sign > 0 else np.argmin
    result: Array = find(a, axis=axis, keepdims=bool(keepdims))
    return result


def _find_last(axis: int, keepdims: int, sign: int, a: Array) -> Array:
    found = _find_first(axis, keepdims, sign, np.flip(a, axis))
    result: Array = np.subtract(a.shape[axis] - 1, found)
    return result


def plan_place(operator: str) -> Callable[[NodeCall], Plan]:
    """Return the plan of ArgMax or ArgMin."""
    sign = 1 if operator == "ArgMax" else -1

    def plan(call: NodeCall) -> Plan:
        a = call.get(0)
        rank = len(a.shape)
        axis = call.get_axis(call.get_integer("axis", 0, range(-rank, rank)), rank) if rank else 0
        if not rank:
            raise call.fail("input without dimensions: must have at least 1; reshape it")
        keepdims = call.get_integer("keepdims", 1, BOTH)
        last = call.get_integer("select_last_index", 0, BOTH)
        shape = _keep(a.shape, (axis,), keepdims)
        return Plan(
            type="int64",
            shape=shape,
            kernel=partial(_find_last if last else _find_first, axis, keepdims, sign),
            bound=lambda: (
                np.zeros(shape, dtype=np.int64),
                np.full(shape, a.shape[axis] - 1, dtype=np.int64),
            ),
            operations=cost.cost_place(a.shape, axis, last=bool(last)),
            operands=(0,),
            attributes={"axis": axis, "keepdims": keepdims, "select_last_index": last},
        )

    return plan
