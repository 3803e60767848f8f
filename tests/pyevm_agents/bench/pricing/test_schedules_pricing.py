"""The predicted gas under a schedule equals the gas on a chain of that schedule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.gas import GasSchedule
from pyevm_agents.bench.measurement.results import ScheduleCost
from pyevm_agents.bench.measurement.usage import Usage, count_usage
from pyevm_agents.bench.pricing.schedules import (
    NamedSchedule,
    add_evm_gas,
    compute_costs,
    executor_gas,
    transaction_gas,
)
from tests.byte_model import PROFILE
from tests.pyevm_agents.bench.priced_chain import DEAR, DEAR_PROFILE, PRICES, PricedChain

NESTED = (
    ' a\nAction: inner agent\nAction Input: {"prompt": "Add 7"}',
    ' b\nAction: CounterTool\nAction Input: {"amount": 7}',
    " c\nFinal Answer: It is 7.",
    ' d\nAction: CounterTool\nAction Input: {"amount": 1}',
    " e\nFinal Answer: It is 8.",
)
TOO_LONG = (" " + "a" * 600,)
"""Beyond the model's limit of output tokens."""


@pytest.mark.parametrize("script", [NESTED, TOO_LONG], ids=["nested", "refused late"])
def test_the_gas_of_a_usage_is_what_any_chain_charges(script: tuple[str, ...]) -> None:
    usages = []
    for schedule, profile in PRICES:
        priced = PricedChain(schedule, profile, script)
        sent = priced.run()
        usage = count_usage(sent.computation)
        if script is TOO_LONG:  # It leaves no record of tokens.
            prompt = len(priced.model.requests[0].prompt_tokens)
            usage += Usage(cold_tokens=prompt, output_tokens=profile.max_output_tokens)
        usages.append(add_evm_gas(usage, sent.receipt.gas_used, schedule, profile))
        assert transaction_gas(usages[-1], schedule, profile) == sent.receipt.gas_used
    # One usage, whatever it costs: so each tells what the transaction costs under the others.
    assert len(set(usages)) == 1
    assert usages[0].calls == (5 if script is NESTED else 1)
    assert usages[0].evm_gas > 21_000


@pytest.mark.parametrize(("tools", "parameters"), [(0, 0), (3, 7)])
def test_each_term_by_hand(tools: int, parameters: int) -> None:
    usage = Usage(
        calls=2,
        input_bytes=100,
        tools=tools,
        parameters=parameters,
        cold_tokens=10,
        warm_tokens=20,
        output_tokens=30,
        forced_tokens=9,
        evm_gas=50_000,
    )
    terms = 2 * 3_000 + 100 * 16 + tools * 5_000 + parameters * 2_000
    tokens = 10 * 6_000 + 20 * 100 + 30 * 10_000
    assert executor_gas(usage, GasSchedule(), PROFILE) == terms + tokens
    assert transaction_gas(usage, GasSchedule(), PROFILE) == 50_000 + terms + tokens
    prices = NamedSchedule(name="default", schedule=GasSchedule(), profile=PROFILE)
    assert compute_costs(usage, [prices]) == (
        ScheduleCost(schedule="default", gas=50_000 + terms + tokens),
    )


def test_gas_that_does_not_pay_for_the_usage_is_refused() -> None:
    with pytest.raises(ValueError, match="1 less than the executor charges"):
        add_evm_gas(Usage(calls=1), 2_999, GasSchedule(), PROFILE)
    assert add_evm_gas(Usage(calls=1), 3_000, GasSchedule(), PROFILE).evm_gas == 0


COUNTS = st.builds(
    Usage,
    calls=st.integers(0, 99),
    input_bytes=st.integers(0, 10**6),
    tools=st.integers(0, 64),
    parameters=st.integers(0, 2048),
    cold_tokens=st.integers(0, 8192),
    warm_tokens=st.integers(0, 8192),
    output_tokens=st.integers(0, 512),
    evm_gas=st.integers(0, 10**8),
)


@given(COUNTS, COUNTS)
def test_two_usages_together_cost_what_both_cost(one: Usage, other: Usage) -> None:
    together = transaction_gas(one + other, DEAR, DEAR_PROFILE)
    assert together == transaction_gas(one, DEAR, DEAR_PROFILE) + transaction_gas(
        other, DEAR, DEAR_PROFILE
    )
