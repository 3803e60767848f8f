"""Runs demonstrate their subject with any generation; their parts add up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.gas import GasSchedule
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.measurement.budget import TimeBudget
from pyevm_agents.bench.measurement.models import OwnAnswer, build_dictated_grammar
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.pricing.schedules import NamedSchedule, transaction_gas
from pyevm_agents.bench.runs import runner as bench_runs
from pyevm_agents.bench.runs.runner import (
    ANSWER_LINE,
    RunBench,
    find_answer_characters,
    measure_runs,
)

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


class Quiet:
    """An observer that keeps its notifications."""

    def __init__(self) -> None:
        self.steps = 0
        self.told: list[str] = []

    def begin_part(self, title: str, steps: int) -> None:
        assert title == "Runs"
        self.steps = steps

    def finish_step(self, detail: str) -> None:
        self.told.append(detail)


def setting(reduced_llama: LlamaModel) -> BenchSettings:
    return BenchSettings(model=reduced_llama, observer=Quiet(), is_quick=True)


def test_the_length_of_an_answer_follows_from_its_tokens(
    reduced_llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_runs, "LONG_ANSWER_TOKENS", 12)
    monkeypatch.setattr(bench_runs, "THOUGHT_TOKENS", 5)
    tokens = reduced_llama.tokenize((Segment(text="Question: Who are you?\nThought:"),))
    request = GenerationRequest(
        segments=(), prompt_tokens=tokens, grammar=build_grammar([], []), max_tokens=400
    )
    characters = find_answer_characters(reduced_llama, request)
    grammar = build_dictated_grammar(OwnAnswer(characters=characters), request)
    said = reduced_llama.generate(replace(request, grammar=grammar))
    assert said.is_complete
    thought, _, words = said.text.partition(ANSWER_LINE)
    assert len(words) == characters
    whole = len(reduced_llama.tokenize((Segment(text=said.text),)))
    before = len(reduced_llama.tokenize((Segment(text=thought + ANSWER_LINE),)))
    assert abs(whole - before - 12) <= 2


@pytest.mark.slow
def test_every_run_is_measured_and_priced(
    llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_runs, "LONG_ANSWER_TOKENS", 20)
    profile = build_measured_profile(llama.profile_facts)
    prices = [NamedSchedule(name="default", schedule=GasSchedule(), profile=profile)]
    its = setting(llama)
    done = {run.name: run for run in measure_runs(its, prices)}
    assert isinstance(its.observer, Quiet)
    assert its.observer.steps == len(its.observer.told) == 3
    assert {name: run.usage.calls for name, run in done.items()} == {
        "wallet": 4,
        "nested": 6,
        "long-answer": 1,
    }
    assert (done["wallet"].usage.tools, done["nested"].usage.tools) == (16, 6)
    assert done["long-answer"].title == (
        f"One long answer: {done['long-answer'].usage.output_tokens} tokens with its thought"
    )
    for run in done.values():
        (cost,) = run.costs
        assert cost.gas == transaction_gas(run.usage, GasSchedule(), profile)
        (seconds,) = run.seconds
        parts = run.prompt_seconds.middle + run.output_seconds.middle
        assert 0 < run.evm_seconds.middle < parts < seconds
        assert run.predicted_seconds is None


def test_the_first_run_is_always_measured_and_others_are_skipped_without_time(
    reduced_llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, sampled = [0.0], list[str]()

    def sample(_: RunBench, name: str) -> float:
        sampled.append(name)
        return 1.0

    monkeypatch.setattr(RunBench, "sample", sample)
    monkeypatch.setattr(RunBench, "build_run", lambda _, name, __: name)
    budget = TimeBudget(100.0, clock=lambda: now[0])
    now[0] = 95.0
    its = replace(setting(reduced_llama), budget=budget)
    assert [str(run) for run in measure_runs(its)] == sampled == ["wallet"]
    assert budget.skipped == ["the run nested", "the run long-answer"]


def test_what_was_not_measured_has_no_result(reduced_llama: LlamaModel) -> None:
    with pytest.raises(ValueError, match="the run 'nested' was not measured"):
        RunBench(setting(reduced_llama)).build_run("nested", ())
