"""What an assertion may be about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.matching import find_run
from tests.pyevm_agents.testing.agents import clerk
from tests.pyevm_agents.testing.byte_answers import five
from tests.pyevm_agents.testing.sample_runs import NESTED, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    chain.w3.provider.make_request("evm_setAutomine", [False])
    again = {"to": sent["to"], "data": sent["input"], "gas": 12_000_000}
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
    with pytest.raises(ConfigError, match=r"is no (transaction|hash)"):
        find_run(subject)


def test_a_transaction_that_nobody_has_is_told(chain: AgentChain) -> None:
    with pytest.raises(ConfigError, match="no block of any of 1 open chain has a transaction 0x00"):
        find_run(bytes(32))
    with pytest.raises(ConfigError, match="no block of the chain has"):
        find_run(bytes(32), chain)
