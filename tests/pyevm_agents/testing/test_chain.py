"""`AgentChain`: its genesis, its settings, its transactions."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import HexStr
from eth_utils import to_checksum_address
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web3.types import Wei

from pyevm_agents.chain import Chain
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.testing import following_script
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.genesis_template import GenesisTemplate
from pyevm_agents.testing.run_log import open_sources
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
STRANGER = to_checksum_address("0x" + "57" * 20)
ETHER = 10**18
DAY = 86_400


@pytest.fixture
def counter(agent_chain: AgentChain) -> Any:  # noqa: ANN401 - a web3 Contract
    return agent_chain.deploy("CounterTool")


def test_accounts_are_those_of_every_local_network(agent_chain: AgentChain) -> None:
    assert len(agent_chain.accounts) == 10
    assert agent_chain.accounts[0] == FIRST
    balances = {agent_chain.w3.eth.get_balance(one) for one in agent_chain.accounts}
    assert balances == {10_000 * ETHER}
    assert agent_chain.w3.eth.default_account == FIRST
    assert agent_chain.w3.eth.chain_id == 31_337


def test_no_chain_sees_the_blocks_of_another(agent_chain: AgentChain) -> None:
    with AgentChain() as other:
        agent_chain.set_balance(STRANGER, 5)
        agent_chain.mine()
        assert other.w3.eth.block_number == 0
        assert other.w3.eth.get_balance(STRANGER) == 0
        assert other.chain.header(0).hash == agent_chain.chain.header(0).hash


def test_genesis_is_that_of_a_chain_made_anew(agent_chain: AgentChain) -> None:
    made = Chain(
        agent_chain.chain.config,
        agent_chain.chain.models,
        accounts=agent_chain.chain.genesis_accounts,
    )
    assert made.head.hash == agent_chain.chain.head.hash
    assert made.state().state_root == agent_chain.chain.state().state_root


def test_the_same_test_makes_the_same_blocks() -> None:
    hashes = []
    for _ in range(2):
        with AgentChain() as chain:
            chain.deploy("CounterTool").functions.add(3).transact()
            hashes.append(chain.chain.head.hash)
    assert hashes[0] == hashes[1]


def test_a_plain_chain_starts_no_vocabulary(tmp_path: Path) -> None:
    GenesisTemplate(kept_facts=tmp_path).config  # noqa: B018 - learns and keeps the facts
    beginning = GenesisTemplate(kept_facts=tmp_path)
    with AgentChain(beginning) as chain:
        chain.deploy("CounterTool").functions.add(3).transact()
    assert beginning.vocabulary.engine.process_id is None


def test_it_may_have_a_schedule_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    file = ScheduleFile(
        schedule={"executor_base_gas": 31}, models={"default": {"output_token_gas": 29}}
    )
    path.write_text(file.to_json())
    used = []
    for schedule in (None, file, path, str(path)):
        with AgentChain(schedule=schedule) as chain:
            agent = clerk(chain, chain.deploy("CounterTool"))
            chain.model.script(use("CounterTool", amount=5), answer("done"))
            receipt = chain.ask(agent, "Add five")
            steps = [step.inference for step in chain.steps(receipt["transactionHash"])]
            used.append((receipt["gasUsed"], sum(step.output_tokens for step in steps)))
    (plain_gas, tokens), *others = used
    assert set(others) == {(plain_gas - (10_000 - 29) * tokens - (3_000 - 31) * 2, tokens)}


def test_closing_ends_its_thread_and_forgets_it() -> None:
    before = threading.active_count()
    chain = AgentChain()
    assert chain in tuple(open_sources)
    assert threading.active_count() == before + 1
    chain.close()
    chain.close()
    assert chain not in tuple(open_sources)
    assert threading.active_count() == before


def test_a_chain_that_is_dropped_is_live_no_more() -> None:
    chain = AgentChain()
    chain.node.close()
    del chain
    gc.collect()
    assert all(isinstance(one, AgentChain) and one.chain.head for one in tuple(open_sources))


# -- agents -- #


def test_an_agent_is_asked(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401 - a Contract
    agent = clerk(agent_chain, counter)
    agent_chain.model.script(use("CounterTool", amount=5), answer("It is 5."))
    receipt = agent_chain.ask(agent, "Add five")
    assert receipt["status"] == 1
    first, last = agent_chain.steps(receipt["transactionHash"])
    assert (first.action, first.observation) == ("CounterTool", "The counter is: 5")
    assert last.answer == "It is 5."
    assert first.inference.prompt_gas > 0
    assert first.inference.output_gas > 0


def test_no_transaction_exceeds_the_gas_limit_of_its_fork() -> None:
    with AgentChain(fork="osaka") as chain:
        most = chain.node.max_transaction_gas
        assert most == 2**24 < chain.w3.eth.get_block("latest")["gasLimit"]
        counter = chain.deploy("CounterTool")
        agent = clerk(chain, counter)
        chain.model.script(use("CounterTool", amount=3), answer("done"))
        assert chain.ask(agent, "Add three")["status"] == 1
        # Its estimate fails, so it gets the highest gas limit.
        failing = {"from": chain.accounts[0], "data": "0x5f5ffd"}
        sent = chain.request("eth_sendTransaction", failing)
        assert chain.request("eth_getTransactionByHash", sent)["gas"] == hex(most)
        with following_script(use("CounterTool", amount=4), answer("done")).on(chain) as adversary:
            assert adversary.ask(agent, "Add four")["status"] == 1


def test_what_is_asked_is_mined_where_nothing_else_mines(
    agent_chain: AgentChain,
    counter: Any,  # noqa: ANN401 - a Contract
) -> None:
    agent = clerk(agent_chain, counter)
    agent_chain.request("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC's
    agent_chain.model.script(answer("done"))
    assert agent_chain.ask(agent, "Say done")["status"] == 1


def test_what_is_asked_may_say_its_gas(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    agent = clerk(agent_chain, counter)
    agent_chain.model.script(use("CounterTool", amount=5), answer("It is 5."))
    receipt = agent_chain.ask(agent, "Add five", gas=100_000)
    assert receipt["status"] == 0
    assert agent_chain.computation(receipt["transactionHash"]).is_error
    agent_chain.model.reset()


def test_a_transaction_that_is_not_there_is_told(agent_chain: AgentChain) -> None:
    with pytest.raises(ConfigError, match=r"no block of this chain has a transaction 0x57"):
        agent_chain.computation(STRANGER + "57" * 12)
    assert not agent_chain.has(b"\x57" * 32)


def test_what_was_undone_is_not_there(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    before = agent_chain.snapshot()
    sent = counter.functions.add(3).transact()
    assert agent_chain.has(sent)
    agent_chain.revert(before)
    assert not agent_chain.has(sent)


# -- accounts -- #


def test_anybody_sends_for_a_while(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    agent_chain.set_balance(STRANGER, ETHER)
    with agent_chain.as_account(STRANGER) as stranger:
        sent = counter.functions.add(3).transact()
    assert agent_chain.w3.eth.get_transaction(sent)["from"] == stranger
    assert agent_chain.w3.eth.default_account == FIRST
    with pytest.raises(RpcError, match="No Signer"):
        agent_chain.request("eth_sendTransaction", {"from": STRANGER, "to": FIRST})


def test_a_contract_sends_for_a_while(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    agent_chain.set_balance(counter, ETHER)
    with agent_chain.as_account(counter):
        sent = agent_chain.w3.eth.send_transaction({"to": STRANGER, "value": Wei(7)})
    assert agent_chain.w3.eth.get_transaction(sent)["from"] == counter.address
    assert agent_chain.w3.eth.get_balance(STRANGER) == 7


def test_an_account_that_is_impersonated_stays_so(agent_chain: AgentChain) -> None:
    agent_chain.request("anvil_impersonateAccount", STRANGER)
    agent_chain.set_balance(STRANGER, ETHER)
    with agent_chain.as_account(STRANGER):
        pass
    assert agent_chain.request("eth_sendTransaction", {"from": STRANGER, "to": FIRST})


@pytest.mark.parametrize("wrong", ["0x57", FIRST.replace("f39F", "F39F"), 7, None])
def test_what_is_no_address_is_refused(agent_chain: AgentChain, wrong: object) -> None:
    with pytest.raises(ConfigError, match=r"must be|checksum"):
        agent_chain.set_balance(wrong, 1)


# -- blocks and time -- #


def test_a_second_goes_by_with_each_block(agent_chain: AgentChain) -> None:
    begun = agent_chain.time
    agent_chain.mine(3)
    assert agent_chain.time == begun + 3
    agent_chain.increase_time(100)
    agent_chain.mine()
    assert agent_chain.time == begun + 103
    agent_chain.mine()
    assert agent_chain.time == begun + 104
    agent_chain.set_next_timestamp(begun + 1_000)
    agent_chain.mine(2)
    assert agent_chain.time == begun + 1_001


@pytest.mark.parametrize(
    ("method", "later"), [("evm_mine", None), ("evm_mine", DAY), ("hardhat_mine", DAY)]
)
def test_an_increase_moves_the_next_block_by_as_much(
    agent_chain: AgentChain, method: str, later: int | None
) -> None:
    for seconds in (30, 3_600, 3_600):
        begun = agent_chain.time
        if method == "hardhat_mine":
            agent_chain.request(method, 2, later)
        else:
            agent_chain.request(method, *([] if later is None else [begun + later]))
        head = agent_chain.time
        agent_chain.increase_time(seconds)
        agent_chain.mine()
        assert agent_chain.time == head + seconds


def test_no_block_is_before_its_parent(agent_chain: AgentChain) -> None:
    agent_chain.mine()
    with pytest.raises(ConfigError, match="Timestamp error"):
        agent_chain.set_next_timestamp(agent_chain.time)


def test_blocks_are_made_by_hand(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    is_automatic = False
    agent_chain.request("evm_setAutomine", is_automatic)
    for amount in (1, 2):
        counter.functions.add(amount).transact()
    assert counter.functions.number().call() == 0
    agent_chain.mine()
    assert counter.functions.number().call() == 3
    assert agent_chain.deploy("CounterTool").functions.number().call() == 0


# -- going back -- #


def test_a_snapshot_is_gone_back_to(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    before, time = agent_chain.snapshot(), agent_chain.time
    agent_chain.increase_time(50)
    counter.functions.add(3).transact()
    agent_chain.revert(before)
    assert counter.functions.number().call() == 0
    assert agent_chain.time == time
    agent_chain.mine()
    assert agent_chain.time == time + 1
    with pytest.raises(ConfigError, match="snapshot"):
        agent_chain.revert(before)


def test_all_of_it_is_undone(agent_chain: AgentChain, counter: Any) -> None:  # noqa: ANN401
    before = agent_chain.chain.head.hash
    with suppress(ZeroDivisionError), agent_chain.isolated() as chain:
        counter.functions.add(3).transact()
        chain.increase_time(10)
        chain.request("anvil_impersonateAccount", STRANGER)
        is_automatic = False
        chain.request("evm_setAutomine", is_automatic)
        chain.w3.eth.default_account = STRANGER
        raise ZeroDivisionError
    assert agent_chain.chain.head.hash == before
    assert counter.functions.number().call() == 0
    assert agent_chain.w3.eth.default_account == FIRST
    assert agent_chain.node.mining.is_automatic
    assert not agent_chain.node.keys.impersonated
    agent_chain.mine()
    assert agent_chain.time == agent_chain.chain.header(0).timestamp + 2


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(amount=st.integers(0, 2**128))
def test_examples_are_undone(agent_chain: AgentChain, counter: Any, amount: int) -> None:  # noqa: ANN401
    with agent_chain.isolated():
        counter.functions.add(amount).transact()
        assert counter.functions.number().call() == amount


# -- without web3.py -- #


def test_without_web3_it_is_told_what_to_install(
    agent_chain: AgentChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyevm_agents.testing.web3_connection", None)
    assert agent_chain.request("eth_blockNumber") == "0x0"
    with pytest.raises(ConfigError, match=r"web3.py is not installed .*pyevm-agents\[test\]"):
        _ = agent_chain.w3


def test_calldata_for_an_address_without_code_is_logged(
    agent_chain: AgentChain, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = "0x" + "57" * 20
    agent_chain.w3.eth.send_transaction({"to": nowhere, "data": HexStr("0xd09de08a")})
    assert caplog.messages == [f"Calling an account which is not a contract: {nowhere}"]
