"""Numeric models of many shapes, made in code: the usual ones, and those that are slow to evaluate.

Weights are the same each time. Values don't matter: all integers take equally long, except for
divisions, whose operands here are wide.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from pyevm_agents.models.numeric import InputSpec, NumericMetadata, OutputSpec, write_metadata
from pyevm_agents.models.numeric.metadata import METADATA_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from onnx import NodeProto
    from onnx import TensorProto as Tensor

OPSET, IR_VERSION = 18, 8
SEED = 19
MOST_VALUES = 1_024
"""Inputs or outputs of the largest models. Source: `precompiles.numeric_spec`."""

SIDE = 1_024
"""Rows and columns of a grid: together the most elements of a tensor."""

TREES, DEPTH, FEATURES = 256, 6, 64
WIDE = 2**50
"""Magnitude of dividends: a division of wide numbers takes longest."""


class ModelWriter:
    """The file of a model during writing: from the tensor `x` to the outputs."""

    def __init__(self, inputs: int, *, least: int = -100, most: int = 100) -> None:
        """Start with a number of inputs of a range."""
        self.inputs = InputSpec(name="x", count=inputs, decimals=0, least=least, most=most)
        self.random = np.random.default_rng(SEED)
        self._nodes: list[NodeProto] = []
        self._constants: list[Tensor] = []

    def add(self, operator: str, *inputs: str, **attributes: int | list[int]) -> str:
        """Add a node; return the output."""
        output = f"t{len(self._nodes)}"
        node = helper.make_node(operator, inputs, [output])
        node.attribute.extend(helper.make_attribute(*each) for each in sorted(attributes.items()))
        self._nodes.append(node)
        return output

    def store(self, values: object, kind: type = np.int64) -> str:
        """Add a constant; return the name."""
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def draw(self, *shape: int, least: int = -9, most: int = 9) -> NDArray[np.int64]:
        """Return random weights."""
        return self.random.integers(least, most, shape, endpoint=True)

    def reshape(self, tensor: str, *shape: int) -> str:
        """Add a Reshape; return the output."""
        return self.add("Reshape", tensor, self.store(shape))

    def build_grid(self) -> str:
        """Return a tensor of a million elements: the sum of each input with each other one."""
        return self.add("Add", self.reshape("x", SIDE, 1), self.reshape("x", 1, SIDE))

    def find_most(self, tensor: str) -> str:
        """Return the greatest element of a tensor, as one output."""
        return self.reshape(self.add("ReduceMax", tensor, keepdims=0), 1)

    def finish(self, result: str, outputs: int = 1) -> bytes:
        """Return the file."""
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "graph",
            [info("x", TensorProto.INT64, [self.inputs.count])],
            [info(result, TensorProto.INT64, [outputs])],
            self._constants,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        metadata = NumericMetadata(
            inputs=(self.inputs,),
            outputs=(OutputSpec(name="y", count=outputs, decimals=0),),
            license="MIT",
            source="made up",
        )
        helper.set_model_props(model, {METADATA_KEY: write_metadata(metadata)})
        return bytes(model.SerializeToString())


def _make_sum() -> bytes:
    writer = ModelWriter(1)
    return writer.finish(writer.add("Add", "x", writer.store([1])))


def _make_inputs() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    return writer.finish(writer.add("ReduceSum", "x", keepdims=1))


def _make_outputs() -> bytes:
    writer = ModelWriter(1)
    return writer.finish(
        writer.add("Add", "x", writer.store(np.arange(MOST_VALUES))), outputs=MOST_VALUES
    )


def _make_largest() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    return writer.finish(writer.add("Neg", "x"), outputs=MOST_VALUES)


def _make_linear() -> bytes:
    writer = ModelWriter(FEATURES)
    product = writer.add("MatMul", "x", writer.store(writer.draw(FEATURES, 8)))
    return writer.finish(writer.add("Add", product, writer.store(writer.draw(8))), outputs=8)


def _make_perceptron() -> bytes:
    writer = ModelWriter(FEATURES)
    layer = "x"
    sizes = (FEATURES, 256, 256, 8)
    for rows, columns in pairwise(sizes):
        layer = writer.add("MatMul", layer, writer.store(writer.draw(rows, columns)))
        layer = writer.add("Add", layer, writer.store(writer.draw(columns)))
        layer = writer.add("Div", writer.add("Relu", layer), writer.store(256))
        layer = writer.add("Clip", layer, writer.store(0), writer.store(127))
    return writer.finish(layer, outputs=sizes[-1])


def _make_trees() -> bytes:
    """Return trees as tables: each step gathers a node's feature and threshold, and compares."""
    writer = ModelWriter(FEATURES)
    nodes = 2**DEPTH
    first = np.arange(TREES) * nodes
    features = writer.store(writer.draw(TREES * nodes, least=0, most=FEATURES - 1))
    thresholds = writer.store(writer.draw(TREES * nodes, least=-100, most=100))
    start = writer.store(first)
    place = writer.store(np.zeros(TREES, dtype=np.int64))
    for _ in range(DEPTH - 1):
        at = writer.add("Add", place, start)
        value = writer.add("Gather", "x", writer.add("Gather", features, at))
        is_right = writer.add("Less", writer.add("Gather", thresholds, at), value)
        step = writer.add("Cast", is_right, to=TensorProto.INT64)
        place = writer.add("Add", writer.add("Add", place, place), step)
    leaves = writer.store(writer.draw(TREES * nodes))
    found = writer.add("Gather", leaves, writer.add("Add", place, start))
    return writer.finish(writer.add("ReduceSum", found, keepdims=1))


