"""Estimates of callback gas: with it a run succeeds, with one gas less it fails."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.forking import open_fork
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.agent_run import STATUSES
from pyevm_agents.oracle.callback_estimate import CallbackEstimate
from pyevm_agents.oracle.callback_simulation import (
    CallbackEstimator,
    NotCallbackAgentError,
    UnestimableError,
)
from pyevm_agents.oracle.codec import encode_finalize
from pyevm_agents.oracle.recomputation import ForkComputer, RequestExecutor
from pyevm_agents.oracle.rpc_methods import METHODS
from pyevm_agents.rpc.dispatcher import Dispatcher
from pyevm_agents.rpc.methods.registry import build_node_service
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import (
    CALLBACK_GAS,
    PROMPT,
    WINDOW,
    OracleChain,
    count_and_answer,
)
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.oracle.callback_estimate import StepEstimate
    from tests.pyevm_agents.forking.fake_remote import FakeRemote
    from tests.pyevm_agents.oracle.oracle_chain import Deployed

ANSWERED, ASKING = 4, 1
MOST_SLACK = 30_000
"""Between the bound and the gas used: what a worker has already, and bytes that are zero."""


@contextmanager
def estimating(
    oracle_chain: OracleChain, script: Callable[[GenerationRequest], str] = count_and_answer
) -> Iterator[CallbackEstimator]:
    fork = open_fork(oracle_chain.url, retries=0)
    estimator = CallbackEstimator(fork, RequestExecutor(host(ByteModel(script))))
    try:
        yield estimator
    finally:
        estimator.close()
        fork.close()


def estimate(oracle_chain: OracleChain, agent: Deployed) -> CallbackEstimate:
    with estimating(oracle_chain) as estimator:
        return estimator.estimate_run(agent.canonical, PROMPT)


def run(
    oracle_chain: OracleChain,
    computer: ForkComputer,
    agent: Deployed,
    steps: Sequence[StepEstimate],
) -> list[int]:
    """Run an agent until a callback fails or none is left; return the gas used by its answers."""
    requests, used = [oracle_chain.ask_agent(agent=agent)], []
    for step in steps:
        if not requests:
            break
        [request] = requests
        computed = computer.compute(request)
        receipt = oracle_chain.submit(request, computed, gas=step.answer_gas.limit)
        used.append(int(receipt["gasUsed"], 16))
        requests = oracle_chain.find_requests(receipt)
    return used


def require_bounds(steps: Sequence[StepEstimate], used: Sequence[int]) -> None:
    """Require that transactions used at most the estimated gas, and little less."""
    for step, gas in zip(steps, used, strict=True):
        assert step.answer_gas.used - MOST_SLACK < gas <= step.answer_gas.used


@pytest.mark.parametrize(("less", "status"), [(0, ANSWERED), (1, ASKING)])
def test_least_callback_gas_is_exact(
    oracle_chain: OracleChain, computer: ForkComputer, less: int, status: int
) -> None:
    told = estimate(oracle_chain, oracle_chain.agent)
    assert (told.status, told.result) == ("Answered", "The counter has it.")
    assert told.is_exact
    assert [step.is_paid_for for step in told.steps] == [True, True]
    assert told.reserved_wei == oracle_chain.agent.read("costOfRun")
    assert told.fee_wei == 2 * oracle_chain.oracle.read("feeOf", CALLBACK_GAS)
    assert told.callback_gas is not None
    agent = oracle_chain.deploy_agent(callback_gas=told.callback_gas - less)
    again = estimate(oracle_chain, agent)
    assert again.callback_gas == told.callback_gas
    assert again.steps[0].is_paid_for == (not less)
    used = run(oracle_chain, computer, agent, again.steps)
    if not less:
        require_bounds(again.steps, used)
    assert agent.read("statusOf", 1) == status


@pytest.mark.slow
def test_request_that_waits_is_estimated_like_the_run(
    oracle_chain: OracleChain, computer: ForkComputer
) -> None:
    told = estimate(oracle_chain, oracle_chain.agent)
    request = oracle_chain.ask_agent()
    computed = computer.compute(request)
    with estimating(oracle_chain) as estimator:
        waiting = estimator.estimate_request(request, computed)
    assert [step.callback_gas for step in waiting.steps] == [
        step.callback_gas for step in told.steps
    ]
    assert waiting.status is None
    oracle_chain.submit(request, computed)
    with (
        estimating(oracle_chain) as estimator,
        pytest.raises(UnestimableError, match="does not wait for an answer"),
    ):
        estimator.estimate_request(request, computed)


def test_reading_the_block_gives_an_upper_bound(oracle_chain: OracleChain) -> None:
    human = oracle_chain.deploy(
        "AskHumanTool", oracle_chain.sender, 3_600, "AskOwner", "Ask the owner"
    )

    def ask(request: GenerationRequest) -> str:
        step = use("AskOwner", thought="It is not clear", question="Which?")
        return render_step(step, request.handles)

    agent = oracle_chain.deploy_agent(tools=(human.address,))
    with estimating(oracle_chain, ask) as estimator:
        told = estimator.estimate_run(agent.canonical, PROMPT)
    [step] = told.steps
    assert step.environment == ("TIMESTAMP",)
    assert not told.is_exact
    assert told.status == "AwaitingTool"
    assert step.callback_gas is not None
    assert step.callback_gas < CALLBACK_GAS


@pytest.mark.slow
def test_touching_the_coinbase_gives_an_upper_bound(oracle_chain: OracleChain) -> None:
    told = estimate(oracle_chain, oracle_chain.agent)
    oracle_chain.ask("anvil_setCoinbase", oracle_chain.counter.address)
    oracle_chain.ask("evm_mine")
    warm = estimate(oracle_chain, oracle_chain.agent)
    assert [step.environment for step in warm.steps] == [("COINBASE",), ()]
    assert [step.callback_gas for step in warm.steps] == [step.callback_gas for step in told.steps]


@pytest.mark.slow
@pytest.mark.parametrize("less", [0, 1])
def test_callback_after_a_window_is_that_of_finalize(
    oracle_chain: OracleChain, computer: ForkComputer, less: int
) -> None:
    oracle = oracle_chain.deploy_challengeable()
    told = estimate(oracle_chain, oracle_chain.deploy_agent(oracle=oracle))
    assert told.status == "Answered"
    assert told.is_exact
    assert told.callback_gas is not None
    agent = oracle_chain.deploy_agent(oracle=oracle, callback_gas=told.callback_gas - less)
    request = oracle_chain.ask_agent(agent=agent)
    computed = computer.compute(request)
    oracle_chain.stake_of_worker(oracle)
    oracle_chain.submit(request, computed, gas=told.steps[0].answer_gas.limit)
    oracle_chain.ask("evm_increaseTime", 2 * WINDOW)
    gas = told.steps[0].finalize_gas
    assert gas is not None
    receipt = oracle_chain.send(oracle.address, encode_finalize(request.commitment), gas=gas.limit)
    assert len(oracle_chain.find_requests(receipt)) == 1 - less


def test_who_is_no_agent_is_named(oracle_chain: OracleChain) -> None:
    with estimating(oracle_chain) as estimator:
        with pytest.raises(NotCallbackAgentError, match="has no code"):
            estimator.estimate_run(b"\x99" * 20, PROMPT)
        for contract in (oracle_chain.counter, oracle_chain.oracle):
            with pytest.raises(NotCallbackAgentError, match="not a CallbackAgent"):
                estimator.estimate_run(contract.canonical, PROMPT)


@pytest.fixture
def own() -> Iterator[tuple[Served, OracleChain]]:
    """A node with the executor and an oracle's contracts."""
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    model = ByteModel(count_and_answer)
    chain = Chain(ChainConfig(models=(PROFILE,)), {PROFILE.name: model}, accounts=accounts)
    served = Served(chain=chain)
    served.service = build_node_service(served.node, send_seconds=240, tables=[METHODS])
    served.dispatcher = Dispatcher(served.service)
    yield served, OracleChain(served.ask, "")
    served.close()


