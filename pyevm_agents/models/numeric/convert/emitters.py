"""Emitters: the integer nodes of each operator of a float model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.linear import (
    Product,
    apply_product,
    read_gemm,
    read_linear_model,
)
from pyevm_agents.models.numeric.convert.options import ConversionError
from pyevm_agents.models.numeric.convert.quantised import (
    Quantised,
    apply_affine,
    choose_scale,
)
from pyevm_agents.models.numeric.convert.shapes import (
    apply_convolution,
    apply_pool,
    gather_embedding,
    reduce,
    reshape,
    resolve_shape,
    transpose,
)
from pyevm_agents.models.numeric.convert.tables import (
    SIGMOID,
    TANH,
    apply_curve,
    apply_softmax,
)
from pyevm_agents.models.numeric.convert.trees import Forest, apply_forest, read_forest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.models.numeric.convert.float_graph import FloatGraph, FloatNode
    from pyevm_agents.models.numeric.convert.options import ConversionOptions
    from pyevm_agents.models.numeric.convert.writer import IntegerWriter

SAME = ("Identity", "Cast", "Dropout", "ZipMap")
SHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
FINAL_THROUGH = (*SAME, *SHAPES, "Concat", "Normalizer")
"""Operators that only pass values on: what they read may have the output's scale already."""


class GraphConverter:
    """A float graph during emission of the nodes, with values on the calibration data."""

    def __init__(
        self, graph: FloatGraph, writer: IntegerWriter, options: ConversionOptions
    ) -> None:
        self.graph = graph
        self.writer = writer
        self.options = options
        self.tensors: dict[str, Quantised] = {}
        self.skipped: set[str] = set()
        """Outputs of nodes that an earlier one contains: a bias, a Relu."""

        self.output_scale = Fraction(1, 10**options.output_decimals)
        self.reference = graph.output
        self.is_raw = False
        """Whether a last function was left out."""

        self._last = graph.output
        self._drop_last_curve()
        self.final = self._find_final()

    def run(self) -> Quantised:
        """Emit all nodes; return the result in the output's scale."""
        for node in self.graph.nodes:
            if node.output in self.tensors:
                continue
            emit = EMITTERS.get(node.operator)
            if emit is None:
                raise ConversionError(
                    f"operator {node.operator}: not supported; supported are "
                    f"{', '.join(sorted(EMITTERS))}"
                )
            self.tensors[node.output] = emit(self, node)
            if self._last in self.tensors:
                break
        if self.options.raw_scores and not self.is_raw:
            raise ConversionError(
                "raw scores: the model must end in Softmax or a logistic function; convert it "
                "without"
            )
        return self.plain(self.tensors[self._last], self.output_scale)

    def _drop_last_curve(self) -> None:
        """Leave out a Softmax or Sigmoid at the end, if scores are wanted."""
        if not self.options.raw_scores:
            return
        name = self.graph.output
        producers = {output: node for node in self.graph.nodes for output in node.outputs}
        while (node := producers.get(name)) is not None:
            if node.operator in {"Softmax", "Sigmoid"}:
                self._last = self.reference = node.inputs[0]
                self.is_raw = True
                return
            if node.operator not in {*FINAL_THROUGH} - {"Concat"}:
                return
            name = node.inputs[0]

    def _find_final(self) -> set[str]:
        """Return the tensors that may have the output's scale."""
        final = {self._last}
        for node in reversed(self.graph.nodes):
            if node.operator in FINAL_THROUGH and final.intersection(node.outputs):
                final.update(node.inputs)
        return final

    def scale_of(self, name: str) -> Fraction | None:
        """Return the output's scale for a tensor that becomes the output, else None."""
        return self.output_scale if name in self.final else None

    def get(self, name: str) -> Quantised:
        """Return a tensor."""
        if name not in self.tensors:
            raise ConversionError(f"tensor {name}: must depend on the input")
        return self.tensors[name]

    def constant(self, node: FloatNode, at: int) -> np.ndarray:
        """Return an input of a node that must be constant."""
        if at >= len(node.inputs) or node.inputs[at] not in self.graph.constants:
            raise ConversionError(f"input {at} of {node.operator}: must be constant")
        return self.graph.constants[node.inputs[at]]

    def find_constant(self, node: FloatNode, at: int) -> np.ndarray | None:
        """Return a constant input of a node; or None."""
        return self.graph.constants.get(node.inputs[at]) if at < len(node.inputs) else None

    def plain(self, tensor: Quantised, scale: Fraction | None = None) -> Quantised:
        """Return a tensor without gain and offset, in a scale if one is given."""
        if tensor.is_plain and scale in {None, tensor.scale}:
            return tensor
        return apply_affine(self.writer, tensor, np.array(1.0), np.array(0.0), scale=scale)

    def find_next(self, name: str, operator: str) -> FloatNode | None:
        """Return the only consumer of a tensor, if an operator."""
        consumers = self.graph.list_consumers(name)
        if len(consumers) != 1 or consumers[0].operator != operator or name == self._last:
            return None
        return consumers[0]

    def complete(self, node: FloatNode, product: Product) -> tuple[Product, list[str]]:
        """Return a product with the bias and the Relu that follow, and the tensors covered."""
        name, covered = node.output, [node.output]
        add = self.find_next(name, "Add")
        if add is not None:
            constants = [self.graph.constants[n] for n in add.inputs if n in self.graph.constants]
            if len(constants) == 1 and constants[0].size in {1, product.weights.shape[1]}:
                product = replace(product, bias=product.bias + constants[0].ravel())
                name = add.output
                covered.append(name)
        relu = self.find_next(name, "Relu")
        if relu is not None:
            product = replace(product, is_relu=True)
            covered.append(relu.output)
        scale = self.scale_of(covered[-1])
        return replace(product, scale=scale, bits=self.options.bits), covered

    def cover(self, tensor: Quantised, names: list[str]) -> Quantised:
        """Set the result of several float nodes."""
        for name in names:
            self.tensors[name] = tensor
        return tensor


