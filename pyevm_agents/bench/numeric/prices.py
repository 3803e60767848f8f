"""The time that each price of the numeric models' precompile pays for, and prices at parity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from pyevm_agents.bench.measurement.intervals import (
    divide_intervals,
    estimate_median,
    scale_interval,
)
from pyevm_agents.bench.measurement.least_squares import fit
from pyevm_agents.bench.measurement.results import NUMERIC_PRICES, NumericPrice
from pyevm_agents.bench.pricing.parity import OPERATIONS_PER_GAS, get_reference_ns_per_gas
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.bench.measurement.results import NumericTransaction, NumericUsage, Yardstick

NS = 1e9
MAIN_SHARE = 0.8
"""Share of a transaction's time that its operations take, from which it shows the most that an
operation takes: the rest, which is subtracted, is known less well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTerms:
    """Nanoseconds of the units of the prices, by name in `NUMERIC_PRICES`."""

    ns: Mapping[str, Interval]
    ns_at_most: Mapping[str, Interval]
    relative_error: float


def fit_numeric_terms(transactions: Sequence[NumericTransaction]) -> NumericTerms:
    """Fit the seconds of usual transactions to their usage.

    seconds = transaction + a calls + b calldata bytes + c output bytes + d operations
    """
    usual = [each for each in transactions if not each.is_attack]
    found = fit([_list_counts(each.usage) for each in usual], [each.seconds for each in usual])
    names = tuple(NUMERIC_PRICES)
    ns = {
        name: scale_interval(found.get_coefficient(1 + place), NS)
        for place, name in enumerate(names)
    }
    at_most = dict(ns)
    for each in transactions:
        if each.outcome != "answered" or not each.usage.operations:
            continue
        counts = [*_list_counts(each.usage)[:-1], 0]
        other_s = float(np.dot(found.coefficients, counts))
        taken = estimate_median(each.seconds)
        if taken.middle * (1 - MAIN_SHARE) < other_s:
            continue
        alone = Interval(
            middle=taken.middle - other_s, low=taken.low - other_s, high=taken.high - other_s
        )
        slow = scale_interval(alone, NS / each.usage.operations)
        at_most[OPERATIONS_PER_GAS] = max(
            at_most[OPERATIONS_PER_GAS], slow, key=lambda value: value.middle
        )
    off = (found.measured - found.fitted) / found.measured
    return NumericTerms(
        ns=ns, ns_at_most=at_most, relative_error=float(np.sqrt(np.square(off).mean()))
    )


def compute_numeric_prices(
    terms: NumericTerms, yardsticks: Sequence[Yardstick]
) -> tuple[NumericPrice, ...]:
    """Return the prices at parity with each reference that was measured."""
    references = get_reference_ns_per_gas(yardsticks)
    return tuple(
        NumericPrice(
            name=name,
            ns=terms.ns[name],
            ns_at_most=terms.ns_at_most[name],
            parity=_compute_parity(name, terms.ns[name], references),
            parity_at_most=_compute_parity(name, terms.ns_at_most[name], references),
            default=getattr(DEFAULT_NUMERIC_SCHEDULE, name),
        )
        for name in NUMERIC_PRICES
    )


def _compute_parity(
    name: str, ns: Interval, references: Mapping[str, Interval]
) -> tuple[tuple[str, Interval], ...]:
    """Return gas of a unit, or operations for a gas, by reference."""
    return tuple(
        (
            reference,
            divide_intervals(pace, ns)
            if name == OPERATIONS_PER_GAS
            else divide_intervals(ns, pace),
        )
        for reference, pace in references.items()
    )


def _list_counts(usage: NumericUsage) -> list[int]:
    return [1, usage.calls, usage.input_bytes, usage.output_bytes, usage.operations]
