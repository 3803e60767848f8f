"""Rehearsed runs: right, wrong, failed, withheld and endless ones, by a scripted model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.language_model import Confidence, Generation, GenerationRequest
from precompiles.outcome import UNSURE
from precompiles.react import GrammarViolationError
from precompiles.short_format.step import REFUSAL
from tests.byte_model import PROFILE, ByteModel
from training.rehearsal import MAX_STEPS, _to_form, rehearse, summarize
from training.runs import turns
from training.sample import held_out

if TYPE_CHECKING:
    from precompiles.language_model import ModelProfile
    from training.rehearsal import Rehearsal
    from training.tasks import Task

FREE = PROFILE
REFUSED = f" No tool does it.\nFinal Answer: {REFUSAL}"
SHORT = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))
GATED = replace(PROFILE, decoding=(("max_surprisal", 65_536), ("short_format", SHORT_FORMAT)))


class SureModel(ByteModel):
    """Reports a surprisal."""

    surprisal = 0

    def generate(self, request: GenerationRequest) -> Generation:
        confidence = Confidence(surprisal=self.surprisal)
        return replace(super().generate(request), confidence=confidence)


def run_of(task: Task, profile: ModelProfile) -> list[str]:
    return [turn.text for turn in turns(task, profile)]


def rehearse_right(task: Task, profile: ModelProfile) -> Rehearsal:
    return rehearse(task, ByteModel(run_of(task, profile)), profile)


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """Tasks of every category that the short format has a run for."""
    found: list[Task] = []
    for task in held_out(60, 5):
        try:
            run_of(task, SHORT)
        except (GrammarViolationError, ValueError):
            continue
        found.append(task)
    assert len({task.category for task in found}) == 5
    return found


def find(tasks: list[Task], category: str) -> Task:
    return next(task for task in tasks if task.category == category and task.actions)


def ends_in_action(task: Task) -> bool:
    acting = {tool.name for tool in task.tools if tool.is_action}
    return bool(task.steps) and task.steps[-1].tool in acting


@pytest.mark.parametrize("profile", [FREE, SHORT])
def test_the_intended_run_is_right(tasks: list[Task], profile: ModelProfile) -> None:
    for task in tasks:
        run = rehearse_right(task, profile)
        assert run.is_right
        assert [step.tool for step in run.steps] == [*(s.tool for s in task.steps), ""]
        assert all(step.is_right for step in run.steps)
        assert run.acted == any(
            tool.is_action and tool.name in {s.tool for s in task.steps} for tool in task.tools
        )
        assert not run.is_withheld
        assert run.answer


def test_refusing_a_task_with_actions_is_wrong(tasks: list[Task]) -> None:
    task = find(tasks, "one step")
    run = rehearse(task, ByteModel([REFUSED]), FREE)
    assert (run.is_right, run.acted, len(run.steps)) == (False, False, 1)
    assert not run.steps[0].is_right
    assert run.answer.startswith("I can't do that")


def test_a_right_run_that_acts_once_more_is_wrong(tasks: list[Task]) -> None:
    task = find(tasks, "one step")
    first, last = run_of(task, FREE)
    run = rehearse(task, ByteModel([first, first, last]), FREE)
    assert [step.is_right for step in run.steps] == [True, False, True]
    assert run.acted
    assert not run.is_right


def test_a_failed_action_changes_no_state(tasks: list[Task]) -> None:
    task = next(one for one in tasks if one.category == "tool fails" and ends_in_action(one))
    run = rehearse_right(task, SHORT)
    assert task.steps[-1].is_failure
    assert run.is_right
    assert run.acted


def test_a_run_without_end_is_cut(tasks: list[Task]) -> None:
    task = find(tasks, "one step")
    first = run_of(task, FREE)[0]
    run = rehearse(task, ByteModel(lambda _: first), FREE)
    assert len(run.steps) == MAX_STEPS
    assert (run.answer, run.is_right) == ("", False)


def test_the_gate_withholds_what_the_model_is_not_sure_of(tasks: list[Task]) -> None:
    task = find(tasks, "one step")
    sure = rehearse(task, SureModel(run_of(task, GATED)), GATED)
    assert sure.is_right
    model = SureModel(run_of(task, GATED))
    model.surprisal = 65_537
    unsure = rehearse(task, model, GATED)
    assert unsure.is_withheld
    assert unsure.answer.startswith(UNSURE)
    assert (unsure.acted, unsure.is_right, len(unsure.steps)) == (False, False, 1)
    assert unsure.steps[0].confidence == Confidence(surprisal=65_537)


def test_figures_count_precision_and_coverage(tasks: list[Task]) -> None:
    task = find(tasks, "one step")
    right = rehearse_right(task, FREE)
    refused = rehearse(task, ByteModel([REFUSED]), FREE)
    figures = summarize([right, right, refused])
    assert figures["precision of acting runs"].startswith("2/2 ")
    assert figures["coverage"].startswith("2/3 ")
    part = "held-out" if task.is_held_out else "trained"
    assert figures[f"first tool, {part}"].startswith("2/3 ")
    tokens = 2 * sum(len(text.encode()) for text in run_of(task, FREE))
    tokens += len(REFUSED)
    assert figures["steps decided by the rules"].startswith("0/5 ")
    assert figures["tokens of a run"] == f"{tokens / 3:.1f}, {tokens / 3:.1f} chosen"


def test_an_obeyed_injection_is_counted(tasks: list[Task]) -> None:
    task = next(one for one in tasks if one.category == "injection" and one.injected)
    assert summarize([rehearse_right(task, SHORT)])["injection obeyed"].startswith("0/1 ")
    obeyed = replace(task, injected=task.steps[0].tool)
    assert summarize([rehearse_right(obeyed, SHORT)])["injection obeyed"].startswith("1/1 ")


def test_a_run_is_written_as_json(tasks: list[Task]) -> None:
    task = find(tasks, "several steps")
    form = json.loads(json.dumps(_to_form(rehearse_right(task, SHORT))))
    assert form["isRight"] is True
    assert form["question"] == task.question
    assert [step["tool"] for step in form["steps"]] == [*(s.tool for s in task.steps), ""]
