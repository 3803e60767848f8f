"""What an agent reads in a run is the draft's state at that step: never the head's."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.control.host_tools import HOST_TOOLS
from pyevm_agents.errors import EngineFault
from pyevm_agents.lifecycle.chain_tools import ChainTool
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.execution import get_child_starter
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import ExecutionRecord, RunSummary, TaskPlan
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    OPERATOR,
    RUNNER,
    AddingAgent,
    Addition,
    build_task,
    deploy,
    narrow,
    open_bench,
    send,
)
from tests.pyevm_agents.lifecycle.spending import OnceListener
from tests.pyevm_agents.lifecycle.test_onchain_agent import deploy_agent
from tests.pyevm_agents.lifecycle.test_treasury_runs import Treasury, sign_pending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.lifecycle.chain_tools import DraftReader
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.recordings.canonical_json import Json
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

BOB = Address(b"\xb0" * 20)
PAY, ADD, READ, CHILD = "pay", "add", "read", "child"

GENEROUS = narrow(max_steps=50, max_onchain_writes=20, max_tool_calls=200)


class ReadingAgent(AddingAgent):
    """Pays Bob, adds to the counter, reads both, and lets another agent do the same in a child run.

    `script` has the acts of each step. Its result names what it read, in order.
    """

    script: Mapping[str, Sequence[str]]

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        session, seen = context.session, list[str]()
        for act in self.script[step.step_id]:
            match act:
                case "pay":
                    assert session.write(BOB, value_wei=1).is_success
                case "add":
                    assert session.write(self.counter, COUNTER.encode_call("add", 1)).is_success
                case "child":
                    part = replace(task, task_id="part", agent_slug="child")
                    child = get_child_starter(context).run_child(part, context)
                    assert child.error is None
                    seen.append(child.steps[0].result or "")
                case _:
                    wei = session.use_tool("read_balance", address="0x" + BOB.hex())
                    number = session.call(self.counter, COUNTER.encode_call("number"))
                    block = session.use_tool("read_block")
                    assert isinstance(block, dict)
                    seen.append(f"{wei}/{int.from_bytes(number)}/{block['number']}")
        return " ".join(seen)


def install(bench: RunBench, steps: Sequence[Sequence[str]], child: Sequence[str]) -> None:
    """Install an agent of these steps, and the agent of its child runs."""
    names = [f"step-{number}" for number in range(len(steps))]
    agent = ReadingAgent(bench.counter, {name: Addition() for name in names})
    agent.script = dict(zip(names, steps, strict=True))
    other = ReadingAgent(bench.counter, {"step-1": Addition(agent="child")}, slug="child")
    other.script = {"step-1": child}
    for each in (agent, other):
        safety = replace(each.manifest.safety, max_onchain_writes_per_run=20)
        each.manifest = replace(each.manifest, safety=safety, compute_constraints=GENEROUS)
    bench.change(tools=HOST_TOOLS)
    bench.install(agent, other)


def foresee(
    steps: Sequence[Sequence[str]], child: Sequence[str], start: tuple[int, int], block: int
) -> list[str]:
    """Return what each step reads: what was there before, and what the run did so far."""
    wei, number = start

    def walk(acts: Sequence[str]) -> str:
        nonlocal wei, number
        seen = []
        for act in acts:
            wei, number = wei + (act == PAY), number + (act == ADD)
            if act == READ:
                seen.append(f"{wei}/{number}/{block}")
            if act == CHILD:
                seen.append(walk(child))
        return " ".join(seen)

    return [walk(acts) for acts in steps]


def list_results(bench: RunBench, run: StoredRun) -> tuple[list[str | None], list[str | None]]:
    """Return the steps' results in the dry run, and in the execution."""
    dry = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    executed = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    return [each.result for each in dry.result.steps], [
        each.result for each in executed.result.steps
    ]


