"""Parity: the gas prices at which inference takes as long per gas as the EVM does.

An emitted schedule is an upper bound for each unit: the time at the most expensive point, at the
upper end of the interval, over the lower end of the reference's time per gas. The EVM's own charge
for reads of metadata is not subtracted. No schedule prices the EVM's own work, such as copying
calldata into a call that is refused for the size: the time per gas of that work is unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from precompiles import spec
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.numeric_gas import NumericGasSchedule
from pyevm_agents import __version__
from pyevm_agents.bench.inference.fits import compute_marginal_ns, find_longest_measured
from pyevm_agents.bench.measurement.intervals import divide_intervals, scale_interval
from pyevm_agents.bench.measurement.results import OWN_VM, REFERENCES, Price
from pyevm_agents.bench.measurement.usage import READS_OF_TOOL
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyevm_agents.bench.measurement.results import (
        Machine,
        MeasuredModel,
        NumericPrice,
        Term,
        Yardstick,
    )

WORST = "worst"

DEFAULT_GAS = {
    "call": DEFAULT_SCHEDULE.executor_base_gas,
    "byte": DEFAULT_SCHEDULE.input_byte_gas,
    "tool": DEFAULT_SCHEDULE.tool_gas,
    "parameter": DEFAULT_SCHEDULE.parameter_gas,
    "cold": spec.DEFAULT_COLD_PROMPT_TOKEN_GAS,
    "warm": spec.DEFAULT_WARM_PROMPT_TOKEN_GAS,
    "output": spec.DEFAULT_OUTPUT_TOKEN_GAS,
}
"""Names of prices, and the default prices. A tool's price includes its reads; the price of an
output token is that of the dearer of sampled and forced ones.
"""

EXECUTOR_PRICES = {
    "executor_base_gas": "call",
    "input_byte_gas": "byte",
    "tool_gas": "tool",
    "parameter_gas": "parameter",
}
MODEL_PRICES = {
    "cold_prompt_token_gas": "cold",
    "warm_prompt_token_gas": "warm",
    "output_token_gas": "output",
}
"""Fields of a schedule's file, and the prices that they hold."""

OPERATIONS_PER_GAS = "operations_per_gas"
"""The numeric price that is not in gas: the more, the cheaper."""

SIGNIFICANT_DIGITS = 2


def compute_prices(terms: Sequence[Term], yardsticks: Sequence[Yardstick]) -> tuple[Price, ...]:
    """Return all prices of a schedule, by reference.

    Raises: ConfigError: no term or no yardstick was measured.
    """
    ns_per_gas = get_reference_ns_per_gas(yardsticks)
    if not ns_per_gas:
        raise ConfigError("no yardstick of our own VM was measured; measure the EVM as well")
    usual = combine_terms({term.name: term.ns for term in terms})
    most = combine_terms({term.name: term.ns_at_most for term in terms})
    return tuple(
        Price(
            term=name,
            parity_gas=tuple(
                (each, divide_intervals(usual[name], ns)) for each, ns in ns_per_gas.items()
            ),
            parity_gas_at_most=tuple(
                (each, divide_intervals(most[name], ns)) for each, ns in ns_per_gas.items()
            ),
            default_gas=default_gas,
        )
        for name, default_gas in DEFAULT_GAS.items()
    )


def build_parity_schedule(  # noqa: PLR0913 - what a schedule says of where it comes from
    terms: Sequence[Term],
    yardsticks: Sequence[Yardstick],
    reference_name: str,
    model: MeasuredModel,
    *,
    numeric_prices: Sequence[NumericPrice] = (),
    machine: Machine | None = None,
    made_at: str = "",
) -> ScheduleFile:
    """Return the schedule under which no term takes longer per gas than the reference.

    Measured numeric prices are included.

    Prices hold for the model's whole context. Beyond the longest measured prompt prices follow the
    fitted curve, and the file states that length.

    Raises: ConfigError: a term or the reference was not measured.
    """
    held_against = find_reference(yardsticks, reference_name)
    if held_against is None:
        known = sorted(yardstick.name for yardstick in filter_own_yardsticks(yardsticks))
        raise ConfigError(
            f"parity with {reference_name!r}: no such yardstick was measured on our VM; there are "
            f"{', '.join(known) or 'none'}"
        )
    at_most = combine_terms(
        {
            term.name: scale_interval(term.ns_at_most, _compute_growth(term, model.context_tokens))
            for term in terms
        }
    )
    gas = {
        name: round_up_price(divide_intervals(ns, held_against.ns_per_gas).high)
        for name, ns in at_most.items()
    }
    gas["warm"] = min(gas["warm"], gas["cold"])
    origin: dict[str, object] = {
        "by": f"pyevm-agents {__version__} bench",
        "reference": reference_name,
        "yardstick": held_against.title,
        "ns_per_gas": held_against.ns_per_gas.low,
        "model": model.name,
        "model_digest": model.digest,
        "longest_prompt_tokens_measured": find_longest_measured(terms),
        "prices_hold_to_tokens": model.context_tokens,
    }
    if is_extrapolated(terms, model):
        origin["note"] = "the fitted curves are extrapolated: longer prompts were not measured"
    if machine is not None:
        origin |= {"processor": machine.processor, "cores": machine.cores, "system": machine.system}
    if made_at:
        origin["made_at"] = made_at
    return ScheduleFile(
        schedule={field: gas[name] for field, name in EXECUTOR_PRICES.items()},
        models={
            "0x" + model.digest.removeprefix("0x"): {
                field: gas[name] for field, name in MODEL_PRICES.items()
            }
        },
        numeric_schedule=compute_numeric_schedule(numeric_prices, reference_name),
        made=origin,
    )


