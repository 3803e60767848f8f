"""Adversarial models for Hypothesis: one run by `adversary()`, several by `AdversarialMachine`.

An adversary replaces the model of an agent, to test a property of its contracts. Hypothesis chooses
each step from all that the grammar admits: any tool, any argument in range, any order, the final
answer at any time. One run:

    @adversary_settings(max_examples=300)
    @given(adversary())
    def test_the_purse_never_pays_more_than_its_limit(agent_chain, purse, agent, adversary):
        with adversary.on(agent_chain, purse=purse):
            adversary.ask(agent, "Pay Bob 10.")
            assert paid(purse) <= 100

A failure is shrunk to the shortest run of steps with the simplest arguments, and printed as a
script to paste into a test of its own:

    model.script(use("Pay", to=accounts[1], amount=100), use("Pay", to=accounts[1], amount=1), …)

Several transactions, as a state machine:

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

Hypothesis chooses the rules, the arguments and the model's steps. All runs share one chain, and
each starts from the state that `deploy` left.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from eth_utils import to_checksum_address
from hypothesis import HealthCheck, Phase, currently_in_test_context, note, settings
from hypothesis.control import current_build_context
from hypothesis.stateful import RuleBasedStateMachine
from hypothesis.strategies import SearchStrategy

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.adversary import AdversarialModel, StepDecider, decide_from_list
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.inputs import parse_address, require_list
from pyevm_agents.testing.script_export import format_script
from pyevm_agents.testing.strategies import StepStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hypothesis.internal.conjecture.data import ConjectureData
    from web3.contract import Contract
    from web3.contract.contract import ContractFunction
    from web3.types import TxParams, TxReceipt

    from pyevm_agents.models.fakes.adversary import DecisionContext
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.testing.inputs import AddressLike


def adversary(
    *, numbers: Sequence[int] = (), texts: Sequence[str] = ()
) -> SearchStrategy[Adversary]:
    """Return a strategy for models that generate any step that the grammar admits.

    A step is drawn on request: an example is as long as the run. The test needs
    `adversary_settings`.

    Input:
        numbers: integers to make likely, beside 0, 1, the ends of the range and those of the
            prompt: limits and balances that the prompt does not contain.
        texts: texts to make likely, beside those of the prompt and injections.

    Raises:
        ConfigError: `numbers` is not a list of int, or `texts` not a list of str.
    """
    require_list("adversary(numbers=…)", numbers, int)
    require_list("adversary(texts=…)", texts, str)
    return _AdversaryStrategy(tuple(numbers), tuple(texts))


def following_script(*steps: Step) -> Adversary:
    """Return an adversary for `@example` that generates these steps, then a final answer."""
    return Adversary(lambda: decide_from_list(*steps))


def adversary_settings(**changes: Any) -> settings:  # noqa: ANN401 - those of Hypothesis
    """Return Hypothesis' settings for a test with an adversary.

    Runs are slow: there is no deadline. Each example rolls the chain back: function-scoped fixtures
    are allowed. The phase `explain` is omitted: it would name lines of the node, not of the
    contract.

    Input: other settings of Hypothesis, such as `max_examples`.
    """
    return settings(
        **{
            "deadline": None,
            "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
            "phases": [phase for phase in settings().phases if phase is not Phase.explain],
            **changes,
        }
    )


class Adversary:
    """A model for the agents of a chain whose steps are drawn from all that the grammar admits."""

    def __init__(self, begin: Callable[[], StepDecider]) -> None:
        """Create an adversary.

        Input: a function that returns a new decider, called once for each chain.
        """
        self._create_decider = begin
        self._model: AdversarialModel | None = None
        self._chain: AgentChain | None = None
        self._names: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return a constant: the steps are printed at the end of the test."""
        return "adversary()"

    @contextmanager
    def on(self, chain: AgentChain, **names: AddressLike) -> Iterator[Self]:
        """Replace a chain's model inside of `with`; roll the chain back at the end.

        Checks of the chain belong inside of the `with` block.

        Input:
            chain: the chain.
            names: names of contracts and accounts in the printed script, such as `purse=purse`; the
                chain's accounts have names.
        """
        model = AdversarialModel(self._create_decider(), vocabulary=chain.model.vocabulary)
        self._model, self._chain = model, chain
        self._names = {
            address.lower(): f"accounts[{index}]" for index, address in enumerate(chain.accounts)
        } | {
            to_checksum_address(parse_address(account)).lower(): _format_expression(name, account)
            for name, account in names.items()
        }
        with _reraise_interruption(model), chain.isolated(), chain.swap_model(model):
            try:
                yield self
            finally:
                if currently_in_test_context():
                    note(self.to_script())

    def ask(self, agent: Contract, question: str, **transaction: Any) -> TxReceipt:  # noqa: ANN401 - fields of web3.py's transactions
        """Run an agent in a transaction with a block's gas; return the receipt.

        A revert does not raise: the receipt's `status` is 0.

        Input:
            agent, question, transaction: see `AgentChain.ask`.

        Raises:
            ConfigError: the adversary is not on a chain.
        """
        return self._require_chain().ask(agent, question, **{**self._gas, **transaction})

    def run(self, function: ContractFunction, /, **transaction: Any) -> TxReceipt:  # noqa: ANN401 - as above
        """Call a contract's function in a transaction with a block's gas; return the receipt.

        Input:
            function: web3.py's, such as `wallet.functions.instruct("Deposit 10 USDC")`.
            transaction: fields of the transaction: `value`, `from`.

        Raises:
            ConfigError: the adversary is not on a chain.
        """
        w3 = self._require_chain().w3
        fields = cast("TxParams", {**self._gas, **transaction})
        return w3.eth.wait_for_transaction_receipt(function.transact(fields))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The generated steps, in order."""
        return () if self._model is None else self._model.steps

    def to_script(self) -> str:
        """Return code that repeats the steps: `model.script(…)`.

        If the same question got different steps, which a script can't repeat, the code is
        `adversary = following_script(…)`.
        """
        is_list = self._model is None or self._model.is_list
        call = "model.script" if is_list else "adversary = following_script"
        return format_script(call, self.steps, self._names)

    @property
    def _gas(self) -> dict[str, int]:
        return {"gas": self._require_chain().node.max_transaction_gas}

    def _require_chain(self) -> AgentChain:
        if self._chain is None:
            raise ConfigError(
                "the adversary answers on no chain yet: `with adversary.on(agent_chain):`"
            )
        return self._chain


class _AdversaryStrategy(SearchStrategy[Adversary]):
    """Adversaries with Hypothesis' choices."""

    def __init__(self, numbers: tuple[int, ...], texts: tuple[str, ...]) -> None:
        super().__init__()
        self._numbers = numbers
        self._texts = texts

    def __repr__(self) -> str:
        return "adversary()"

    def do_draw(self, data: ConjectureData) -> Adversary:
        def decide(situation: DecisionContext) -> Step:
            return data.draw(StepStrategy(situation, numbers=self._numbers, texts=self._texts))

        return Adversary(lambda: decide)