ACTS = st.lists(st.sampled_from([PAY, ADD, READ, CHILD]), max_size=3)
LEAF = st.lists(st.sampled_from([PAY, ADD, READ]), max_size=3)


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(ACTS, min_size=1, max_size=3), child=LEAF)
def test_every_read_sees_the_writes_so_far(steps: list[list[str]], child: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = open_bench(Path(folder))
        send(bench.chain, BOB, b"", value=7)
        start = (bench.chain.balance(BOB), bench.number)
        install(bench, steps, child)
        block = bench.chain.head.block_number + 1
        run = bench.run(budget=GENEROUS)
        assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
        expected = foresee(steps, child, start, block)
        assert list_results(bench, run) == (expected, expected)
        summary = bench.store.get_result(RunSummary, run.run_id, Phase.SUMMARIZE)
        said = [each.partition(": ")[2] for each in summary.key_actions]
        assert said == [each or "completed" for each in expected]
        bench.store.close()


def test_an_execution_reads_its_own_draft_where_the_chain_moved(bench: RunBench) -> None:
    """What is reported is what is there in the run's block, not what was there before."""
    install(bench, [(READ, PAY, READ)], ())
    others = OnceListener(
        Phase.DRY_RUN, Moment.STORED, lambda: bool(send(bench.chain, BOB, b"", value=5))
    )
    bench.change(listener=others)
    run = bench.run(budget=GENEROUS)
    assert (run.failure, run.attempt) == (None, 1)
    dry, executed = list_results(bench, run)
    number = bench.chain.head.block_number
    assert dry == [f"0/0/{number - 1} 1/0/{number - 1}"]
    assert executed == [f"5/0/{number} 6/0/{number}"]


class WatchingAgent(AddingAgent):
    """Reads the accounts that pay for gas, before and after its writes."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        def read() -> str:
            accounts = (RUNNER, OPERATOR)
            tool = context.session.use_tool
            return " ".join(str(tool("read_balance", address="0x" + a.hex())) for a in accounts)

        return " ".join((read(), super().perform_step(task, step, context), read()))


@pytest.mark.slow
def test_a_treasurys_opening_changes_no_balance_that_is_read(bench: RunBench) -> None:
    """In the dry run another account pays for the confirmation than in the execution."""
    treasury = Treasury(bench)
    treasury.limit(confirms=True)
    bench.change(tools=HOST_TOOLS)
    bench.install(WatchingAgent(bench.counter, {"step-1": Addition(amounts=(1, 2))}))
    orchestrator = Orchestrator(bench.host)
    run = orchestrator.run(orchestrator.start(build_task()))
    orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
    run = orchestrator.run(run.run_id)
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    dry, executed = list_results(bench, run)
    words = [each.split() for each in (*dry, *executed) if each is not None]
    assert words[0][:2] == words[1][:2]
    assert words[0][-1] == words[1][-1], "the operator pays for nothing"


def test_a_child_of_a_contract_is_planned_on_its_parents_draft(bench: RunBench) -> None:
    """At the head the model declines; after the parent's write it does not."""
    bench.counter = deploy(bench.chain, "CounterTool")
    address = deploy_agent(bench, bench.counter)
    model = bench.chain.models[PROFILE.name]
    assert isinstance(model, ByteModel)

    def answer(request: GenerationRequest) -> str:
        prompt = "".join(segment.text for segment in request.segments)
        if "The counter is: 13" in prompt:
            return " Hm\nFinal Answer: It is 13"
        if "The counter is: " in prompt:
            return " Hm\nFinal Answer: I can't do that: the parent has added nothing"
        return ' Hm\nAction: CounterTool\nAction Input: {"amount": 3}'

    model._script = answer  # noqa: SLF001

    class Parent(AddingAgent):
        def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
            del step
            add = COUNTER.encode_call("add", 10)
            assert context.session.write(bench.counter, add).is_success
            part = replace(task, task_id="part", agent_slug="counting", goal="Add three")
            child = get_child_starter(context).run_child(part, context)
            assert child.error is None, child.error
            return child.steps[-1].result or ""

    counting = OnchainAgent(
        replace(AddingAgent(bench.counter, {}).manifest, slug="counting"), address
    )
    bench.install(Parent(bench.counter, {"step-1": Addition()}), counting)
    run = bench.run(budget=GENEROUS)
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    expected = ["It is 13"]
    assert list_results(bench, run) == (expected, expected)
    [child] = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN).children
    assert isinstance(child.plan, TaskPlan)
    assert [each.step_id for each in child.plan.steps] == ["step-1", "answer"]


def test_a_fault_of_the_chain_in_a_tool_stays_the_hosts(bench: RunBench) -> None:
    """The run waits, and goes on once the chain works again."""
    is_broken = True

    def read(draft: DraftReader, arguments: Mapping[str, Json]) -> Json:
        del arguments
        if is_broken:
            raise EngineFault("the engine died")
        return draft.number

    class Asking(AddingAgent):
        def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
            del task, step
            return str(context.session.use_tool("read"))

    bench.change(tools={"read": ChainTool(read)})
    bench.install(Asking(bench.counter, {"step-1": Addition()}))
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    with pytest.raises(EngineFault):
        orchestrator.run(run_id)
    is_broken = False
    assert orchestrator.run(run_id).status is RunStatus.COMPLETED


def test_a_rehearsal_leaves_nothing_on_the_draft(bench: RunBench) -> None:
    draft = bench.host.port.begin_draft(bench.host.port.pin_next_block())
    tried = draft.rehearse(bench.counter, COUNTER.encode_call("add", 5))
    assert tried.is_success
    number = draft.call(bench.counter, COUNTER.encode_call("number"))
    assert (int.from_bytes(number), draft.prepare().transactions) == (0, ())
