"""The sentiment model as NumPy, as ONNX in floats and as ONNX in integers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training.numeric.texts import BUCKETS, SLOTS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from training.numeric.texts import Vocabulary

NEGATED_WORDS = 3
"""Words after a negator whose valence it turns, as in VADER."""

OPSET, IR_VERSION = 15, 8
CODE_SCALE = 30
"""Codes of a valence of 1: the valences from -4 to 4 fill a signed byte."""

MOST_CODE = 120
ROLE_CODES = {"negators": 125, "boosters": 126, "dampeners": 127}
TAG_OFFSET = 128
"""Tags are stored less this, as signed bytes, which the Solidity twin packs one by one."""

FACTOR = 256
"""A factor of 1."""

TABLE_SCALE = 32
"""Entries of the table of scores in a sum of 1."""

MOST_TOTAL = 32
"""Sum from which the score stays as it is: eight words of the greatest valence."""

SCORE_SCALE = 10**4
METADATA = {
    "inputs": [{"name": "word", "count": WORDS, "decimals": 0, "least": 0, "most": BUCKETS}],
    "outputs": [
        {"name": "score", "count": 1, "decimals": 4},
        {"name": "class", "count": 1, "decimals": 0},
    ],
    "license": "MIT",
    "source": "training/numeric, from the texts and the lexicon of vaderSentiment 3.3.2 (MIT)",
}
"""The file's own description, see docs/models.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentimentWeights:
    """Valences of the vocabulary's words, factors of roles, and bounds of the classes."""

    vocabulary: Vocabulary
    valences: NDArray[np.float64]
    masks: dict[str, NDArray[np.float64]]
    spread: float
    negation: float
    booster: float
    dampener: float
    positive: float
    negative: float

    def with_bounds(self, positive: float, negative: float) -> SentimentWeights:
        """Return the same weights with other bounds of the classes."""
        return replace(self, positive=positive, negative=negative)


