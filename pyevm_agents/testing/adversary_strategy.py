"""Adversarial models for Hypothesis: one run by `adversary()`, several by `AdversarialMachine`.

The model is the adversary: does a contract hold, whatever its agent's model says? Hypothesis
chooses every step out of all that the grammar admits: any tool, any argument in range, any order,
the final answer at any time. One run:

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

Hypothesis chooses the rules, their arguments, and all that the model says meanwhile. All runs share
one chain with what `deploy` put on it; each begins where `deploy` ended.

Hypothesis is an extra: `pip install pyevm-agents[test]`.
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
    """Return a strategy of models that may say anything.

    What they say is drawn when they are asked, so an example is as long as its run.

    Input:
        numbers: integers to make likely, beside 0, 1, the ends of the range, and the prompt's own:
            limits and balances that the prompt does not tell.
        texts: texts to make likely, beside the prompt's own and those that try to inject.

    Raises:
        ConfigError: one of the two is no list of its kind.
    """
    require_list("adversary(numbers=…)", numbers, int)
    require_list("adversary(texts=…)", texts, str)
    return _AdversaryStrategy(tuple(numbers), tuple(texts))


def following_script(*steps: Step) -> Adversary:
    """Return an adversary for `@example`: it says these steps, then that it is done."""
    return Adversary(lambda: decide_from_list(*steps))


def adversary_settings(**changes: Any) -> settings:  # noqa: ANN401 - those of Hypothesis
    """Return settings for a test with an adversary, to be changed as any of Hypothesis.

    A run takes its time, so there is no deadline. A chain may be of a fixture for each test, since
    each example leaves it as it was. And no lines of code are named that only failing examples ran:
    they are the node's, not the contract's.
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
    """What answers for the agents of a chain: any step that the grammar admits, as it is drawn."""

    def __init__(self, begin: Callable[[], StepDecider]) -> None:
        """Take what begins to decide, anew for each chain that it is put on."""
        self._create_decider = begin
        self._model: AdversarialModel | None = None
        self._chain: AgentChain | None = None
        self._names: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return what makes one: its steps are told when the test is over."""
        return "adversary()"

    @contextmanager
    def on(self, chain: AgentChain, **names: AddressLike) -> Iterator[Self]:
        """Answer for a chain's agents meanwhile; at the end the chain is as it was before.

        What the test checks of the chain stands inside of the `with` block.

        Input:
            names: what the test calls contracts and accounts, for the script that is printed, as
                `purse=purse`; `accounts` are known.
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
        """Run an agent in a transaction with all of a block's gas; return the receipt.

        That it reverted is an outcome, told by the receipt's `status`, and fails no test.

        Input:
            agent, question, transaction: as `AgentChain.ask` takes them.

        Raises:
            ConfigError: the adversary is on no chain.
        """
        return self._require_chain().ask(agent, question, **{**self._gas, **transaction})

    def run(self, function: ContractFunction, /, **transaction: Any) -> TxReceipt:  # noqa: ANN401 - as above
        """Call a contract's function in such a transaction; return the receipt.

        Input:
            function: web3.py's, as `wallet.functions.instruct("Deposit 10 USDC")`.
            transaction: what else it is to say: `value`, `from`.

        Raises:
            ConfigError: the adversary is on no chain.
        """
        w3 = self._require_chain().w3
        fields = cast("TxParams", {**self._gas, **transaction})
        return w3.eth.wait_for_transaction_receipt(function.transact(fields))

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was said, in order."""
        return () if self._model is None else self._model.steps

    def to_script(self) -> str:
        """Return the code that says the same: `model.script(…)`.

        Where one list would not, as an agent was asked the same twice and went on otherwise, it is
        an adversary with its steps: `adversary = following_script(…)`.
        """
        is_list = self._model is None or self._model.is_list
        call = "model.script" if is_list else "adversary = following_script"
        return format_script(call, self.steps, self._names)

    @property
    def _gas(self) -> dict[str, int]:
        return {"gas": self._require_chain().node.next_block.build_header().gas_limit}

    def _require_chain(self) -> AgentChain:
        if self._chain is None:
            raise ConfigError(
                "the adversary answers on no chain yet: `with adversary.on(agent_chain):`"
            )
        return self._chain


class _AdversaryStrategy(SearchStrategy[Adversary]):
    """Adversaries that decide by what Hypothesis chooses."""

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
    """Raise what interrupted the model, where it was lost between the chain and the test.

    Hypothesis ends an example by an exception out of a draw, and the draw is made in the middle of
    a transaction: a node answers -32603 to what it does not know, and a test may expect failures.
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
        return {name: value for name, value in vars(cls).items() if hasattr(value, "address")}

    def __init__(self) -> None:
        """Begin a run, where `deploy` ended."""
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
        """End a run: the chain is as before. An override calls this last."""
        self._run.close()
