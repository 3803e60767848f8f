"""`pyevm-agents model inspect`: the facts of a numeric model's file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from pyevm_agents.cli.output import out
from pyevm_agents.display import pluralize, sanitize
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.models.numeric import GraphNode, InputSpec, NumericFile, OutputSpec

SHOWN_NODES = 40
"""Nodes that the text shows; `--json` has all."""


@click.command("inspect")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect_file(file: Path, *, as_json: bool) -> None:
    """Check an ONNX file as a node does; show the numbers, operators, shapes, price and digest.

    FILE is restricted to operators that are exact in integers; `pyevm-agents model convert` makes
    such files. FILE may be the name of a shipped model: forecast, risk, sentiment. The gas is that
    of an evaluation at the default prices, without the call's calldata and output.
    """
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx and NumPy
    from pyevm_agents.models.numeric.catalogue import find_named  # noqa: PLC0415
    from pyevm_agents.models.numeric.numeric_file import read_model_file  # noqa: PLC0415

    file = find_named(file)
    data = read_model_file(file)
    try:
        numeric = NumericFile(data)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    if as_json:
        click.echo(json.dumps(_to_form(file, numeric), indent=2, ensure_ascii=False))
    else:
        _print(file, numeric)


def _compute_gas(numeric: NumericFile) -> int:
    return DEFAULT_NUMERIC_SCHEDULE.operation_gas(numeric.operations)


def _count_operators(numeric: NumericFile) -> dict[str, int]:
    """Return how many nodes of each operator there are, the most frequent ones first."""
    return dict(Counter(node.operator for node in numeric.graph.nodes).most_common())


def _count_weights(numeric: NumericFile) -> int:
    return sum(values.size for values in numeric.graph.constants.values())


def _to_form(file: Path, numeric: NumericFile) -> dict[str, object]:
    """Return the facts as a JSON object."""
    graph = numeric.graph
    return {
        "path": str(file),
        "sha256": numeric.digest.hex(),
        "sizeBytes": numeric.size_bytes,
        "licence": numeric.license or None,
        "source": numeric.source or None,
        "opset": graph.opset,
        "inputs": [
            {
                "name": each.name,
                "count": each.count,
                "decimals": each.decimals,
                "least": each.least,
                "most": each.most,
            }
            for each in graph.inputs
        ],
        "outputs": [
            {
                "name": each.name,
                "count": each.count,
                "decimals": each.decimals,
                "least": least,
                "most": most,
            }
            for each, (least, most) in zip(
                graph.outputs, _compute_output_ranges(numeric), strict=True
            )
        ],
        "operators": _count_operators(numeric),
        "constants": _count_weights(numeric),
        "nodes": [_node_to_form(numeric, node) for node in graph.nodes],
        "operations": numeric.operations,
        "gas": _compute_gas(numeric),
    }


def _compute_output_ranges(numeric: NumericFile) -> list[tuple[int, int]]:
    """Return the proven range of each entry of the outputs."""
    interval = numeric.graph.ranges[numeric.graph.output_name]
    ranges, start = [], 0
    for each in numeric.graph.outputs:
        end = start + each.count
        ranges.append((int(interval.lows[start:end].min()), int(interval.highs[start:end].max())))
        start = end
    return ranges


def _node_to_form(numeric: NumericFile, node: GraphNode) -> dict[str, object]:
    graph = numeric.graph
    interval = graph.ranges[node.output]
    return {
        "operator": node.operator,
        "output": node.output,
        "type": graph.types[node.output],
        "shape": [*graph.shapes[node.output]],
        "least": interval.least,
        "most": interval.most,
        "operations": node.operations,
    }


def _print(file: Path, numeric: NumericFile) -> None:
    graph = numeric.graph
    operators = ", ".join(f"{count} {name}" for name, count in _count_operators(numeric).items())
    per_gas = DEFAULT_NUMERIC_SCHEDULE.operations_per_gas
    out.print(f"[bold]{escape(sanitize(str(file)))}[/]", soft_wrap=True)
    pairs = [
        ("sha256", numeric.digest.hex()),
        ("size", f"{numeric.size_bytes:,} bytes, {pluralize(_count_weights(numeric), 'constant')}"),
        ("licence", numeric.license or "not specified in the file"),
        ("source", numeric.source or "not specified in the file"),
        *(("input", _describe_input(each)) for each in graph.inputs),
        *(
            ("output", f"{_describe_numbers(each)}, {least:,} to {most:,}")
            for each, (least, most) in zip(
                graph.outputs, _compute_output_ranges(numeric), strict=True
            )
        ),
        ("operators", operators or "none"),
        ("operations", f"{numeric.operations:,}"),
        ("gas", f"{_compute_gas(numeric):,} for an evaluation, {per_gas} operations a gas"),
    ]
    for label, text in pairs:
        out.print(f"  [dim]{label:<12}[/] {escape(sanitize(text))}", soft_wrap=True)
    _print_nodes(numeric)


def _print_nodes(numeric: NumericFile) -> None:
    graph = numeric.graph
    out.print("\n[bold]Nodes[/]: operator, type and shape, range, operations")
    for node in graph.nodes[:SHOWN_NODES]:
        interval = graph.ranges[node.output]
        shape = f"{graph.types[node.output]}{[*graph.shapes[node.output]]}"
        line = (
            f"  {node.operator:<16} {shape:<20} {interval.least:,} to {interval.most:,}, "
            f"{node.operations:,}"
        )
        out.print(escape(line), soft_wrap=True)
    if len(graph.nodes) > SHOWN_NODES:
        out.print(f"  and {len(graph.nodes) - SHOWN_NODES:,} more; --json prints all")


def _describe_numbers(spec: OutputSpec) -> str:
    numbers = pluralize(spec.count, "number")
    return f"{spec.name}: {numbers}, {pluralize(spec.decimals, 'decimal')}"


def _describe_input(spec: InputSpec) -> str:
    return f"{_describe_numbers(spec)}, {spec.least:,} to {spec.most:,}"
