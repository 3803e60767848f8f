"""Version-1 agents by callback: a worker computes the draft's requests in process, on a fork."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from precompiles.versions import RUN_NEXT_ITERATION_V1_SELECTOR
from pyevm_agents.forking import open_fork
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.callback_simulation import CallbackEstimator, NotCallbackAgentError
from pyevm_agents.oracle.recomputation import ForkComputer, RequestExecutor
from pyevm_agents.oracle.verification import describe_answer
from tests.byte_model import ByteModel
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import BASE_PROMPT, CALLBACK_GAS, PROMPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest
    from tests.pyevm_agents.oracle.oracle_chain import Deployed, OracleChain

EXECUTOR = "0x" + "00" * 19 + "19"


def count(request: GenerationRequest) -> str:
    prompt = "".join(segment.text for segment in request.segments)
    if "Observation: The counter is: 7\n" in prompt:
        return render_step(answer("It is 7.", thought="It is done"), request.handles)
    return render_step(use("CounterToolV1", thought="7", amount=7), request.handles)


def deploy_agent(
    oracle_chain: OracleChain, tool: Deployed, callback_gas: int = CALLBACK_GAS
) -> Deployed:
    return oracle_chain.deploy(
        "SimpleCallbackAgentV1",
        (oracle_chain.oracle.address, callback_gas, 3_600, 86_400),
        *("llama_model_3", "Counting Agent", BASE_PROMPT, "what to count", [tool.address], 3),
    )


def test_a_worker_answers_the_drafts_requests(oracle_chain: OracleChain) -> None:
    tool = oracle_chain.deploy("CounterToolV1")
    oracle_chain.agent = deploy_agent(oracle_chain, tool)
    model = ByteModel(count)
    with ForkComputer(oracle_chain.url, host(model), retries=0) as computer:
        request = oracle_chain.ask_agent(PROMPT)
        assert request.arguments.startswith(RUN_NEXT_ITERATION_V1_SELECTOR)
        computed = computer.compute(request)
        assert dict(describe_answer(computed.answer)) == {
            "thought": "7",
            "tool": f"CounterToolV1 {tool.address}",
            "arguments": '{"amount": 7}',
        }
        receipt = oracle_chain.submit(request, computed)
        assert tool.read("number") == 7
        [following] = oracle_chain.find_requests(receipt)
        oracle_chain.submit(following, computer.compute(following))
    assert oracle_chain.agent.read("resultOf", 1) == "It is 7."


@contextmanager
def estimating(oracle_chain: OracleChain, model: ByteModel) -> Iterator[CallbackEstimator]:
    with (
        closing(open_fork(oracle_chain.url, retries=0)) as fork,
        closing(CallbackEstimator(fork, RequestExecutor(host(model)))) as estimator,
    ):
        yield estimator


@pytest.mark.parametrize("less", [0, 1])
def test_the_least_callback_gas_of_an_agent_of_the_draft_is_exact(
    oracle_chain: OracleChain, less: int
) -> None:
    tool = oracle_chain.deploy("CounterToolV1")
    agent = deploy_agent(oracle_chain, tool)
    with estimating(oracle_chain, ByteModel(count)) as estimator:
        told = estimator.estimate_run(agent.canonical, PROMPT)
    with estimating(oracle_chain, ByteModel(count)) as estimator:
        delivered = estimator.deliver_run(agent.canonical, PROMPT)
    assert (told.status, told.result, told.is_exact) == ("Answered", "It is 7.", True)
    assert told.reserved_wei == agent.read("costOfRun")
    assert (delivered.status, delivered.tool_results) == ("Answered", ("The counter is: 7",))
    assert delivered.base_prompt == BASE_PROMPT
    [step, _] = told.steps
    assert step.callback_gas is not None
    oracle_chain.agent = deploy_agent(oracle_chain, tool, step.callback_gas - less)
    with ForkComputer(oracle_chain.url, host(ByteModel(count)), retries=0) as computer:
        request = oracle_chain.ask_agent(PROMPT)
        oracle_chain.submit(request, computer.compute(request), gas=step.answer_gas.limit)
    assert tool.read("number") == (7 if not less else 0)


NEITHER = (
    ("AgentOracle", "(IAgentOracle)"),
    ("CounterTool", "(a tool of version 2)"),
    ("CounterToolV1", "(a tool of version 1)"),
    ("SimpleAgentV1", "(an agent of one transaction)"),
    ("Counter", "(no ERC-165)"),
)


@pytest.mark.parametrize(("name", "_kind"), NEITHER)
def test_a_contract_of_neither_kind_is_refused_before_any_inference(
    oracle_chain: OracleChain, name: str, _kind: str
) -> None:
    if name == "AgentOracle":
        contract = oracle_chain.oracle
    elif name == "SimpleAgentV1":
        texts = ("llama_model_3", "counting", BASE_PROMPT, "what to count")
        contract = oracle_chain.deploy(name, EXECUTOR, *texts, [], 3)
    else:
        contract = oracle_chain.deploy(name)
    model = ByteModel(count)
    with (
        estimating(oracle_chain, model) as estimator,
        pytest.raises(NotCallbackAgentError),
    ):
        estimator.estimate_run(contract.canonical, PROMPT)
    assert model.prompts == []