@contextmanager
def _reraise_interruption(model: AdversarialModel) -> Iterator[None]:
    """Raise the exception that interrupted the model, if lost on the way to the test.

    Hypothesis ends an example by an exception in a draw, here in the middle of a transaction. The
    node turns an unknown exception into error -32603, which a test may expect.
    """
    try:
        yield
    except BaseException as error:
        if model.interruption is None or error is model.interruption:
            raise
        raise model.interruption from None
    if model.interruption is not None:
        raise model.interruption


def _format_expression(name: str, value: AddressLike) -> str:
    return name if isinstance(value, str | bytes) else f"{name}.address"


class AdversarialMachine(RuleBasedStateMachine):
    """A base class for state machines with an agent chain and an adversary."""

    chain: ClassVar[AgentChain]
    """One for all runs of a class; each run is rolled back."""

    @classmethod
    def open(cls) -> AgentChain:
        """Return the chain; override for another model or other artifact folders."""
        return AgentChain()

    @classmethod
    def deploy(cls, chain: AgentChain) -> None:
        """Deploy contracts and store them as attributes of the class; override this."""
        raise NotImplementedError(
            f"{cls.__name__} deploys nothing: give it `@classmethod def deploy(cls, chain)`"
        )

    @classmethod
    def adversaries(cls) -> SearchStrategy[Adversary]:
        """Return the strategy of the adversary; override to make numbers or texts likely."""
        return adversary()

    @classmethod
    def names(cls) -> Mapping[str, AddressLike]:
        """Return the names of contracts and accounts for the printed script."""
        return {name: value for name, value in vars(cls).items() if hasattr(value, "address")}

    def __init__(self) -> None:
        """Start a run from the state that `deploy` left."""
        super().__init__()
        cls = type(self)
        if "chain" not in vars(cls):
            cls.chain = cls._open_chain()
        self.adversary: Adversary = current_build_context().data.draw(cls.adversaries())
        self._run = ExitStack()
        self._run.enter_context(self.adversary.on(cls.chain, **cls.names()))

    @classmethod
    def _open_chain(cls) -> AgentChain:
        chain = cls.open()
        try:
            cls.deploy(chain)
        except BaseException:
            chain.close()
            raise
        return chain

    def teardown(self) -> None:
        """Roll the chain back. An override calls this last."""
        self._run.close()
