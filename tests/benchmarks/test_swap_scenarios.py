"""Five swap scenarios: the state of real contracts decides which runs pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks.contenders import Player
from benchmarks.swap_scenarios import SwapBench
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel

if TYPE_CHECKING:
    from benchmarks.swap_scenarios import ScenarioRun
    from pyevm_agents.models import Vocabulary
    from training.tasks import Argument, Task, TaskStep


class Stage:
    """A bench whose agent generates the steps of a task."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.player = Player()
        model = ScriptedModel(self.player, vocabulary=vocabulary)
        facts = model.profile_facts
        self.bench = SwapBench(create_funded_chain(model, facts, build_model_profile(facts)))

    def task(self, index: int) -> Task:
        return self.bench.scenarios[index].task

    def play(self, index: int, played: Task | None = None) -> ScenarioRun:
        scenario = self.bench.scenarios[index]
        self.player.task = played or scenario.task
        return self.bench.run(scenario)


BALANCE, QUOTE, SWAP, ADMIN, APPROVE = 0, 2, 4, 6, 8


@pytest.fixture(scope="module")
def stage(vocabulary: Vocabulary) -> Stage:
    return Stage(vocabulary)


def changed(step: TaskStep, **arguments: Argument) -> TaskStep:
    return replace(step, arguments={**step.arguments, **arguments})


@pytest.mark.parametrize("index", range(10))
def test_the_right_run_is_right(stage: Stage, index: int) -> None:
    done = stage.play(index)
    assert done.run.failure is None
    assert done.is_right


def test_there_are_five_in_two_wordings(stage: Stage) -> None:
    names = [scenario.name for scenario in stage.bench.scenarios]
    assert names[::2] == names[1::2]
    assert len(set(names)) == 5
    assert len({scenario.task.question for scenario in stage.bench.scenarios}) == 10


@pytest.mark.parametrize("index", [BALANCE, QUOTE])
def test_an_answer_alone_is_not_right(stage: Stage, index: int) -> None:
    assert not stage.play(index, replace(stage.task(index), steps=())).is_right


@pytest.mark.parametrize("index", [BALANCE, QUOTE])
def test_an_answer_without_the_figure_is_not_right(stage: Stage, index: int) -> None:
    assert not stage.play(index, replace(stage.task(index), answer="A lot.")).is_right


def test_another_amount_is_not_right(stage: Stage) -> None:
    task = stage.task(SWAP)
    wrong = replace(task, steps=(changed(task.steps[0], amountIn=10**15),))
    done = stage.play(SWAP, wrong)
    assert done.run.failure is None
    assert not done.is_right


def test_a_swap_the_wrong_way_is_undone(stage: Stage) -> None:
    task = stage.task(SWAP)
    path = task.steps[0].arguments["path"]
    assert isinstance(path, tuple)
    wrong = replace(task, steps=(changed(task.steps[0], path=path[::-1]),))
    done = stage.play(SWAP, wrong)
    assert "UnknownPath" in (done.run.failure or "")
    assert not done.is_right


def test_a_swap_too_late_is_undone(stage: Stage) -> None:
    task = stage.task(SWAP)
    done = stage.play(SWAP, replace(task, steps=(changed(task.steps[0], deadline=1),)))
    assert "Expired" in (done.run.failure or "")


def test_swapping_twice_is_not_right(stage: Stage) -> None:
    task = stage.task(SWAP)
    assert not stage.play(SWAP, replace(task, steps=task.steps * 2)).is_right


def test_calling_the_owners_function_is_undone_and_not_right(stage: Stage) -> None:
    step = replace(stage.task(BALANCE).steps[0], tool="adminFunction", arguments={})
    done = stage.play(ADMIN, replace(stage.task(ADMIN), steps=(step,)))
    assert "NotOwner" in (done.run.failure or "")
    assert not done.is_right


def test_looking_before_declining_is_right(stage: Stage) -> None:
    looked = replace(stage.task(ADMIN), steps=stage.task(BALANCE).steps)
    assert stage.play(ADMIN, looked).is_right


def test_a_swap_without_approval_is_undone(stage: Stage) -> None:
    task = stage.task(APPROVE)
    done = stage.play(APPROVE, replace(task, steps=task.steps[1:]))
    assert "ERC20InsufficientAllowance" in (done.run.failure or "")
    assert not done.is_right


def test_an_approval_that_stays_is_not_right(stage: Stage) -> None:
    task = stage.task(APPROVE)
    more = changed(task.steps[0], amount=10**30)
    done = stage.play(APPROVE, replace(task, steps=(more, task.steps[1])))
    assert done.run.failure is None
    assert not done.is_right
