"""Version-1 agents by callback: a worker computes the draft's requests in process, on a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.versions import RUN_NEXT_ITERATION_V1_SELECTOR
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.recomputation import ForkComputer
from pyevm_agents.oracle.verification import describe_answer
from tests.byte_model import ByteModel
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import BASE_PROMPT, CALLBACK_GAS, PROMPT

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain


def count(request: GenerationRequest) -> str:
    prompt = "".join(segment.text for segment in request.segments)
    if "Observation: The counter is: 7\n" in prompt:
        return render_step(answer("It is 7.", thought="It is done"), request.handles)
    return render_step(use("CounterToolV1", thought="7", amount=7), request.handles)


def test_a_worker_answers_the_drafts_requests(oracle_chain: OracleChain) -> None:
    tool = oracle_chain.deploy("CounterToolV1")
    oracle_chain.agent = oracle_chain.deploy(
        "SimpleCallbackAgentV1",
        (oracle_chain.oracle.address, CALLBACK_GAS, 3_600, 86_400),
        *("llama_model_3", "Counting Agent", BASE_PROMPT, "what to count", [tool.address], 3),
    )
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
