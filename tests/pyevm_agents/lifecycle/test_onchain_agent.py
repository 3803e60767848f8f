"""A deployed agent of the ERC in the nine phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.phases import NOT_DONE
from pyevm_agents.lifecycle.records import (
    ExecutionRecord,
    NotDone,
    ReceiptType,
    RunSummary,
    StepStatus,
    TaskPlan,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.lifecycle.run_bench import (
    AddingAgent,
    Addition,
    RunBench,
    answer_by_prompt,
    build_manifest,
    deploy,
    narrow,
    read_number,
)
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from eth_typing import Address

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.lifecycle.host import RunEvent


@pytest.fixture
def agent(bench: RunBench) -> OnchainAgent:
    """An agent whose model adds 3 with its tool, which is the bench's counter; installed."""
    bench.counter = deploy(bench.chain, "CounterTool")
    address = deploy_agent(bench, bench.counter)
    made = OnchainAgent(build_manifest("adder"), address)
    bench.install(made)
    return made


def deploy_agent(bench: RunBench, tool: Address) -> Address:
    texts = ("counting", "Counts", "what to count", "You count.")
    return deploy(bench.chain, "SimpleAgent", EXECUTOR_ADDRESS, "llama_model_3", *texts, [tool], 4)


@pytest.mark.usefixtures("agent")
def test_its_plan_is_its_own(bench: RunBench) -> None:
    run = bench.run(goal="Add three")
    assert (run.failure, run.status, bench.number) == (None, RunStatus.COMPLETED, 3)
    plan = bench.store.get_result(TaskPlan, run.run_id, Phase.PLAN)
    assert [(step.step_id, step.description, step.depends_on) for step in plan.steps] == [
        ("step-1", 'CounterTool {"amount": 3}', ()),
        ("answer", "Answer from what the tools returned", ("step-1",)),
    ]
    record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    results = [step.result for step in record.result.steps]
    assert results == ["The counter is: 3", "The counter was increased"]
    assert (record.use.onchain_writes, record.use.tool_calls) == (1, 1)
    kinds = [receipt.type for receipt in bench.store.list_receipts(run.run_id)]
    assert kinds[1:3] == [ReceiptType.TRANSACTION, ReceiptType.TOOL]
    summary = bench.store.get_result(RunSummary, run.run_id, Phase.SUMMARIZE)
    assert summary.key_actions[-1] == "answer: The counter was increased"


@pytest.mark.usefixtures("agent")
def test_its_tool_calls_are_limited(bench: RunBench) -> None:
    run = bench.run(goal="Add three", budget=narrow(max_tool_calls=0))
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "maxToolCalls 0: 1 would be spent" in (run.failure or "")


@pytest.mark.usefixtures("agent")
def test_its_thoughts_are_steps_of_the_budget(bench: RunBench) -> None:
    run = bench.run(goal="Add three", budget=narrow(max_steps=1))
    assert run.failed_phase is Phase.POLICY_CHECK


def test_a_run_that_fails_on_the_draft_has_no_plan(bench: RunBench) -> None:
    tool = deploy(bench.chain, "Counter")
    address = deploy_agent(bench, tool)
    bench.install(OnchainAgent(build_manifest("adder"), address))
    run = bench.run(goal="Add three")
    assert run.failed_phase is Phase.PLAN
    assert "plan of adder: " in (run.failure or "")


def follow(bench: RunBench, *steps: str) -> None:
    """Let the model write these steps in each run, one after the other."""
    model = bench.chain.models[PROFILE.name]
    assert isinstance(model, ByteModel)

    def write(request: GenerationRequest) -> str:
        prompt = "".join(segment.text for segment in request.segments)
        return steps[prompt.count("The counter is: ")]

    model._script = write  # noqa: SLF001


ADD = (' I add three\nAction: CounterTool\nAction Input: {"amount": 3}',)


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("before", [(), ADD], ids=["at once", "after a tool"])
def test_an_agent_that_is_not_done_has_no_plan(bench: RunBench, before: tuple[str, ...]) -> None:
    for number, said in enumerate(REFUSALS):
        follow(bench, *before, f" Hm\nFinal Answer: {said}")
        run = bench.run(task_id=f"task-{number}", goal="Add some")
        assert (run.failed_phase, run.status) == (Phase.PLAN, RunStatus.FAILED)
        told = f"plan of adder: not done: {said.rstrip('.')}; change the goal"
        assert told in (run.failure or "")
        assert bench.store.find_value(NotDone, run.run_id, NOT_DONE) == NotDone(answer=said)
    assert bench.number == 0


@pytest.mark.parametrize("before", [(), ADD], ids=["at once", "after a tool"])
def test_an_agent_that_is_not_done_fails_its_step_of_anothers_plan(
    bench: RunBench, agent: OnchainAgent, before: tuple[str, ...]
) -> None:
    other = OnchainAgent(build_manifest("counting"), agent.address)
    steps = {
        "first": Addition(amounts=(2,)),
        "ask": Addition(agent="counting", depends_on=("first",)),
        "then": Addition(depends_on=("ask",)),
    }
    counter = deploy(bench.chain, "Counter")
    bench.install(AddingAgent(counter, steps), other)
    for number, said in enumerate(REFUSALS):
        follow(bench, *before, f" Hm\nFinal Answer: {said}")
        run = bench.run(task_id=f"task-{number}")
        assert (run.failed_phase, run.failure) == (Phase.DRY_RUN, f"step ask: not done: {said}")
        record = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
        assert [(step.status, step.result) for step in record.result.steps[1:]] == [
            (StepStatus.FAILED, said),
            (StepStatus.SKIPPED, None),
        ]
        assert bench.store.find_value(NotDone, run.run_id, NOT_DONE) == NotDone(answer=said)
    assert (bench.number, read_number(bench.chain, counter)) == (0, 0)


def test_it_answers_a_step_of_another_agents_plan(bench: RunBench, agent: OnchainAgent) -> None:
    other = OnchainAgent(build_manifest("counting"), agent.address)
    steps = {"ask": Addition(agent="counting")}
    bench.install(AddingAgent(bench.counter, steps), other)
    run = bench.run()
    assert run.failure is None
    record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    assert record.result.steps[0].result == "The counter was increased"
    assert bench.number == 3


def swap_answers(bench: RunBench, phase: Phase) -> None:
    """Let the model add 4 in place of 3 after a phase is stored."""

    def listen(event: RunEvent) -> None:
        if (event.phase, event.moment) == (phase, Moment.STORED):
            model = bench.chain.models[PROFILE.name]
            assert isinstance(model, ByteModel)
            model._script = lambda request: answer_by_prompt(request).replace(": 3}", ": 4}")  # noqa: SLF001

    bench.change(listener=listen)


@pytest.mark.usefixtures("agent")
def test_a_model_that_answers_otherwise_fails_the_execution(bench: RunBench) -> None:
    swap_answers(bench, Phase.DRY_RUN)
    run = bench.run(goal="Add three")
    assert (run.failed_phase, bench.number) == (Phase.EXECUTE, 0)
    assert "write 1: another generation of the model" in (run.failure or "")


@pytest.mark.usefixtures("agent")
def test_a_model_that_answers_otherwise_fails_the_reexecution(bench: RunBench) -> None:
    swap_answers(bench, Phase.EXECUTE)
    run = bench.run(goal="Add three")
    assert (run.failed_phase, bench.number) == (Phase.VERIFY, 3)
    assert "lifecycle:reexecution: block" in (run.failure or "")
    assert "differs" in (run.failure or "")