def test_method_of_a_node(own: tuple[Served, OracleChain]) -> None:
    served, oracle_chain = own
    agent = oracle_chain.agent
    head = served.ask("eth_blockNumber")
    told = served.ask("agent_estimateCallback", {"agent": agent.address, "prompt": PROMPT})
    assert served.ask("eth_blockNumber") == head
    assert told["status"] == "Answered"
    assert told["isExact"]
    assert told["steps"][0]["answer"] == {
        "thought": "The user wants 7",
        "tool": f"CounterTool {oracle_chain.counter.address}",
        "arguments": '{"amount": 7}',
    }
    request = oracle_chain.ask_agent()
    served.ask("evm_mine")
    name = f"0x{request.commitment.request_id:x}"
    waiting = served.ask("agent_estimateCallback", {"requestId": name})
    gas = [step["callbackGas"] for step in waiting["steps"]]
    assert gas == [step["callbackGas"] for step in told["steps"]]
    form = {"agent": oracle_chain.counter.address, "prompt": PROMPT}
    with pytest.raises(RefusedError, match="not a CallbackAgent"):
        served.ask("agent_estimateCallback", form)
    with pytest.raises(RefusedError, match="has no event of it"):
        served.ask("agent_estimateCallback", {"requestId": "0x1"})
    with pytest.raises(RefusedError, match="must be"):
        served.ask("agent_estimateCallback", {"agent": agent.address})