def score(weights: SentimentWeights, features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the scores of rows of values."""
    numbers = weights.vocabulary.numbers(features)

    def before(name: str, distance: int) -> NDArray[np.float64]:
        flags = weights.masks[name][numbers]
        return np.pad(flags, ((0, 0), (distance, 0)))[:, : features.shape[1]]

    negated = np.max([before("negators", i + 1) for i in range(NEGATED_WORDS)], axis=0)
    factor = 1 + weights.booster * before("boosters", 1) - weights.dampener * before("dampeners", 1)
    total = (weights.valences[numbers] * factor * (1 - (1 + weights.negation) * negated)).sum(1)
    return np.asarray(total / np.sqrt(total**2 + weights.spread))


def float_graph(weights: SentimentWeights) -> bytes:
    """Return the model as ONNX in floats: values of a text in, the score out."""
    graph = _Graph()
    words = graph.input("word", TensorProto.INT64, WORDS)
    slot = graph.slot(words)
    own = graph.node("Gather", graph.constant(weights.vocabulary.values, np.int64), slot)
    same = graph.cast(graph.node("Equal", words, own), TensorProto.FLOAT)
    valence = graph.node("Gather", graph.constant(weights.valences[1:], np.float32), slot)
    valence = graph.node("Mul", valence, same)
    flags = {
        name: graph.node(
            "Mul", graph.node("Gather", graph.constant(mask[1:], np.float32), slot), same
        )
        for name, mask in weights.masks.items()
    }
    negated = graph.before(flags["negators"], 1, np.float32)
    for distance in range(2, NEGATED_WORDS + 1):
        negated = graph.node("Max", negated, graph.before(flags["negators"], distance, np.float32))
    factor = graph.constant([1.0], np.float32)
    for name, share in (("boosters", weights.booster), ("dampeners", -weights.dampener)):
        flag = graph.before(flags[name], 1, np.float32)
        scaled = graph.node("Mul", flag, graph.constant([share], np.float32))
        factor = graph.node("Add", factor, scaled)
    turn = graph.node("Mul", negated, graph.constant([-1 - weights.negation], np.float32))
    turn = graph.node("Add", turn, graph.constant([1.0], np.float32))
    total = graph.node("Mul", graph.node("Mul", valence, factor), turn)
    total = graph.sum(total)
    square = graph.node("Mul", total, total)
    root = graph.node(
        "Sqrt", graph.node("Add", square, graph.constant([weights.spread], np.float32))
    )
    graph.node("Div", total, root, output="score")
    return graph.build("sentiment", "score", TensorProto.FLOAT, 1)


def integer_graph(weights: SentimentWeights) -> bytes:
    """Return the model as ONNX in integers: values of a text in, the score and the class out."""
    graph = _Graph()
    words = graph.input("word", TensorProto.INT64, WORDS)
    slot = graph.slot(words)
    tag = graph.node("Gather", graph.constant(tags(weights) - TAG_OFFSET, np.int8), slot)
    tag = graph.cast(tag, TensorProto.INT64)
    tag = graph.node("Add", tag, graph.constant([TAG_OFFSET], np.int64))
    same = graph.node("Equal", graph.node("Div", words, graph.constant([SLOTS], np.int64)), tag)
    code = graph.node("Gather", graph.constant(codes(weights), np.int8), slot)
    code = graph.node(
        "Where", same, graph.cast(code, TensorProto.INT64), graph.constant([0], np.int64)
    )
    is_role = graph.node("Greater", code, graph.constant([MOST_CODE], np.int64))
    valence = graph.node("Where", is_role, graph.constant([0], np.int64), code)
    flags = {
        name: graph.cast(
            graph.node("Equal", code, graph.constant([value], np.int64)), TensorProto.INT64
        )
        for name, value in ROLE_CODES.items()
    }
    negated = graph.before(flags["negators"], 1, np.int64)
    for distance in range(2, NEGATED_WORDS + 1):
        negated = graph.node("Max", negated, graph.before(flags["negators"], distance, np.int64))
    factor = graph.constant([FACTOR], np.int64)
    for name, share in (("boosters", weights.booster), ("dampeners", -weights.dampener)):
        flag = graph.before(flags[name], 1, np.int64)
        scaled = graph.node("Mul", flag, graph.constant([round(share * FACTOR)], np.int64))
        factor = graph.node("Add", factor, scaled)
    turn = graph.constant([round((-1 - weights.negation) * FACTOR)], np.int64)
    turn = graph.node("Mul", negated, turn)
    turn = graph.node("Add", turn, graph.constant([FACTOR], np.int64))
    total = graph.sum(graph.node("Mul", graph.node("Mul", valence, factor), turn))
    size, sign = graph.node("Abs", total), graph.node("Sign", total)
    step = graph.constant([CODE_SCALE * FACTOR * FACTOR // TABLE_SCALE], np.int64)
    half = graph.constant([CODE_SCALE * FACTOR * FACTOR // TABLE_SCALE // 2], np.int64)
    index = graph.node("Div", graph.node("Add", size, half), step)
    index = graph.node("Min", index, graph.constant([TABLE_SCALE * MOST_TOTAL], np.int64))
    value = graph.node("Gather", graph.constant(score_table(weights), np.int32), index)
    score_name = graph.node("Mul", graph.cast(value, TensorProto.INT64), sign)
    bounds = [round(bound * SCORE_SCALE) for bound in (weights.positive, -weights.negative)]
    high = graph.node("GreaterOrEqual", score_name, graph.constant([bounds[0]], np.int64))
    low = graph.node("LessOrEqual", score_name, graph.constant([bounds[1]], np.int64))
    label = graph.node(
        "Sub", graph.cast(high, TensorProto.INT64), graph.cast(low, TensorProto.INT64)
    )
    graph.node("Concat", score_name, label, output="output", axis=0)
    return graph.build("sentiment", "output", TensorProto.INT64, 2, METADATA)


def codes(weights: SentimentWeights) -> NDArray[np.int64]:
    """Return a byte for each slot: the valence of its word, or its role."""
    scaled = np.clip(weights.valences[1:] * CODE_SCALE, -MOST_CODE, MOST_CODE)
    made = np.rint(scaled).astype(np.int64)
    for name, value in ROLE_CODES.items():
        made[weights.masks[name][1:] > 0] = value
    return made


def tags(weights: SentimentWeights) -> NDArray[np.int64]:
    """Return the byte of each slot that tells its word from others."""
    return weights.vocabulary.values // SLOTS % 256


def score_table(weights: SentimentWeights) -> NDArray[np.int64]:
    """Return the score of each size of the sum."""
    totals = np.arange(TABLE_SCALE * MOST_TOTAL + 1) / TABLE_SCALE
    return np.rint(totals / np.sqrt(totals**2 + weights.spread) * SCORE_SCALE).astype(np.int64)


class _Graph:
    """Builder of a graph of named tensors."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: int, size: int) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, [size]))
        return name

    def constant(self, values: ArrayLike, kind: type[np.generic]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: int) -> str:
        name = output or f"t{len(self._nodes)}"
        make_node: Callable[..., onnx.NodeProto] = helper.make_node
        self._nodes.append(make_node(operator, list(inputs), [name], **attributes))
        return name

    def slot(self, words: str) -> str:
        return self.node("Mod", words, self.constant([SLOTS], np.int64))

    def cast(self, tensor: str, kind: int) -> str:
        return self.node("Cast", tensor, to=kind)

    def sum(self, tensor: str) -> str:
        return self.node("ReduceSum", tensor, self.constant([0], np.int64), keepdims=1)

    def before(self, tensor: str, distance: int, kind: type[np.generic]) -> str:
        """Shift a tensor, so that each word has the value of a word before it."""
        bounds = [self.constant([bound], np.int64) for bound in (0, WORDS - distance, 0)]
        kept = self.node("Slice", tensor, *bounds)
        return self.node("Concat", self.constant([0] * distance, kind), kept, axis=0)

    def build(
        self, name: str, output: str, kind: int, size: int, metadata: dict[str, Any] | None = None
    ) -> bytes:
        graph = helper.make_graph(
            self._nodes,
            name,
            self._inputs,
            [helper.make_tensor_value_info(output, kind, [size])],
            self._constants,
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        if metadata is not None:
            helper.set_model_props(model, {"numeric_model": json.dumps(metadata)})
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())
