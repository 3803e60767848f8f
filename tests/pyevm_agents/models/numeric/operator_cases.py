"""Strategies of cases: operands, shapes and attributes of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from pyevm_agents.models.numeric.limits import TYPE_RANGES
from pyevm_agents.models.numeric.operators import OPERATORS
from tests.pyevm_agents.models.numeric.model_builder import (
    ONNX_TYPES,
    Case,
    Constant,
    Variable,
    constant,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Draw = Any
"""Hypothesis's `draw`, which has the type of what it draws."""

SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)
NARROW = {"int64": 10**9, "int32": 10_000, "int8": 11, "uint8": 11, "bool": 1}
"""Magnitudes whose products are within the type."""


def draw_range(draw: Draw, kind: str, *, wide: bool) -> tuple[int, int]:
    low, high = TYPE_RANGES[kind]
    if not wide:
        low, high = max(low, -NARROW[kind]), min(high, NARROW[kind])
    ends = st.one_of(st.integers(low, high), st.sampled_from([low, high, 0, 1]))
    least, most = sorted((draw(ends), draw(ends)))
    return least, most


def draw_operand(
    draw: Draw, kind: str, shape: tuple[int, ...], *, wide: bool = False
) -> Variable | Constant:
    least, most = draw_range(draw, kind, wide=wide)
    if draw(st.booleans()):
        return Variable(type=kind, shape=shape, least=least, most=most)
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(least, most), min_size=size, max_size=size))
    return Constant(values=np.array(values, dtype=kind).reshape(shape))


def draw_variable(draw: Draw, kind: str, shape: tuple[int, ...], *, wide: bool = False) -> Variable:
    least, most = draw_range(draw, kind, wide=wide)
    return Variable(type=kind, shape=shape, least=least, most=most)


