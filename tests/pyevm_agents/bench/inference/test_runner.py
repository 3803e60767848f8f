from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.inference.fits import fit_terms, predict_seconds
from pyevm_agents.bench.inference.runner import measure_probes
from pyevm_agents.bench.measurement.results import TERMS, Probe, Term
from pyevm_agents.bench.measurement.rounds import BenchSettings

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


@dataclass
class Told:
    """An observer that keeps its notifications."""

    steps: int = 0
    details: list[str] = field(default_factory=list)

    def begin_part(self, title: str, steps: int) -> None:
        assert title == "Inference"
        self.steps = steps

    def finish_step(self, detail: str) -> None:
        self.details.append(detail)


@pytest.fixture(scope="module")
def told() -> Told:
    return Told()


@pytest.fixture(scope="module")
def measured(reduced_llama: LlamaModel, told: Told) -> tuple[Probe, ...]:
    setting = BenchSettings(model=reduced_llama, observer=told, is_quick=True)
    return measure_probes(setting, beside={"beside": lambda: 0.25}, longest_tokens=64, rounds=1)


@pytest.mark.slow
def test_every_step_is_told(measured: tuple[Probe, ...], told: Told) -> None:
    assert told.steps == len(told.details) == len(measured) + 1
    assert len(set(told.details)) == len(told.details)


def test_what_is_held_against_it_is_timed_beside_it(
    measured: tuple[Probe, ...], told: Told
) -> None:
    assert told.details[0] == "beside"
    assert all(0.25 not in probe.seconds for probe in measured)


def test_probes_count_what_was_in_them(measured: tuple[Probe, ...]) -> None:
    assert {probe.term for probe in measured} == set(TERMS)
    assert all(len(probe.seconds) == 1 and probe.seconds[0] > 0 for probe in measured)
    cold = [probe for probe in measured if probe.term == "cold"]
    assert [probe.usage.cold_tokens for probe in cold] == [16, 32, 64]
    said = Counter((probe.term, probe.detail) for probe in measured)
    assert said["warm", "kept"] == said["warm", "restored"] == 2
    sampled = next(probe for probe in measured if probe.term == "sampled")
    assert sampled.usage.output_tokens == 17
    assert sampled.usage.forced_tokens == 0
    forced = [probe.usage for probe in measured if probe.term == "forced"]
    assert all(one.forced_tokens >= one.output_tokens - 3 for one in forced)
    lists = next(probe for probe in measured if probe.detail == "arrays")
    assert (lists.usage.calls, lists.usage.tools, lists.usage.parameters) == (1, 8, 32)
    read = max((probe for probe in measured if probe.term == "read"), key=lambda it: it.usage.tools)
    assert read.usage.tools == 64


def test_probes_suffice_to_fit_every_term(measured: tuple[Probe, ...]) -> None:
    """Of seconds that a load does not change: a millisecond for each token, and one more."""
    timed = [
        replace(each, seconds=(0.001 * (1 + each.prompt_tokens + each.usage.output_tokens),))
        for each in measured
    ]
    found: dict[str, Term] = {term.name: term for term in fit_terms(timed)}
    assert set(found) == set(TERMS)
    assert found["sampled"].ns.middle == pytest.approx(1_000_000, rel=0.05)
    assert found["cold"].ns_at_most.middle == pytest.approx(1_000_000, rel=0.05)
    cold = max((probe for probe in timed if probe.term == "cold"), key=lambda it: it.seconds)
    assert predict_seconds(cold.usage, found.values()) == pytest.approx(cold.seconds[0], rel=0.05)
