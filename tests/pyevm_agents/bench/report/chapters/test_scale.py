"""The report's chapter on longer runs and larger models."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.measurement.results import Growth, GrowthPoint
from pyevm_agents.bench.measurement.usage import Usage
from pyevm_agents.bench.report.chapters.scale import (
    build_growth_chapter,
    build_size_chapter,
    iter_reasons,
)
from pyevm_agents.bench.runs.growth import fit_exponents
from pyevm_agents.reports.document import ReportTable
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def grown(axis: str, tokens: dict[int, int]) -> Growth:
    points = tuple(
        GrowthPoint(
            x=x,
            usage=Usage(cold_tokens=count, output_tokens=1),
            gas=7 * count,
            seconds=(count / 9,),
        )
        for x, count in tokens.items()
    )
    return Growth(axis=axis, points=points, exponents=fit_exponents(points))


def test_what_is_not_linear_has_its_reason() -> None:
    straight = grown("steps", {x: 100 + 50 * x for x in (1, 2, 4, 8, 16)})
    assert not list(iter_reasons(straight))
    bent = grown("levels", {x: 300 * x + 250 * max(0, x - 4) for x in range(1, 9)})
    tokens, gas = iter_reasons(bent)
    assert tokens.startswith("Tokens grow faster than levels: four prefixes are warm at a time")
    assert gas.startswith("Gas grows faster than levels: four prefixes")
    chapter = build_growth_chapter(replace(FULL, growth=(straight, bent)))
    assert chapter is not None
    assert chapter.words[1:] == ((tokens,), (gas,))
    table = chapter.parts[1]
    assert isinstance(table, ReportTable)
    assert [cell.note for cell in table.rows[0][1:]] == ["linear"] * 3
    assert table.rows[1][1].note == "faster than linear"


def test_only_what_is_certain_has_a_reason() -> None:
    interval = Interval(middle=1.21, low=0.99, high=1.42)
    assert not list(
        iter_reasons(Growth(axis="tools", points=(), exponents=(("seconds", interval),)))
    )


def test_the_exponent_of_parameters_is_told_where_there_is_one() -> None:
    chapter = build_size_chapter(FULL)
    assert chapter is not None
    table = chapter.parts[1]
    assert isinstance(table, ReportTable)
    assert "Time grows as parameters to the power of " in table.note
    assert " for a cold prompt token" in table.note
    alone = build_size_chapter(replace(FULL, sizes=FULL.sizes[:1]))
    assert alone is not None
    assert isinstance(alone.parts[1], ReportTable)
    assert "power" not in alone.parts[1].note
