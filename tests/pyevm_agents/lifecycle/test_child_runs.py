"""Child runs, which spend their parent's budget, and tools of the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.lifecycle.execution import RESULTS, get_child_starter
from pyevm_agents.lifecycle.records import ExecutionRecord, ReceiptType, RunSummary
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    AddingAgent,
    Addition,
    build_task,
    narrow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.recordings.canonical_json import Json
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

TWO_WRITES = {"step-1": Addition(amounts=(1, 2), agent="child")}


class DelegatingAgent(AddingAgent):
    """Gives its step to the agent `child` after a write of its own."""

    budget: ComputeBudget = narrow()
    slug_of_child = "child"

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        super().perform_step(task, step, context)
        part = replace(task, task_id="part-1", agent_slug=self.slug_of_child, budget=self.budget)
        child = get_child_starter(context).run_child(part, context)
        if child.error is not None:
            raise ValueError(child.error)
        return child.steps[-1].result or ""


def install_pair(bench: RunBench, **child: Addition) -> DelegatingAgent:
    """Install a delegating agent and its child; return the former."""
    parent = DelegatingAgent(bench.counter, {"step-1": Addition(amounts=(10,))})
    bench.install(parent, AddingAgent(bench.counter, child or TWO_WRITES, slug="child"))
    return parent


def test_a_child_run_is_part_of_its_parents_block(bench: RunBench) -> None:
    install_pair(bench)
    head = bench.chain.head.block_number
    run = bench.run()
    assert run.failure is None
    assert run.status is RunStatus.COMPLETED
    assert (bench.number, bench.chain.head.block_number) == (13, head + 1)
    child = bench.store.get_run(f"{run.run_id}.1")
    assert (child.parent_run_id, child.status) == (run.run_id, RunStatus.COMPLETED)
    record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    assert [trace.write.step_id for trace in record.trace.writes] == [
        "step-1",
        "child-1/step-1",
        "child-1/step-1",
    ]
    assert record.use.steps == 2


def test_a_child_run_spends_its_parents_budget(bench: RunBench) -> None:
    install_pair(bench)
    run = bench.run(budget=narrow(max_onchain_writes=2))
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "maxOnchainWrites 2: 3 would be spent" in (run.failure or "")


def test_a_child_run_has_a_budget_of_its_own(bench: RunBench) -> None:
    install_pair(bench).budget = narrow(max_onchain_writes=1)
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "maxOnchainWrites 1: 2 would be spent" in (run.failure or "")


@pytest.mark.parametrize(
    ("budget", "words"),
    [(narrow(max_steps=99), "maxSteps 99"), (narrow(max_tool_calls=-1), "maxToolCalls -1")],
)
def test_a_child_run_has_a_policy_check(bench: RunBench, budget: ComputeBudget, words: str) -> None:
    install_pair(bench).budget = budget
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert words in (run.failure or "")


def test_a_child_run_has_a_trust_check(bench: RunBench) -> None:
    parent = install_pair(bench)
    known = bench.host.modules
    bench.install(parent)
    bench.change(modules=known)
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "identity: the agent has no entry" in (run.failure or "")


def test_agents_that_start_each_other_end_at_the_budget(bench: RunBench) -> None:
    agent = DelegatingAgent(bench.counter, {"step-1": Addition(amounts=())})
    agent.slug_of_child = "adder"
    bench.install(agent)
    run = bench.run(task=build_task(task_id="circle"))
    assert run.failed_phase is Phase.DRY_RUN
    assert "maxSteps 10: 11 would be spent" in (run.failure or "")


# -- tools of the host, and results of other steps -- #


class ToolAgent(AddingAgent):
    """Adds what a tool of the host says."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task
        results = context.services[RESULTS]
        assert isinstance(results, dict)
        assert [*results] == [*self.additions][: len(results)]
        amount = context.session.use_tool("price", asset=step.step_id)
        assert isinstance(amount, int)
        context.session.write(self.counter, COUNTER.encode_call("add", amount))
        return str(amount)


def test_an_execution_reads_back_what_tools_answered_in_the_dry_run(bench: RunBench) -> None:
    asked: list[Json] = []

    def price(given: Mapping[str, Json]) -> Json:
        asked.append(given["asset"])
        return len(asked)

    bench.change(tools={"price": price})
    bench.install(ToolAgent(bench.counter, {"one": Addition(), "two": Addition()}))
    run = bench.run()
    assert (run.failure, bench.number, asked) == (None, 3, ["one", "two"])
    kinds = [receipt.type for receipt in bench.store.list_receipts(run.run_id)]
    assert kinds == [
        ReceiptType.DRY_RUN,
        *[ReceiptType.API, ReceiptType.TRANSACTION] * 2,
        ReceiptType.VERIFICATION,
    ]


def test_a_tool_that_fails_is_a_failed_step(bench: RunBench) -> None:
    def price(given: Mapping[str, Json]) -> Json:
        raise TimeoutError(f"no price of {given['asset']}")

    bench.change(tools={"price": price})
    bench.install(ToolAgent(bench.counter, {"one": Addition()}))
    run = bench.run()
    assert run.failure == "step one: tool price: no price of one"


def test_an_unknown_tool_is_a_failed_step(bench: RunBench) -> None:
    bench.install(ToolAgent(bench.counter, {"one": Addition()}))
    assert bench.run().failure == "step one: tool price: unknown; there are none"


# -- receipts -- #


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_each_receipt_is_listed_once_however_deep_its_run_is(bench: RunBench, depth: int) -> None:
    bench.change(tools={"price": lambda _: 1})
    names = ["adder", *(f"child-{number}" for number in range(depth))]
    agents: list[AddingAgent] = []
    for name, child in pairwise(names):
        agent = DelegatingAgent(bench.counter, {"step-1": Addition(amounts=(1,), agent=name)}, name)
        agent.slug_of_child = child
        agents.append(agent)
    leaf = {"step-1": Addition(amounts=(1, 2), agent=names[-1])}
    bench.install(*agents, AddingAgent(bench.counter, leaf, slug=names[-1]))
    run = bench.run(budget=narrow(max_steps=20, max_onchain_writes=20))
    assert (run.status, run.failure, bench.number) == (RunStatus.COMPLETED, None, depth + 3)
    record = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    listed = [each.receipt_id for each in bench.store.list_receipts(run.run_id)]
    written = [each for each in listed if "transaction" in each or "api" in each]
    assert [*record.result.receipt_ids] == written
    assert len(set(written)) == len(written) == depth + 2
    summary = bench.store.get_result(RunSummary, run.run_id, Phase.SUMMARIZE)
    assert [*summary.receipt_ids] == written
    assert record.use.onchain_writes == depth + 2
    assert record.use.steps == depth + 1
