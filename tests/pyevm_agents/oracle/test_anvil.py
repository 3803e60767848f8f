"""Answers to requests on a real anvil, which has no executor: computed, handed in, verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.oracle.recomputation import ForkComputer, RequestBlockGoneError
from pyevm_agents.oracle.verification import find_answers, verify_answer
from tests.byte_model import ByteModel
from tests.clients.anvil_node import running_anvil
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import OracleChain, count_and_answer
from tests.pyevm_agents.oracle.test_callback_estimate import estimate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[OracleChain]:
    with running_anvil(tmp_path) as node:
        yield OracleChain(node.ask, node.url)


@pytest.fixture
def computer(anvil: OracleChain) -> Iterator[ForkComputer]:
    with ForkComputer(anvil.url, host(ByteModel(count_and_answer))) as computer:
        yield computer


def test_run_is_answered_and_verified(anvil: OracleChain, computer: ForkComputer) -> None:
    told = estimate(anvil, anvil.agent)
    assert told.status == "Answered"
    agent = anvil.deploy_agent(callback_gas=told.callback_gas or 0)
    request = anvil.ask_agent(agent=agent)
    anvil.ask("anvil_mine", "0x5")
    first = anvil.submit(request, computer.compute(request), gas=told.steps[0].answer_gas.limit)
    [following] = anvil.find_requests(first)
    last = anvil.submit(following, computer.compute(following), gas=told.steps[1].answer_gas.limit)
    assert agent.read("resultOf", 1) == "The counter has it."
    client = RemoteClient(anvil.url)
    for receipt in (first, last):
        [stated] = find_answers(client, bytes.fromhex(receipt["transactionHash"][2:]))
        assert verify_answer(stated, computer, anvil.chain_id).is_equal
    client.close()


def test_request_of_a_removed_block_is_not_answered(
    anvil: OracleChain, computer: ForkComputer
) -> None:
    request = anvil.ask_agent()
    assert not computer.compute(request).answer.refused
    anvil.ask("anvil_reorg", 1, [])
    with pytest.raises(RequestBlockGoneError, match="is not on the chain any more"):
        computer.compute(request)
