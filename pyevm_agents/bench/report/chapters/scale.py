"""The chapters of growth and of model sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.exponents import FASTER, describe_growth
from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.results import QUANTITIES, REFERENCES, TERMS
from pyevm_agents.bench.report import findings
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Chapter,
    Picture,
    ReportTable,
    make_number_cell,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.bench.measurement.results import Growth, ModelSize, Report
    from pyevm_agents.reports.document import Cell

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
"""Causes of growth that is faster than linear, by axis and quantity."""


def build_growth_chapter(report: Report) -> Chapter | None:
    """Return the chapter of growth; None if not measured."""
    if not report.growth:
        return None
    rows = tuple(
        (
            make_text_cell(
                f"{growth.points[0].x:,} to {growth.points[-1].x:,} {growth.axis}"
                if growth.points
                else growth.axis
            ),
            *(_build_exponent_cell(growth, name) for name in QUANTITIES),
        )
        for growth in report.growth
    )
    exponents = ReportTable(
        title="Fitted exponents",
        columns=(*make_text_columns("From"), *make_number_columns("Tokens", "Time", "Gas")),
        rows=rows,
        note="p in a + b xᵖ, with 95 % intervals: 1 is linear, 2 would be quadratic. Tokens are "
        "those that were computed: cold and output ones.",
    )
    return Chapter(
        name="growth",
        title="Longer runs",
        words=(
            ("How tokens, time and gas grow with steps, tools and levels of nesting.",),
            *((each,) for growth in report.growth for each in iter_reasons(growth)),
        ),
        parts=(
            Picture(
                name="growth",
                title="Growth of runs",
                alt="; ".join(map(_build_growth_alt_text, report.growth)) + ".",
                note="Each against its own largest run: linear growth is a straight line.",
            ),
            exponents,
            *(_build_point_table(growth) for growth in report.growth),
        ),
    )


def build_size_chapter(report: Report) -> Chapter | None:
    """Return the chapter of model sizes, or None."""
    if not report.sizes:
        return None
    lengths = sorted({f"{size.prompt_tokens:,}" for size in report.sizes})
    words = (
        "Models of real shapes with random weights, as speed does not depend on the values of "
        f"weights; in prompts of up to {number_format.join_names(lengths)} tokens."
    )
    return Chapter(
        name="sizes",
        title="Larger models",
        words=((words,),),
        parts=(
            Picture(
                name="sizes",
                title="Time and parity gas of a token, by the model's size",
                alt="; ".join(map(_build_size_alt_text, report.sizes)) + ".",
                note="Both axes are logarithmic; bars are 95 % intervals.",
            ),
            _build_size_table(report),
        ),
    )


def iter_reasons(growth: Growth) -> Iterator[str]:
    """Yield the causes of each quantity's growth that is certainly faster than linear."""
    for name, exponent in growth.exponents:
        reason = REASONS.get((growth.axis, name))
        if reason is not None and describe_growth(exponent) == FASTER:
            verb = "grows" if name == "gas" else "grow"
            yield f"{name[:1].upper()}{name[1:]} {verb} faster than {growth.axis}: {reason}."


def _build_point_table(growth: Growth) -> ReportTable:
    rows = tuple(
        (
            make_text_cell(f"{point.x:,}"),
            make_text_cell(f"{point.usage.cold_tokens:,}"),
            make_text_cell(f"{point.usage.warm_tokens:,}"),
            make_text_cell(f"{point.usage.output_tokens:,}"),
            make_text_cell(f"{point.gas:,}"),
            make_time_cell(estimate_median(point.seconds))
            if point.seconds
            else make_text_cell(number_format.NOTHING),
        )
        for point in growth.points
    )
    title = growth.axis[:1].upper() + growth.axis[1:]
    columns = make_number_columns(
        title, "Cold tokens", "Warm tokens", "Output tokens", "Gas", "Time"
    )
    return ReportTable(title=f"By {growth.axis}", columns=columns, rows=rows)


def _build_exponent_cell(growth: Growth, name: str) -> Cell:
    exponent = dict(growth.exponents).get(name)
    if exponent is None:
        return make_text_cell(number_format.NOTHING)
    return make_number_cell(exponent, note=describe_growth(exponent))


def _build_growth_alt_text(growth: Growth) -> str:
    phrases = [
        f"{name} {number_format.format_number(value.middle)}" for name, value in growth.exponents
    ]
    return f"by {growth.axis}: exponents {', '.join(phrases) or 'none'}"


def _build_size_table(report: Report) -> ReportTable:
    known = tuple(dict.fromkeys(name for size in report.sizes for name, _ in size.ns))
    columns = [*make_text_columns("Model"), *make_number_columns("Parameters", "File")]
    for name in known:
        title = TERMS.get(name, name)
        title = title[:1].upper() + title[1:]
        columns += make_number_columns(title, "parity, gas")
    rows = tuple(tuple(_build_size_row(size, known)) for size in report.sizes)
    note = f"Parity {REFERENCES[findings.MAIN_REFERENCE]}, on this machine's EVM."
    phrases = [
        f"{number_format.format_number(exponent.middle)} ({number_format.format_span(exponent)}) "
        f"for {TERMS.get(name, name)}"
        for name in known
        if (exponent := findings.fit_size_exponent(report, name))
    ]
    if phrases:
        note += f" Time grows as parameters to the power of {number_format.join_names(phrases)}."
    return ReportTable(title="Time and parity price", columns=tuple(columns), rows=rows, note=note)


def _build_size_row(size: ModelSize, known: tuple[str, ...]) -> list[Cell]:
    ns = dict(size.ns)
    gas = dict(dict(size.parity_gas).get(findings.MAIN_REFERENCE, ()))
    cells = [
        make_text_cell(f"{size.name}, {size.quantisation}"),
        make_text_cell(number_format.format_count(size.parameters)),
        make_text_cell(number_format.format_bytes(size.file_bytes)),
    ]
    for name in known:
        cells.append(
            make_time_cell(scale_interval(ns[name], 1e-9))
            if name in ns
            else make_text_cell(number_format.NOTHING)
        )
        cells.append(
            make_number_cell(gas[name], is_marked=True)
            if name in gas
            else make_text_cell(number_format.NOTHING)
        )
    return cells


def _build_size_alt_text(size: ModelSize) -> str:
    times = [
        f"{TERMS.get(name, name)} "
        + number_format.format_estimate(scale_interval(ns, 1e-9), number_format.format_seconds)
        for name, ns in size.ns
    ]
    return (
        f"{size.name}, {number_format.format_count(size.parameters)} parameters: {', '.join(times)}"
    )
