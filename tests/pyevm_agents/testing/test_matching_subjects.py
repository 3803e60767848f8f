"""The subjects of assertions: receipts, hashes, runs, steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.testing.assertions import assert_agent
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.run_log import find_run
from tests.pyevm_agents.testing.agents import clerk
from tests.pyevm_agents.testing.byte_answers import five
from tests.pyevm_agents.testing.sample_runs import NESTED, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from web3.types import TxParams


@pytest.fixture
def chain() -> Iterator[AgentChain]:
    with AgentChain() as made:
        made.model.use_model(five())
        yield made


def test_a_transaction_is_found_by_all_that_names_it(chain: AgentChain) -> None:
    receipt = chain.ask(clerk(chain, chain.deploy("CounterTool")), "Add five")
    wanted = receipt["transactionHash"]
    subjects = (receipt, dict(receipt), wanted, bytes(wanted), wanted.hex(), "0x" + wanted.hex())
    with AgentChain():
        for subject in subjects:
            run = find_run(subject)
            assert run == find_run(subject, chain)
            assert (run.transaction_hash, run.gas_used) == (bytes(wanted), receipt["gasUsed"])
            assert len(run.steps) == 2


def test_the_gas_of_one_of_several_transactions_is_its_own(chain: AgentChain) -> None:
    agent = clerk(chain, chain.deploy("CounterTool"))
    sent = chain.w3.eth.get_transaction(chain.ask(agent, "Add five")["transactionHash"])
    chain.request("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC goes by position
    again: TxParams = {"to": sent["to"], "data": sent["input"], "gas": 12_000_000}
    hashes = [chain.w3.eth.send_transaction(again) for _ in range(2)]
    chain.mine()
    receipts = [chain.w3.eth.get_transaction_receipt(one) for one in hashes]
    assert [one["transactionIndex"] for one in receipts] == [0, 1]
    assert [find_run(one).gas_used for one in receipts] == [one["gasUsed"] for one in receipts]


def test_steps_and_runs_are_themselves() -> None:
    assert find_run(NESTED).steps == find_run([*NESTED]).steps == NESTED
    assert find_run(RUN) is RUN


@pytest.mark.parametrize("subject", [5, None, (), ["a"], {"hash": "0x"}, "0x12zz"], ids=str)
def test_what_is_no_transaction_is_refused(subject: Any) -> None:  # noqa: ANN401 - all kinds
    with pytest.raises(ConfigError, match=r"is not a transaction"):
        find_run(subject)


def test_a_transaction_that_nobody_has_is_told(chain: AgentChain) -> None:
    with pytest.raises(
        ConfigError, match=r"no block of any of \d+ open chains? has a transaction 0x00"
    ):
        find_run(bytes(32))
    with pytest.raises(ConfigError, match="no block of the chain has"):
        find_run(bytes(32), chain)


def test_a_receipt_belongs_to_the_chain_that_has_its_block() -> None:
    """Transactions on two chains may have the same hash: agents, tools and questions are equal."""
    with AgentChain(fork="cancun") as old, AgentChain(fork="prague") as new:
        runs = {}
        for chain, steps in (
            (old, [answer("safe")]),
            (new, [use("CounterTool", amount=5), answer("used")]),
        ):
            agent = clerk(chain, chain.deploy("CounterTool"))
            chain.model.script(*steps)
            runs[chain] = chain.ask(agent, "Add five", gas=10_000_000)
        assert runs[old]["transactionHash"] == runs[new]["transactionHash"]
        for _ in range(3):
            assert_agent(runs[old]).answered("safe").did_not_use("CounterTool")
            assert_agent(runs[new]).used("CounterTool").then_answered("used")
            with pytest.raises(AssertionError, match="CounterTool was used"):
                assert_agent(runs[new]).did_not_use("CounterTool")
        sent = runs[new]["transactionHash"]
        with pytest.raises(ConfigError, match=r"say which: assert_agent\(receipt, chain\)"):
            assert_agent(sent)
        assert_agent(sent, old).answered("safe")
        assert_agent(sent, new).answered("used")
        with pytest.raises(ConfigError, match="in another block of the chain than its receipt"):
            assert_agent(runs[new], old)


def test_equal_runs_on_two_chains_are_one() -> None:
    with AgentChain() as one, AgentChain() as other:
        receipts = []
        for chain in (one, other):
            chain.model.use_model(five())
            receipts.append(chain.ask(clerk(chain, chain.deploy("CounterTool")), "Add five"))
        assert receipts[0]["blockHash"] == receipts[1]["blockHash"]
        assert_agent(receipts[0]).used("CounterTool")


def test_a_receipt_of_a_block_that_was_rolled_back_is_refused(chain: AgentChain) -> None:
    agent = clerk(chain, chain.deploy("CounterTool"))
    number = chain.snapshot()
    receipt = chain.ask(agent, "Add five")
    chain.revert(number)
    chain.increase_time(1_000)
    assert chain.ask(agent, "Add five")["transactionHash"] == receipt["transactionHash"]
    with pytest.raises(ConfigError, match="rolled back"):
        find_run(receipt)
