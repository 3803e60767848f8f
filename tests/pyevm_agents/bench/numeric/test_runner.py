"""Calls of the numeric models' precompile on a real chain: how they end, and what they buy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE, NumericGasSchedule
from pyevm_agents.bench.evm.runner import BLOCK_GAS, EvmTestbed
from pyevm_agents.bench.measurement.results import NumericUsage
from pyevm_agents.bench.measurement.rounds import QUICK_ROUNDS, BenchSettings
from pyevm_agents.bench.numeric.cases import MODELS, make_cases, open_models
from pyevm_agents.bench.numeric.runner import NumericBench, build_numeric_results
from pyevm_agents.bench.numeric.usage import (
    compute_call_gas,
    count_call,
    describe_outcome,
    iter_numeric_calls,
    multiply_usage,
)
from pyevm_agents.chain import Chain
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from tests.pyevm_agents.bench.observers import Counting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.bench.evm.case import EvmCase
    from pyevm_agents.bench.numeric.cases import NumericCase
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.models.numeric import NumericFile

SMALL_MODELS = {"sum", "inputs", "outputs", "largest", "linear", "nodes"}
OUTCOMES = {
    **dict.fromkeys(sorted(SMALL_MODELS - {"largest"}), "answered"),
    "describe": "answered",
    "describe-largest": "answered",
    "dropped-description": "answered",
    "ignored-calldata": "answered",
    "nested": "answered",
    "small-calls": "refused: UnknownSelector",
    "long-name": "refused: UnknownModel",
    "too-many-inputs": "refused: InputLengthMismatch",
    "out-of-range": "refused: InputOutOfRange",
    "too-large": "refused: CalldataTooLarge",
    "delegated": "refused: DelegateCallNotAllowed",
    "value": "refused: ValueNotAccepted",
    "no-gas": "out of gas",
    "short-of-gas": "out of gas",
}
UNPAID = {"too-large", "delegated", "value", "no-gas"}
TIMES = 3
ODD = NumericGasSchedule(base_gas=70, input_byte_gas=3, output_byte_gas=5, operations_per_gas=7)


@pytest.fixture(scope="module")
def models() -> dict[str, NumericFile]:
    return open_models(SMALL_MODELS)


@pytest.fixture(scope="module")
def cases(models: Mapping[str, NumericFile]) -> dict[str, NumericCase]:
    return {case.name: case for case in make_cases(models)}


@pytest.fixture(scope="module")
def built(cases: Mapping[str, NumericCase]) -> dict[str, EvmCase]:
    return {name: case.build() for name, case in cases.items()}


@pytest.fixture(scope="module")
def bed(models: Mapping[str, NumericFile], built: Mapping[str, EvmCase]) -> EvmTestbed:
    return EvmTestbed([*built.values()], models)


def count(
    bed: EvmTestbed, case: EvmCase, models: Mapping[str, NumericFile], times: int = TIMES
) -> tuple[NumericUsage, int]:
    """Return what one call buys, and the transaction's gas."""
    sample = bed.sample(case, times)
    profiles = {profile.name: profile for profile in build_numeric_profiles(models)}
    calls = [*iter_numeric_calls(sample.computations[0])]
    assert len(calls) == times
    bought = {count_call(call, profiles, bed.chain.config.numeric_schedule) for call in calls}
    assert len(bought) == 1
    return bought.pop(), sample.gas


def test_the_table_has_every_case(cases: Mapping[str, NumericCase]) -> None:
    assert cases.keys() == OUTCOMES.keys()
    assert all(case.how for case in cases.values() if case.is_attack)


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_call_ends_as_it_is_meant_to(
    name: str, bed: EvmTestbed, built: Mapping[str, EvmCase]
) -> None:
    (transaction,) = bed.sample(built[name], TIMES).computations
    calls = [*iter_numeric_calls(transaction)]
    assert [describe_outcome(call) for call in calls] == [OUTCOMES[name]] * TIMES


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_call_pays_for_what_it_buys(
    name: str, bed: EvmTestbed, built: Mapping[str, EvmCase], models: Mapping[str, NumericFile]
) -> None:
    bought, gas = count(bed, built[name], models)
    assert (bought.calls == 0) == (name in UNPAID)
    (call,) = iter_numeric_calls(bed.sample(built[name], 1).computations[0])
    charged = compute_call_gas(bought, DEFAULT_NUMERIC_SCHEDULE)
    if name not in UNPAID:
        assert call.get_gas_used() == charged - (name == "short-of-gas")
    assert gas > TIMES * charged


@pytest.mark.parametrize("name", ["linear", "describe", "long-name", "out-of-range", "nested"])
def test_gas_by_another_schedule_is_that_of_its_chain(
    name: str, bed: EvmTestbed, built: Mapping[str, EvmCase], models: Mapping[str, NumericFile]
) -> None:
    bought, gas = count(bed, built[name], models)
    usage = multiply_usage(bought, TIMES, gas, compute_call_gas(bought, DEFAULT_NUMERIC_SCHEDULE))
    other = EvmTestbed([built[name]], models)
    other.chain = Chain(
        replace(other.chain.config, numeric_schedule=ODD),
        numeric_models=models,
        accounts=other.chain.genesis_accounts,
    )
    assert other.chain.config.block_gas_limit == BLOCK_GAS
    _, there = count(other, built[name], models)
    assert usage.evm_gas + TIMES * compute_call_gas(bought, ODD) == there


def test_a_transaction_costs_at_least_what_its_calls_do() -> None:
    with pytest.raises(ValueError, match="10 gas were used, less than 2 calls at 6 cost"):
        multiply_usage(NumericUsage(calls=1), 2, 10, 6)


def test_cases_and_references_are_timed_in_the_same_rounds(
    reduced_llama: LlamaModel, cases: Mapping[str, NumericCase]
) -> None:
    counting, beside = Counting(), []

    def time_reference() -> float:
        beside.append(len(bench.timed["sum"].seconds))
        return 1.0

    setting = BenchSettings(model=reduced_llama, observer=counting, is_quick=True)
    names = ["sum", "inputs", "outputs", "linear", "describe", "too-large"]
    few = [cases[name] for name in (*names, "short-of-gas")]
    bench = NumericBench(setting, few)
    assert [*bench.timed] == names  # Those of a quick run.
    bench.measure({"erc20": time_reference})
    assert beside == [1, 2, 3]
    assert counting.promised == [("Numeric models", len(counting.steps))]
    found = build_numeric_results([*bench.timed.values()], ())
    assert [len(each.seconds) for each in found.transactions] == [QUICK_ROUNDS] * len(names)
    by_name = {each.name: each for each in found.transactions}
    assert by_name["sum"].title == MODELS["sum"]
    assert by_name["too-large"].usage.calls == 0
    assert by_name["linear"].usage.calls == by_name["linear"].times
    for each in found.transactions:
        assert each.times >= 1
        assert 300_000 <= each.gas[0].gas <= 30_000_000
        assert min(each.seconds) > 0
    assert [price.name for price in found.prices] == [*vars_of(NumericGasSchedule())]


def vars_of(schedule: NumericGasSchedule) -> tuple[str, ...]:
    return schedule.__slots__