def compute_numeric_schedule(prices: Iterable[NumericPrice], reference_name: str) -> dict[str, int]:
    """Return the numeric prices at which no unit takes longer per gas than the reference.

    Output: by field of `NumericGasSchedule`; empty if not measured beside the reference.

    Raises: ConfigError: a price is not finite.
    """
    schedule = {}
    for price in prices:
        parity = dict(price.parity_at_most).get(reference_name)
        if parity is None:
            return {}
        is_gas = price.name != OPERATIONS_PER_GAS
        schedule[price.name] = (
            round_up_price(parity.high) if is_gas else _round_down_operations(parity.low)
        )
    return schedule


def build_numeric_schedules(prices: Sequence[NumericPrice]) -> dict[str, NumericGasSchedule]:
    """Return the schedules at parity of the numeric prices, by name in a report."""
    found = {name: compute_numeric_schedule(prices, name) for name in REFERENCES}
    return {
        f"parity-{name}": NumericGasSchedule(**schedule)
        for name, schedule in found.items()
        if schedule
    }


def _round_down_operations(operations: float) -> int:
    """Return operations for a gas as a whole number of two significant digits, rounded down.

    Output: at least 1, which is the dearest price that a schedule can state.
    """
    if not math.isfinite(operations):
        raise ConfigError("operations took no time: measure the numeric models again")
    whole = max(1, math.floor(operations))
    step: int = 10 ** max(0, len(str(whole)) - SIGNIFICANT_DIGITS)
    return whole // step * step


def is_extrapolated(terms: Sequence[Term], model: MeasuredModel) -> bool:
    """Return whether the model admits longer prompts than the longest measured one."""
    if not any(term.name == "cold" and term.marginal for term in terms):
        return False
    return find_longest_measured(terms) < model.context_tokens - spec.DEFAULT_MAX_OUTPUT_TOKENS


def get_reference_ns_per_gas(yardsticks: Sequence[Yardstick]) -> dict[str, Interval]:
    """Return the time per gas of each of `REFERENCES` that was measured."""
    references = {name: find_reference(yardsticks, name) for name in REFERENCES}
    return {
        name: yardstick.ns_per_gas
        for name, yardstick in references.items()
        if yardstick is not None
    }


def filter_own_yardsticks(yardsticks: Iterable[Yardstick]) -> tuple[Yardstick, ...]:
    """Return the yardsticks of our own VM."""
    return tuple(yardstick for yardstick in yardsticks if yardstick.vm == OWN_VM)


def find_reference(yardsticks: Iterable[Yardstick], name: str) -> Yardstick | None:
    """Return the yardstick of a reference: the one of that name, or the slowest of all per gas.

    Output: None if not measured on our VM.
    """
    own = filter_own_yardsticks(yardsticks)
    chosen = [yardstick for yardstick in own if name in {WORST, yardstick.name}]
    return max(chosen, key=lambda yardstick: yardstick.ns_per_gas.middle, default=None)


def round_up_price(gas: float) -> int:
    """Return a price as a whole number of two significant digits, rounded up, at least 1.

    Raises: ConfigError: negative or not finite.
    """
    if not math.isfinite(gas) or gas < 0:
        raise ConfigError(f"a price of {gas} gas: the reference took no time; measure it again")
    whole = max(1, math.ceil(gas))
    step: int = 10 ** max(0, len(str(whole)) - SIGNIFICANT_DIGITS)
    return -(-whole // step) * step


def combine_terms(ns: Mapping[str, Interval]) -> dict[str, Interval]:
    """Return the time of a unit of each price.

    Raises: ConfigError: a term is missing.
    """
    try:
        reads = scale_interval(ns["read"], READS_OF_TOOL)
        tool, outputs = ns["tool"], (ns["sampled"], ns["forced"])
        own = {name: ns[name] for name in DEFAULT_GAS if name not in {"tool", "output"}}
    except KeyError as error:
        raise ConfigError(
            f"the term {error.args[0]!r} was not measured; parity needs all of them"
        ) from error
    together = Interval(
        middle=tool.middle + reads.middle, low=tool.low + reads.low, high=tool.high + reads.high
    )
    dearer = Interval(
        middle=max(each.middle for each in outputs),
        low=max(each.low for each in outputs),
        high=max(each.high for each in outputs),
    )
    units = {**own, "tool": together, "output": dearer}
    return {name: units[name] for name in DEFAULT_GAS}


def _compute_growth(term: Term, tokens: int) -> float:
    """Return a unit's cost after `tokens` tokens over the cost at the longest measured prompt."""
    longest = max(point.x for point in term.marginal)
    measured = compute_marginal_ns(term, longest)
    return max(1.0, compute_marginal_ns(term, tokens) / measured) if measured > 0 else 1.0
