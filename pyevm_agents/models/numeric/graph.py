"""Graphs of numeric models: shapes, constants and proven ranges of each tensor.

A graph that `read_graph` returns computes without an overflow: for each input within the stated
ranges, each value and each partial sum is within the element type, in any order of summation.
Everything may thus be computed in int64, or in anything wider.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyevm_agents.models.numeric import cost
from pyevm_agents.models.numeric.errors import NumericModelError, OutOfRange, show
from pyevm_agents.models.numeric.limits import (
    MAX_OPERATIONS,
    MAX_TOTAL_ELEMENTS,
    TYPE_RANGES,
)
from pyevm_agents.models.numeric.metadata import parse_metadata
from pyevm_agents.models.numeric.onnx_file import ConstantTensor, decode_file
from pyevm_agents.models.numeric.operators import OPERATORS
from pyevm_agents.models.numeric.plan import NodeCall, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models.numeric.metadata import InputSpec, NumericMetadata, OutputSpec
    from pyevm_agents.models.numeric.onnx_file import FileNode, OnnxFile
    from pyevm_agents.models.numeric.plan import Attribute, Bounds, Kernel, Plan

Array: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRange:
    """The values that a tensor can have."""

    least: int
    most: int
    lows: Array
    """Lower bound of each element; read-only."""

    highs: Array
    """Upper bound of each element; read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """An operation of a graph."""

    operator: str
    inputs: tuple[str, ...]
    """As in the file; empty for an optional input that is left out."""

    output: str
    attributes: Mapping[str, Attribute]
    """With defaults, axes from 0 up, and the numbers of constant arguments: `axes` of reductions,
    Squeeze and Unsqueeze, `pads` (all begins, then all ends), `starts` and `steps` (for every
    axis), `shape`. Attributes with one admitted value (`mode`, `auto_pad`) are left out."""

    label: str
    """Words that name it in messages."""

    kernel: Kernel = field(repr=False, compare=False)
    operands: tuple[str, ...]
    """The inputs that the kernel takes."""

    operations: int


Node: TypeAlias = GraphNode
"""The name that the generators of a numeric model's code use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A numeric model's graph, in the order of evaluation."""

    opset: int
    nodes: tuple[GraphNode, ...]
    """Without Constant nodes, and without those that depend on constants alone."""

    constants: Mapping[str, Array]
    """Initializers, Constant nodes and what is computed of them alone, in int64; read-only."""

    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, str]
    """`int64`, `int32`, `int8`, `uint8` or `bool` of each tensor."""

    ranges: Mapping[str, TensorRange]
    input_name: str
    output_name: str
    metadata: NumericMetadata

    @property
    def inputs(self) -> tuple[InputSpec, ...]:
        """Names, counts, decimals and ranges of the input numbers."""
        return self.metadata.inputs

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """Names, counts and decimals of the output numbers."""
        return self.metadata.outputs

    @property
    def operations(self) -> int:
        """Operations of one evaluation; the unit is in `cost.py`."""
        values = self.shapes[self.input_name][0] + self.shapes[self.output_name][0]
        return cost.RUN + cost.VALUE * values + sum(node.operations for node in self.nodes)


def read_graph(data: bytes) -> Graph:
    """Read a file, and prove that the computation can't leave the types' ranges.

    Raises:
        NumericModelError: not a numeric model; the message names the node, the value and the
            constraint.
    """
    file = decode_file(data)
    metadata = parse_metadata(file.metadata)
    _require_count("inputs", sum(each.count for each in metadata.inputs), file.input_count)
    _require_count("outputs", sum(each.count for each in metadata.outputs), file.output_count)
    return _GraphReader(file, metadata).read()


def _require_count(things: str, stated: int, count: int) -> None:
    if stated != count:
        raise NumericModelError(
            f"metadata: counts of {things} add up to {stated:,}: must be the tensor's {count:,} "
            f"elements; correct the counts"
        )


