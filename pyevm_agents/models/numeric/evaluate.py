"""Evaluation of a graph in int64, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyevm_agents.models.numeric.graph import Graph
    from pyevm_agents.models.numeric.plan import Kernel

Array: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Step:
    """A node, with the places of its tensors."""

    kernel: Kernel
    operands: tuple[int, ...]
    output: int
    done: tuple[int, ...]
    """Places that no later step reads; their memory is freed."""


class Evaluator:
    """Evaluates one graph. It keeps no state between evaluations."""

    def __init__(self, graph: Graph) -> None:
        """Order the tensors in places; constants have theirs from the start."""
        names = [*graph.constants, graph.input_name, *(node.output for node in graph.nodes)]
        places = {name: place for place, name in enumerate(names)}
        last_use = {
            places[name]: index for index, node in enumerate(graph.nodes) for name in node.operands
        }
        kept = {*range(len(graph.constants)), places[graph.output_name]}
        done: dict[int, list[int]] = {}
        for place, index in last_use.items():
            if place not in kept:
                done.setdefault(index, []).append(place)
        self._start: tuple[Array | None, ...] = (
            *graph.constants.values(),
            *[None] * (1 + len(graph.nodes)),
        )
        self._input = places[graph.input_name]
        self._output = places[graph.output_name]
        self._steps = tuple(
            _Step(
                node.kernel,
                tuple(places[name] for name in node.operands),
                places[node.output],
                tuple(done.get(index, ())),
            )
            for index, node in enumerate(graph.nodes)
        )

    def run(self, values: Array) -> Array:
        """Return the output tensor for an input tensor within its ranges."""
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
