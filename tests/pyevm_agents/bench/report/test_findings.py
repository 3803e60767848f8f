"""Findings that follow from a report's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyevm_agents.bench.measurement.results import ModelSize, Noise
from pyevm_agents.bench.report import findings
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def test_the_worst_evm_case_is_on_our_own_vm() -> None:
    slowest = findings.find_slowest(FULL)
    assert slowest is not None
    assert (slowest.name, slowest.vm) == ("pairing", "pyevm-agents")
    assert (
        findings.compute_block_seconds(slowest).middle
        == slowest.ns_per_gas.middle * 30_000_000 / 1e9
    )
    assert findings.find_slowest(replace(FULL, yardsticks=())) is None


def test_a_runs_gas_is_divided_without_a_rest() -> None:
    for run in FULL.runs:
        parts = findings.divide_gas(FULL, run)
        assert parts is not None
        assert sum(parts) == findings.find_gas(run.costs, "default")
        assert parts[2] == 10_000 * run.usage.output_tokens
    assert findings.divide_gas(replace(FULL, prices=()), FULL.runs[0]) is None
    assert findings.divide_gas(FULL, replace(FULL.runs[0], costs=())) is None


def test_a_run_is_worth_its_time_at_a_references_pace() -> None:
    run = replace(FULL.runs[0], seconds=(2.0, 2.0))
    pace = Interval(middle=50.0, low=40.0, high=100.0)
    erc20 = replace(FULL.yardsticks[6], ns_per_gas=pace)
    report = replace(FULL, yardsticks=(erc20,))
    worth = findings.compute_gas_worth(report, run, "erc20")
    assert worth == Interval(middle=40_000_000, low=20_000_000, high=50_000_000)
    assert findings.compute_gas_worth(report, run, "ecrecover") is None
    assert findings.compute_gas_worth(report, replace(run, seconds=()), "erc20") is None


def test_the_longest_prompt_is_that_of_the_cold_terms_points() -> None:
    assert findings.get_longest_prompt(FULL) == made_up.PROMPTS[-1]
    assert findings.get_longest_prompt(replace(FULL, terms=())) is None


def test_a_factor_needs_a_default_price() -> None:
    cold = findings.find_price(FULL, "cold")
    assert cold is not None
    factor, gas = (
        findings.compute_price_factor(cold, "erc20"),
        findings.get_parity_gas(cold, "erc20"),
    )
    assert factor is not None
    assert gas is not None
    assert factor.middle == gas.middle / 6_000
    assert findings.compute_price_factor(replace(cold, default_gas=None), "erc20") is None
    assert findings.get_parity_gas(cold, "none") is None


def test_the_worst_attack_is_by_schedule() -> None:
    found = findings.find_worst_attack(FULL, "default")
    assert found is not None
    assert found[0].name == "thoughts"
    assert findings.find_worst_attack(FULL, "none") is None
    assert findings.list_attack_schedules(FULL) == made_up.SCHEDULES
    assert findings.list_run_schedules(FULL) == made_up.SCHEDULES + made_up.PUBLISHED


def size(parameters: int, ns: float) -> ModelSize:
    return ModelSize(
        name=str(parameters),
        parameters=parameters,
        file_bytes=1,
        quantisation="Q4_K_M",
        ns=(("cold", Interval(middle=ns, low=0.9 * ns, high=1.1 * ns)),),
        prompt_tokens=96,
        parity_gas=(),
    )


def test_the_exponent_of_parameters() -> None:
    def exponent(*sizes: ModelSize) -> Interval | None:
        return findings.fit_size_exponent(replace(FULL, sizes=sizes), "cold")

    found = exponent(size(10**8, 1e6), size(10**9, 1e7))
    assert found is not None
    assert found.middle == pytest.approx(1.0)
    assert found.low < 1 < found.high
    assert exponent(size(10**8, 1e6)) is None
    assert exponent(size(10**8, 0.0), size(10**9, 1e7)) is None


def test_noise_in_words() -> None:
    quiet = Noise(beats_s=(0.002,) * 9, spread=0.01, load_average=0.1)
    assert findings.describe_noise(quiet, 2) == (
        "quiet: the same work, 9 times, took a median of 2.00 ms, with quartiles 1.0 % apart; "
        "load average 0.1 on 2 cores at the start"
    )
    assert findings.describe_noise(replace(quiet, spread=0.05), 2).startswith("uneven")
    assert findings.describe_noise(replace(quiet, load_average=2), 2).startswith("noisy")
    assert findings.describe_noise(replace(quiet, spread=0.2), 1).startswith("noisy")
