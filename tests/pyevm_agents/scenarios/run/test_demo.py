"""The demo of runs on a scripted model: the story, models that lie, and who may pay bills."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.context import AgentContext, RunLogger
from pyevm_agents.lifecycle.execution import RESULTS
from pyevm_agents.lifecycle.onchain_agent import OnchainRunError
from pyevm_agents.lifecycle.records import StepResult, StepStatus, Task, TaskPlan
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.recordings import open_chain, read_fixture
from pyevm_agents.scenarios.run.agents import Bookkeeper, ToolAnswerAgent, fill_results
from pyevm_agents.scenarios.run.demo import TASKS, RunDemo, build_demo_manifest
from pyevm_agents.scenarios.run.world import (
    BILLS,
    BOOKKEEPER,
    CURRENCY,
    NEWCOMER,
    PAYER,
    UNIT,
    derive_key,
    find_address,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step

FIXTURE = Path(__file__).parents[4] / "chain_fixtures" / "run.json"
BILLS_TASK, BUDGET_TASK, CAP_TASK, TRUST_TASK = TASKS


def follow_prompt(request: GenerationRequest) -> Step:
    """Read the bill, or pay what the question says; then answer."""
    prompt = "".join(segment.text for segment in request.segments)
    _, _, asked = prompt.rpartition("\nQuestion: ")
    if "\nObservation: " in asked:
        return answer("Done.")
    words = asked.partition("<|im_end|>")[0].split()
    if words[0] == "Read":
        return use("read_bill", supplier=words[-1])
    return use("pay_bill", supplier=words[-1], amount=int(words[1]))


@pytest.fixture
def open_demo(
    vocabulary: Vocabulary, tmp_path: Path
) -> Iterator[Callable[[Callable[[GenerationRequest], Step]], RunDemo]]:
    """Deploys the demo with a model that follows a function."""
    store = RunStore(tmp_path / "runs.sqlite")

    def deploy(script: Callable[[GenerationRequest], Step]) -> RunDemo:
        model = ScriptedModel(script, vocabulary=vocabulary)
        chain = create_development_chain(model, vocabulary.profile_facts)
        return RunDemo.deploy(chain, store, now=lambda: 1_800_000_000.0)

    yield deploy
    store.close()


@pytest.fixture
def demo(open_demo: Callable[[Callable[[GenerationRequest], Step]], RunDemo]) -> RunDemo:
    return open_demo(follow_prompt)


@pytest.mark.slow
def test_the_story_is_told(demo: RunDemo) -> None:
    outcomes = [demo.run(task) for task in TASKS]
    assert [each.differences for each in outcomes] == [()] * 4
    paid = outcomes[0]
    assert paid.after.tokens["Acme"] == BILLS["Acme"] * UNIT
    assert paid.after.block_number == 3
    assert paid.confirmation is not None
    confirmed = demo.world.read("treasury", "getRun", hash_id(paid.run.run_id))
    assert confirmed[7] is True, "the treasury has the confirmation"
    assert all(each.after == paid.after for each in outcomes[1:])
    assert [each.run.failed_phase for each in outcomes] == [
        None, Phase.DRY_RUN, Phase.DRY_RUN, Phase.TRUST_CHECK,
    ]  # fmt: skip


@pytest.mark.slow
def test_another_amount_than_the_bills_is_refused(
    open_demo: Callable[[Callable[[GenerationRequest], Step]], RunDemo],
) -> None:
    def lie(request: GenerationRequest) -> Step:
        step = follow_prompt(request)
        is_payment = getattr(step, "tool", None) == "pay_bill"
        return use("pay_bill", supplier="Omar", amount=340) if is_payment else step

    outcome = open_demo(lie).run(BILLS_TASK)
    assert outcome.run.failed_phase is Phase.DRY_RUN
    assert "AmountDiffers" in (outcome.run.failure or "")
    assert outcome.before == outcome.after
    assert "expected no stop; it is a stop in dry_run" in outcome.differences[0]
    assert "treasury: expected a change of -415000000 base units; it is 0" in outcome.differences


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("It is paid", "used no tool; it answers 'It is paid'"),
        ("I can't do that", "step read-Acme: not done: I can't do that"),
    ],
)
def test_an_agent_that_uses_no_tool_fails_its_step(
    open_demo: Callable[[Callable[[GenerationRequest], Step]], RunDemo], said: str, reason: str
) -> None:
    outcome = open_demo(lambda _: answer(said)).run(BILLS_TASK)
    assert outcome.run.failed_phase is Phase.DRY_RUN
    assert reason in (outcome.run.failure or "")
    assert outcome.before == outcome.after


@pytest.mark.slow
def test_a_run_that_should_be_stopped_and_is_not_is_a_difference(demo: RunDemo) -> None:
    outcome = demo.run(replace(CAP_TASK, goal="Pay the bill of Omar"))
    assert outcome.run.status is RunStatus.COMPLETED
    assert outcome.differences == (
        "expected a stop in dry_run; it is no stop: completed",
        "expected the reason 'CapExceeded'; it is None",
        "expected nothing to be spent; the chain has changed",
    )


@pytest.mark.slow
def test_a_goal_without_a_supplier_is_not_handled(demo: RunDemo) -> None:
    outcome = demo.run(replace(BILLS_TASK, goal="Pay the bill of Nobody"))
    assert outcome.run.failed_phase is Phase.DISCOVER


@pytest.mark.slow
def test_only_the_treasury_and_the_books_agent_pay(demo: RunDemo) -> None:
    """Each link of book, tool, agent and treasury refuses everybody else."""
    world = demo.world
    text = encode(["string"], ["Omar"])
    amount = encode(["uint256"], [BILLS["Omar"]])
    tool_input = (([(0, text), (1, amount)], b""), bytes(20))
    calls: dict[str, tuple[str, str, tuple[object, ...]]] = {
        "CallerNotTool": ("book", "pay", ("Omar", BILLS["Omar"] * UNIT)),
        "CallerNotAgent": ("pay_bill", "run", tool_input),
        "AgentFixed": ("book", "setAgent", (world.address(NEWCOMER), world.address("pay_bill"))),
        "BillIsOpen": ("book", "add", ("Omar", world.address(NEWCOMER), 1)),
    }
    for reason, (name, function, arguments) in calls.items():
        data = world.contracts[name].artifact.encode_call(function, *arguments)
        sent = world.account.send(world.address(name), data)
        assert reason in str(explain_failure(sent.computation)), name
    sent = world.account.send(world.address(PAYER), encode_run("Pay 75 to Omar"))
    assert "OwnableUnauthorizedAccount" in str(explain_failure(sent.computation))
    stranger = LocalAccount(world.chain, derive_key("stranger 0"))
    data = world.contracts["book"].artifact.encode_call("add", "Zoe", stranger.address, 1)
    sent = stranger.send(world.address("book"), data)
    assert "OwnableUnauthorizedAccount" in str(explain_failure(sent.computation))
    assert world.read(CURRENCY, "balanceOf", find_address(derive_key("Omar"))) == 0


@pytest.mark.slow
def test_the_plan_has_two_dependent_steps_for_each_supplier(demo: RunDemo) -> None:
    module = demo.orchestrator.host.modules[BOOKKEEPER]
    assert isinstance(module, Bookkeeper)
    assert isinstance(demo.orchestrator.host.modules[PAYER], ToolAnswerAgent)
    demo.run(BILLS_TASK)
    plan = demo.store.get_result(TaskPlan, "bills-1-run-1", Phase.PLAN)
    assert [(step.step_id, step.agent_slug, step.depends_on) for step in plan.steps] == [
        ("read-Acme", "clerk", ()),
        ("pay-Acme", "payer", ("read-Acme",)),
        ("read-Omar", "clerk", ()),
        ("pay-Omar", "payer", ("read-Omar",)),
    ]


def test_the_fixture_is_the_run_that_was_paid() -> None:
    fixture = read_fixture(FIXTURE)
    assert all(each.is_success for block in fixture.blocks for each in block.transactions)
    assert [len(block.transactions) for block in fixture.blocks] == [7, 1, 1]
    made = [step.exchange.generation for step in fixture.steps]
    texts = [generation.text for generation in made if generation is not None]
    calls = [text.partition("Action: ")[2] for text in texts if "Action: " in text]
    assert calls == [
        'read_bill\nAction Input: {"supplier": "Acme"}',
        'pay_bill\nAction Input: {"supplier": "Acme", "amount": 340}',
        'read_bill\nAction Input: {"supplier": "Omar"}',
        'pay_bill\nAction Input: {"supplier": "Omar", "amount": 75}',
    ]
    assert open_chain(fixture).head.hash == fixture.blocks[-1].block.hash


def build_context(results: object) -> AgentContext:
    return AgentContext(
        run_id="run-1",
        task_id="task-1",
        operator_wallet=bytes(20),
        compute_budget=ComputeBudget(),
        logger=RunLogger("run-1"),
        services={RESULTS: results},
    )


def test_earlier_results_take_their_places_in_a_description() -> None:
    done = StepResult(step_id="read", status=StepStatus.COMPLETED, result="75 to {pay}")
    assert fill_results("Pay {read}", build_context({"read": done})) == "Pay 75 to {pay}"
    assert fill_results("Pay 75", build_context({})) == "Pay 75"


@pytest.mark.parametrize(
    "results",
    [{}, None, {"read": StepResult(step_id="read", status=StepStatus.FAILED, error="no bill")}],
)
def test_a_description_without_its_result_is_refused(results: object) -> None:
    with pytest.raises(OnchainRunError, match="step 'read': has no result"):
        fill_results("Pay {read}", build_context(results))


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ("Pay the bills of Omar and Acme", ["read-Acme", "pay-Acme", "read-Omar", "pay-Omar"]),
        ("Pay Omar, Omar and Omaria", ["read-Omar", "pay-Omar"]),
        ("Pay Omaria", []),
    ],
)
def test_a_bookkeeper_plans_for_the_suppliers_of_the_goal(goal: str, named: list[str]) -> None:
    agent = Bookkeeper(build_demo_manifest(BOOKKEEPER), ("Acme", "Omar"), clerk="c", payer="p")
    task = Task(task_id="t", goal=goal, agent_slug=BOOKKEEPER, operator_wallet=bytes(20))
    assert agent.can_handle(task) is bool(named)
    assert [step.step_id for step in agent.plan(task, build_context({})).steps] == named
