"""The operators of numeric models: a table of their inputs, attributes, types and plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric import elementwise, movement, products, reductions
from pyevm_agents.models.numeric.limits import MAX_NODE_INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.models.numeric.plan import NodeCall, Plan

BYTES = ("int8", "uint8")
WIDE = ("int32", "int64")
SIGNED = ("int8", "int32", "int64")
INTEGERS = (*BYTES, *WIDE)
ALL = (*INTEGERS, "bool")
BOOL = ("bool",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Constraints of an operator. Source: ONNX's Operators.md, operator sets 13 to 22."""

    plan: Callable[[NodeCall], Plan]
    types: Mapping[int, tuple[str, ...]]
    """Types of the first input, by the operator set from which on they are admitted."""

    inputs: range = range(1, 2)
    attributes: tuple[str, ...] = ()
    since: Mapping[str, int] = field(default_factory=dict)
    """Operator set from which on an attribute is admitted, if it is later than 13."""

    def get_types(self, opset: int) -> tuple[str, ...]:
        """Return the types of the first input in an operator set."""
        return self.types[max((since for since in self.types if since <= opset), default=13)]


def _define(
    plan: Callable[[NodeCall], Plan],
    types: tuple[str, ...],
    inputs: tuple[int, int] = (1, 1),
    attributes: tuple[str, ...] = (),
    from_14: tuple[str, ...] | None = None,
) -> Operator:
    """Return an operator; `from_14` are the types from operator set 14 on."""
    by_opset = {13: types} if from_14 is None else {13: types, 14: from_14}
    return Operator(
        plan=plan, types=by_opset, inputs=range(inputs[0], inputs[1] + 1), attributes=attributes
    )


MANY = (1, MAX_NODE_INPUTS)
TWO = (2, 2)
REDUCTION = ("axes", "keepdims", "noop_with_empty_axes")
PLACE = ("axis", "keepdims", "select_last_index")
CONVOLUTION = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")

OPERATORS: Mapping[str, Operator] = {
    "Abs": _define(elementwise.plan_absolute, INTEGERS),
    "Add": _define(elementwise.plan_add, WIDE, TWO, from_14=INTEGERS),
    "And": _define(elementwise.plan_and, BOOL, TWO),
    "ArgMax": _define(reductions.plan_place("ArgMax"), INTEGERS, attributes=PLACE),
    "ArgMin": _define(reductions.plan_place("ArgMin"), INTEGERS, attributes=PLACE),
    "Cast": replace(
        _define(elementwise.plan_cast, ALL, attributes=("to", "saturate")), since={"saturate": 19}
    ),
    "Clip": _define(elementwise.plan_clip, INTEGERS, (1, 3)),
    "Concat": _define(movement.plan_concat, ALL, MANY, ("axis",)),
    "ConvInteger": _define(products.plan_convolution, BYTES, (2, 4), CONVOLUTION),
    "Div": _define(elementwise.plan_divide, WIDE, TWO, from_14=INTEGERS),
    "Equal": _define(elementwise.plan_equal, ALL, TWO),
    "Flatten": _define(movement.plan_flatten, ALL, attributes=("axis",)),
    "Gather": _define(movement.plan_gather, ALL, TWO, ("axis",)),
    "Greater": _define(elementwise.plan_comparison(np.greater, is_less=False), INTEGERS, TWO),
    "GreaterOrEqual": _define(
        elementwise.plan_comparison(np.greater_equal, is_less=False), INTEGERS, TWO
    ),
    "Identity": _define(movement.plan_identity, ALL),
    "Less": _define(elementwise.plan_comparison(np.less, is_less=True), INTEGERS, TWO),
    "LessOrEqual": _define(elementwise.plan_comparison(np.less_equal, is_less=True), INTEGERS, TWO),
    "MatMul": _define(products.plan_matmul, WIDE, TWO),
    "MatMulInteger": _define(products.plan_matmul_integer, BYTES, (2, 4)),
    "Max": _define(elementwise.plan_most, INTEGERS, MANY),
    "Min": _define(elementwise.plan_least, INTEGERS, MANY),
    "Mod": _define(elementwise.plan_remainder, INTEGERS, TWO, ("fmod",)),
    "Mul": _define(elementwise.plan_multiply, WIDE, TWO, from_14=INTEGERS),
    "Neg": _define(elementwise.plan_negate, SIGNED),
    "Not": _define(elementwise.plan_not, BOOL),
    "Or": _define(elementwise.plan_or, BOOL, TWO),
    "Pad": _define(movement.plan_pad, ALL, (2, 4), ("mode",)),
    "ReduceMax": replace(
        _define(reductions.plan_reduction("ReduceMax"), INTEGERS, (1, 2), REDUCTION),
        since={"noop_with_empty_axes": 18},
    ),
    "ReduceMin": replace(
        _define(reductions.plan_reduction("ReduceMin"), INTEGERS, (1, 2), REDUCTION),
        since={"noop_with_empty_axes": 18},
    ),
    "ReduceSum": _define(reductions.plan_reduction("ReduceSum"), WIDE, (1, 2), REDUCTION),
    "Relu": _define(elementwise.plan_rectify, (), from_14=SIGNED),
    "Reshape": replace(
        _define(movement.plan_reshape, ALL, TWO, ("allowzero",)), since={"allowzero": 14}
    ),
    "Sign": _define(elementwise.plan_sign, INTEGERS),
    "Slice": _define(movement.plan_slice, ALL, (3, 5)),
    "Squeeze": _define(movement.plan_squeeze, ALL, (1, 2)),
    "Sub": _define(elementwise.plan_subtract, WIDE, TWO, from_14=INTEGERS),
    "Transpose": _define(movement.plan_transpose, ALL, attributes=("perm",)),
    "Unsqueeze": _define(movement.plan_unsqueeze, ALL, TWO),
    "Where": _define(elementwise.plan_choice, BOOL, (3, 3)),
}
"""Operators by their names in ONNX; Constant is read before."""
