"""A real numeric model for tests of the chain: a small ONNX file and its values."""

from __future__ import annotations

from functools import cache

from onnx import helper

from tests.pyevm_agents.models.numeric.model_builder import build, tensor


@cache
def build_numeric_file(factor: int = 3) -> bytes:
    """Return the file of a model with two inputs: `factor` times each, plus 1."""
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["product"]),
        helper.make_node("Add", ["product", "one"], ["y"]),
    ]
    constants = [tensor("factor", [factor]), tensor("one", [1])]
    return bytes(build(nodes, constants).SerializeToString())
