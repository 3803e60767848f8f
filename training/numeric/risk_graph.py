"""The risk model as NumPy and as ONNX in floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training.numeric.series import WINDOW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OPSET = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskWeights:
    """A convolution (channels, kernel), a layer (hidden, channels * positions), an output."""

    kernel: Floats
    hidden: Floats
    output: Floats
    stride: int


def volatility(weights: RiskWeights, returns: Floats) -> Floats:
    """Return the volatility after each window of returns."""
    size = weights.kernel.shape[1]
    view = np.lib.stride_tricks.sliding_window_view(returns, size, axis=1)[:, :: weights.stride]
    layer = np.maximum(np.einsum("npk,ck->ncp", view, weights.kernel), 0)
    layer = np.maximum(layer.reshape(len(returns), -1) @ weights.hidden.T, 0)
    return np.asarray(layer @ weights.output)


def float_graph(weights: RiskWeights) -> bytes:
    """Return the model as ONNX, a row of returns in, a row of one volatility out."""
    channels, size = weights.kernel.shape
    constants = {
        "kernel": weights.kernel.reshape(channels, 1, size),
        "hidden_weights": weights.hidden.T,
        "output_weights": weights.output.reshape(-1, 1),
    }
    initializers = [
        numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name)
        for name, value in constants.items()
    ]
    shape = numpy_helper.from_array(np.array([1, 1, WINDOW], dtype=np.int64), "shape")
    strides = [weights.stride]
    nodes = [
        helper.make_node("Reshape", ["input", "shape"], ["signal"]),
        helper.make_node(
            "Conv", ["signal", "kernel"], ["conv"], kernel_shape=[size], strides=strides
        ),
        helper.make_node("Relu", ["conv"], ["conv_relu"]),
        helper.make_node("Flatten", ["conv_relu"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "hidden_weights"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["hidden_relu"]),
        helper.make_node("MatMul", ["hidden_relu", "output_weights"], ["volatility"]),
    ]
    graph = helper.make_graph(
        nodes,
        "risk",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, WINDOW])],
        [helper.make_tensor_value_info("volatility", TensorProto.FLOAT, [1, 1])],
        [shape, *initializers],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
