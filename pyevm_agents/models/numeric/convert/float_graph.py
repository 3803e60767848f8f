"""The float model: nodes, constants and the one input of an ONNX file, batch dimension first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from pyevm_agents.models.numeric.convert.options import ConversionError
from pyevm_agents.models.numeric.metadata import METADATA_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import GraphProto, ModelProto, NodeProto

ML_DOMAIN = "ai.onnx.ml"
DOMAINS = ("", "ai.onnx", ML_DOMAIN)
INPUT_TYPES: Mapping[int, np.dtype] = {
    onnx.TensorProto.FLOAT: np.dtype(np.float32),
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
    onnx.TensorProto.INT64: np.dtype(np.int64),
    onnx.TensorProto.INT32: np.dtype(np.int32),
}
MAX_RANK = 3
"""Batch, channels and length: models of images are not converted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatNode:
    """A node of the float model."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]

    @property
    def output(self) -> str:
        """The first output."""
        return self.outputs[0]

    def get_int(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise ConversionError(f"attribute {name} of {self.operator}: must be an integer")
        return value

    def get_ints(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return an attribute of several integers."""
        value = self.attributes.get(name, default)
        return tuple(map(int, np.asarray(value).ravel()))

    def get_float(self, name: str, default: float) -> float:
        """Return a float attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise ConversionError(f"attribute {name} of {self.operator}: must be a number")
        return float(value)

    def get_text(self, name: str, default: str) -> str:
        """Return a text attribute."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def get_array(self, name: str) -> np.ndarray | None:
        """Return a list or tensor attribute as an array, or None."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if isinstance(value, onnx.TensorProto):
            return numpy_helper.to_array(value)
        return np.asarray(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatGraph:
    """A float model in the order of nodes, without nodes that the output does not need."""

    nodes: tuple[FloatNode, ...]
    constants: Mapping[str, np.ndarray]
    input_name: str
    input_shape: tuple[int | None, ...]
    """Shape without the batch dimension; None where the file leaves a size open."""

    input_type: np.dtype
    output: str
    outputs: tuple[str, ...]
    """All float outputs of the file."""

    def list_consumers(self, name: str) -> tuple[FloatNode, ...]:
        """Return the nodes that read a tensor."""
        return tuple(node for node in self.nodes if name in node.inputs)


def parse_model(data: bytes) -> ModelProto:
    """Parse an ONNX file.

    Raises: ConversionError: not an ONNX file.
    """
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ConversionError("not an ONNX file; export the model to ONNX first") from error
    if not model.graph.node:
        raise ConversionError("not an ONNX file with nodes; export the model to ONNX first")
    return model


def read_float_graph(data: bytes, output: str = "") -> FloatGraph:
    """Return the graph of a float model, cut to one output.

    Input:
        output: an output's name; by default the last float output.
    Raises: ConversionError.
    """
    model = parse_model(data)
    if any(entry.key == METADATA_KEY for entry in model.metadata_props):
        raise ConversionError(
            "a numeric model already: must be a float model; pass this file to --numeric-model"
        )
    graph = model.graph
    for opset in model.opset_import:
        if opset.domain not in DOMAINS:
            raise ConversionError(f"domain {opset.domain}: must be the default one or {ML_DOMAIN}")
    constants = {each.name: _read_array(each) for each in graph.initializer}
    input_name, input_type, shape = _read_input(graph, constants)
    outputs = tuple(each.name for each in graph.output)
    chosen = output or outputs[-1]
    if chosen not in outputs:
        raise ConversionError(f"output {chosen}: must be one of {', '.join(outputs)}")
    nodes: list[FloatNode] = []
    for proto in graph.node:
        if _is_constant(proto, constants):
            _fold(proto, constants)
        else:
            nodes.append(_read_node(proto))
    return FloatGraph(
        nodes=tuple(_cut(nodes, chosen)),
        constants=constants,
        input_name=input_name,
        input_shape=shape,
        input_type=input_type,
        output=chosen,
        outputs=outputs,
    )


def _read_array(tensor: onnx.TensorProto) -> np.ndarray:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ConversionError(f"weights {tensor.name}: must be in the file; export without "
                              "external data")  # fmt: skip
    array = numpy_helper.to_array(tensor)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ConversionError(f"weights {tensor.name}: must be finite")
    return array


def _read_input(
    graph: GraphProto, constants: Mapping[str, np.ndarray]
) -> tuple[str, np.dtype, tuple[int | None, ...]]:
    inputs = [each for each in graph.input if each.name not in constants]
    if len(inputs) != 1:
        raise ConversionError(
            f"inputs {len(inputs)}: must be one tensor; export the model with one input for all "
            "features"
        )
    tensor = inputs[0].type.tensor_type
    if tensor.elem_type not in INPUT_TYPES:
        name = onnx.TensorProto.DataType.Name(tensor.elem_type)
        raise ConversionError(f"type {name} of input {inputs[0].name}: must be float or int64")
    sizes = [each.dim_value or None for each in tensor.shape.dim]
    if not 1 < len(sizes) <= MAX_RANK:
        raise ConversionError(
            f"rank {len(sizes)} of input {inputs[0].name}: must be 2 or 3, the batch first"
        )
    return inputs[0].name, INPUT_TYPES[tensor.elem_type], tuple(sizes[1:])


def _is_constant(proto: NodeProto, constants: Mapping[str, np.ndarray]) -> bool:
    if proto.op_type == "Constant":
        return True
    named = [name for name in proto.input if name]
    return bool(named) and all(name in constants for name in named)


def _fold(proto: NodeProto, constants: dict[str, np.ndarray]) -> None:
    """Compute a node of constants."""
    try:
        values = ReferenceEvaluator(proto).run(
            None, {name: constants[name] for name in proto.input if name}
        )
    except (NotImplementedError, RuntimeError, TypeError) as error:
        raise ConversionError(f"operator {proto.op_type} of constants: not supported") from error
    for name, value in zip(proto.output, values, strict=False):
        constants[name] = np.asarray(value)


def _read_node(proto: NodeProto) -> FloatNode:
    return FloatNode(
        operator=proto.op_type,
        inputs=tuple(proto.input),
        outputs=tuple(proto.output),
        attributes={each.name: helper.get_attribute_value(each) for each in proto.attribute},
    )


def _cut(nodes: list[FloatNode], output: str) -> Iterator[FloatNode]:
    """Return the nodes that an output needs, in their order."""
    wanted, kept = {output}, []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs):
            kept.append(node)
            wanted.update(node.inputs)
    return reversed(kept)
