"""Estimates of callback gas: with it a run succeeds, with one gas less it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.forking import open_fork
from pyevm_agents.oracle.callback_simulation import CallbackEstimator
from pyevm_agents.oracle.recomputation import RequestExecutor
from tests.byte_model import ByteModel
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import PROMPT, count_and_answer

if TYPE_CHECKING:
    from pyevm_agents.oracle.callback_estimate import CallbackEstimate
    from pyevm_agents.oracle.recomputation import ForkComputer
    from tests.pyevm_agents.oracle.oracle_chain import Deployed, OracleChain

ANSWERED, ASKING = 4, 1


def estimate(oracle_chain: OracleChain, agent: Deployed, prompt: str = PROMPT) -> CallbackEstimate:
    fork = open_fork(oracle_chain.url, retries=0)
    estimator = CallbackEstimator(fork, RequestExecutor(host(ByteModel(count_and_answer))))
    try:
        return estimator.estimate_run(agent.canonical, prompt)
    finally:
        estimator.close()
        fork.close()


def run(oracle_chain: OracleChain, computer: ForkComputer, agent: Deployed) -> list[int]:
    """Run an agent until a callback fails or none is left; return the gas used by its answers."""
    requests, used = [oracle_chain.ask_agent(agent=agent)], []
    while requests:
        request = requests.pop()
        receipt = oracle_chain.submit(request, computer.compute(request))
        used.append(int(receipt["gasUsed"], 16))
        requests = oracle_chain.find_requests(receipt)
    return used


@pytest.mark.parametrize(("less", "status"), [(0, ANSWERED), (1, ASKING)])
def test_least_callback_gas_is_exact(
    oracle_chain: OracleChain, computer: ForkComputer, less: int, status: int
) -> None:
    told = estimate(oracle_chain, oracle_chain.agent)
    assert told.status == "Answered"
    assert told.result == "The counter has it."
    assert told.is_exact
    assert len(told.steps) == 2
    assert told.callback_gas is not None
    agent = oracle_chain.deploy_agent(callback_gas=told.callback_gas - less)
    used = run(oracle_chain, computer, agent)
    assert agent.read("statusOf", 1) == status
    if not less:
        again = estimate(oracle_chain, agent)
        assert again.callback_gas is not None
        assert all(step.is_paid_for for step in told.steps)
        assert used
