"""Derived figures of a report: the worst EVM case, factors, the parts of a run's gas."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyevm_agents.bench.inference.fits import find_longest_measured
from pyevm_agents.bench.measurement.exponents import fit_log_slope
from pyevm_agents.bench.measurement.intervals import (
    divide_intervals,
    estimate_median,
    scale_interval,
)
from pyevm_agents.bench.measurement.results import BLOCK_GAS, TERMS
from pyevm_agents.bench.pricing.parity import (
    EXECUTOR_PRICES,
    MODEL_PRICES,
    WORST,
    build_parity_schedule,
    combine_terms,
    find_reference,
    is_extrapolated,
)
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.bench.measurement.results import (
        Attack,
        Noise,
        NumericTransaction,
        Price,
        Report,
        Run,
        ScheduleCost,
        Term,
        Yardstick,
    )
    from pyevm_agents.reports.number_format import Interval

BoughtWork: TypeAlias = "Attack | NumericTransaction"
"""Work of which the seconds for 30 million gas are known."""

MAIN_REFERENCE = "erc20"
"""The default reference of an emitted schedule."""

QUIET_SPREAD, NOISY_SPREAD = 0.03, 0.10
"""Interquartile range of equal work, as a share of its median: on a dedicated machine; and where
medians of a few rounds begin to differ between runs.
"""

BUSY_SHARE = 0.5
"""Share of the cores in use by other processes before the run, from which the report warns."""

PRICES = {**TERMS, "tool": "a tool, its reads as well", "output": "an output token"}
"""Titles of prices: of terms, or of several together."""

PARTS = ("EVM", "prompt", "output")
"""Parts of a run's time and gas."""


def find_slowest(report: Report) -> Yardstick | None:
    """Return the yardstick of our VM that is slowest per gas: the worst EVM case."""
    return find_reference(report.yardsticks, WORST)


def compute_block_seconds(yardstick: Yardstick) -> Interval:
    """Return the seconds that 30 million gas of a yardstick take."""
    return scale_interval(yardstick.ns_per_gas, BLOCK_GAS / 1e9)


def find_term(report: Report, name: str) -> Term | None:
    """Return a fitted term."""
    return next((term for term in report.terms if term.name == name), None)


def get_unit_ns(report: Report, price_name: str, *, at_most: bool = False) -> Interval | None:
    """Return the time of a unit that has a price; None if not measured."""
    ns = {term.name: term.ns_at_most if at_most else term.ns for term in report.terms}
    try:
        return combine_terms(ns)[price_name]
    except (ConfigError, KeyError):
        return None


def find_price(report: Report, name: str) -> Price | None:
    """Return a price by name in `PRICES`."""
    return next((price for price in report.prices if price.term == name), None)


def get_parity_gas(price: Price, reference_name: str, *, at_most: bool = False) -> Interval | None:
    """Return a term's parity gas; None if the reference was not measured."""
    gases = price.parity_gas_at_most if at_most else price.parity_gas
    return dict(gases).get(reference_name)


def compute_price_factor(
    price: Price, reference_name: str, *, at_most: bool = False
) -> Interval | None:
    """Return parity over the default price; None without a default price."""
    gas = get_parity_gas(price, reference_name, at_most=at_most)
    if gas is None or not price.default_gas:
        return None
    return scale_interval(gas, 1 / price.default_gas)


def compute_emitted_gas(report: Report, reference_name: str) -> dict[str, int]:
    """Return the prices of the schedule that `--emit-schedule` writes, by name in `PRICES`.

    Output: empty if the report lacks a term or the reference.
    """
    try:
        emitted = build_parity_schedule(
            report.terms, report.yardsticks, reference_name, report.model
        )
    except (ConfigError, ValueError):
        return {}
    fields = dict(emitted.schedule)
    for prices in emitted.models.values():
        fields |= prices
    return {name: fields[field] for field, name in (EXECUTOR_PRICES | MODEL_PRICES).items()}


def describe_emission(report: Report) -> str:
    """Describe how the prices of an emitted schedule follow from the measured ones."""
    words = (
        "Each price is an upper bound: the upper end of the unit's time after "
        f"{report.model.context_tokens:,} tokens, the whole context, over the lower end of the "
        "reference's time per gas, rounded up to two digits."
    )
    if not is_extrapolated(report.terms, report.model):
        return words
    return (
        f"{words} Prompts were measured to {find_longest_measured(report.terms):,} tokens; beyond, "
        "the fitted curves are extrapolated."
    )


