"""Malformed files: changes of valid models' parts and bytes, and operators at random, by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from pyevm_agents.models.numeric.operators import OPERATORS
from tests.pyevm_agents.models.numeric.model_builder import (
    Case,
    Constant,
    Variable,
    build_case,
    build_sample,
    constant,
    serialize,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

INTEGERS = (0, 1, -1, 2, 3, 7, 127, 128, -128, 255, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))
SIZES = (0, 1, 2, 3, 4, 6, -1, 7, 1_024, 2**20, 2**21, 2**40, 2**63 - 1)
NAMES = ("x", "y", "", "hidden", "weights", "table", "index", "\x1b[31m", "nothing", "a" * 300)
OPERATOR_NAMES = (*OPERATORS, "Constant", "Loop", "Einsum", "", "\u202eabs")


def build_samples() -> list[bytes]:
    """Return valid models with every kind of node."""
    pixels = Variable(type="int8", shape=(1, 2, 4, 4), least=-100, most=100)
    bits = Variable(type="bool", shape=(4,), least=0, most=1)
    numbers = Variable(type="int64", shape=(2, 3), least=-50, most=50)
    small = Variable(type="int32", shape=(2, 3), least=0, most=1)
    axes = constant([-1])
    cases = [
        (Case(operator="ConvInteger", operands=(pixels, constant(np.ones((2, 1, 2, 2)), "int8")),
              attributes={"group": 2, "pads": [1, 0, 1, 0], "strides": [2, 1]}), 18),
        (Case(operator="And", operands=(bits, bits)), 4),
        (Case(operator="ArgMax", operands=(numbers,), attributes={"axis": -1}), 2),
        (Case(operator="ReduceSum", operands=(numbers, axes), attributes={"keepdims": 0}), 2),
        (Case(operator="Slice", operands=(numbers, constant([5]), constant([0]), axes, axes)), 4),
        (Case(operator="Pad", operands=(numbers, constant([0, 1, 1, 0]), constant(7))), 12),
        (Case(operator="Gather", operands=(numbers, small), attributes={"axis": 0}), 18),
        (Case(operator="Mod", operands=(numbers, constant(7)), attributes={"fmod": 1}), 6),
        (Case(operator="Concat", operands=(numbers, numbers), attributes={"axis": 1}), 12),
        (Case(operator="Transpose", operands=(numbers,), attributes={"perm": [1, 0]}), 6),
        (Case(operator="Unsqueeze", operands=(numbers, axes)), 6),
        (Case(operator="MatMul", operands=(numbers, constant(np.ones((3, 2))))), 4),
    ]  # fmt: skip
    return [serialize(build_sample()), *(build_case(case, outputs) for case, outputs in cases)]


def mutate(samples: list[bytes], source: random.Random) -> bytes:
    """Return a malformed, or still valid, file."""
    data = source.choice(samples)
    if source.random() < 0.7:
        model = ModelProto.FromString(data)
        for _ in range(source.choice((1, 1, 1, 2, 4))):
            source.choice(CHANGES)(model, source)
        data = serialize(model)
        return data if source.random() < 0.9 else mutate_bytes(data, source)
    return mutate_bytes(data, source)


def mutate_bytes(data: bytes, source: random.Random) -> bytes:
    """Flip bits, cut, repeat and insert bytes."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 8))):
        at = source.randrange(len(changed) + 1)
        kind = source.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            del changed[at:]
        elif kind == 2:
            del changed[at : at + source.randrange(8)]
        elif kind == 3:
            changed[at:at] = source.randbytes(source.randrange(8))
        else:
            changed[at:at] = changed[at : at + source.randrange(64)]
    return bytes(changed)


def _pick(items: Any, source: random.Random) -> Any:  # noqa: ANN401 - protobuf's
    return items[source.randrange(len(items))] if len(items) else None


def change_node(model: ModelProto, source: random.Random) -> None:
    """Change a node's operator, inputs, output, name or domain."""
    node = _pick(model.graph.node, source)
    if node is None:
        return
    names = [*NAMES, *(each.output[0] for each in model.graph.node if each.output)]
    kind = source.randrange(6)
    if kind == 0:
        node.op_type = source.choice(OPERATOR_NAMES)
    elif kind == 1 and node.input:
        node.input[source.randrange(len(node.input))] = source.choice(names)
    elif kind == 2:
        node.input.append(source.choice(names))
    elif kind == 3 and node.input:
        node.input.pop()
    elif kind == 4 and node.output:
        node.output[0] = source.choice(names)
    else:
        node.name = source.choice(NAMES)


def change_attribute(model: ModelProto, source: random.Random) -> None:
    """Add an attribute, or change one."""
    node = _pick(model.graph.node, source)
    if node is None:
        return
    attribute = _pick(node.attribute, source)
    value = source.choice((source.choice(INTEGERS), [source.choice(INTEGERS)] * 2, "SAME", 0.5))
    names = ("axis", "axes", "keepdims", "perm", "pads", "strides", "group", "to", "fmod", "value")
    if attribute is None or source.random() < 0.5:
        node.attribute.append(helper.make_attribute(source.choice(names), value))
    elif attribute.ints:
        attribute.ints[source.randrange(len(attribute.ints))] = source.choice(INTEGERS)
    else:
        attribute.i = source.choice(INTEGERS)


