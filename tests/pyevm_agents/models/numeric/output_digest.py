"""Digest of the outputs of several models, and the features of the processor that NumPy uses.

python -m tests.pyevm_agents.models.numeric.output_digest
"""

from __future__ import annotations

import hashlib
import json
import random
from importlib import import_module

import numpy as np
from onnx import TensorProto, helper

from pyevm_agents.models.numeric.numeric_file import NumericFile
from tests.pyevm_agents.models.numeric.model_builder import build, serialize, tensor
from tests.pyevm_agents.models.numeric.mutated_files import build_samples

RUNS = 40
"""Evaluations of each model."""


def list_dispatched() -> list[str]:
    """Return the features above NumPy's baseline that this processor has, and NumPy uses."""
    core = import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def build_wide(source: random.Random) -> bytes:
    """Return a model whose loops are long enough for every vector instruction."""

    def draw(shape: tuple[int, ...], most: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        size = int(np.prod(shape))
        numbers = [source.randint(-most, most) for _ in range(size)]
        return np.array(numbers, dtype=np.int64).reshape(shape)

    nodes = [
        helper.make_node("Reshape", ["x", "row"], ["a"]),
        helper.make_node("MatMul", ["a", "weights"], ["b"]),
        helper.make_node("Add", ["b", "bias"], ["c"]),
        helper.make_node("Div", ["c", "divisors"], ["d"]),
        helper.make_node("Mod", ["d", "bound"], ["e"]),
        helper.make_node("Gather", ["table", "e"], ["f"]),
        helper.make_node("Greater", ["f", "c"], ["g"]),
        helper.make_node("Where", ["g", "f", "d"], ["h"]),
        helper.make_node("Clip", ["h", "least", "most"], ["i"]),
        helper.make_node("Cast", ["i"], ["j"], to=TensorProto.INT8),
        helper.make_node("MatMulInteger", ["j", "bytes"], ["k"]),
        helper.make_node("Cast", ["k"], ["l"], to=TensorProto.INT64),
        helper.make_node("Abs", ["l"], ["m"]),
        helper.make_node("ReduceMax", ["m"], ["n"], keepdims=1),
        helper.make_node("ArgMax", ["m"], ["o"], axis=1),
        helper.make_node("Concat", ["m", "n", "o"], ["p"], axis=1),
        helper.make_node("Reshape", ["p", "flat"], ["y"]),
    ]
    constants = [
        tensor("row", [1, 67]),
        tensor("weights", draw((67, 301), 10**9)),
        tensor("bias", draw((301,), 10**12)),
        tensor("divisors", np.maximum(np.abs(draw((301,), 1_000)), 1)),
        tensor("bound", 997),
        tensor("table", draw((997,), 10**6)),
        tensor("least", -128),
        tensor("most", 127),
        tensor("bytes", draw((301, 33), 127), "int8"),
        tensor("flat", [35]),
    ]
    return serialize(build(nodes, constants, inputs=[(67, -(10**6), 10**6)], outputs=35))


def compute_digest() -> str:
    """Return the digest of the outputs of all models."""
    source = random.Random(24)  # noqa: S311 - repeatable, no secret
    digest = hashlib.sha256()
    for data in [*build_samples(), build_wide(source)]:
        model = NumericFile(data)
        for _ in range(RUNS):
            values = [source.randint(least, most) for least, most in model.input_ranges]
            digest.update(json.dumps(model.run(values)).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    print(json.dumps({"features": list_dispatched(), "digest": compute_digest()}))  # noqa: T201
