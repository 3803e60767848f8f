"""Longer runs and larger models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.exponents import FASTER, verdict
from pyevm_agents.bench.measurement.intervals import interval, scaled
from pyevm_agents.bench.measurement.results import QUANTITIES, REFERENCES, TERMS
from pyevm_agents.bench.report import findings, number_format
from pyevm_agents.bench.report.document import (
    Chapter,
    Picture,
    Table,
    measured,
    names,
    numbers,
    said,
    timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.bench.measurement.results import Growth, Report, Size
    from pyevm_agents.bench.report.document import Cell

BEYOND_WARM = (
    "four prefixes are warm at a time, so agents further out than that pay for their prompts a "
    "second time when they go on"
)
REASONS: Mapping[tuple[str, str], str] = {
    ("steps", "gas"): (
        "each step hands the whole history over again: its bytes as calldata, its tokens as warm "
        "ones, which are cheap and not free"
    ),
    ("steps", "seconds"): (
        "a later step's tokens attend to all earlier ones, and the contract copies a history that "
        "grows"
    ),
    ("tools", "seconds"): "a prompt's tokens attend to all earlier ones",
    ("levels", "tokens"): BEYOND_WARM,
    ("levels", "gas"): BEYOND_WARM,
}
"""Why something may grow faster than linearly, by axis and quantity."""


def growth(report: Report) -> Chapter | None:
    """Return how runs grow; None where it was not measured."""
    if not report.growth:
        return None
    rows = tuple(
        (
            said(f"{it.points[0].x:,} to {it.points[-1].x:,} {it.axis}" if it.points else it.axis),
            *(_exponent(it, name) for name in QUANTITIES),
        )
        for it in report.growth
    )
    exponents = Table(
        title="Fitted exponents",
        columns=(*names("From"), *numbers("Tokens", "Time", "Gas")),
        rows=rows,
        note="p in a + b xᵖ, with 95 % intervals: 1 is linear, 2 would be quadratic. Tokens are "
        "those that were computed: cold and output ones.",
    )
    return Chapter(
        name="growth",
        title="Longer runs",
        words=(
            ("How tokens, time and gas grow with steps, tools and levels of nesting.",),
            *((each,) for it in report.growth for each in reasons(it)),
        ),
        parts=(
            Picture(
                name="growth",
                title="Growth of runs",
                alt="; ".join(map(_growth_alt, report.growth)) + ".",
                note="Each against its own largest run: what grows linearly is a straight line.",
            ),
            exponents,
            *(_points(it) for it in report.growth),
        ),
    )


def sizes(report: Report) -> Chapter | None:
    """Return models of other sizes; None where there are none."""
    if not report.sizes:
        return None
    lengths = sorted({f"{it.prompt_tokens:,}" for it in report.sizes})
    words = (
        "Models of real shapes with random weights, as speed does not depend on what the "
        f"weights are; in prompts of up to {number_format.listed(lengths)} tokens."
    )
    return Chapter(
        name="sizes",
        title="Larger models",
        words=((words,),),
        parts=(
            Picture(
                name="sizes",
                title="Time and parity gas of a token, by the model's size",
                alt="; ".join(map(_size_alt, report.sizes)) + ".",
                note="Both axes are logarithmic; bars are 95 % intervals.",
            ),
            _sizes_table(report),
        ),
    )


def reasons(it: Growth) -> Iterator[str]:
    """Yield why something grows faster than linearly, where it does for certain."""
    for name, exponent in it.exponents:
        reason = REASONS.get((it.axis, name))
        if reason is not None and verdict(exponent) == FASTER:
            verb = "grows" if name == "gas" else "grow"
            yield f"{name[:1].upper()}{name[1:]} {verb} faster than {it.axis}: {reason}."


def _points(it: Growth) -> Table:
    rows = tuple(
        (
            said(f"{point.x:,}"),
            said(f"{point.usage.cold_tokens:,}"),
            said(f"{point.usage.warm_tokens:,}"),
            said(f"{point.usage.output_tokens:,}"),
            said(f"{point.gas:,}"),
            timed(interval(point.seconds)) if point.seconds else said(number_format.NOTHING),
        )
        for point in it.points
    )
    title = it.axis[:1].upper() + it.axis[1:]
    columns = numbers(title, "Cold tokens", "Warm tokens", "Output tokens", "Gas", "Time")
    return Table(title=f"By {it.axis}", columns=columns, rows=rows)


def _exponent(it: Growth, name: str) -> Cell:
    exponent = dict(it.exponents).get(name)
    if exponent is None:
        return said(number_format.NOTHING)
    return measured(exponent, note=verdict(exponent))


def _growth_alt(it: Growth) -> str:
    told = [f"{name} {number_format.number(value.middle)}" for name, value in it.exponents]
    return f"by {it.axis}: exponents {', '.join(told) or 'none'}"


def _sizes_table(report: Report) -> Table:
    known = tuple(dict.fromkeys(name for it in report.sizes for name, _ in it.ns))
    columns = [*names("Model"), *numbers("Parameters", "File")]
    for name in known:
        title = TERMS.get(name, name)
        title = title[:1].upper() + title[1:]
        columns += numbers(title, "parity, gas")
    rows = tuple(tuple(_size_row(it, known)) for it in report.sizes)
    note = f"Parity {REFERENCES[findings.MAIN_REFERENCE]} has it, on this machine's EVM."
    told = [
        f"{number_format.number(exponent.middle)} ({number_format.span(exponent)}) "
        f"for {TERMS.get(name, name)}"
        for name in known
        if (exponent := findings.exponent_of_sizes(report, name))
    ]
    if told:
        note += f" Time grows as parameters to the power of {number_format.listed(told)}."
    return Table(title="Time and parity price", columns=tuple(columns), rows=rows, note=note)


def _size_row(it: Size, known: tuple[str, ...]) -> list[Cell]:
    ns = dict(it.ns)
    gas = dict(dict(it.parity_gas).get(findings.MAIN_REFERENCE, ()))
    cells = [
        said(f"{it.name}, {it.quantisation}"),
        said(number_format.count(it.parameters)),
        said(number_format.size(it.file_bytes)),
    ]
    for name in known:
        cells.append(timed(scaled(ns[name], 1e-9)) if name in ns else said(number_format.NOTHING))
        cells.append(
            measured(gas[name], is_marked=True) if name in gas else said(number_format.NOTHING)
        )
    return cells


def _size_alt(it: Size) -> str:
    told = [
        f"{TERMS.get(name, name)} {number_format.seconds(ns.middle / 1e9)}" for name, ns in it.ns
    ]
    return f"{it.name}, {number_format.count(it.parameters)} parameters: {', '.join(told)}"
