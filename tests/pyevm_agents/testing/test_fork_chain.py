"""The test kit on a fork of a live chain: agents, cassettes, time, snapshots and misuse."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from pyevm_agents.chain.fork_setup import ACTIVATIONS_SECONDS
from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.testing import (
    Adversary,
    AgentChain,
    AgentTestCase,
    adversary,
    adversary_settings,
    answer,
    use,
)
from pyevm_agents.testing.cassettes import cassette
from pyevm_agents.testing.model_stub import ModelStub
from tests.pyevm_agents.forking.fake_remote import CONTRACT, STORED, build_remote_chain, fake_remote
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.testing.genesis_template import GenesisTemplate
    from tests.pyevm_agents.forking.fake_remote import FakeRemote


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    """A node of a chain with three blocks, where a contract has slot 7."""
    with ExitStack() as stack:
        served = build_remote_chain()
        stack.callback(served.close)
        yield stack.enter_context(fake_remote(served))


@pytest.fixture
def fork(agent_chain: AgentChain, remote: FakeRemote) -> Iterator[AgentChain]:
    """A chain that continues the remote one at its latest block."""
    with AgentChain(agent_chain.genesis, fork_url=remote.url) as chain:
        yield chain


def test_an_agent_runs_on_a_fork(fork: AgentChain) -> None:
    assert fork.w3.eth.block_number == 3
    counter = fork.deploy("CounterTool")
    agent = clerk(fork, counter)
    fork.model.script(use("CounterTool", amount=5), answer("done"))
    receipt = fork.ask(agent, "Add five")
    assert [step.action for step in fork.steps(receipt["transactionHash"])][:1] == ["CounterTool"]
    assert counter.functions.number().call() == 5
    call = {"to": CONTRACT, "data": "0x"}
    assert int.from_bytes(fork.w3.eth.call(call), "big") == STORED  # type: ignore[arg-type]


def test_a_fork_continues_the_time_and_the_accounts_of_its_chain(
    fork: AgentChain, remote: FakeRemote
) -> None:
    head = remote.served.node.chain.head
    assert fork.time == head.timestamp
    fork.mine(2)
    assert fork.time == head.timestamp + 2
    assert fork.w3.eth.get_balance(fork.accounts[0]) == 10_000 * 10**18
    assert fork.w3.eth.chain_id == remote.served.node.chain.config.chain_id


def test_a_fork_is_rolled_back_to_its_block(fork: AgentChain) -> None:
    with fork.rolled_back():
        fork.set_balance(fork.accounts[1], 5)
        fork.mine(3)
    assert fork.w3.eth.block_number == 3
    assert fork.w3.eth.get_balance(fork.accounts[1]) == 10_000 * 10**18


def test_chains_of_a_process_continue_the_same_block(
    agent_chain: AgentChain, remote: FakeRemote
) -> None:
    genesis = agent_chain.genesis
    with AgentChain(genesis, fork_url=remote.url) as first:
        remote.served.ask("evm_mine")
        with AgentChain(genesis, fork_url=remote.url) as second:
            assert second.chain.head.hash == first.chain.head.hash
    with AgentChain(genesis, fork_url=remote.url, fork_block_number=1) as earlier:
        assert earlier.chain.head.block_number == 1


def test_a_fork_is_misused(agent_chain: AgentChain, remote: FakeRemote) -> None:
    genesis: GenesisTemplate = agent_chain.genesis
    with pytest.raises(ConfigError, match="fork_block_number=3: must be with fork_url"):
        AgentChain(genesis, fork_block_number=3)
    with pytest.raises(ConfigError, match="fork_url=5: must be a text"):
        AgentChain(genesis, fork_url=5)  # type: ignore[arg-type]
    remote.faults.error = {"code": -32000, "message": "out of order"}
    with pytest.raises(RemoteFault, match="out of order"):
        AgentChain(genesis, fork_url=remote.url, fork_block_number=2)


def test_a_fork_has_the_rules_of_its_block(
    agent_chain: AgentChain, remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain_id = remote.served.node.chain.config.chain_id
    monkeypatch.setitem(ACTIVATIONS_SECONDS, chain_id, {"osaka": 0})
    with AgentChain(agent_chain.genesis, fork_url=remote.url) as chain:
        assert chain.chain.fork.name == "osaka"
    with AgentChain(agent_chain.genesis, fork="prague", fork_url=remote.url) as chain:
        assert chain.chain.fork.name == "prague"


def test_unittest_has_forks(remote: FakeRemote) -> None:
    class ForkTest(AgentTestCase):
        agent_fork_url = remote.url
        agent_fork_block_number = 2

        def runTest(self) -> None:  # noqa: N802 - unittest's
            assert self.w3.eth.block_number == 2

    result = ForkTest().run()
    assert result is not None
    assert (result.testsRun, result.failures, result.errors) == (1, [], [])


def test_the_adversary_acts_on_a_fork(fork: AgentChain) -> None:
    counter = fork.deploy("CounterTool")
    agent = clerk(fork, counter)
    runs = []

    @adversary_settings(max_examples=3, derandomize=True)
    @given(adversary())
    def run(model: Adversary) -> None:
        with model.on(fork):
            runs.append(model.ask(agent, "Add 7.")["status"])

    run()
    assert runs
    assert counter.functions.number().call() == 0


def test_a_cassette_is_replayed_on_a_fork(fork: AgentChain, tmp_path: Path) -> None:
    counter = fork.deploy("CounterTool")
    agent = clerk(fork, counter)
    file, script = tmp_path / "add.json", ModelStub(lambda: fork.genesis.vocabulary)
    script.script(use("CounterTool", amount=5), answer("done"))
    with fork.rolled_back(), cassette(fork, file, record=script):
        recorded = fork.ask(agent, "Add five")
    with fork.rolled_back(), cassette(fork, file):
        replayed = fork.ask(agent, "Add five")
    assert replayed["blockHash"] == recorded["blockHash"]
