"""Matrix products: Gemm, MatMul, 1-D Conv and the linear models of ai.onnx.ml."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.options import MAX_BITS, ConversionError
from pyevm_agents.models.numeric.convert.quantised import (
    ACTIVATION_BITS,
    HEADROOM_BITS,
    Quantised,
    Rescaling,
    choose_ratio,
    choose_scale,
    require_proved,
    rescale,
)

if TYPE_CHECKING:
    from pyevm_agents.models.numeric.convert.float_graph import FloatNode
    from pyevm_agents.models.numeric.convert.writer import IntegerWriter

HIDDEN_BOUND = 2 ** (ACTIVATION_BITS - 1 + HEADROOM_BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of activations and weights, a bias, and Relu if that follows."""

    weights: np.ndarray
    """Real numbers, inputs by channels."""

    bias: np.ndarray
    """Real numbers, one a channel."""

    is_relu: bool = False
    scale: Fraction | None = None
    """Of the result; None for a hidden layer, whose scale is chosen from its values."""

    bits: int


def apply_product(
    writer: IntegerWriter, tensor: Quantised, product: Product, *, is_window: bool = False
) -> Quantised:
    """Add the nodes of a product.

    Input:
        tensor: of rank 1 or more, the last axis the inputs.
        is_window: the first axis is the inputs and the last one places, as in Conv.
    """
    weights, bias = product.weights.astype(np.float64), product.bias.astype(np.float64)
    axis = 0 if is_window else -1
    if tensor.shape[axis] != len(weights):
        raise ConversionError(f"inputs {tensor.shape[axis]} of a product: must be {len(weights)}")
    rows = np.moveaxis(tensor.values, 1, -1) if is_window else tensor.values
    values = rows @ weights + bias
    if product.is_relu:
        values = np.maximum(values, 0)
    if is_window:
        values = np.moveaxis(values, -1, 1)
    result_scale = choose_scale(values) if product.scale is None else product.scale
    weights, bias = _fold_inputs(tensor, weights, bias)
    bits = _choose_bits(tensor, product.bits, axis)
    ratios = [
        choose_ratio(tensor.scale, result_scale, float(np.abs(channel).max()), bits)
        for channel in weights.T
    ]
    units = [float(result_scale * ratio / tensor.scale) for ratio in ratios]
    integers = np.rint(weights / np.array(units)).astype(np.int64)
    name, least, most = _multiply(writer, tensor, integers, is_window=is_window)
    spread = (len(ratios), 1) if is_window else (len(ratios),)
    ratio = np.array(ratios, dtype=object).reshape(spread)
    shift = np.array([Fraction(float(each)) / result_scale for each in bias], dtype=object)
    how = Rescaling(
        ratio=ratio,
        bias=shift.reshape(spread),
        is_relu=product.is_relu,
        bound=HIDDEN_BOUND if product.scale is None else None,
    )
    name, least, most = rescale(writer, name, least, most, how)
    return Quantised(name=name, scale=result_scale, least=least, most=most, values=values)


def _fold_inputs(
    tensor: Quantised, weights: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and bias with the inputs' own gain and offset included."""
    if tensor.offset is not None:
        bias = bias + tensor.offset @ weights
    if tensor.gain is not None:
        weights = weights * tensor.gain[:, None]
    return weights, bias


def _choose_bits(tensor: Quantised, bits: int, axis: int) -> int:
    """Return the bits of weights: more where the inputs' ranges differ."""
    reach = np.maximum(np.abs(tensor.least), np.abs(tensor.most))
    if tensor.read is None or axis == 0:
        return bits
    sizes = [int(each) for each in reach.ravel() if each]
    if not sizes:
        return bits
    return min(MAX_BITS, bits + math.ceil(math.log2(max(sizes) / min(sizes))))


def _multiply(
    writer: IntegerWriter, tensor: Quantised, integers: np.ndarray, *, is_window: bool
) -> tuple[str, np.ndarray, np.ndarray]:
    """Add a MatMul; return name and interval."""
    positive, negative = np.maximum(integers, 0), np.minimum(integers, 0)
    positive, negative = positive.astype(object), negative.astype(object)
    if is_window:
        name = writer.add("MatMul", writer.add_weights(integers.T), tensor.name)
        least = positive.T @ tensor.least + negative.T @ tensor.most
        most = positive.T @ tensor.most + negative.T @ tensor.least
    else:
        name = writer.add("MatMul", tensor.name, writer.add_weights(integers))
        least = tensor.least @ positive + tensor.most @ negative
        most = tensor.most @ positive + tensor.least @ negative
    require_proved(least, most)
    return name, least, most


def read_gemm(node: FloatNode, weights: np.ndarray, bias: np.ndarray | None) -> Product:
    """Return the product of a Gemm."""
    if node.get_int("transA", 0):
        raise ConversionError("Gemm with transA: not supported; export without it")
    matrix = weights.T if node.get_int("transB", 0) else weights
    matrix = matrix.astype(np.float64) * node.get_float("alpha", 1.0)
    given = np.zeros(matrix.shape[1]) if bias is None else bias.astype(np.float64).ravel()
    bias = np.broadcast_to(given * node.get_float("beta", 1.0), (matrix.shape[1],))
    return Product(weights=matrix, bias=bias, bits=0)


def read_linear_model(node: FloatNode, inputs: int) -> Product:
    """Return the product of a linear model of ai.onnx.ml; two classes have two channels."""
    coefficients = node.get_array("coefficients")
    if coefficients is None:
        raise ConversionError(f"{node.operator} without coefficients: not supported")
    matrix = coefficients.astype(np.float64).reshape(-1, inputs).T
    intercepts = node.get_array("intercepts")
    bias = np.zeros(matrix.shape[1]) if intercepts is None else intercepts.astype(np.float64)
    classes = node.get_array("classlabels_ints")
    if classes is None:
        classes = node.get_array("classlabels_strings")
    if classes is not None and len(classes) == 2 and matrix.shape[1] == 1:  # noqa: PLR2004 - binary
        matrix, bias = np.hstack([-matrix, matrix]), np.concatenate([-bias, bias])
    return Product(weights=matrix, bias=bias, bits=0)
