"""All tables of a measurement, in the order in which a terminal and a page show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import bfcl, reliability
from benchmarks.accuracy_comparison import iter_pairs, paired_table
from benchmarks.accuracy_tables import bars_of, scenario_table, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from benchmarks.accuracy_runs import Findings


def tables_of(findings: Findings) -> Iterator[Table]:
    """Yield the tables of the finished runs."""
    for name, results in findings.tasks.items():
        yield table_of(name, results)
    if findings.tasks:
        yield bars_of(findings.tasks)
        yield from (paired_table(*pair) for pair in iter_pairs(findings.tasks))
        yield bfcl.table_of(findings.tasks)
    for name, found in reliability.measure_all(findings.tasks, findings.rules).items():
        yield reliability.bins_table(name, found)
        yield reliability.curve_table(name, found)
    if findings.scenarios:
        yield scenario_table(findings.scenarios)