def find_gas(costs: Iterable[ScheduleCost], schedule: str) -> int | None:
    """Return the gas under a schedule; None if absent."""
    return next((cost.gas for cost in costs if cost.schedule == schedule), None)


def compute_gas_worth(report: Report, run: Run, reference_name: str) -> Interval | None:
    """Return the worth of a run's time in gas at a reference's pace: its own parity.

    Output: None if the reference or the run was not timed. A schedule at parity charges more, as
        the prices are those of the most expensive units.
    """
    held_against = find_reference(report.yardsticks, reference_name)
    if held_against is None or not run.seconds or held_against.ns_per_gas.low <= 0:
        return None
    return divide_intervals(
        scale_interval(estimate_median(run.seconds), 1e9), held_against.ns_per_gas
    )


def get_longest_prompt(report: Report) -> int | None:
    """Return the tokens of the longest measured prompt; None without prompts."""
    cold = find_term(report, "cold")
    return find_longest_measured(report.terms) if cold is not None and cold.marginal else None


def divide_gas(report: Report, run: Run) -> tuple[float, float, float] | None:
    """Divide a run's default gas among `PARTS`; calls and tools count with the prompt.

    Output: None if the default prices are unknown.
    """
    gas, output = find_gas(run.costs, "default"), find_price(report, "output")
    if gas is None or output is None or output.default_gas is None:
        return None
    written = run.usage.output_tokens * output.default_gas
    return run.usage.evm_gas, gas - run.usage.evm_gas - written, written


def find_worst_attack(report: Report, schedule: str) -> tuple[BoughtWork, Interval] | None:
    """Return the attack on inference with most work under a schedule, and the seconds."""
    return find_most_work(report.attacks, schedule)


def find_most_work(
    bought: Iterable[BoughtWork], schedule: str
) -> tuple[BoughtWork, Interval] | None:
    """Return the most work that 30 million gas buy under a schedule, and the seconds."""
    found = [
        (each, seconds)
        for each in bought
        for name, seconds in each.seconds_per_30m_gas
        if name == schedule
    ]
    return max(found, key=lambda pair: pair[1].middle, default=None)


def fit_size_exponent(report: Report, name: str) -> Interval | None:
    """Return p in time = b parameters^p of a term, over models of all sizes.

    Output: None for fewer than two models, or if a time is not distinguishable from 0.
    """
    ns = [dict(size.ns).get(name) for size in report.sizes]
    known = [interval for interval in ns if interval is not None and interval.low > 0]
    if len(ns) < 2 or len(known) < len(ns):  # noqa: PLR2004 - two points are a line
        return None
    return fit_log_slope([size.parameters for size in report.sizes], known)


def list_attack_schedules(report: Report) -> tuple[str, ...]:
    """Return the schedules of attacks on inference, in order."""
    return list_work_schedules(report.attacks)


def list_work_schedules(bought: Iterable[BoughtWork]) -> tuple[str, ...]:
    """Return the schedules under which work was bought, in order."""
    return tuple(dict.fromkeys(name for each in bought for name, _ in each.seconds_per_30m_gas))


def list_run_schedules(report: Report) -> tuple[str, ...]:
    """Return the schedules of runs, in order."""
    return tuple(dict.fromkeys(cost.schedule for run in report.runs for cost in run.costs))


def describe_noise(noise: Noise, cores: int) -> str:
    """Describe how steady the machine was, and the load."""
    kind = "quiet" if noise.spread <= QUIET_SPREAD else "uneven"
    if is_noisy(noise, cores):
        kind = "noisy"
    return (
        f"{kind}: the same work, {len(noise.beats_s):,} times, took a median of "
        f"{1e3 * float(np.median(noise.beats_s or (np.nan,))):.2f} ms, with quartiles "
        f"{100 * noise.spread:.1f} % apart; load average {noise.load_average:.1f} on {cores} "
        f"{'core' if cores == 1 else 'cores'} at the start"
    )


def is_noisy(noise: Noise, cores: int) -> bool:
    """Return whether the report warns of noise."""
    return noise.spread > NOISY_SPREAD or noise.load_average > BUSY_SHARE * cores
