"""The committed report is complete and consistent with its schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.measurement.results_json import read_report
from pyevm_agents.bench.pricing.parity import build_parity_schedule, find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.suite import PARTS
from pyevm_agents.config.schedule_file import read_schedule

REPORTS = Path(__file__).parents[2] / "benchmarks" / "reports"
REPORT = read_report(REPORTS / "default-model.json")


def test_the_report_is_of_a_full_run() -> None:
    assert REPORT.mode == "full"
    assert {what for what, _ in REPORT.left_out}.isdisjoint(PARTS)


@pytest.mark.parametrize("schedule", ["default", *(f"parity-{name}" for name in REFERENCES)])
def test_no_attack_takes_longer_for_its_gas_than_the_worst_of_the_evm(schedule: str) -> None:
    worst = find_reference(REPORT.yardsticks, "worst")
    assert worst is not None
    limit = findings.compute_block_seconds(worst)
    for attack in REPORT.attacks:
        assert dict(attack.seconds_per_30m_gas)[schedule].high < limit.low, attack.name


def test_the_schedule_beside_it_follows_from_it() -> None:
    told = build_parity_schedule(
        REPORT.terms,
        REPORT.yardsticks,
        "erc20",
        REPORT.model,
        machine=REPORT.machine,
        made_at=REPORT.made_at,
    )
    assert told == read_schedule(REPORTS / "parity-erc20.json")
