"""A chain with agents of a given number of steps, tools and levels of nesting.

The thoughts are the model's own and the actions are dictated: each agent uses the first tool until
the last step, then answers with a text of a fixed length. Runs differ only in the varied quantity
and in the thoughts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from precompiles.abi import ParamType
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.bench.measurement.models import DictatedModel, OwnAnswer
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.usage import count_usage
from pyevm_agents.bench.pricing.schedules import add_evm_gas
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models import use
from pyevm_agents.models.fakes.parsed_request import AllowedParameter, parse_grammar, parse_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from precompiles.language_model import GenerationRequest, ModelProfile
    from pyevm_agents.bench.measurement.models import Dictation
    from pyevm_agents.bench.measurement.usage import Usage
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.models import LlamaModel

BLOCK_GAS = 20_000_000_000
"""Gas of a block: the longest run takes about 100 million, and may use all of it."""

ITERATIONS = 32
"""Most iterations of an agent; equal for all agents, as the number stands in the history."""

ANSWER_CHARACTERS = 40
QUESTION = "Please add 7 to the counter and tell me what it stands at."
BASE_PROMPT = """You keep a counter for the people of a small town. They say in simple terms what \
they want, and you do it with the tools that you have. {addresses}"""
AMOUNT = 7

ACTIONS = (
    ("Deposit", "Put an amount of a token into the pool"),
    ("Withdraw", "Take an amount of a token out of the pool"),
    ("Transfer", "Send an amount of a token to the owner's account"),
    ("Borrow", "Borrow an amount of a token against what is in the pool"),
    ("Repay", "Pay back an amount of a token that was borrowed"),
    ("Stake", "Stake an amount of a token until the end of the epoch"),
    ("Claim", "Claim an amount of a token as reward for what is staked"),
    ("Swap", "Exchange an amount of a token for the pool's own one"),
)
"""Purposes of a wallet's tools; several tools, by number, share each."""

PARAMETERS = (
    (int(ParamType.ADDRESS), "asset", "address of the token"),
    (int(ParamType.UINT), "amount", "how much, in whole tokens"),
)


@dataclass(slots=True)
class Director:
    """Dictates the model's steps: the first tool in every step but the last one."""

    steps: int = 1

    def dictate(self, request: GenerationRequest) -> Dictation:
        """Return the step of a prompt."""
        if parse_prompt(request).step >= self.steps:
            return OwnAnswer(characters=ANSWER_CHARACTERS)
        tool = parse_grammar(request.grammar).tools[0]
        arguments = {param.name: _choose_argument(param, request) for param in tool.parameters}
        return use(tool.name, thought="", arguments=arguments)


def _choose_argument(parameter: AllowedParameter, request: GenerationRequest) -> str | int:
    if parameter.param_type is ParamType.ADDRESS:
        return request.handles[0][1]
    return QUESTION if parameter.param_type is ParamType.STRING else AMOUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthSample:
    """A mined run."""

    usage: Usage
    gas: int


@dataclass(slots=True)
class GrowthChain:
    """A chain with a model and agents, on which one transaction is mined repeatedly."""

    model: LlamaModel
    director: Director = field(default_factory=Director)
    profile: ModelProfile = field(init=False)
    _account: LocalAccount = field(init=False)
    _counter: Address = field(init=False)

    def __post_init__(self) -> None:
        """Create the chain, and deploy the contracts that all agents share."""
        facts = self.model.profile_facts
        self.profile = build_measured_profile(facts)
        config = ChainConfig(
            models=(self.profile,),
            profile_fingerprint=facts.fingerprint,
            block_gas_limit=BLOCK_GAS,
        )
        chain = Chain(
            config,
            {self.profile.name: DictatedModel(self.model, self.director.dictate)},
            accounts={DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)},
        )
        self._account = LocalAccount(chain)
        self._counter = self._account.deploy(load_artifact("CounterTool").encode_creation())

    def deploy_counting_agent(self) -> Address:
        """Deploy an agent with one tool, which adds to a counter."""
        return self._deploy_agent("Counting agent", [self._counter])

    def deploy_equipped_agent(self, tools: int) -> Address:
        """Deploy an agent with `tools` tools, each with a description and two parameters."""
        return self._deploy_agent(
            "Wallet agent", [self._deploy_tool(index) for index in range(tools)]
        )

    def deploy_nested_agents(self, levels: int) -> Address:
        """Deploy agents, each the only tool of the next; return the outermost one."""
        inner = self._counter
        for level in range(1, levels + 1):
            inner = self._deploy_agent(f"Agent {level}", [inner])
        return inner

    def build_transaction(self, agent: Address) -> SignedTransactionAPI:
        """Return a transaction that runs an agent."""
        call = Call(to=agent, sender=DEVELOPMENT_ADDRESS, data=encode_run(QUESTION))
        chain = self._account.chain
        unsigned = chain.build_unsigned_transaction(call)
        return unsigned.as_signed_transaction(DEVELOPMENT_KEY, chain_id=chain.config.chain_id)

    def mine(self, transaction: SignedTransactionAPI) -> MinedBlock:
        """Mine and undo a transaction: the next one starts from the same state."""
        chain = self._account.chain
        before = chain.snapshot()
        mined = chain.mine([transaction])
        chain.revert(before)
        return mined

    def build_sample(self, mined: MinedBlock) -> GrowthSample:
        """Return the usage of a mined run.

        Raises: VMError: the run failed.
        """
        computation = mined.computations[0]
        computation.raise_if_error()
        gas = int(mined.receipts[0].gas_used)
        counts = count_usage(computation)
        usage = add_evm_gas(counts, gas, self._account.chain.config.schedule, self.profile)
        return GrowthSample(usage=usage, gas=gas)

    def _deploy_agent(self, name: str, tools: Sequence[Address]) -> Address:
        named = f"The counter is at COUNTER = {to_checksum_address(self._counter)}"
        texts = (name, "Keeps a counter", "what to do", BASE_PROMPT.format(addresses=named))
        creation = load_artifact("SimpleAgent").encode_creation(
            EXECUTOR_ADDRESS, ALIASES[0], *texts, list(tools), ITERATIONS
        )
        return self._account.deploy(creation)

    def _deploy_tool(self, index: int) -> Address:
        round_, place = divmod(index, len(ACTIONS))
        verb, description = ACTIONS[place]
        creation = load_artifact("SimpleSmartContractTool").encode_creation(
            f"{verb}Tool{round_ + 1}",
            description,
            self._counter,
            bytes(4),
            (list(PARAMETERS),),
            True,  # noqa: FBT003 - it answers with a fixed text
            "Done",
            bytes(20),
        )
        return self._account.deploy(creation)
