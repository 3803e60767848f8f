"""web3.py on a test's chain: single executions, raised failures, no polling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from web3.exceptions import ContractCustomError, ContractLogicError, Web3RPCError
from web3.types import Wei

from pyevm_agents.models import answer, use
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from pyevm_agents.agents.events import Event
    from pyevm_agents.testing.chain import AgentChain


@pytest.fixture
def counter(agent_chain: AgentChain) -> Any:  # noqa: ANN401 - a web3 Contract
    return agent_chain.deploy("CounterTool")


def test_a_receipt_is_there_at_once(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    sent = counter.functions.add(1).transact()
    # A second look would come later than the test may last.
    receipt = agent_chain.w3.eth.wait_for_transaction_receipt(sent, poll_latency=2 * HANG_SECONDS)
    assert receipt["status"] == 1


def test_a_send_without_gas_is_executed_once(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    runs: list[Event] = []
    agent = clerk(agent_chain, counter)
    agent_chain.model.script(use("CounterTool", amount=5), answer("done"))
    agent_chain.chain.agent_events.listen(runs.append)
    agent_chain.ask(agent, "Add five")
    kinds = {event.location.purpose for event in runs}
    assert kinds == {"block"}
    assert not agent_chain.node.history.snapshots


def test_what_fails_is_raised_and_undone(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    before, nonce = agent_chain.chain.head.hash, _nonce(agent_chain)
    with pytest.raises(ContractCustomError) as raised:
        counter.functions.addThenFail(3).transact()
    assert str(raised.value) == "execution reverted: Failed(3)"
    assert agent_chain.chain.head.hash == before
    assert _nonce(agent_chain) == nonce
    assert not agent_chain.node.history.snapshots


def test_what_has_no_gas_for_its_prompt_says_so(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    agent = clerk(agent_chain, counter)
    agent_chain.request("evm_setBlockGasLimit", hex(300_000))
    agent_chain.model.script(use("CounterTool", amount=5))
    with pytest.raises(ContractLogicError) as raised:
        agent_chain.ask(agent, "Add five")
    note = str(raised.value)
    assert note.startswith("execution reverted: no reason given; a call of the executor at 0x0")
    assert re.search(
        r"ran out of gas: it had 2\d\d,\d{3} and needed at least \d,\d{3},\d{3} \(", note
    )


def test_an_agent_that_is_a_tool_and_has_no_gas_says_so(
    agent_chain: AgentChain,
    counter: Any,  # noqa: ANN401 - a web3 Contract
) -> None:
    inner = clerk(agent_chain, counter)
    outer = clerk(agent_chain, inner)
    agent_chain.request("evm_setBlockGasLimit", hex(2_200_000))
    agent_chain.model.script(use("Clerk", prompt="Add five"), use("CounterTool", amount=5))
    with pytest.raises(ContractLogicError) as raised:
        agent_chain.ask(outer, "Add five")
    note = str(raised.value)
    assert note.startswith(
        f'execution reverted: ToolCallFailed("{inner.address}", "0x"); a call of the executor at 0x'
    )


def test_it_is_raised_as_a_call_raises_it(counter: Any) -> None:  # noqa: ANN401
    told = []
    for send in ("call", "transact"):
        with pytest.raises(ContractLogicError) as raised:
            getattr(counter.functions.addThenFail(3), send)()
        told.append((type(raised.value), str(raised.value), raised.value.data))
    assert told[0] == told[1]


def test_a_failure_that_is_no_revert_is_raised(agent_chain: AgentChain) -> None:
    agent_chain.request("anvil_setCode", "0x" + "57" * 20, "0xfe")
    with pytest.raises(Web3RPCError, match="invalid opcode"):
        agent_chain.w3.eth.send_transaction({"to": "0x" + "57" * 20})


def test_with_gas_a_failure_is_mined(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    sent = counter.functions.addThenFail(3).transact({"gas": 1_000_000})
    assert agent_chain.w3.eth.wait_for_transaction_receipt(sent)["status"] == 0


def test_where_blocks_are_made_by_hand_gas_is_estimated(
    agent_chain: AgentChain,
    counter: Any,  # noqa: ANN401
) -> None:
    is_automatic = False
    agent_chain.request("evm_setAutomine", is_automatic)
    sent = counter.functions.add(3).transact()
    assert agent_chain.w3.eth.get_transaction(sent)["gas"] < 200_000
    with pytest.raises(ContractCustomError):
        counter.functions.addThenFail(3).transact()


def test_what_the_chain_does_not_take_is_web3s(agent_chain: AgentChain) -> None:
    with pytest.raises(Web3RPCError, match="insufficient funds"):
        agent_chain.w3.eth.send_transaction({"to": agent_chain.accounts[1], "value": Wei(10**30)})
    assert not agent_chain.node.history.snapshots


def _nonce(chain: AgentChain) -> int:
    return int(chain.w3.eth.get_transaction_count(chain.accounts[0]))
