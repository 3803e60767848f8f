"""A numeric model as a Solidity library: one call of a loop for each node of the graph."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric.graph import read_graph
from pyevm_agents.models.numeric.solidity.layout import fold_repeats
from pyevm_agents.models.numeric.solidity.operators import emit_calls
from pyevm_agents.models.numeric.solidity.templates import FILE_TEXT, build_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.numeric.graph import Graph
    from pyevm_agents.models.numeric.metadata import OutputSpec
    from pyevm_agents.models.numeric.solidity.calls import Emitter

RANGE_BYTES = 8
"""Width of an input's least and most value."""

BYTES_PER_LINE = 40
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LICENCE = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")
"""A text that solc takes for an SPDX licence."""

UNLICENSED = "UNLICENSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolidityModel:
    """A generated file."""

    text: str
    data_bytes: int
    """Size of the packed constants, which are part of the contract's code."""

    memory_bytes: int
    """Memory for values, beside inputs, outputs and constants."""


def generate_library(data: bytes, name: str, *, max_bytes: int) -> SolidityModel:
    """Return a numeric model as a Solidity library and a wrapping contract.

    Input:
        data: bytes of the model's file.
        name: of the library.
        max_bytes: of the constants; more are refused.
    Raises: ConfigError: not a name, or too many constants; NumericModelError: not a numeric model.
    """
    if not IDENTIFIER.fullmatch(name):
        raise ConfigError(
            f"name {name}: must be letters, digits and _, a digit not the first; pass another with "
            "--name"
        )
    graph = read_graph(data)
    emitter = emit_calls(graph)
    ranges = np.array(
        [
            each
            for spec in graph.inputs
            for _ in range(spec.count)
            for each in (spec.least, spec.most)
        ]
    )
    ranges_at = emitter.constants.add(ranges, RANGE_BYTES).offset
    size = len(emitter.constants.data)
    if size > max_bytes:
        raise ConfigError(
            f"constants of {size:,} bytes: must be at most {max_bytes:,}, a contract's code "
            "(EIP-170); convert with fewer bits, use a smaller model, or pass --max-bytes"
        )
    body = "\n".join(f"        {line}" for line in fold_repeats(emitter.lines))
    text = _fill(graph, emitter, name, body, ranges_at, hashlib.sha256(data).hexdigest())
    return SolidityModel(text=text, data_bytes=size, memory_bytes=emitter.memory.size)


def _fill(  # noqa: PLR0913, PLR0917 - parts of one file
    graph: Graph, emitter: Emitter, name: str, body: str, ranges_at: int, digest: str
) -> str:
    licence = graph.metadata.license
    widths = [f"{count:,} of {width} byte{'s' if width > 1 else ''}"
              for width, count in emitter.constants.bytes_of_width.items() if count]  # fmt: skip
    inputs, outputs = (_describe(specs) for specs in (graph.inputs, graph.outputs))
    return FILE_TEXT.format(
        name=name,
        licence=licence if LICENCE.fullmatch(licence) else UNLICENSED,
        signature=f"From {inputs} to {outputs}.",
        digest=digest,
        data_bytes=f"{len(emitter.constants.data):,}",
        widths=", ".join(widths),
        data=_write_data(bytes(emitter.constants.data)),
        inputs=graph.shapes[graph.input_name][0],
        outputs=graph.shapes[graph.output_name][0],
        input_text=f"The inputs: {inputs}.",
        output_text=f"The outputs: {outputs}.",
        memory_bytes=emitter.memory.size,
        ranges_at=ranges_at,
        lines=body,
        functions="\n".join(build_function(each) for each in sorted(emitter.functions)),
    )


MAX_DESCRIBED = 12
"""Inputs or outputs whose names the comments list; they do not end in lines of kilobytes."""


def _describe(specs: Sequence[OutputSpec]) -> str:
    """Return names, counts and decimals for a comment: letters, digits and simple marks alone."""
    words = []
    for spec in specs[:MAX_DESCRIBED]:
        clean = re.sub(r"[^A-Za-z0-9_. -]", "_", spec.name)
        count = f"{spec.count} of " if spec.count > 1 else ""
        words.append(f"{count}{clean} ({spec.decimals} decimals)")
    more = len(specs) - MAX_DESCRIBED
    return ", ".join([*words, *([f"{more} more"] if more > 0 else [])])


def _write_data(data: bytes) -> str:
    parts = [data[at : at + BYTES_PER_LINE] for at in range(0, len(data), BYTES_PER_LINE)]
    return "\n".join(f'        hex"{part.hex()}"' for part in parts)
