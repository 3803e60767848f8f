"""Runs by callback on a fork: their steps, ends, and differences from their request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models.fakes.script_steps import use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.callback_simulation import NotCallbackAgentError, UnestimableError
from pyevm_agents.oracle.run_simulation import simulate_run
from tests.pyevm_agents.oracle.oracle_chain import PROMPT
from tests.pyevm_agents.oracle.test_callback_estimate import estimating

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain


def list_differences(effects: object) -> list[str]:
    assert isinstance(effects, dict)
    return [each["kind"] for each in effects["differences"]]


def test_a_run_is_executed_to_its_end(oracle_chain: OracleChain) -> None:
    head = oracle_chain.ask("eth_blockNumber")
    with estimating(oracle_chain) as estimator:
        run = simulate_run(estimator, oracle_chain.agent.canonical, PROMPT)
    assert (run.status, run.result) == ("Answered", "The counter has it.")
    [reasoning] = run.reasoning
    assert reasoning.split("\n")[1:] == ["Action: CounterTool", 'Action Input: {"amount": 7}']
    assert len(run.tool_results) == 1
    # The oracle's fee is no transfer of the request.
    assert (run.effects["transfers"], list_differences(run.effects)) == ([], [])
    assert oracle_chain.ask("eth_blockNumber") == head
    assert oracle_chain.agent.read("currentRunId") == 0


def test_a_run_differs_from_another_request(oracle_chain: OracleChain) -> None:
    with estimating(oracle_chain) as estimator:
        run = simulate_run(estimator, oracle_chain.agent.canonical, "Add 8 to the counter")
    assert list_differences(run.effects) == ["unusedAmount"]


@pytest.mark.slow
def test_answers_that_wait_are_delivered_later(oracle_chain: OracleChain) -> None:
    oracle = oracle_chain.deploy_challengeable()
    agent = oracle_chain.deploy_agent(oracle=oracle)
    with estimating(oracle_chain) as estimator:
        assert simulate_run(estimator, agent.canonical, PROMPT).status == "Answered"


@pytest.mark.slow
def test_a_run_stops_at_an_asynchronous_tool(oracle_chain: OracleChain) -> None:
    human = oracle_chain.deploy(
        "AskHumanTool", oracle_chain.sender, 3_600, "AskOwner", "Ask the owner"
    )

    def ask(request: GenerationRequest) -> str:
        step = use("AskOwner", thought="It is not clear", question="Which?")
        return render_step(step, request.handles)

    agent = oracle_chain.deploy_agent(tools=(human.address,))
    with estimating(oracle_chain, ask) as estimator:
        run = simulate_run(estimator, agent.canonical, PROMPT)
    assert (run.status, run.result) == ("AwaitingTool", "")
    assert (len(run.reasoning), len(run.tool_results)) == (1, 0)


def test_too_little_callback_gas_leaves_the_run_where_it_was(oracle_chain: OracleChain) -> None:
    agent = oracle_chain.deploy_agent(callback_gas=100_000)
    with estimating(oracle_chain) as estimator:
        assert simulate_run(estimator, agent.canonical, PROMPT).status == "AskingModel"


def test_what_is_no_agent_is_refused(oracle_chain: OracleChain) -> None:
    with estimating(oracle_chain) as estimator:
        with pytest.raises(NotCallbackAgentError, match="not a CallbackAgent"):
            simulate_run(estimator, oracle_chain.counter.canonical, PROMPT)
        with pytest.raises(UnestimableError, match="fails: "):
            # A prompt beyond the oracle's limit.
            simulate_run(estimator, oracle_chain.agent.canonical, "x" * 200_000)
