"""Evaluation of a graph in int64, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyevm_agents.models.numeric.products import order_columns

if TYPE_CHECKING:
    from pyevm_agents.models.numeric.graph import Graph, GraphNode
    from pyevm_agents.models.numeric.plan import Kernel

Array: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Step:
    """A node, with the places of the tensors."""

    kernel: Kernel
    operands: tuple[int, ...]
    output: int
    done: tuple[int, ...]
    """Places that no later step reads; their memory is freed."""


def _list_operands(node: GraphNode) -> tuple[tuple[str, bool], ...]:
    """Return a node's operands, and whether each is the second factor of a matrix product."""
    is_product = node.operator in {"MatMul", "MatMulInteger"}
    return tuple((name, is_product and index == 1) for index, name in enumerate(node.operands))


class GraphEvaluator:
    """Evaluates one graph. No state is kept between evaluations."""

    def __init__(self, graph: Graph) -> None:
        """Order the tensors in places; constants have theirs from the start."""
        constants = {
            (name, is_factor): order_columns(graph.constants[name])
            if is_factor
            else graph.constants[name]
            for node in graph.nodes
            for name, is_factor in _list_operands(node)
            if name in graph.constants
        }
        if graph.output_name in graph.constants:
            constants[graph.output_name, False] = graph.constants[graph.output_name]
        variables = [graph.input_name, *(node.output for node in graph.nodes)]
        names = [*constants, *((name, False) for name in variables)]
        places = {name: place for place, name in enumerate(names)}
        places |= {(name, True): places[name, False] for name in variables}
        last_use = {
            places[operand]: index
            for index, node in enumerate(graph.nodes)
            for operand in _list_operands(node)
        }
        kept = {*range(len(constants)), places[graph.output_name, False]}
        done: dict[int, list[int]] = {}
        for place, index in last_use.items():
            if place not in kept:
                done.setdefault(index, []).append(place)
        self._start: tuple[Array | None, ...] = (
            *constants.values(),
            *[None] * (1 + len(graph.nodes)),
        )
        self._input = places[graph.input_name, False]
        self._output = places[graph.output_name, False]
        self._steps = tuple(
            _Step(
                node.kernel,
                tuple(places[operand] for operand in _list_operands(node)),
                places[node.output, False],
                tuple(done.get(index, ())),
            )
            for index, node in enumerate(graph.nodes)
        )

    def run(self, values: Array) -> Array:
        """Return the output tensor for an input tensor within the ranges."""
        tensors = [*self._start]
        tensors[self._input] = values
        for step in self._steps:
            tensors[step.output] = np.asarray(
                step.kernel(*[tensors[place] for place in step.operands])
            )
            for place in step.done:
                tensors[place] = None
        result = tensors[self._output]
        assert result is not None  # noqa: S101 - the graph's output is a node's
        return result
