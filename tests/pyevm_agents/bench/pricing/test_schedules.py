from __future__ import annotations

import pytest

from pyevm_agents.bench.inference.fits import fit_terms, predict_seconds
from pyevm_agents.bench.measurement.results import MeasuredModel, Term
from pyevm_agents.bench.measurement.usage import Usage
from pyevm_agents.bench.pricing.schedules import (
    SCHEDULES,
    audit_published_schedules,
    compute_published_costs,
)
from tests.pyevm_agents.bench.made_up_terms import Truth, made_up_probes

MODEL = MeasuredModel(
    name="default",
    digest="",
    parameters=135_000_000,
    file_bytes=0,
    context_tokens=256,
    fingerprint="{}",
)
PROMPTS, OUTPUTS = range(1, 193), range(1, 65)


@pytest.fixture(scope="module")
def fitted() -> tuple[Term, ...]:
    return fit_terms(made_up_probes(Truth(), longest=1024))


def test_what_others_ask_by_hand() -> None:
    usage = Usage(
        calls=4,
        input_bytes=10_000,
        tools=3,
        parameters=5,
        cold_tokens=900,
        warm_tokens=2_000,
        output_tokens=100,
        forced_tokens=40,
        evm_gas=500_000,
    )
    assert {cost.schedule: cost.gas for cost in compute_published_costs(usage, MODEL)} == {
        "metis": 500_000 + 100 * 3_000,
        "hanzo": 500_000 + 4 * 120_000 + 30 * 10_000,
        "lux": 500_000 + 4 * 100_000 + 10 * 3_000,
        "cortex": 500_000 + 2 * 135_000_000 * 3_000 // 20_000,
    }


def asked(name: str, prompt: int, output: int) -> int:
    """Gas of one call whose prompt has a byte a token."""
    return {
        "metis": 130,
        "hanzo": 120_000 + 30 * prompt,
        "lux": 100_000 + 10 * (prompt + output),
        "cortex": 2 * 135_000_000 * (prompt + output) // 20_000,
    }[name]


@pytest.mark.parametrize("block_gas", [30_000_000, 500_000])
def test_the_worst_use_is_that_of_brute_force(fitted: tuple[Term, ...], block_gas: int) -> None:
    found = {one.name: one for one in audit_published_schedules(fitted, MODEL, block_gas=block_gas)}
    assert list(found) == [one.name for one in SCHEDULES]
    seconds = {
        (prompt, output): predict_seconds(
            Usage(calls=1, cold_tokens=prompt, output_tokens=output), fitted
        )
        for prompt in PROMPTS[::3]
        for output in OUTPUTS[::3]
    }
    for name, one in found.items():
        worst = max(
            spent / asked(name, *use) * 1e9
            for use, spent in seconds.items()
            if asked(name, *use) <= block_gas
        )
        assert one.worst_ns_per_gas >= worst * 0.999
        assert one.worst_ns_per_gas <= worst * 1.6  # Two in three are left out above.
        assert one.seconds_per_30m_gas == pytest.approx(one.worst_ns_per_gas * 0.03)


def test_where_output_is_free_all_of_it_is_taken(fitted: tuple[Term, ...]) -> None:
    found = {one.name: one for one in audit_published_schedules(fitted, MODEL)}
    assert "and 64 of output" in found["hanzo"].worst_use
    assert "192 tokens and 64 of output" in found["metis"].worst_use
    assert "for 130 gas" in found["metis"].worst_use
    assert found["metis"].worst_ns_per_gas > 100 * found["cortex"].worst_ns_per_gas


def test_what_is_beyond_the_measured_is_said_to_be_computed(fitted: tuple[Term, ...]) -> None:
    long = MeasuredModel(
        name="", digest="", parameters=1_000, file_bytes=0, context_tokens=8_192, fingerprint=""
    )
    found = {one.name: one for one in audit_published_schedules(fitted, long)}
    assert "7,680 tokens" in found["metis"].worst_use
    assert "measured to 1,024 tokens" in found["metis"].worst_use
    assert "measured to" not in audit_published_schedules(fitted, MODEL)[0].worst_use


def test_each_says_where_it_is_from() -> None:
    assert all(one.source and one.formula and one.title for one in SCHEDULES)
