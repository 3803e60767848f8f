"""The cost of a precompile call beside the model's work: bytes, tools, parameters, reads.

One fit of all call probes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.inference.call_probes import ARRAYS, OF_NOBODY, SPELLED
from pyevm_agents.bench.measurement.fit_result import NS, ProbeFit
from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.measurement.results import Point, Term
from pyevm_agents.bench.measurement.usage import READS_OF_TOOL
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.bench.measurement.results import Probe

COUNTS = ("byte", "tool", "parameter", "read")
ANSWERED, REFUSED, BYTE, SPELLED_BYTE, TOOL, SCALAR, ARRAY, READ, ANY = range(9)
"""Columns of the fit: answered calls; calls refused after reading their tools; bytes; bytes that
spell control tokens; tools; scalar and array parameters that reach the grammar; reads; all calls.
"""

_COLUMN = {"byte": BYTE, "tool": TOOL, "parameter": SCALAR, "read": READ}
_FORMULA = {
    "byte": "seconds = a + b n for n bytes, c more for each that spells control tokens",
    "tool": "seconds = a + b n for n tools, their reads, bytes and parameters apart",
    "parameter": "seconds = a + b n for n parameters, a + c n where they are lists",
    "read": "seconds = a + b n for n reads, with what the EVM does for them",
}
_AXIS = {"byte": "bytes", "tool": "tools", "parameter": "parameters", "read": "reads"}


def fit_calls(probes: Sequence[Probe]) -> ProbeFit:
    """Fit all probes of whole calls at once.

    Raises: ValueError: there are too few probes.
    """
    calls = [probe for probe in probes if probe.term in {"call", *COUNTS}]
    rows = []
    for call in calls:
        usage, answered = call.usage, call.term != "read" and call.detail != OF_NOBODY
        arrays = usage.parameters * (call.detail == ARRAYS)
        rows.append(
            (
                answered,
                call.term == "read",
                usage.input_bytes,
                usage.input_bytes * (call.detail == SPELLED),
                usage.tools * answered,
                (usage.parameters - arrays) * answered,
                arrays * answered,
                usage.tools * READS_OF_TOOL,
                1,
            )
        )
    return ProbeFit(calls, rows)


def build_call_term(calls: ProbeFit, reading: ProbeFit) -> Term:
    """Return the constant part of every call.

    Input: the fit of calls, and the fit of reading, whose first column is the start of a reading.
    """
    own, engine = calls.fit.get_coefficient(ANSWERED), reading.fit.get_coefficient(0)
    ns = scale_interval(_add_intervals(own, engine), NS)
    return Term(
        name="call",
        formula="seconds = a for the precompile's own part + b for beginning to read",
        coefficients=(("a", own), ("b", engine)),
        ns=ns,
        ns_at_most=ns,
        marginal=(Point(x=1, y=ns),),
        axis="calls",
        residuals=calls.compute_residuals("call", [1.0] * len(calls.probes)),
        relative_error=calls.compute_relative_error("call"),
    )


def build_count_term(calls: ProbeFit, name: str) -> Term:
    """Return the cost of one more unit of a term in `COUNTS`."""
    column = _COLUMN[name]
    unit = calls.fit.get_coefficient(column)
    coefficients = [("a", calls.fit.get_coefficient(ANSWERED)), ("b", unit)]
    most = unit
    if name == "byte":
        coefficients.append(("c", calls.fit.get_coefficient(SPELLED_BYTE)))
        row = np.zeros(len(calls.fit.coefficients))
        row[[BYTE, SPELLED_BYTE]] = 1.0
        most = calls.fit.evaluate(row.tolist())
    if name == "parameter":
        lists = calls.fit.get_coefficient(ARRAY)
        coefficients.append(("c", lists))
        most = max(unit, lists, key=lambda each: each.high)
    xs = [float(_count_units(name, probe)) for probe in calls.probes]
    own = sorted({x for x, probe in zip(xs, calls.probes, strict=True) if probe.term == name})
    ns, ns_at_most = (scale_interval(each, NS) for each in (unit, most))
    return Term(
        name=name,
        formula=_FORMULA[name],
        coefficients=tuple(coefficients),
        ns=ns,
        ns_at_most=ns_at_most,
        marginal=tuple(Point(x=x, y=ns) for x in own),
        axis=_AXIS[name],
        residuals=calls.compute_residuals(name, xs),
        relative_error=calls.compute_relative_error(name),
    )


def _count_units(name: str, probe: Probe) -> int:
    usage = probe.usage
    reads = usage.tools * READS_OF_TOOL
    return {
        "byte": usage.input_bytes,
        "tool": usage.tools,
        "parameter": usage.parameters,
        "read": reads,
    }[name]


def _add_intervals(left: Interval, other: Interval) -> Interval:
    """Return the sum of two intervals, as wide as both together allow."""
    return Interval(
        middle=left.middle + other.middle, low=left.low + other.low, high=left.high + other.high
    )