def _emit_same(tracer: GraphConverter, node: FloatNode) -> Quantised:
    return tracer.get(node.inputs[0])


def _emit_product(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.get(node.inputs[0])
    weights = tracer.constant(node, 1)
    if weights.ndim != 2:  # noqa: PLR2004 - a matrix
        raise ConversionError(f"rank {weights.ndim} of the weights of {node.operator}: must be 2")
    if node.operator == "Gemm":
        product = read_gemm(node, weights, tracer.find_constant(node, 2))
    else:
        product = Product(weights=weights, bias=np.zeros(weights.shape[1]), bits=0)
    if len(tensor.shape) != 1:
        tensor = tracer.plain(tensor)
    product, covered = tracer.complete(node, product)
    return tracer.cover(apply_product(tracer.writer, tensor, product), covered)


def _emit_linear_model(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.get(node.inputs[0])
    product, covered = tracer.complete(node, read_linear_model(node, tensor.shape[-1]))
    transform = node.get_text("post_transform", "NONE")
    is_raw = transform == "NONE" or tracer.options.raw_scores
    if not is_raw:
        product = replace(product, scale=None)
    tensor = apply_product(tracer.writer, tensor, product)
    names = [*node.outputs[-1:], *covered[1:]]
    return tracer.cover(_transform(tracer, node, tensor, transform), names)


def _transform(tracer: GraphConverter, node: FloatNode, tensor: Quantised, kind: str) -> Quantised:
    """Add a node's own function of scores, unless scores are wanted."""
    if kind == "NONE":
        return tensor
    if tracer.options.raw_scores:
        tracer.is_raw, tracer.reference = True, node.outputs[-1]
        return tensor
    if kind == "LOGISTIC":
        return apply_curve(tracer.writer, tensor, SIGMOID, tracer.scale_of(node.outputs[-1]))
    if kind == "SOFTMAX":
        return apply_softmax(tracer.writer, tensor, tracer.scale_of(node.outputs[-1]))
    raise ConversionError(f"post_transform {kind}: must be NONE, LOGISTIC or SOFTMAX")


def _emit_forest(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.get(node.inputs[0])
    forest = read_forest(node, tracer.graph.input_type)
    name = node.outputs[-1]
    is_raw = forest.transform == "NONE" or tracer.options.raw_scores
    scale = tracer.scale_of(name) if is_raw else None
    sums = apply_forest(tracer.writer, tensor, forest, scale)
    if forest.is_binary:
        return tracer.cover(_split_classes(tracer, node, sums, forest), [name])
    return tracer.cover(_transform(tracer, node, sums, forest.transform), [name])


def _split_classes(
    tracer: GraphConverter, node: FloatNode, sums: Quantised, forest: Forest
) -> Quantised:
    """Return the scores of both classes from the second one's.

    Source: onnxruntime's tree_ensemble_aggregator.h, `write_scores`.
    """
    is_share = bool((forest.leaf_values >= 0).all()) and forest.transform == "NONE"
    kind = "NONE" if forest.transform == "NONE" else "LOGISTIC"
    second = _transform(tracer, node, sums, kind)
    is_share = is_share or second is not sums
    offset = 1.0 if is_share else 0.0
    first = apply_affine(
        tracer.writer, second, np.array(-1.0), np.array(offset), scale=second.scale
    )
    return _concatenate(tracer, [first, second], axis=0)


def _concatenate(tracer: GraphConverter, tensors: list[Quantised], axis: int) -> Quantised:
    scale = min(tensor.scale for tensor in tensors)
    parts = [tracer.plain(tensor, scale) for tensor in tensors]
    return Quantised(
        name=tracer.writer.add("Concat", *(part.name for part in parts), axis=axis),
        scale=scale,
        least=np.concatenate([part.least for part in parts], axis=axis),
        most=np.concatenate([part.most for part in parts], axis=axis),
        values=np.concatenate([part.values for part in parts], axis=axis + 1),
    )


def _emit_concat(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensors = [tracer.get(name) for name in node.inputs]
    axis = node.get_int("axis", 0)
    axis = axis - 1 if axis > 0 else axis + len(tensors[0].shape)
    return _concatenate(tracer, tensors, axis)


def _emit_scaler(tracer: GraphConverter, node: FloatNode) -> Quantised:
    """Fold a Scaler into the products or thresholds that follow."""
    tensor = tracer.get(node.inputs[0])
    shape = tensor.shape
    offset = np.broadcast_to(_read_numbers(node, "offset", 0.0), shape)
    gain = np.broadcast_to(_read_numbers(node, "scale", 1.0), shape)
    values = (tensor.values - offset) * gain
    if tensor.read is None or (gain <= 0).any():
        return apply_affine(tracer.writer, tensor, gain, -offset * gain)
    before = tensor.read

    def read(integers: np.ndarray, index: np.ndarray) -> np.ndarray:
        value = before(integers, index).astype(np.float32) - offset[index].astype(np.float32)
        scaled: np.ndarray = value * gain[index].astype(np.float32)
        return scaled

    own_gain = np.ones(shape) if tensor.gain is None else tensor.gain
    own_offset = np.zeros(shape) if tensor.offset is None else tensor.offset
    return replace(
        tensor,
        values=values,
        gain=own_gain * gain,
        offset=(own_offset - offset) * gain,
        read=read,
    )


def _read_numbers(node: FloatNode, name: str, default: float) -> np.ndarray:
    given = node.get_array(name)
    return np.array([default]) if given is None else given.astype(np.float64)


def _emit_normalizer(tracer: GraphConverter, node: FloatNode) -> Quantised:
    """Pass probabilities on: the sum is already 1."""
    producers = [each for each in tracer.graph.nodes if node.inputs[0] in each.outputs]
    has_sum = producers and (
        producers[0].operator == "Softmax"
        or producers[0].get_text("post_transform", "") == "SOFTMAX"
        or tracer.get(node.inputs[0]).shape == (2,)
    )
    if node.get_text("norm", "MAX") != "L1" or not has_sum:
        raise ConversionError(
            "operator Normalizer: supported after probabilities that sum to 1 alone; normalise the "
            "data before"
        )
    return tracer.get(node.inputs[0])


def _emit_arithmetic(tracer: GraphConverter, node: FloatNode) -> Quantised:
    """Emit Add, Sub, Mul or Div; one side may be constant."""
    left, right = (tracer.graph.constants.get(name) for name in node.inputs[:2])
    if left is None and right is None:
        return _combine(tracer, node)
    constant = np.asarray(right if left is None else left, dtype=np.float64)
    tensor = tracer.get(node.inputs[0 if left is None else 1])
    constant = constant.reshape(constant.shape[max(0, constant.ndim - len(tensor.shape)) :])
    one, zero = np.array(1.0), np.array(0.0)
    if node.operator == "Div" and (left is not None or (constant == 0).any()):
        raise ConversionError("operator Div: supported by a constant other than 0 alone")
    gain, offset = one, zero
    if node.operator in {"Mul", "Div"}:
        gain = constant if node.operator == "Mul" else 1 / constant
    elif node.operator == "Add":
        offset = constant
    else:
        gain, offset = (one, -constant) if left is None else (-one, constant)
    return apply_affine(tracer.writer, tensor, gain, offset, scale=tracer.scale_of(node.output))


def _combine(tracer: GraphConverter, node: FloatNode) -> Quantised:
    """Emit a sum or difference of two tensors in one scale."""
    if node.operator not in {"Add", "Sub"}:
        raise ConversionError(f"operator {node.operator} of two tensors: not supported")
    sides = [tracer.plain(tracer.get(name)) for name in node.inputs[:2]]
    if sides[0].shape != sides[1].shape:
        raise ConversionError(f"operator {node.operator}: both tensors must have one shape")
    sign = 1 if node.operator == "Add" else -1
    values = sides[0].values + sign * sides[1].values
    scale = min(choose_scale(values), *(side.scale for side in sides))
    left, right = (tracer.plain(side, scale) for side in sides)
    low, high = (right.least, right.most) if sign > 0 else (-right.most, -right.least)
    return Quantised(
        name=tracer.writer.add(node.operator, left.name, right.name),
        scale=scale,
        least=left.least + low,
        most=left.most + high,
        values=values,
    )


def _emit_relu(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    return replace(
        tensor,
        name=tracer.writer.add("Relu", tensor.name),
        least=np.maximum(tensor.least, 0),
        most=np.maximum(tensor.most, 0),
        values=np.maximum(tensor.values, 0),
        read=None,
    )


def _emit_leaky(tracer: GraphConverter, node: FloatNode) -> Quantised:
    slope = node.get_float("alpha", 0.01)
    if not 0 <= slope <= 1:
        raise ConversionError(f"alpha {slope:g} of LeakyRelu: must be 0 to 1")
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    low = apply_affine(tracer.writer, tensor, np.array(slope), np.array(0.0), scale=tensor.scale)
    return replace(
        low,
        name=tracer.writer.add("Max", tensor.name, low.name),
        least=np.maximum(tensor.least, low.least),
        most=np.maximum(tensor.most, low.most),
        values=np.maximum(tensor.values, low.values),
    )


def _emit_curve(tracer: GraphConverter, node: FloatNode) -> Quantised:
    curve = TANH if node.operator == "Tanh" else SIGMOID
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    return apply_curve(tracer.writer, tensor, curve, tracer.scale_of(node.output))


def _emit_softmax(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    if len(tensor.shape) != 1 or node.get_int("axis", -1) not in {-1, 1}:
        raise ConversionError("operator Softmax: must be over the classes of one row")
    return apply_softmax(tracer.writer, tensor, tracer.scale_of(node.output))


def _emit_shape(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.get(node.inputs[0])
    if node.operator == "Reshape":
        shape = resolve_shape(tensor, [int(each) for each in tracer.constant(node, 1)])
        return reshape(tracer.writer, tensor, shape)
    if node.operator == "Flatten":
        if node.get_int("axis", 1) != 1:
            raise ConversionError("operator Flatten: axis must be 1")
        return reshape(tracer.writer, tensor, [tensor.least.size])
    given = tracer.find_constant(node, 1)
    axes = node.get_ints("axes", ()) if given is None else tuple(map(int, given.ravel()))
    sizes = [len(tensor.values), *tensor.shape]
    if node.operator == "Squeeze":
        axes = axes or tuple(at for at, size in enumerate(sizes) if at and size == 1)
        kept = [size for at, size in enumerate(sizes) if at not in {a % len(sizes) for a in axes}]
        return reshape(tracer.writer, tensor, kept[1:])
    rank = len(sizes) + len(axes)
    rest = iter(sizes)
    places = {axis % rank for axis in axes}
    if 0 in places:
        raise ConversionError("operator Unsqueeze: must keep the batch first")
    return reshape(
        tracer.writer, tensor, [1 if at in places else next(rest) for at in range(rank)][1:]
    )


def _emit_transpose(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    order = node.get_ints("perm", tuple(range(len(tensor.shape), -1, -1)))
    return transpose(tracer.writer, tensor, order)


def _emit_convolution(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    weights = tracer.constant(node, 1)
    given = tracer.find_constant(node, 2)
    bias = np.zeros(len(weights)) if given is None else given
    product = Product(weights=np.zeros((1, len(weights))), bias=bias, bits=0)
    product, covered = tracer.complete(node, product)
    return tracer.cover(apply_convolution(tracer.writer, tensor, node, weights, product), covered)


def _emit_pool(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    if len(tensor.shape) != 2:  # noqa: PLR2004 - channels by length
        raise ConversionError(f"operator {node.operator}: must be 1-D, channels by length")
    if node.operator.startswith("Global"):
        kind = "max" if node.operator == "GlobalMaxPool" else "mean"
        return reduce(tracer.writer, tensor, (1,), kind, keeps=True)
    return apply_pool(tracer.writer, tensor, node)


def _emit_reduce(tracer: GraphConverter, node: FloatNode) -> Quantised:
    tensor = tracer.plain(tracer.get(node.inputs[0]))
    given = tracer.find_constant(node, 1)
    axes = node.get_ints("axes", ()) if given is None else tuple(map(int, given.ravel()))
    rank = len(tensor.shape) + 1
    places = sorted(axis % rank - 1 for axis in axes)
    if not places or places[0] < 0:
        raise ConversionError(f"operator {node.operator}: must keep the batch")
    kind = node.operator.removeprefix("Reduce").lower()
    keeps = bool(node.get_int("keepdims", 1))
    return reduce(tracer.writer, tensor, tuple(places), kind, keeps=keeps)


def _emit_gather(tracer: GraphConverter, node: FloatNode) -> Quantised:
    """Emit an embedding: rows of a constant by the model's inputs."""
    table = tracer.constant(node, 0)
    tensor = tracer.get(node.inputs[1])
    if tensor.read is None or tensor.scale != 1 or node.get_int("axis", 0) != 0:
        raise ConversionError("operator Gather: supported by inputs of 0 decimals as indices alone")
    if int(tensor.least.min()) < 0 or int(tensor.most.max()) >= len(table):
        raise ConversionError(f"range of inputs: must be 0 to {len(table) - 1}, the table's rows")
    return gather_embedding(tracer.writer, tensor, table, tracer.options.bits)


EMITTERS: Mapping[str, Callable[[GraphConverter, FloatNode], Quantised]] = {
    **dict.fromkeys(SAME, _emit_same),
    **dict.fromkeys(SHAPES, _emit_shape),
    **dict.fromkeys(("Gemm", "MatMul"), _emit_product),
    **dict.fromkeys(("LinearRegressor", "LinearClassifier"), _emit_linear_model),
    **dict.fromkeys(
        ("TreeEnsembleRegressor", "TreeEnsembleClassifier", "TreeEnsemble"), _emit_forest
    ),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _emit_arithmetic),
    **dict.fromkeys(("Tanh", "Sigmoid"), _emit_curve),
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), _emit_pool),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"), _emit_reduce),
    "Concat": _emit_concat,
    "Conv": _emit_convolution,
    "Gather": _emit_gather,
    "LeakyRelu": _emit_leaky,
    "Normalizer": _emit_normalizer,
    "Relu": _emit_relu,
    "Scaler": _emit_scaler,
    "Softmax": _emit_softmax,
    "Transpose": _emit_transpose,
}
"""Emitter of each supported float operator."""
