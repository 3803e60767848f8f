"""Calls of the operations, and where each tensor of a graph is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from precompiles.spec import WORD_BYTES
from pyevm_agents.models.numeric.solidity.layout import ConstantData, Memory, Nest, Place, find_nest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.models.numeric.graph import Graph, GraphNode

BOOL_NUMBER = 9
"""Of the attribute `to` of Cast. Source: onnx.proto, `TensorProto.DataType`."""


@dataclass(slots=True)
class _Value:
    """Where a tensor is; tensors of other shapes share the place."""

    place: Place
    elements: int
    last_use: int


class Emitter:
    """Emits the calls of a graph's nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants = ConstantData()
        self.memory = Memory()
        self.functions: set[str] = set()
        self.lines: list[str] = []
        self.values: dict[str, _Value] = {}
        self.roots = _find_roots(graph)
        self._last_use = _find_last_uses(graph, self.roots)
        self.index = 0
        count = graph.shapes[graph.input_name][0]
        self.values[graph.input_name] = _Value(Place("i", 0, WORD_BYTES), count, len(graph.nodes))

    def copy_output(self) -> None:
        """Copy the result to the output."""
        name = self.graph.output_name
        place, count = self.place(name), self.size(name)
        nest = Nest(1, count, ((0, 1, 0),))
        self.call("copy", place.write(0, 1, 0), "o", nest.word)

    def release_dead(self, node: GraphNode) -> None:
        """Free the tensors that no later node reads."""
        for name in {self.roots.get(each, each) for each in (*node.inputs, node.output) if each}:
            value = self.values.get(name)
            if value is not None and value.place.base == "m" and value.last_use <= self.index:
                self.memory.release(value.place, value.elements)
                del self.values[name]

    def call(self, function: str, *arguments: str) -> None:
        """Add a call."""
        self.functions.add(function)
        self.lines.append(f"_{function}({', '.join(arguments)});")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a tensor's shape."""
        return self.graph.shapes[name]

    def size(self, name: str) -> int:
        """Return a tensor's number of elements."""
        return math.prod(self.graph.shapes[name])

    def place(self, name: str) -> Place:
        """Return where a tensor is."""
        if name in self.graph.constants:
            return self.constants.add(self.graph.constants[name])
        return self.values[self.roots[name]].place

    def define(self, name: str) -> Place:
        """Take memory for a node's result."""
        place = self.memory.take(self.size(name))
        self.values[name] = _Value(place, self.size(name), self._last_use[name])
        return place

    def reuse(self, node: GraphNode, names: Sequence[str], nest: Nest) -> Place:
        """Return a result's memory: that of an operand read for the last time, if large enough.

        Each element is read before the result is written to that place.
        """
        count = self.size(node.output)
        straight = (0, 1, nest.inner if nest.outer > 1 else 0)
        roots = [self.roots.get(name, name) for name in names]
        for root, strides in zip(roots, nest.strides, strict=True):
            value = self.values.get(root)
            if value is None or value.place.base != "m" or value.last_use != self.index:
                continue
            is_straight = all(
                each in {straight, (0, min(1, nest.inner - 1), straight[2])}
                for other, each in zip(roots, nest.strides, strict=True) if other == root
            )  # fmt: skip
            if value.elements == count and strides and is_straight:
                del self.values[root]
                self.values[node.output] = _Value(value.place, count, self._last_use[node.output])
                return value.place
        return self.define(node.output)

    def read(
        self, names: Sequence[str], shape: tuple[int, ...]
    ) -> tuple[list[Place], Nest, list[tuple[Place, int]]]:
        """Return the operands and loops of an elementwise node, and memory to free afterwards."""
        maps = [_broadcast(self.shape(name), shape) for name in names]
        places = [self.place(name) for name in names]
        nest = find_nest(shape, maps)
        if nest is not None:
            return places, nest, []
        temporary, count = [], maps[0].size
        for index, each in enumerate(maps):
            if find_nest((count,), [each]) is None:
                places[index] = self.move(places[index], each, (count,))
                maps[index] = np.arange(count)
                temporary.append((places[index], count))
        nest = find_nest((count,), maps)
        if nest is None:
            raise AssertionError("straight operands have one loop")
        return places, nest, temporary

    def move(self, source: Place, index: np.ndarray, shape: tuple[int, ...]) -> Place:
        """Add a copy of elements by index; return the place, of which no tensor knows."""
        place = self.memory.take(index.size)
        self.move_to(source, index, shape, place.write_result())
        return place

    def move_to(
        self, source: Place, index: np.ndarray, shape: tuple[int, ...], result: str
    ) -> None:
        """Add a copy of elements by their indices: in loops, else by a table."""
        nest = find_nest(shape, [index.ravel()])
        if nest is not None:
            self.call("copy", source.write(*nest.strides[0]), result, nest.word)
            return
        table = self.constants.add(index)
        count = f"{index.size:#x}"
        self.call("pick", source.write(0, 0, 1), table.write(0, 1, 0), result, count)


def _broadcast(shape: tuple[int, ...], wanted: tuple[int, ...]) -> np.ndarray:
    index = np.arange(math.prod(shape)).reshape(shape)
    return np.broadcast_to(index, wanted).ravel()


def _is_alias(graph: Graph, node: GraphNode) -> bool:
    """Return whether a node's result is the input: the same elements in the same order."""
    if node.operator == "Cast":
        is_bool = graph.types[node.inputs[0]] == "bool"
        return is_bool or node.attributes["to"] != BOOL_NUMBER
    if node.operator in {"Reshape", "Flatten", "Identity", "Squeeze", "Unsqueeze"}:
        return True
    if node.operator in {"Transpose", "Slice"}:
        return bool((map_elements(graph, node)[0] == np.arange(
            1, 1 + math.prod(graph.shapes[node.inputs[0]]))).all()
        ) if math.prod(graph.shapes[node.inputs[0]]) == math.prod(
            graph.shapes[node.output]) else False  # fmt: skip
    return False


def _find_roots(graph: Graph) -> dict[str, str]:
    """Return the tensor whose memory each tensor is in."""
    roots = {graph.input_name: graph.input_name}
    for node in graph.nodes:
        is_alias = _is_alias(graph, node) and node.inputs[0] in roots
        roots[node.output] = roots[node.inputs[0]] if is_alias else node.output
    return roots


def _find_last_uses(graph: Graph, roots: Mapping[str, str]) -> dict[str, int]:
    """Return the index of the last node that reads each tensor's memory."""
    last = {
        roots[name]: index
        for index, node in enumerate(graph.nodes)
        for name in (*node.inputs, node.output)
        if name in roots
    }
    last[roots[graph.output_name]] = len(graph.nodes)
    return last


def map_elements(graph: Graph, node: GraphNode) -> tuple[np.ndarray, list[str]]:
    """Return the element of each result among all operands' elements, from 1 up; 0 is a zero."""
    arrays, start = [], 1
    for name in node.operands:
        count = math.prod(graph.shapes[name])
        arrays.append(np.arange(start, start + count).reshape(graph.shapes[name]))
        start += count
    return node.kernel(*arrays).ravel(), [*node.operands]