class _GraphReader:
    """Reads nodes in order; each name is defined once, before use."""

    def __init__(self, file: OnnxFile, metadata: NumericMetadata) -> None:
        self.file = file
        self.metadata = metadata
        self.tensors: dict[str, Operand] = {}
        self.unused: dict[str, str] = {}
        """Words for each tensor that no node uses so far, by name."""

        self.nodes: list[GraphNode] = []
        self.elements = 0
        self.operations = 0

    def read(self) -> Graph:
        """Read the whole graph."""
        self._define_input()
        for name, tensor in self.file.initializers.items():
            self._define_constant(name, tensor, f"initializer {show(name)}")
        for node in self.file.nodes:
            self._read_node(node)
        self._check_end()
        return self._build()

    def _define_input(self) -> None:
        specs = self.metadata.inputs
        counts = [each.count for each in specs]
        low = np.repeat(np.array([each.least for each in specs], dtype=np.int64), counts)
        high = np.repeat(np.array([each.most for each in specs], dtype=np.int64), counts)
        name = self.file.input_name
        self._define(name, "int64", (low, high), f"graph input {show(name)}")

    def _define_constant(self, name: str, tensor: ConstantTensor, words: str) -> None:
        self._reserve(tensor.values.size)
        self._define(name, tensor.type, (tensor.values, tensor.values), words, is_constant=True)

    def _define(
        self, name: str, kind: str, bounds: Bounds, words: str, *, is_constant: bool = False
    ) -> None:
        if name in self.tensors:
            raise NumericModelError(f"{words}: name {show(name)} is taken; rename one of them")
        for each in bounds:
            each.setflags(write=False)
        self.tensors[name] = Operand(
            type=kind, low=bounds[0], high=bounds[1], is_constant=is_constant
        )
        self.unused[name] = words

    def _reserve(self, elements: int) -> None:
        self.elements += elements
        if self.elements > MAX_TOTAL_ELEMENTS:
            raise NumericModelError(
                f"{self.elements:,} elements in all tensors: must be at most "
                f"{MAX_TOTAL_ELEMENTS:,}; make the model smaller"
            )

    def _read_node(self, node: FileNode) -> None:
        if node.operator == "Constant":
            self._define_constant(node.output, _read_constant(node), node.label)
            return
        call = self._build_call(node)
        plan = OPERATORS[node.operator].plan(call)
        self._reserve(int(np.prod(plan.shape, dtype=np.int64)))
        self.operations += plan.operations
        if self.operations > MAX_OPERATIONS:
            raise NumericModelError(
                f"{node.label}: {self.operations:,} operations up to here: must be at most "
                f"{MAX_OPERATIONS:,}; make the model smaller"
            )
        low, high = _compute_range(call, plan)
        names = tuple(node.inputs[index] for index in plan.operands)
        is_constant = all(self.tensors[name].is_constant for name in names)
        self._define(node.output, plan.type, (low, high), node.label, is_constant=is_constant)
        if not is_constant:
            self.nodes.append(
                GraphNode(
                    operator=node.operator,
                    inputs=node.inputs,
                    output=node.output,
                    attributes=plan.attributes,
                    label=node.label,
                    kernel=plan.kernel,
                    operands=names,
                    operations=plan.operations,
                )
            )

    def _build_call(self, node: FileNode) -> NodeCall:
        operator = OPERATORS.get(node.operator)
        if operator is None:
            raise NumericModelError(
                f"{node.label}: operator {show(node.operator)}: must be one of "
                f"{', '.join(OPERATORS)}; `pyevm-agents model convert` makes integers of floats"
            )
        if len(node.inputs) not in operator.inputs:
            raise NumericModelError(
                f"{node.label}: {len(node.inputs)} inputs: must be {operator.inputs[0]} to "
                f"{operator.inputs[-1]}; export the model again"
            )
        for name in node.attributes:
            if name not in operator.attributes or self.file.opset < operator.since.get(name, 0):
                raise NumericModelError(
                    f"{node.label}: attribute {show(name)}: not known in operator set "
                    f"{self.file.opset}; remove it"
                )
        operands = tuple(self._use(name, node.label) if name else None for name in node.inputs)
        call = NodeCall(
            label=node.label,
            operator=node.operator,
            opset=self.file.opset,
            attributes=node.attributes,
            operands=operands,
        )
        types = operator.get_types(self.file.opset)
        kind = call.get(0).type
        if kind not in types:
            admitted = ", ".join(types) or "used from operator set 14 on"
            raise call.fail(f"input of type {kind}: must be {admitted}; add a Cast")
        return call

    def _use(self, name: str, label: str) -> Operand:
        operand = self.tensors.get(name)
        if operand is None:
            raise NumericModelError(
                f"{label}: input {show(name)}: must be defined before the node; sort the nodes"
            )
        self.unused.pop(name, None)
        return operand

    def _check_end(self) -> None:
        name = self.file.output_name
        output = self.tensors.get(name)
        if output is None or name == self.file.input_name or name in self.file.initializers:
            raise NumericModelError(f"graph output {show(name)}: must be the output of a node")
        if output.type != "int64" or output.shape != (self.file.output_count,):
            raise NumericModelError(
                f"graph output {show(name)}: is {output.type}{[*output.shape]}: must be "
                f"int64[{self.file.output_count}] as stated; add Cast and Reshape"
            )
        self.unused.pop(name, None)
        for unused, words in self.unused.items():
            raise NumericModelError(f"{words}: no node uses {show(unused)}; remove it")
        for stated, facts in self.file.stated.items():
            tensor = self.tensors.get(stated)
            if tensor is None or (tensor.type, tensor.shape) != facts:
                raise NumericModelError(
                    f"stated shape of {show(stated)}: differs from that of the nodes; remove it"
                )

    def _build(self) -> Graph:
        kept = {name for node in self.nodes for name in node.inputs if name}
        kept |= {node.output for node in self.nodes}
        kept |= {self.file.input_name, self.file.output_name}
        tensors = {name: tensor for name, tensor in self.tensors.items() if name in kept}
        return Graph(
            opset=self.file.opset,
            nodes=tuple(self.nodes),
            constants={name: x.low for name, x in tensors.items() if x.is_constant},
            shapes={name: x.shape for name, x in tensors.items()},
            types={name: x.type for name, x in tensors.items()},
            ranges={
                name: TensorRange(
                    least=int(x.low.min()), most=int(x.high.max()), lows=x.low, highs=x.high
                )
                for name, x in tensors.items()
            },
            input_name=self.file.input_name,
            output_name=self.file.output_name,
            metadata=self.metadata,
        )


