"""Compare two reports: which figures changed beyond both intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import (
    divide_intervals,
    estimate_median,
    scale_interval,
)
from pyevm_agents.bench.measurement.results import NUMERIC_UNITS, REFERENCES, TERMS
from pyevm_agents.bench.report.findings import PRICES
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Growth, NumericResults, Price, Report
    from pyevm_agents.bench.report.findings import BoughtWork

PARITY_PRICE = "parity price"
"""The group of the main figures."""

UNKNOWN = Interval(middle=math.nan, low=math.nan, high=math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """A figure that two reports may share."""

    group: str
    title: str
    unit: str
    """"s" of a time, else in words: "gas", "ns a gas"."""

    value: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure in both reports."""

    group: str
    title: str
    unit: str
    old: Interval
    new: Interval
    ratio: Interval
    """New over old, as wide as both together allow; NaN where undefined."""

    is_beyond: bool
    """Whether the two intervals are disjoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportComparison:
    """Two reports side by side."""

    old_made_at: str
    new_made_at: str
    circumstances: tuple[tuple[str, str, str], ...]
    """(fact, old, new) of each differing circumstance, which may explain a change."""

    differences: tuple[Difference, ...]
    added: tuple[str, ...]
    """Figures of the new report alone."""

    gone: tuple[str, ...]
    """Figures of the old report alone."""

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The differences beyond both intervals."""
        return tuple(difference for difference in self.differences if difference.is_beyond)


def compare(old: Report, new: Report) -> ReportComparison:
    """Compare a report with an older one."""
    before = {(figure.group, figure.title): figure for figure in iter_figures(old)}
    now = {(figure.group, figure.title): figure for figure in iter_figures(new)}
    return ReportComparison(
        old_made_at=old.made_at,
        new_made_at=new.made_at,
        circumstances=tuple(_iter_circumstances(old, new)),
        differences=tuple(_compare_figures(before[key], now[key]) for key in now if key in before),
        added=tuple(f"{group}: {title}" for group, title in now if (group, title) not in before),
        gone=tuple(f"{group}: {title}" for group, title in before if (group, title) not in now),
    )


def iter_figures(report: Report) -> Iterator[ReportFigure]:
    """Yield the comparable figures: EVM, terms, prices, runs, attacks, numeric models, growth."""
    for yardstick in report.yardsticks:
        vm = yardstick.vm.partition(" ")[0]  # Another version of anvil is still anvil.
        yield ReportFigure(
            group="EVM",
            title=f"{yardstick.title}, {vm}",
            unit="ns a gas",
            value=yardstick.ns_per_gas,
        )
    for term in report.terms:
        title = TERMS.get(term.name, term.name)
        yield ReportFigure(group="time", title=title, unit="s", value=scale_interval(term.ns, 1e-9))
    for price in report.prices:
        yield from _iter_price_figures(price)
    for run in report.runs:
        yield ReportFigure(
            group="run", title=run.title, unit="s", value=_estimate_samples(run.seconds)
        )
    for attack in report.attacks:
        yield from _iter_attack_figures(attack)
    if report.numeric is not None:
        yield from _iter_numeric_figures(report.numeric)
    for growth in report.growth:
        yield from _iter_growth_figures(growth)


def _iter_price_figures(price: Price) -> Iterator[ReportFigure]:
    title = PRICES.get(price.term, price.term)
    for name, gas in price.parity_gas:
        words = f"{title}, {REFERENCES.get(name, name)}"
        yield ReportFigure(group=PARITY_PRICE, title=words, unit="gas", value=gas)


def _iter_numeric_figures(numeric: NumericResults) -> Iterator[ReportFigure]:
    for price in numeric.prices:
        words = NUMERIC_UNITS.get(price.name, price.name)
        value = scale_interval(price.ns, 1e-9)
        yield ReportFigure(group="numeric models", title=words, unit="s", value=value)
    for transaction in numeric.transactions:
        yield from _iter_attack_figures(transaction)


def _iter_attack_figures(attack: BoughtWork) -> Iterator[ReportFigure]:
    """Yield an attack's work under the first schedule: the others have the same time."""
    for schedule, seconds in attack.seconds_per_30m_gas[:1]:
        title = f"{attack.title}, {schedule}"
        yield ReportFigure(group="30 million gas", title=title, unit="s", value=seconds)


def _iter_growth_figures(growth: Growth) -> Iterator[ReportFigure]:
    for name, exponent in growth.exponents:
        title = f"exponent of {name} by {growth.axis}"
        yield ReportFigure(group="growth", title=title, unit="", value=exponent)


def _compare_figures(old: ReportFigure, new: ReportFigure) -> Difference:
    was, now = old.value, new.value
    return Difference(
        group=new.group,
        title=new.title,
        unit=new.unit,
        old=was,
        new=now,
        ratio=divide_intervals(now, was),
        is_beyond=now.low > was.high or now.high < was.low,
    )


def _estimate_samples(seconds: tuple[float, ...]) -> Interval:
    return estimate_median(seconds) if seconds else UNKNOWN


def _iter_circumstances(old: Report, new: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the circumstances that differ."""
    was, now = old.machine, new.machine
    pairs = [
        ("processor", was.processor, now.processor),
        ("cores", str(was.cores), str(now.cores)),
        ("system", was.system, now.system),
        ("Python", was.python, now.python),
        ("model", old.model.name, new.model.name),
        ("model's digest", old.model.digest, new.model.digest),
        ("engine's profile", old.model.fingerprint, new.model.fingerprint),
        ("mode", old.mode, new.mode),
    ]
    versions = (dict(was.versions), dict(now.versions))
    known = dict.fromkeys([*versions[0], *versions[1]])
    before, after = versions
    pairs += [(name, before.get(name, "none"), after.get(name, "none")) for name in known]
    yield from (pair for pair in pairs if pair[1] != pair[2])
