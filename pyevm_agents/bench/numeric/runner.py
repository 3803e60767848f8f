"""Time calls of the numeric models' precompile in whole transactions, mined as in the node.

A transaction repeats one call, for a part of a second or 30 million gas. References of the EVM are
timed in the same rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from pyevm_agents.bench.evm.runner import EvmTestbed
from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.results import (
    BLOCK_GAS,
    NumericResults,
    NumericTransaction,
    NumericUsage,
    ScheduleCost,
)
from pyevm_agents.bench.measurement.rounds import time_in_rounds
from pyevm_agents.bench.numeric.cases import (
    MODELS,
    QUICK_MODELS,
    QUICK_SLOW_MODELS,
    SLOW_MODELS,
    make_cases,
    open_models,
)
from pyevm_agents.bench.numeric.prices import compute_numeric_prices, fit_numeric_terms
from pyevm_agents.bench.numeric.usage import (
    compute_call_gas,
    count_call,
    describe_outcome,
    iter_numeric_calls,
    multiply_usage,
)
from pyevm_agents.bench.pricing.parity import build_numeric_schedules
from pyevm_agents.model_registry.profiles import build_numeric_profiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from precompiles.numeric_gas import NumericGasSchedule
    from precompiles.numeric_model import NumericModelProfile
    from pyevm_agents.bench.evm.case import EvmCase
    from pyevm_agents.bench.evm.runner import EvmSample
    from pyevm_agents.bench.measurement.results import Yardstick
    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.bench.numeric.cases import NumericCase

FEW_TURNS = 4
"""Calls of the sample that finds how many to repeat."""

LEAST_GAS = 300_000
"""Gas of the shortest sample: far above the transaction's own, which is not to dilute cheap calls.
"""

QUICK_SAMPLE_S, FULL_SAMPLE_S = 0.1, 0.4
"""Wanted length of a sample: far above the cost of a block."""


@dataclass(slots=True, kw_only=True)
class TimedNumericCase:
    """A case with the number of calls, the usage of one, and samples."""

    case: NumericCase
    evm_case: EvmCase
    times: int = 1
    call: NumericUsage = field(default_factory=NumericUsage)
    """What one call buys."""

    outcome: str = ""
    gas_used: int = 0
    """Gas of the transaction."""

    seconds: list[float] = field(default_factory=list)


class NumericBench:
    """A chain with numeric models, and cases."""

    def __init__(self, setting: BenchSettings, cases: Sequence[NumericCase] | None = None) -> None:
        """Make the models and the chain."""
        self._setting = setting
        models = open_models(
            {*QUICK_MODELS, *QUICK_SLOW_MODELS}
            if setting.is_quick
            else {*MODELS, *SLOW_MODELS, "largest"}
        )
        made = make_cases(models) if cases is None else cases
        chosen = [case for case in made if case.is_quick or not setting.is_quick]
        self.profiles: Mapping[str, NumericModelProfile] = {
            profile.name: profile for profile in build_numeric_profiles(models)
        }
        self.timed = {
            case.name: TimedNumericCase(case=case, evm_case=case.build()) for case in chosen
        }
        self._testbed = EvmTestbed([each.evm_case for each in self.timed.values()], models)

    def measure(self, beside: Mapping[str, Callable[[], float]]) -> None:
        """Time each case in each round, and the given references of the EVM as well."""
        rounds = self._setting.rounds
        steps = len(self.timed) * (1 + rounds) + len(beside) * rounds
        self._setting.observer.begin_part("Numeric models", steps)
        for timed in self.timed.values():
            self.calibrate(timed)
            self._setting.observer.finish_step(timed.case.title)
        time_in_rounds(self._setting, {**self.make_timers(), **beside})

    def make_timers(self) -> dict[str, Callable[[], float]]:
        """Return a function for each case that takes a sample."""

        def make_timer(timed: TimedNumericCase) -> Callable[[], float]:
            def take() -> float:
                seconds = self._sample(timed, timed.times).seconds
                timed.seconds.append(seconds)
                return seconds

            return take

        return {name: make_timer(timed) for name, timed in self.timed.items()}

    def calibrate(self, timed: TimedNumericCase) -> None:
        """Find the usage of a case's call, and how many calls make a sample."""
        one = self._sample(timed, 1)
        few = self._sample(timed, FEW_TURNS)
        (call,) = iter_numeric_calls(one.computations[0])
        timed.call = count_call(call, self.profiles, DEFAULT_NUMERIC_SCHEDULE)
        timed.outcome = describe_outcome(call)
        wanted_s = QUICK_SAMPLE_S if self._setting.is_quick else FULL_SAMPLE_S
        call_gas = (few.gas - one.gas) / (FEW_TURNS - 1)
        room = int((BLOCK_GAS - one.gas) / call_gas)
        # A few calls hardly count beside their block: more of them show the time of one.
        more = _limit_times(FEW_TURNS * wanted_s / few.seconds, room)
        longer_s = self._sample(timed, more).seconds
        timed.times = _limit_times(max(more * wanted_s / longer_s, LEAST_GAS / call_gas), room)

    def _sample(self, timed: TimedNumericCase, times: int) -> EvmSample:
        sample = self._testbed.sample(timed.evm_case, times)
        timed.gas_used = sample.gas
        return sample


def measure_numeric_models(
    setting: BenchSettings, *, beside: Mapping[str, Callable[[], float]]
) -> tuple[TimedNumericCase, ...]:
    """Time every case, and references of the EVM in the same rounds."""
    bench = NumericBench(setting)
    bench.measure(beside)
    return tuple(bench.timed.values())


def _limit_times(times: float, room: int) -> int:
    """Return a number of calls of at least 1, for which a transaction has room."""
    return max(1, min(int(times), room))


def build_numeric_results(
    timed: Sequence[TimedNumericCase], yardsticks: Sequence[Yardstick]
) -> NumericResults:
    """Return the transactions with their gas by schedule, and the prices at parity."""
    done = [each for each in timed if each.seconds]
    schedules: dict[str, NumericGasSchedule] = {"default": DEFAULT_NUMERIC_SCHEDULE}
    transactions = [_build_transaction(each, schedules) for each in done]
    terms = fit_numeric_terms(transactions)
    prices = compute_numeric_prices(terms, yardsticks)
    schedules |= build_numeric_schedules(prices)
    return NumericResults(
        transactions=tuple(_build_transaction(each, schedules) for each in done),
        prices=prices,
        relative_error=terms.relative_error,
    )


def _build_transaction(
    timed: TimedNumericCase, schedules: Mapping[str, NumericGasSchedule]
) -> NumericTransaction:
    charged = compute_call_gas(timed.call, DEFAULT_NUMERIC_SCHEDULE)
    if timed.outcome == "out of gas" and timed.call.calls:
        charged -= 1  # Its calls get one gas less than they would pay.
    usage = multiply_usage(timed.call, timed.times, timed.gas_used, charged)
    gas = tuple(
        ScheduleCost(
            schedule=name,
            gas=usage.evm_gas + timed.times * compute_call_gas(timed.call, schedule),
        )
        for name, schedule in schedules.items()
    )
    taken = estimate_median(timed.seconds)
    return NumericTransaction(
        name=timed.case.name,
        title=timed.case.title,
        how=timed.case.how,
        outcome=timed.outcome,
        is_attack=timed.case.is_attack,
        times=timed.times,
        usage=usage,
        seconds=tuple(timed.seconds),
        gas=gas,
        seconds_per_30m_gas=tuple(
            (cost.schedule, scale_interval(taken, BLOCK_GAS / cost.gas)) for cost in gas
        ),
    )