def _make_convolution() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    layer = writer.add("Cast", writer.reshape("x", 1, 1, MOST_VALUES), to=TensorProto.INT8)
    for channels in (1, 16, 16):
        kernel = writer.store(writer.draw(16, channels, 5), np.int8)
        layer = writer.add("ConvInteger", layer, kernel, pads=[2, 2])
        layer = writer.add("Div", layer, writer.store(64, np.int32))
        layer = writer.add("Clip", layer, writer.store(0, np.int32), writer.store(127, np.int32))
        layer = writer.add("Cast", layer, to=TensorProto.INT8)
    return writer.finish(writer.find_most(writer.add("Cast", layer, to=TensorProto.INT64)))


def _make_chain() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    layer = "x"
    for _ in range(32):
        layer = writer.add("Mul", layer, writer.store(3))
        layer = writer.add("Add", layer, writer.store(5))
        layer = writer.add("Clip", layer, writer.store(-100), writer.store(100))
    return writer.finish(layer, outputs=MOST_VALUES)


def _make_product() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    left = writer.add("Cast", writer.reshape("x", 16, 64), to=TensorProto.INT8)
    right = writer.store(writer.draw(64, 8_192), np.int8)
    product = writer.add("MatMulInteger", left, right)
    return writer.finish(writer.find_most(writer.add("Cast", product, to=TensorProto.INT64)))


def _make_grid() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    return writer.finish(writer.find_most(writer.add("Abs", writer.build_grid())))


def _make_nodes() -> bytes:
    """Return as many nodes as a file may have, each of one element."""
    writer = ModelWriter(1)
    layer = "x"
    for _ in range(MOST_VALUES):
        layer = writer.add("Neg", layer)
    return writer.finish(layer)


def _make_division() -> bytes:
    writer = ModelWriter(MOST_VALUES, least=1, most=WIDE)
    quotients = writer.add("Div", writer.build_grid(), writer.reshape("x", 1, SIDE))
    return writer.finish(writer.find_most(quotients))


def _make_transposition() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    turned = writer.add(
        "Transpose", writer.reshape(writer.build_grid(), 16, 16, 16, 16, 16), perm=[4, 3, 2, 1, 0]
    )
    return writer.finish(writer.find_most(turned))


def _make_lookups() -> bytes:
    writer = ModelWriter(MOST_VALUES, least=0, most=SIDE // 2)
    table = writer.store(writer.draw(SIDE + 1, least=0, most=SIDE))
    found = writer.build_grid()
    for _ in range(2):
        found = writer.add("Gather", table, found)
    return writer.finish(writer.find_most(found))


def _make_reductions() -> bytes:
    """Return maxima of pairs: NumPy starts an inner loop for each of half a million rows."""
    writer = ModelWriter(MOST_VALUES)
    pairs = writer.reshape(writer.build_grid(), SIDE * SIDE // 2, 2)
    most = writer.add("ReduceMax", pairs, writer.store([1]), keepdims=1)
    return writer.finish(writer.find_most(most))


def _make_clips() -> bytes:
    writer = ModelWriter(MOST_VALUES)
    clipped = writer.build_grid()
    for _ in range(2):
        clipped = writer.add("Clip", clipped, writer.store(-100), writer.store(100))
    return writer.finish(writer.find_most(clipped))


def _make_small_products() -> bytes:
    writer = ModelWriter(1)
    layer, one = writer.reshape("x", 1, 1), writer.store([[1]])
    for _ in range(MOST_VALUES - 2):
        layer = writer.add("MatMul", layer, one)
    return writer.finish(writer.reshape(layer, 1))


def _make_small_choices() -> bytes:
    writer = ModelWriter(1)
    is_less = writer.add("Less", "x", writer.store([0]))
    layer = "x"
    for _ in range(MOST_VALUES - 1):
        layer = writer.add("Where", is_less, layer, "x")
    return writer.finish(layer)


MAKERS: Mapping[str, Callable[[], bytes]] = {
    "sum": _make_sum,
    "inputs": _make_inputs,
    "outputs": _make_outputs,
    "largest": _make_largest,
    "linear": _make_linear,
    "perceptron": _make_perceptron,
    "trees": _make_trees,
    "convolution": _make_convolution,
    "chain": _make_chain,
    "product": _make_product,
    "grid": _make_grid,
    "nodes": _make_nodes,
    "divisions": _make_division,
    "transposition": _make_transposition,
    "lookups": _make_lookups,
    "reductions": _make_reductions,
    "clips": _make_clips,
    "small-products": _make_small_products,
    "small-choices": _make_small_choices,
}
"""Models by name."""
