"""A numeric model from a file: the port of the precompile at 0x1a, in NumPy's int64."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.errors import NumericModelError
from pyevm_agents.models.numeric.evaluate import GraphEvaluator
from pyevm_agents.models.numeric.graph import read_graph
from pyevm_agents.models.numeric.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_model_file(path: Path) -> bytes:
    """Return a file's bytes, at most one more than a numeric model may have.

    Raises:
        NumericModelError: the file can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NumericModelError(
            f"model file {path} can't be read: {error.strerror}; check the path"
        ) from error


class NumericFile:
    """A restricted ONNX file; immutable after reading, so threads may share one.

    Raises:
        NumericModelError: not a numeric model; the message names the contents.
    """

    def __init__(self, data: bytes) -> None:
        """Read a file's bytes."""
        self.graph = read_graph(data)
        self.data = data
        self.digest = hashlib.sha256(data).digest()
        self.size_bytes = len(data)
        self.operations = self.graph.operations
        specs, results = self.graph.inputs, self.graph.outputs
        self.input_decimals = tuple(x.decimals for x in specs for _ in range(x.count))
        self.output_decimals = tuple(x.decimals for x in results for _ in range(x.count))
        self.input_ranges = tuple((x.least, x.most) for x in specs for _ in range(x.count))
        self._evaluator = GraphEvaluator(self.graph)

    @classmethod
    def open(cls, path: Path) -> NumericFile:
        """Read a file.

        Raises:
            NumericModelError: not a numeric model, or the file can't be read.
        """
        return cls(read_model_file(path))

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the inputs and of the outputs, one for each entry."""
        return (
            tuple(each.name for each in self.graph.inputs),
            tuple(each.name for each in self.graph.outputs),
        )

    @property
    def license(self) -> str:
        """The licence that the file states."""
        return self.graph.metadata.license

    @property
    def source(self) -> str:
        """Where the model comes from, as stated by the file."""
        return self.graph.metadata.source

    def run(self, values: Sequence[int]) -> tuple[int, ...]:
        """Evaluate the model.

        Input: a number for each input, within range.
        Output: the output numbers.

        Raises:
            NumericModelError: too few or too many numbers, or one out of range.
        """
        if len(values) != len(self.input_ranges):
            raise NumericModelError(
                f"{len(values)} input numbers: must be {len(self.input_ranges)}; pass one each"
            )
        for index, (value, (least, most)) in enumerate(zip(values, self.input_ranges, strict=True)):
            if not least <= value <= most:
                raise NumericModelError(
                    f"input number {index}: {value}: must be {least} to {most}; clip it"
                )
        result: list[int] = self._evaluator.run(np.array(values, dtype=np.int64)).tolist()
        return tuple(result)
