"""Two reports side by side."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.report.chapters.changes import describe_comparison
from pyevm_agents.bench.report.compare import compare, iter_figures
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report, Yardstick

FULL = made_up.report()


def with_first(report: Report, **changed: Interval) -> Report:
    """Return a report whose first yardstick is another."""
    first: Yardstick = replace(report.yardsticks[0], **changed)  # type: ignore[arg-type]
    return replace(report, yardsticks=(first, *report.yardsticks[1:]))


def test_a_report_is_like_itself() -> None:
    it = compare(FULL, FULL)
    assert [*it.circumstances, *it.changed, *it.added, *it.gone] == []
    assert len(it.differences) == len(list(iter_figures(FULL)))
    assert all(one.ratio.middle == 1 for one in it.differences)
    assert {one.group for one in it.differences} == {
        "EVM",
        "time",
        "parity price",
        "run",
        "30 million gas",
        "numeric models",
        "growth",
    }


@given(st.floats(0.2, 5))
def test_a_change_is_told_where_intervals_part(factor: float) -> None:
    old = FULL.yardsticks[0].ns_per_gas
    new = scale_interval(old, factor)
    it = compare(FULL, with_first(FULL, ns_per_gas=new))
    is_beyond = new.low > old.high or new.high < old.low
    assert [one.title for one in it.changed] == (
        ["ecrecover, 50 times, pyevm-agents"] if is_beyond else []
    )
    first = it.differences[0]
    assert first.ratio.low <= first.ratio.middle <= first.ratio.high
    assert math.isclose(first.ratio.middle, factor)


def test_prices_agree_or_do_not() -> None:
    told = compare(FULL, FULL)
    prices = [one for one in told.differences if one.group == "parity price"]
    others = [one for one in told.differences if one.group != "parity price"]

    def said(beyond: int, count: int = 2) -> str:
        changed = [replace(one, is_beyond=at < beyond) for at, one in enumerate(prices[:count])]
        return describe_comparison(replace(told, differences=(*others, *changed)))

    assert len(prices) >= 2
    for beyond in range(3):
        assert said(beyond).endswith(f"agree within their intervals: {2 - beyond} of 2.")
    assert said(0, 0).endswith("figures changed beyond both intervals.")


def test_other_circumstances_are_named() -> None:
    other = replace(
        FULL,
        mode="quick",
        machine=replace(
            FULL.machine, processor="another", versions=(("py-evm", "1"), ("new", "2"))
        ),
        model=replace(FULL.model, digest="cd" * 32),
    )
    assert compare(FULL, other).circumstances == (
        ("processor", "AMD EPYC 7B13", "another"),
        ("model's digest", "ab" * 32, "cd" * 32),
        ("mode", "full", "quick"),
        ("pyevm-agents", "0.1.0", "none"),
        ("py-evm", "0.12.1b1", "1"),
        ("llama-cpp-python", "0.3.36", "none"),
        ("new", "none", "2"),
    )


def test_what_only_one_measured_is_named() -> None:
    less = replace(FULL, runs=FULL.runs[1:])
    assert compare(FULL, less).gone == ("run: A wallet's agent, four steps",)
    assert compare(less, FULL).added == ("run: A wallet's agent, four steps",)
    assert compare(made_up.bare_report(), replace(less, yardsticks=())).differences == ()


def test_nothing_and_endless_have_no_ratio() -> None:
    nothing = Interval(middle=0, low=0, high=0)
    endless = Interval(middle=math.inf, low=1, high=math.inf)
    before, now = with_first(FULL, ns_per_gas=nothing), with_first(FULL, ns_per_gas=endless)
    ratio = compare(before, now).differences[0].ratio
    assert (ratio.middle, ratio.high) == (math.inf, math.inf)
    assert math.isnan(compare(before, before).differences[0].ratio.middle)
    assert math.isnan(compare(now, now).differences[0].ratio.middle)