def change_initializer(model: ModelProto, source: random.Random) -> None:
    """Change an initializer's shape, type, name or numbers."""
    found = _pick(model.graph.initializer, source)
    if found is None:
        return
    kind = source.randrange(6)
    if kind == 0 and found.dims:
        found.dims[source.randrange(len(found.dims))] = source.choice(SIZES)
    elif kind == 1:
        found.data_type = source.randrange(25)
    elif kind == 2:
        found.raw_data = source.randbytes(source.choice((0, 1, 8, len(found.raw_data))))
    elif kind == 3:
        found.int64_data.append(source.choice(INTEGERS))
    elif kind == 4:
        found.name = source.choice(NAMES)
    else:
        wide = np.array([source.choice(INTEGERS)] * max(len(found.raw_data) // 8, 1))
        found.raw_data = wide.astype("<i8").tobytes()


def change_ends(model: ModelProto, source: random.Random) -> None:
    """Change the shape, type or name of the input or the output."""
    found = _pick([*model.graph.input, *model.graph.output], source)
    if found is None:
        return
    kind = source.randrange(3)
    if kind == 0 and found.type.tensor_type.shape.dim:
        found.type.tensor_type.shape.dim[0].dim_value = source.choice(SIZES)
    elif kind == 1:
        found.type.tensor_type.elem_type = source.randrange(25)
    else:
        found.name = source.choice(NAMES)


def change_metadata(model: ModelProto, source: random.Random) -> None:
    """Change a part of the metadata's text."""
    if not model.metadata_props:
        return
    text = model.metadata_props[0].value
    parts = ('"', "{", "[", "0", "9" * 30, "null", "-", ",", "1e5", "\\ud800", "true")
    at = source.randrange(len(text) + 1)
    model.metadata_props[0].value = (
        text[:at] + source.choice(parts) + text[at + source.randrange(3) :]
    )


def change_range(model: ModelProto, source: random.Random) -> None:
    """Widen the ranges of the inputs."""
    if not model.metadata_props:
        return
    text = model.metadata_props[0].value
    for key in ("least", "most"):
        before, found, after = text.partition(f'"{key}": ')
        digits = after.lstrip("-0123456789")
        text = f"{before}{found}{source.choice(INTEGERS)}{digits}" if found else text
    model.metadata_props[0].value = text


def remove_part(model: ModelProto, source: random.Random) -> None:
    """Remove, repeat or swap parts."""
    graph = model.graph
    parts = source.choice(
        (graph.node, graph.initializer, graph.input, graph.output, model.opset_import)
    )
    if not len(parts):
        return
    at = source.randrange(len(parts))
    if source.random() < 0.5:
        del parts[at]
    else:
        parts.append(parts[at])


def add_foreign(model: ModelProto, source: random.Random) -> None:
    """Add a part that no numeric model has."""
    kind = source.randrange(6)
    if kind == 0:
        model.functions.add()
    elif kind == 1:
        model.graph.sparse_initializer.add()
    elif kind == 2:
        model.graph.value_info.append(
            helper.make_tensor_value_info("hidden", TensorProto.INT64, [source.choice(SIZES)])
        )
    elif kind == 3 and model.graph.initializer:
        model.graph.initializer[0].data_location = 1
    elif kind == 4:
        model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    elif model.opset_import:
        model.opset_import[0].version = source.randrange(25)


CHANGES: tuple[Callable[[ModelProto, random.Random], None], ...] = (
    change_node, change_node, change_attribute, change_initializer, change_ends, change_metadata,
    change_range, remove_part, add_foreign,
)  # fmt: skip
"""Changes of a model's parts; the first one is the most frequent."""


SHAPES = ((), (1,), (3,), (1, 3), (3, 1), (2, 3), (1, 2, 3), (1, 1, 3, 3), (0,), (2, 0))
TYPES = ("int8", "uint8", "int32", "int64", "bool")
VALUES: dict[str, tuple[Any, ...]] = {
    "axis": (0, 1, -1, 2, -4, 4),
    "axes": ([0], [-1], [1, 0], [0, 0], [5]),
    "perm": ([0], [1, 0], [0, 0], [2, 0, 1], [0, 5]),
    "pads": ([1, 0], [1, 0, 1, 0], [0, 0, 0, 0, 0, 0]),
    "strides": ([1], [2, 1], [0, 1], [1, 1, 1]),
    "dilations": ([1, 1], [2], [0, 0]),
    "kernel_shape": ([1, 1], [3], [2, 2, 2]),
    "auto_pad": ("NOTSET", "SAME_UPPER", "VALID", "x"),
    "mode": ("constant", "edge", "reflect"),
    "to": (3, 6, 7, 9, 1),
}
"""Values of attributes that operators take; others are small integers."""


def build_operator(source: random.Random) -> bytes:
    """Return a file with one operator, whose operands have shapes, types and ranks at random."""
    name = source.choice(tuple(OPERATORS))
    operator = OPERATORS[name]
    most = min(operator.inputs[-1], 4)
    kind = source.choice(TYPES)
    operands: list[Variable | Constant | None] = []
    for place in range(source.randint(min(operator.inputs[0], most), most)):
        shape = source.choice(SHAPES)
        own = kind if source.random() < 0.8 else source.choice(TYPES)
        if place == 0 or (source.random() < 0.5 and 0 not in shape):
            shape = source.choice(SHAPES[1:8])
            operands.append(Variable(type=own, shape=shape, least=0, most=1))
        elif source.random() < 0.1:
            operands.append(None)
        else:
            size = int(np.prod(shape))
            values = [source.choice((0, 1, 2, 3)) for _ in range(size)]
            operands.append(constant(np.array(values, dtype=own).reshape(shape), own))
    attributes = {
        each: source.choice(VALUES.get(each, (0, 1, 2, -1)))
        for each in operator.attributes
        if source.random() < 0.5
    }
    case = Case(
        operator=name,
        operands=tuple(operands),
        attributes=attributes,
        opset=source.choice((13, 14, 17, 18, 19, 22)),
    )
    return build_case(case, source.choice((1, 2, 3, 6, 9, source.randint(1, 24))))
