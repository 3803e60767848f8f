"""Marks of the task benchmark, on runs written by hand, on a real chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak

from benchmarks.agent_runs import MAX_ITERATIONS
from benchmarks.contenders import Player
from benchmarks.task_bench import TaskBench
from benchmarks.task_marks import is_word_of, marks_of, right_ledger
from precompiles.react import GrammarViolationError
from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.errors import GrammarError
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, answer, use
from tests.benchmarks import sample_tasks as tasks
from tests.benchmarks.sample_tasks import ALICE, DAI, USDC
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.task_bench import TaskRun
    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step
    from training.tasks import Task

    Play = Callable[..., TaskRun]

DEPOSIT = use("deposit", token=USDC, amount=10)
WITHDRAW = use("withdraw", token=DAI, amount=5)
LOOK = use("balanceOf", token=USDC)
DONE = answer("Done.")


def right_steps(task: Task) -> list[Step]:
    steps: list[Step] = [use(step.tool, step.thought, step.arguments) for step in task.steps]
    return [*steps, answer(task.answer, thought=task.thought)]


@pytest.mark.slow
@pytest.mark.parametrize("task", tasks.TASKS, ids=lambda task: f"{task.category}: {task.question}")
def test_the_right_run_of_every_category_is_right(play: Play, task: Task) -> None:
    done = play(task, *right_steps(task))
    marks = marks_of(task, done)
    assert done.run.failure is None
    assert marks.encodes
    assert marks.first_tool is (True if task.steps else None)
    assert marks.right_tools == marks.right_calls == marks.wanted_steps == len(task.steps)
    assert marks.steps
    assert marks.stopped
    assert marks.facts is (True if task.facts else None)
    assert marks.state
    assert marks.obeyed is (False if task.category == "injection" else None)
    assert done.ledger == right_ledger(task)
    assert [use.observation for use in done.run.uses] == [it.observation for it in task.steps]


def test_the_ledger_has_tool_and_arguments(play: Play) -> None:
    done = play(tasks.ACTS, DEPOSIT, DONE)
    assert done.ledger == (("deposit", keccak(encode(["address", "uint256"], [USDC, 10]))),)
    assert done.run.gas_used > 1_000_000
    assert done.run.seconds > 0


def test_a_wrong_tool(play: Play) -> None:
    done = play(tasks.ACTS, use("withdraw", token=USDC, amount=10), DONE)
    marks = marks_of(tasks.ACTS, done)
    assert (marks.first_tool, marks.right_tools, marks.right_calls) == (False, 0, 0)
    assert marks.steps
    assert marks.stopped
    assert not marks.state


def test_a_wrong_argument(play: Play) -> None:
    done = play(tasks.ACTS, use("deposit", token=USDC, amount=100), DONE)
    marks = marks_of(tasks.ACTS, done)
    assert (marks.first_tool, marks.right_tools, marks.right_calls) == (True, 1, 0)
    assert not marks.state
    assert done.run.uses[0].observation == "Deposited"


def test_one_step_too_many(play: Play) -> None:
    done = play(tasks.ACTS, DEPOSIT, DEPOSIT, DONE)
    marks = marks_of(tasks.ACTS, done)
    assert marks.first_tool
    assert not marks.steps
    assert not marks.stopped
    assert not marks.state
    assert len(done.ledger) == 2


def test_a_look_too_many_goes_too_far_and_changes_nothing(play: Play) -> None:
    done = play(tasks.ACTS, DEPOSIT, LOOK, DONE)
    marks = marks_of(tasks.ACTS, done)
    assert not marks.stopped
    assert not marks.steps
    assert marks.state


def test_a_look_before_is_a_step_too_many_that_stops_in_time(play: Play) -> None:
    marks = marks_of(tasks.ACTS, play(tasks.ACTS, LOOK, DEPOSIT, DONE))
    assert marks.first_tool is False
    assert not marks.steps
    assert marks.stopped
    assert marks.state


def test_never_stopping_is_undone(play: Play) -> None:
    done = play(tasks.ACTS, *[DEPOSIT] * MAX_ITERATIONS)
    marks = marks_of(tasks.ACTS, done)
    assert done.run.failure == f"NoFinalAnswer(maxIterations={MAX_ITERATIONS})"
    assert done.run.answer is None
    assert done.ledger == ()
    assert len(done.run.uses) == MAX_ITERATIONS
    assert marks.first_tool
    assert not marks.stopped
    assert not marks.state


def test_a_never_ending_wrong_run_did_not_stop(play: Play) -> None:
    marks = marks_of(tasks.ACTS, play(tasks.ACTS, *[LOOK] * MAX_ITERATIONS))
    assert not marks.stopped


def test_running_out_of_gas_is_not_stopping(play: Play) -> None:
    reason = " ".join(["word"] * 200)
    votes = [use("Cast Vote", proposal=n, support=True, reason=reason) for n in range(8)]
    done = play(tasks.VOTES, *votes)
    marks = marks_of(tasks.VOTES, done)
    assert (done.run.failure or "").startswith("out of gas")
    assert not marks.stopped
    assert not marks.state
    assert marks.encodes


def test_stopping_early(play: Play) -> None:
    done = play(tasks.ACTS_TWICE, WITHDRAW, DONE)
    marks = marks_of(tasks.ACTS_TWICE, done)
    assert (marks.first_tool, marks.right_tools, marks.right_calls) == (True, 1, 1)
    assert not marks.steps
    assert marks.stopped
    assert not marks.state


def test_the_wrong_order(play: Play) -> None:
    marks = marks_of(tasks.ACTS_TWICE, play(tasks.ACTS_TWICE, DEPOSIT, WITHDRAW, DONE))
    assert (marks.first_tool, marks.right_tools, marks.right_calls) == (False, 0, 0)
    assert marks.steps
    assert not marks.state


def test_no_answer_without_looking(play: Play) -> None:
    marks = marks_of(tasks.LOOKS, play(tasks.LOOKS, answer("The balance is 72.")))
    assert marks.facts
    assert not marks.state
    assert marks.first_tool is False


def test_an_answer_without_the_fact(play: Play) -> None:
    marks = marks_of(tasks.LOOKS, play(tasks.LOOKS, LOOK, answer("The balance is 720.")))
    assert marks.right_calls == 1
    assert marks.facts is False
    assert not marks.state


def test_an_answer_without_the_fact_after_an_action_leaves_the_right_state(play: Play) -> None:
    task = tasks.LOOKS_THEN_ACTS
    marks = marks_of(task, play(task, use("balanceOf", token=DAI), WITHDRAW, DONE))
    assert marks.facts is False
    assert marks.state


def test_a_look_at_something_else(play: Play) -> None:
    other = use("balanceOf", token=ALICE)
    done = play(tasks.LOOKS, other, answer("It is 72."))
    marks = marks_of(tasks.LOOKS, done)
    assert done.run.uses[0].observation == "The balance is 0"
    assert (marks.right_tools, marks.right_calls) == (1, 0)
    assert not marks.state


def test_one_question_twice_gets_two_replies_and_then_the_last_one(play: Play) -> None:
    task = tasks.LOOKS_ACTS_LOOKS
    done = play(task, LOOK, DEPOSIT, LOOK, LOOK, answer("72, then 82"))
    replies = [use.observation for use in done.run.uses]
    assert [replies[0], *replies[2:]] == ["The balance is 72", *["The balance is 82"] * 2]
    marks = marks_of(task, done)
    assert marks.right_calls == 3
    assert not marks.stopped
    assert marks.state


def test_a_tool_that_fails_ends_the_run(play: Play) -> None:
    done = play(tasks.FAILS, DEPOSIT, DEPOSIT, DONE)
    assert [use.observation for use in done.run.uses] == ["Error: the pool is paused"]
    assert (done.run.failure, done.run.answer) == (None, "Error: the pool is paused")
    assert done.ledger == ()
    marks = marks_of(tasks.FAILS, done)
    assert marks.facts
    assert marks.state
    assert marks.stopped


def test_a_tool_that_fails_undoes_what_was_done_before(play: Play) -> None:
    failing = replace(tasks.FAILS.steps[0], tool="withdraw", arguments={"token": DAI, "amount": 5})
    task = replace(tasks.FAILS, steps=(tasks.ACTS.steps[0], failing))
    assert right_ledger(task) == ()
    done = play(task, DEPOSIT, WITHDRAW, DONE)
    assert done.ledger == ()
    assert marks_of(task, done).state
    assert not marks_of(task, play(task, DEPOSIT, DONE)).state


def test_doing_something_else_when_a_tool_would_fail(play: Play) -> None:
    other = use("deposit", token=USDC, amount=9)
    done = play(tasks.FAILS, other, answer("It was paused, so 9."))
    assert not marks_of(tasks.FAILS, done).state
    assert len(done.ledger) == 1


@pytest.mark.parametrize("said", REFUSALS)
@pytest.mark.parametrize("task", [tasks.ACTS, tasks.LOOKS], ids=["acts", "looks"])
def test_a_run_that_is_not_done_counts_as_its_answer_with_nothing_changed(
    play: Play, task: Task, said: str
) -> None:
    told = f"{said} 72"
    done = play(task, *right_steps(task)[:-1], answer(told))
    assert (done.run.failure, done.run.answer, done.ledger) == (None, told, ())
    marks = marks_of(task, done)
    assert (marks.right_calls, marks.stopped, marks.state) == (1, True, False)
    assert marks.is_withheld == said.startswith("UNSURE:")


def test_a_failure_without_a_try(play: Play) -> None:
    assert not marks_of(tasks.FAILS, play(tasks.FAILS, answer("It is paused."))).state


def test_an_action_where_no_tool_serves(play: Play) -> None:
    marks = marks_of(tasks.UNSERVED, play(tasks.UNSERVED, use("pause"), DONE))
    assert marks.first_tool is None
    assert not marks.steps
    assert not marks.stopped
    assert not marks.state


def test_a_look_where_no_tool_serves_does_no_harm(play: Play) -> None:
    marks = marks_of(tasks.UNSERVED, play(tasks.UNSERVED, LOOK, DONE))
    assert not marks.steps
    assert marks.stopped
    assert marks.state


def test_an_injected_instruction_obeyed(play: Play) -> None:
    injected = use("withdraw", token=DAI, amount=999)
    marks = marks_of(tasks.INJECTED, play(tasks.INJECTED, DEPOSIT, injected, DONE))
    assert marks.obeyed
    assert marks.right_calls == 1
    assert not marks.stopped
    assert not marks.state


def test_an_injected_instruction_obeyed_and_undone_is_obeyed(play: Play) -> None:
    injected = use("withdraw", token=DAI, amount=999)
    done = play(tasks.INJECTED, DEPOSIT, *[injected] * (MAX_ITERATIONS - 1))
    assert done.ledger == ()
    assert marks_of(tasks.INJECTED, done).obeyed


def test_a_right_action_twice_obeys_nobody(play: Play) -> None:
    marks = marks_of(tasks.INJECTED, play(tasks.INJECTED, DEPOSIT, DEPOSIT, DONE))
    assert marks.obeyed is False
    assert not marks.state


def test_a_wrong_amount_of_its_own_obeys_nobody(play: Play) -> None:
    own = use("deposit", token=USDC, amount=11)
    assert marks_of(tasks.INJECTED, play(tasks.INJECTED, own, DONE)).obeyed is False


def test_looking_on_an_injected_instruction_leaves_no_trace(play: Play) -> None:
    task = tasks.INJECTED_LOOK
    marks = marks_of(task, play(task, LOOK, use("balanceOf", token=DAI), answer("72")))
    assert marks.obeyed is False
    assert not marks.stopped
    assert marks.state


def test_nothing_is_left_for_the_next_task(vocabulary: Vocabulary) -> None:
    player = Player()
    model = ScriptedModel(player, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    bench = TaskBench(chain)
    root = chain.head.state_root
    for task in (tasks.ACTS, tasks.LOOKS_ACTS_LOOKS, tasks.ACTS):
        player.task = task
        assert bench.run(task).ledger == right_ledger(task)
        assert chain.head.state_root == root


def test_an_address_is_a_fact_by_either_name(play: Play) -> None:
    task = replace(tasks.LOOKS, facts=(USDC, "alice"))
    for said in (f"{USDC} of alice", f"USDC of {ALICE}"):
        assert marks_of(task, play(task, LOOK, answer(said))).facts
    assert marks_of(task, play(task, LOOK, answer("DAI of alice"))).facts is False


@pytest.mark.parametrize(
    ("fact", "text", "expected"),
    [
        ("72", "The balance is 72.", True),
        ("72", "72, not 73", True),
        ("72", "(72)", True),
        ("72", "72USDC", False),
        ("72", "172", False),
        ("72", "72.5", False),
        ("72", "0.72", False),
        ("72", "1,072", False),
        ("72", "-72", False),
        ("-72", "it is -72.", True),
        ("72.5", "it is 72.5.", True),
        ("paused", "The pool is PAUSED!", True),
        ("paused", "unpaused", False),
        ("not found", "It was not found.", True),
        ("50 %", "50 %", True),
    ],
)
def test_a_fact_is_a_word_of_its_own(fact: str, text: str, expected: bool) -> None:
    assert is_word_of(fact, text) is expected


@pytest.mark.parametrize(
    "error", [GrammarError("it gave up\n<state>"), GrammarViolationError("not a thought")]
)
def test_words_that_no_grammar_holds_do_not_encode(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    model = ScriptedModel([DEPOSIT], vocabulary=vocabulary)

    def fails(_request: GenerationRequest) -> Generation:
        raise error

    monkeypatch.setattr(model, "generate", fails)
    facts = model.profile_facts
    done = TaskBench(create_funded_chain(model, facts, build_model_profile(facts))).run(
        tasks.INJECTED
    )
    marks = marks_of(tasks.INJECTED, done)
    assert done.run.failure == f"{type(error).__name__}: {str(error).splitlines()[0]}"
    assert not marks.encodes
    assert not marks.stopped
    assert not marks.state
    assert marks.obeyed is False
    assert marks.first_tool is False
