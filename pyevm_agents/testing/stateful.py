"""The model as adversary over several transactions: a state machine of Hypothesis.

    class PurseMachine(AdversarialMachine):
        @classmethod
        def deploy(cls, chain):
            cls.purse = chain.deploy("Purse", limit=100)
            cls.agent = chain.deploy("PayingAgent", purse=cls.purse)

        @rule(question=sampled_from(["Pay Bob 10.", "Pay everybody."]))
        def ask(self, question):
            self.adversary.ask(self.agent, question)

        @invariant()
        def no_more_than_the_limit_is_paid(self):
            assert paid(self.purse) <= 100

    TestPurse = PurseMachine.TestCase

Hypothesis chooses the rules, their arguments, and all that the model says meanwhile. All runs share
one chain with what `deploy` put on it; each begins where `deploy` ended.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, ClassVar

from hypothesis.control import current_build_context
from hypothesis.stateful import RuleBasedStateMachine

from pyevm_agents.testing.adversary_strategy import adversary
from pyevm_agents.testing.chain import AgentChain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

    from pyevm_agents.testing.addresses import AddressLike
    from pyevm_agents.testing.adversary_strategy import Adversary


class AdversarialMachine(RuleBasedStateMachine):
    """A state machine with an agent chain, whose model is an adversary. Subclass it."""

    chain: ClassVar[AgentChain]
    """One for all runs of a class; each run leaves it as it was."""

    @classmethod
    def open(cls) -> AgentChain:
        """Return the chain; override it for another model, or other folders of contracts."""
        return AgentChain()

    @classmethod
    def deploy(cls, chain: AgentChain) -> None:
        """Put contracts on the chain, and keep them as attributes of the class."""
        raise NotImplementedError(
            f"{cls.__name__} deploys nothing: give it `@classmethod def deploy(cls, chain)`"
        )

    @classmethod
    def adversaries(cls) -> SearchStrategy[Adversary]:
        """Return what the adversary is drawn from; override it to make numbers or texts likely."""
        return adversary()

    @classmethod
    def names(cls) -> Mapping[str, AddressLike]:
        """Return what contracts and accounts are called in a script that is printed."""
        return {name: it for name, it in vars(cls).items() if hasattr(it, "address")}

    def __init__(self) -> None:
        """Begin a run, where `deploy` ended."""
        super().__init__()
        cls = type(self)
        if "chain" not in vars(cls):
            cls.chain = cls._opened()
        self.adversary: Adversary = current_build_context().data.draw(cls.adversaries())
        self._run = ExitStack()
        self._run.enter_context(self.adversary.on(cls.chain, **cls.names()))

    @classmethod
    def _opened(cls) -> AgentChain:
        chain = cls.open()
        try:
            cls.deploy(chain)
        except BaseException:
            chain.close()
            raise
        return chain

    def teardown(self) -> None:
        """End a run: the chain is as before. An override calls this last."""
        self._run.close()
