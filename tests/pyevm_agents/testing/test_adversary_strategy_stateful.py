"""An adversary over several transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis.stateful import invariant, rule, run_state_machine_as_test
from hypothesis.strategies import sampled_from

from pyevm_agents.testing import (
    AdversarialMachine,
    Adversary,
    AgentChain,
    adversary,
    adversary_settings,
)
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy
    from web3.contract import Contract


class Counting(AdversarialMachine):
    """An agent with a counter, whose limit each test sets."""

    counter: Contract
    agent: Contract
    limit = 2**300
    begun: list[bytes]

    @classmethod
    def deploy(cls, chain: AgentChain) -> None:
        cls.counter = chain.deploy("CounterTool")
        cls.agent = clerk(chain, cls.counter)
        cls.begun = []

    def __init__(self) -> None:
        super().__init__()
        self.begun.append(self.chain.chain.head.hash)

    @rule(question=sampled_from(["Add 7.", "Add 8."]))
    def ask(self, question: str) -> None:
        self.adversary.ask(self.agent, question)

    @rule()
    def wait(self) -> None:
        self.chain.mine()

    @invariant()
    def is_not_over_the_limit(self) -> None:
        assert self.counter.functions.number().call() <= self.limit


def test_each_run_begins_where_deploy_ended() -> None:
    class Unlimited(Counting):
        """Never fails."""

    run_state_machine_as_test(
        Unlimited, settings=adversary_settings(max_examples=5, stateful_step_count=3)
    )
    assert len(Unlimited.begun) >= 5
    assert len(set(Unlimited.begun)) == 1
    assert Unlimited.chain.chain.head.hash == Unlimited.begun[0]
    assert Unlimited.names() == {"counter": Unlimited.counter, "agent": Unlimited.agent}
    Unlimited.chain.close()


@pytest.mark.slow
def test_a_failure_is_shrunk_and_printed() -> None:
    class Limited(Counting):
        """Fails at once."""

        limit = 0

        @classmethod
        def adversaries(cls) -> SearchStrategy[Adversary]:
            return adversary(numbers=[1])

    with pytest.raises(AssertionError) as failure:
        run_state_machine_as_test(
            Limited,
            settings=adversary_settings(max_examples=100, stateful_step_count=3, derandomize=True),
        )
    told = "\n".join(failure.value.__notes__)
    assert told.count("state.ask(") == 1
    assert "state.wait()" not in told
    assert 'model.script(use("CounterTool", amount=1), answer("Done"))' in told
    assert Limited.chain is not Counting.__dict__.get("chain")
    Limited.chain.close()


def test_a_machine_that_deploys_nothing_says_so() -> None:
    class Empty(AdversarialMachine):
        """Has no rules either."""

        @rule()
        def wait(self) -> None:
            """Do nothing."""

    with pytest.raises(NotImplementedError, match="Empty deploys nothing"):
        run_state_machine_as_test(Empty, settings=adversary_settings(max_examples=1))