def fail_and_stop(request: GenerationRequest) -> str:
    step = use("RevertingTool", thought="It may work")
    return render_step(step, request.handles)


@dataclass(frozen=True, kw_only=True)
class Course:
    """A run that does not end with an answer, or not by one agent alone."""

    script: Callable[[GenerationRequest], str] = count_and_answer
    tool: str | None = None
    model: str = "llama_model_3"
    iterations: int = 3
    status: str
    steps: int


COURSES = {
    "its tool reverts": Course(
        script=fail_and_stop, tool="RevertingTool", status="ToolFailed", steps=1
    ),
    "its iterations end": Course(iterations=1, status="OutOfIterations", steps=1),
    "the executor refuses": Course(model="no-such-model", status="Refused", steps=1),
}


@pytest.mark.parametrize("name", COURSES)
@pytest.mark.parametrize("less", [0, 1])
def test_runs_that_fail_are_exact(
    oracle_chain: OracleChain, remote: FakeRemote, name: str, less: int
) -> None:
    course = COURSES[name]
    tools = () if course.tool is None else (oracle_chain.deploy(course.tool, 0).address,)
    deploy = partial(
        oracle_chain.deploy_agent,
        tools=tools or None,
        model=course.model,
        iterations=course.iterations,
    )
    first = deploy()
    with estimating(oracle_chain, course.script) as estimator:
        told = estimator.estimate_run(first.canonical, PROMPT)
    assert (told.status, len(told.steps), told.is_exact) == (course.status, course.steps, True)
    agent = deploy(callback_gas=(told.callback_gas or 0) - less)
    with ForkComputer(remote.url, host(ByteModel(course.script))) as computer:
        used = run(oracle_chain, computer, agent, told.steps)
    if not less:
        require_bounds(told.steps, used)
    reached = STATUSES[agent.read("statusOf", 1)]
    assert reached == ("AskingModel" if less else course.status)


def ask_the_other(request: GenerationRequest) -> str:
    """Ask the counting agent, if it is a tool; else count."""
    prompt = "".join(segment.text for segment in request.segments)
    if "- Counting Agent:" not in prompt:
        return count_and_answer(request)
    if "The counter has it." in prompt:
        return render_step(answer("It was counted.", thought="Done"), request.handles)
    step = use("Counting Agent", thought="It can count", prompt=PROMPT)
    return render_step(step, request.handles)


@pytest.mark.slow
@pytest.mark.parametrize("less", [0, 1])
def test_agents_that_ask_agents_are_exact(
    oracle_chain: OracleChain, remote: FakeRemote, less: int
) -> None:
    # The gas depends on the digits of a tool's address, so the inner agent stays the same.
    inner = oracle_chain.deploy_agent()
    oracle_chain.oracle.send("subscribe", value=10**18)
    oracle_chain.oracle.send("setConsumer", 1, inner.address, True)  # noqa: FBT003 - an argument of a contract
    inner.send("setSubscription", 1)

    def deploy_outer(callback_gas: int) -> Deployed:
        outer = oracle_chain.deploy_agent(tools=(inner.address,), callback_gas=callback_gas)
        inner.send("setCaller", outer.address, True)  # noqa: FBT003 - an argument of a contract
        return outer

    outer = deploy_outer(CALLBACK_GAS)
    with estimating(oracle_chain, ask_the_other) as estimator:
        told = estimator.estimate_run(outer.canonical, PROMPT)
    assert (told.status, told.result) == ("Answered", "It was counted.")
    clients = [step.request.commitment.client for step in told.steps]
    assert clients == [outer.canonical, inner.canonical, inner.canonical, outer.canonical]
    least = max(told.steps[0].callback_gas or 0, told.steps[3].callback_gas or 0)
    tight = deploy_outer(least - less)
    with ForkComputer(remote.url, host(ByteModel(ask_the_other))) as computer:
        requests = [oracle_chain.ask_agent(agent=tight)]
        while requests:
            request = requests.pop()
            receipt = oracle_chain.submit(request, computer.compute(request))
            requests = oracle_chain.find_requests(receipt)
    assert (tight.read("statusOf", 1) == ANSWERED) == (not less)


@pytest.mark.parametrize(("ask_gas", "total_wei"), [(None, 0), (3, 21)])
def test_the_total_has_the_gas_of_a_run_that_begins(ask_gas: int | None, total_wei: int) -> None:
    estimate = CallbackEstimate(steps=(), ask_gas=ask_gas, base_fee_wei=7)
    assert estimate.total_wei == total_wei