def _compute_range(call: NodeCall, plan: Plan) -> Bounds:
    """Return the range of each element of a node's output, which the type holds."""
    try:
        low, high = plan.bound()
    except OutOfRange as error:
        least, most = TYPE_RANGES["int64"]
        raise call.fail(
            f"interval reaches {error.value}: must be within {least} to {most} (int64); narrow "
            f"the inputs' ranges or scale down before"
        ) from error
    call.require_range(int(low.min()), int(high.max()), plan.type)
    return (
        np.ascontiguousarray(np.broadcast_to(low, plan.shape)).reshape(plan.shape),
        np.ascontiguousarray(np.broadcast_to(high, plan.shape)).reshape(plan.shape),
    )


def _read_constant(node: FileNode) -> ConstantTensor:
    """Return the tensor of a Constant node."""
    if node.inputs or len(node.attributes) != 1:
        raise NumericModelError(f"{node.label}: must have one attribute and no input; correct it")
    ((name, value),) = node.attributes.items()
    if name == "value" and isinstance(value, ConstantTensor):
        return value
    if name == "value_int" and isinstance(value, int):
        return ConstantTensor(type="int64", values=np.array(value, dtype=np.int64))
    if name == "value_ints" and isinstance(value, tuple) and value:
        return ConstantTensor(type="int64", values=np.array(value, dtype=np.int64))
    raise NumericModelError(
        f"{node.label}: attribute {show(name)}: must be value, value_int or value_ints; convert it"
    )
