"""Builder of small ONNX files for tests: operands of any type out of one INT64 input."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ONNX_TYPES = {
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An operand that comes from the model's input."""

    type: str
    shape: tuple[int, ...]
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """An operand that is an initializer."""

    values: NDArray[Any]

    @property
    def type(self) -> str:
        """Name of its element type."""
        return str(self.values.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One operator with its operands."""

    operator: str
    operands: tuple[Variable | Constant | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 17

    @property
    def count(self) -> int:
        """Number of input numbers."""
        return sum(int(np.prod(x.shape)) for x in self.variables)

    @property
    def variables(self) -> list[Variable]:
        """Operands from the input."""
        return [x for x in self.operands if isinstance(x, Variable)]

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Range of each input number."""
        return [(x.least, x.most) for x in self.variables for _ in range(int(np.prod(x.shape)))]


def constant(values: object, kind: str = "int64") -> Constant:
    return Constant(values=np.array(values, dtype=kind))


def tensor(name: str, values: object, kind: str = "int64") -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype=kind), name)


def write_metadata(
    inputs: Sequence[tuple[int, int, int]], outputs: int, **changes: object
) -> dict[str, str]:
    """Return the metadata: count, least and most of each input."""
    form: dict[str, object] = {
        "inputs": [
            {"name": f"x{i}", "count": count, "decimals": 0, "least": least, "most": most}
            for i, (count, least, most) in enumerate(inputs)
        ],
        "outputs": [{"name": "y", "count": outputs, "decimals": 0}],
        "license": "MIT",
        "source": "made up",
    }
    return {"numeric_model": json.dumps(form | changes)}


def build(
    nodes: Sequence[NodeProto],
    constants: Sequence[TensorProto] = (),
    *,
    inputs: Sequence[tuple[int, int, int]] = ((2, -100, 100),),
    outputs: int = 2,
    opset: int = 17,
) -> ModelProto:
    """Return a model from `x` to `y`."""
    count = sum(each[0] for each in inputs)
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.INT64, [count])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [outputs])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    helper.set_model_props(model, write_metadata(inputs, outputs))
    return model


def build_case(case: Case, outputs: int) -> bytes:
    """Return the file of a case: operands are cut out of the input, and the result is flat."""
    nodes, constants, names = [], [], []
    at = 0
    for index, operand in enumerate(case.operands):
        name = f"operand{index}"
        names.append("" if operand is None else name)
        if isinstance(operand, Constant):
            constants.append(numpy_helper.from_array(operand.values, name))
        elif isinstance(operand, Variable):
            size = int(np.prod(operand.shape))
            constants += [tensor(f"{name}from", [at]), tensor(f"{name}to", [at + size])]
            constants.append(tensor(f"{name}shape", np.array(operand.shape, dtype=np.int64)))
            nodes.append(
                helper.make_node("Slice", ["x", f"{name}from", f"{name}to"], [f"{name}cut"])
            )
            to = ONNX_TYPES[operand.type]
            nodes.append(helper.make_node("Cast", [f"{name}cut"], [f"{name}cast"], to=to))
            shaped = [f"{name}cast", f"{name}shape"]
            if operand.shape:
                nodes.append(helper.make_node("Reshape", shaped, [name]))
            else:
                constants = [x for x in constants if x.name != f"{name}shape"]
                nodes.append(helper.make_node("Squeeze", [f"{name}cast"], [name]))
            at += size
    nodes.append(helper.make_node(case.operator, names, ["result"], **case.attributes))
    nodes.append(helper.make_node("Cast", ["result"], ["wide"], to=TensorProto.INT64))
    constants.append(tensor("flat", [-1]))
    nodes.append(helper.make_node("Reshape", ["wide", "flat"], ["y"]))
    inputs = [(int(np.prod(x.shape)), x.least, x.most) for x in case.variables]
    return build(
        nodes, constants, inputs=inputs, outputs=outputs, opset=case.opset
    ).SerializeToString()