def draw_broadcast(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw a shape that broadcasts to another."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(size if draw(st.booleans()) else 1 for size in kept)


def draw_opset(draw: Draw, operator: str, kind: str) -> int:
    versions = [x for x in range(13, 23) if kind in OPERATORS[operator].get_types(x)]
    return int(draw(st.sampled_from(versions)))


def draw_kind(draw: Draw, operator: str) -> str:
    return str(draw(st.sampled_from(OPERATORS[operator].get_types(22))))


def unary(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    operand = draw_variable(draw, kind, draw(SHAPES), wide=True)
    return Case(operator=operator, operands=(operand,), opset=draw_opset(draw, operator, kind))


def binary(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES)
    wide = operator not in {"Add", "Sub", "Mul"}
    first = draw_variable(draw, kind, shape, wide=wide)
    second = draw_operand(draw, kind, draw_broadcast(draw, shape), wide=wide)
    operands = (first, second) if draw(st.booleans()) else (second, first)
    attributes = {"fmod": draw(st.integers(0, 1))} if operator == "Mod" else {}
    return Case(
        operator=operator,
        operands=operands,
        attributes=attributes,
        opset=draw_opset(draw, operator, kind),
    )


def variadic(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES)
    more = [
        draw_operand(draw, kind, draw_broadcast(draw, shape), wide=True)
        for _ in range(draw(st.integers(0, 2)))
    ]
    return Case(
        operator=operator,
        operands=(draw_variable(draw, kind, shape, wide=True), *more),
        opset=draw_opset(draw, operator, kind),
    )


def concat(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    more = []
    for _ in range(draw(st.integers(0, 2))):
        sizes = [*shape]
        sizes[axis] = draw(st.integers(1, 3))
        more.append(draw_operand(draw, kind, tuple(sizes), wide=True))
    first = draw_variable(draw, kind, shape, wide=True)
    return Case(operator=operator, operands=(first, *more), attributes={"axis": axis})


def clip(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    ends = [
        draw_operand(draw, kind, (), wide=True) if draw(st.booleans()) else None for _ in range(2)
    ]
    operand = draw_variable(draw, kind, draw(SHAPES), wide=True)
    return Case(operator=operator, operands=(operand, *ends))


def cast(draw: Draw, operator: str) -> Case:
    kind = draw(st.sampled_from(sorted(ONNX_TYPES)))
    operand = draw_variable(draw, kind, draw(SHAPES), wide=draw(st.booleans()))
    to = draw(st.sampled_from(sorted(ONNX_TYPES)))
    return Case(operator=operator, operands=(operand,), attributes={"to": ONNX_TYPES[to]})


def choice(draw: Draw, operator: str) -> Case:
    kind = draw(st.sampled_from(sorted(ONNX_TYPES)))
    shape = draw(SHAPES)
    first = draw_variable(draw, kind, shape, wide=True)
    second = draw_operand(draw, kind, draw_broadcast(draw, shape), wide=True)
    condition = draw_operand(draw, "bool", draw_broadcast(draw, shape))
    return Case(operator=operator, operands=(condition, first, second))


def matmul(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    m, k, n = (draw(st.integers(1, 4)) for _ in range(3))
    stack = draw(st.lists(st.integers(1, 3), max_size=1).map(tuple))
    left = draw(st.sampled_from([(k,), (m, k), (*stack, m, k)]))
    right = draw(st.sampled_from([(k,), (k, n), (*stack, k, n)]))
    return Case(
        operator=operator,
        operands=(draw_variable(draw, kind, left), draw_operand(draw, kind, right)),
    )


def draw_zero_point(draw: Draw, operand: Variable | Constant, shape: tuple[int, ...]) -> Constant:
    low, high = TYPE_RANGES[operand.type]
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
    return Constant(values=np.array(values, dtype=operand.type).reshape(shape))


def matmul_integer(draw: Draw, operator: str) -> Case:
    m, k, n = (draw(st.integers(1, 4)) for _ in range(3))
    kinds = [draw(st.sampled_from(["int8", "uint8"])) for _ in range(2)]
    left = draw_variable(draw, kinds[0], (m, k), wide=True)
    right = draw_operand(draw, kinds[1], (k, n), wide=True)
    points = [
        draw_zero_point(draw, left, ()) if draw(st.booleans()) else None,
        draw_zero_point(draw, right, draw(st.sampled_from([(), (n,)])))
        if draw(st.booleans())
        else None,
    ]
    return Case(operator=operator, operands=(left, right, *points))


def convolution(draw: Draw, operator: str) -> Case:
    axes = draw(st.integers(1, 2))
    group, channels, filters = (draw(st.integers(1, 2)) for _ in range(3))
    kernel = [draw(st.integers(1, 3)) for _ in range(axes)]
    dilations = [draw(st.integers(1, 2)) for _ in range(axes)]
    extents = [
        (k - 1) * d + 1 + draw(st.integers(0, 2)) for k, d in zip(kernel, dilations, strict=True)
    ]
    kinds = [draw(st.sampled_from(["int8", "uint8"])) for _ in range(2)]
    x = draw_variable(draw, kinds[0], (draw(st.integers(1, 2)), group * channels, *extents))
    w = draw_operand(draw, kinds[1], (group * filters, channels, *kernel))
    points = [
        draw_zero_point(draw, x, ()) if draw(st.booleans()) else None,
        draw_zero_point(draw, w, ()) if draw(st.booleans()) else None,
    ]
    attributes = {
        "group": group,
        "dilations": dilations,
        "strides": [draw(st.integers(1, 2)) for _ in range(axes)],
        "pads": [draw(st.integers(0, 2)) for _ in range(2 * axes)],
        "kernel_shape": kernel,
    }
    return Case(operator=operator, operands=(x, w, *points), attributes=attributes)


def draw_axes(draw: Draw, rank: int) -> list[int]:
    """Draw axes, some counted from the end."""
    chosen = draw(st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True))
    return [axis - rank if draw(st.booleans()) else axis for axis in chosen]


def reduction(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    opset = draw_opset(draw, operator, kind)
    operands: tuple[Variable | Constant, ...] = (draw_variable(draw, kind, shape),)
    attributes: dict[str, Any] = {"keepdims": draw(st.integers(0, 1))}
    if draw(st.booleans()):
        axes = draw_axes(draw, len(shape))
        if operator == "ReduceSum" or opset >= 18:
            operands = (*operands, constant(axes))
        else:
            attributes["axes"] = axes
    elif operator == "ReduceSum" or opset >= 18:
        attributes["noop_with_empty_axes"] = draw(st.integers(0, 1))
    return Case(operator=operator, operands=operands, attributes=attributes, opset=opset)


def place(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    attributes = {
        "axis": draw(st.integers(-len(shape), len(shape) - 1)),
        "keepdims": draw(st.integers(0, 1)),
        "select_last_index": draw(st.integers(0, 1)),
    }
    least = draw(st.integers(0, 1))
    operand = Variable(type=kind, shape=shape, least=least, most=least + 2)
    return Case(operator=operator, operands=(operand,), attributes=attributes)


def reshape(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    sizes = [*draw(st.permutations(shape))]
    place = draw(st.integers(0, len(sizes)))
    if place < len(sizes):
        sizes[place] = 0 if sizes[place] == shape[place] and draw(st.booleans()) else -1
    return Case(
        operator=operator, operands=(draw_variable(draw, kind, shape, wide=True), constant(sizes))
    )


def flatten(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    axis = draw(st.integers(-len(shape) + 1, len(shape)))
    operand = draw_variable(draw, kind, shape, wide=True)
    return Case(operator=operator, operands=(operand,), attributes={"axis": axis})


def squeeze(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = (1, *draw(SHAPES), 1)[:3]
    operand = draw_variable(draw, kind, shape, wide=True)
    axes = [axis - draw(st.sampled_from([0, len(shape)])) for axis, s in enumerate(shape) if s == 1]
    return Case(
        operator=operator, operands=(operand, constant(axes)) if draw(st.booleans()) else (operand,)
    )


def unsqueeze(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES)
    count = draw(st.integers(1, 2))
    rank = len(shape) + count
    axes = draw(st.lists(st.integers(0, rank - 1), min_size=count, max_size=count, unique=True))
    axes = [axis - draw(st.sampled_from([0, rank])) for axis in axes]
    return Case(
        operator=operator, operands=(draw_variable(draw, kind, shape, wide=True), constant(axes))
    )


def transpose(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES)
    perm = [*draw(st.permutations(range(len(shape))))]
    operand = draw_variable(draw, kind, shape, wide=True)
    attributes = {"perm": perm} if perm and draw(st.booleans()) else {}
    return Case(operator=operator, operands=(operand,), attributes=attributes)


def cut(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    axes = draw_axes(draw, len(shape))
    steps = [draw(st.sampled_from([-2, -1, 1, 2])) for _ in axes]
    ends = st.one_of(st.integers(-6, 6), st.sampled_from([-(2**63), 2**63 - 1]))
    starts, stops = ([draw(ends) for _ in axes] for _ in range(2))
    for i, axis in enumerate(axes):
        if not range(shape[axis])[slice(starts[i], stops[i], steps[i])]:
            starts[i], stops[i], steps[i] = 0, shape[axis], 1
    operand = draw_variable(draw, kind, shape, wide=True)
    arguments = (constant(starts), constant(stops), constant(axes), constant(steps))
    return Case(operator=operator, operands=(operand, *arguments))


def pad(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    opset = draw(st.sampled_from([13, 17, 18, 21]))
    axes = draw_axes(draw, len(shape)) if opset >= 18 and draw(st.booleans()) else None
    count = 2 * len(shape if axes is None else axes)
    pads = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    value = draw_operand(draw, kind, (), wide=True) if draw(st.booleans()) else None
    operands = (draw_variable(draw, kind, shape, wide=True), constant(pads), value)
    return Case(
        operator=operator,
        operands=operands if axes is None else (*operands, constant(axes)),
        opset=opset,
    )


def gather(draw: Draw, operator: str) -> Case:
    kind = draw_kind(draw, operator)
    shape = draw(SHAPES.filter(bool))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    size = shape[axis]
    ends = st.integers(-size, size - 1)
    indices: Variable | Constant
    least, most = sorted((draw(ends), draw(ends)))
    of = draw(st.sampled_from(["int32", "int64"]))
    indices = Variable(type=of, shape=draw(SHAPES), least=least, most=most)
    table = draw_operand(draw, kind, shape, wide=True)
    if isinstance(table, Variable) and draw(st.booleans()):
        indices = constant([draw(ends) for _ in range(draw(st.integers(1, 3)))], of)
    return Case(operator=operator, operands=(table, indices), attributes={"axis": axis})


STRATEGIES: Mapping[str, Callable[[Draw, str], Case]] = {
    **dict.fromkeys(["Abs", "Identity", "Neg", "Not", "Relu", "Sign"], unary),
    **dict.fromkeys(
        [
            "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod",
            "Mul", "Or", "Sub",
        ],
        binary,
    ),
    **dict.fromkeys(["Max", "Min"], variadic),
    **dict.fromkeys(["ReduceMax", "ReduceMin", "ReduceSum"], reduction),
    **dict.fromkeys(["ArgMax", "ArgMin"], place),
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "ConvInteger": convolution,
    "Flatten": flatten,
    "Gather": gather,
    "MatMul": matmul,
    "MatMulInteger": matmul_integer,
    "Pad": pad,
    "Reshape": reshape,
    "Slice": cut,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Where": choice,
}  # fmt: skip
"""Strategy of the cases of each operator."""
