"""The scenarios of `chain_fixtures/`: each builds and records a chain with a model.

Contracts are deployed on a separate chain, whose state becomes the genesis of the recorded one: the
blocks there contain the scenario only. All generated text comes from the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import require_success
from pyevm_agents.chain import Call, Chain
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY, create_development_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError, FixtureError
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.models.fakes.recorded import Exchange, RecordingModel
from pyevm_agents.recordings import record_chain, record_state
from pyevm_agents.scenarios.wallet import WalletDemo
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import LanguageModel
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models import ProfileFacts
    from pyevm_agents.recordings import Fixture


COUNTING_PROMPT = "You count. Use CounterTool to add a number to the counter."
ASKING_PROMPT = "You ask other agents. Ask Counting Agent to add a number to the counter."

INSTRUCTIONS = ("Deposit 10 USDC into the pool", "What is my USDC balance?")
NESTED_INSTRUCTION = "Ask the Counting Agent: add 7 to the counter"
ROLLBACK_INSTRUCTION = "Add 7 to the counter"

OWNER = Address(DEVELOPMENT_KEY.public_key.to_canonical_address())

MAX_ITERATIONS = 5
"""Default upper bound of an agent's steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A chain to record, with a comment for the reader."""

    comment: str
    make: Callable[[Chain], Chain]
    """Builds the chain to record from a funded development chain."""


def record_scenario(  # noqa: PLR0913 - keyword arguments
    name: str,
    model: LanguageModel,
    facts: ProfileFacts,
    *,
    source: str,
    scenarios: Mapping[str, Scenario] | None = None,
    schedule: ScheduleFile | None = None,
    block_gas_limit: int = DEFAULT_BLOCK_GAS_LIMIT,
) -> Fixture:
    """Record a scenario; return its fixture.

    Input:
        name: the scenario's name.
        scenarios: scenarios by name; None for `SCENARIOS`.
        model, facts: the model and the profile facts.
        source: where the generations come from, for the fixture's comment.
        schedule: gas prices; None for the defaults.
        block_gas_limit: gas of a block.

    Raises: ConfigError: unknown scenario, or the schedule is not for the model. FixtureError: the
            model's run is not the scenario. EngineFault: the model failed.
    """
    known = SCENARIOS if scenarios is None else scenarios
    if name not in known:
        raise ConfigError(f"scenario {name!r}: must be one of {', '.join(known)}")
    scenario = known[name]
    building = create_development_chain(
        model, facts, schedule=schedule, block_gas_limit=block_gas_limit
    )
    chain = scenario.make(building)
    return record_chain(chain, name=name, comment=f"{scenario.comment} {source}")


def _build_wallet(building: Chain) -> Chain:
    chain, agent = _deploy_wallet(building)
    for instruction in INSTRUCTIONS:
        mined = _instruct(chain, agent, instruction)
        require_success(mined.computations[0], "the wallet's agent")
    return chain


def _build_nested(building: Chain) -> Chain:
    owner = LocalAccount(building)
    counter = owner.deploy(load_artifact("CounterTool").encode_creation())
    counting = _deploy_agent(
        owner, "Counting Agent", "Adds to the counter", COUNTING_PROMPT, [counter]
    )
    asking = _deploy_agent(owner, "Asking Agent", "Asks an agent", ASKING_PROMPT, [counting])
    chain = restart_from_state(building)
    mined = _run(chain, asking, NESTED_INSTRUCTION)
    require_success(mined.computations[0], "the outer agent")
    require_scenario(_read_counter(chain, counter) != 0, "the inner agent added nothing")
    return chain


def _build_rollback(building: Chain) -> Chain:
    owner = LocalAccount(building)
    counter = owner.deploy(load_artifact("CounterTool").encode_creation())
    hasty = _deploy_agent(
        owner, "Hasty Agent", "Counts once", COUNTING_PROMPT, [counter], iterations=1
    )
    chain = restart_from_state(building)
    mined = _run(chain, hasty, ROLLBACK_INSTRUCTION)
    computation = mined.computations[0]
    used = any(counter == child.msg.to and child.is_success for child in computation.children)
    if not used:
        require_success(computation, "the agent did not use its tool, and")
    require_scenario(used, "the agent did not use its tool")
    require_scenario(
        computation.is_error and _read_counter(chain, counter) == 0, "nothing was rolled back"
    )
    return chain


def _build_out_of_gas(building: Chain) -> Chain:
    chain, agent = _deploy_wallet(building)
    data = load_artifact("WalletAgent").encode_call("instruct", INSTRUCTIONS[0])
    ask = _GasProbe(chain, Call(to=agent, sender=OWNER, data=data))
    most = chain.config.block_gas_limit
    whole = ask(most)
    require_success(ask.computation, "the wallet's agent")
    require_scenario(whole > 1, "the wallet's agent took one step only")
    least = 0
    while most - least > 1:  # The least gas with which the last step begins.
        gas = (least + most) // 2
        is_enough = ask(gas) == whole
        least, most = (least, gas) if is_enough else (gas, most)
    mined = _send(chain, agent, data, gas=most)
    require_scenario(mined.computations[0].is_error, "the transaction had enough gas")
    return chain


class _GasProbe:
    """Executes a call with varying gas, to find how many steps begin."""

    def __init__(self, chain: Chain, call: Call) -> None:
        self._log: list[Exchange] = []
        recording = {
            name: RecordingModel(model, name=name, log=self._log)
            for name, model in chain.models.items()
        }
        self._chain = Chain(
            chain.config,
            recording,
            numeric_models=chain.numeric_models,
            accounts=chain.genesis_accounts,
        )
        self._call = call
        self.computation: ComputationAPI | None = None
        """The last call's computation; None before the first one."""

    def __call__(self, gas: int) -> int:
        """Execute with a gas limit; return the number of generations that were begun."""
        self._log.clear()
        try:
            self.computation = self._chain.call(replace(self._call, gas=gas)).computation
        except RuleError:  # Below the intrinsic gas.
            return 0
        return sum(exchange.generation is not None for exchange in self._log)


SCENARIOS = {
    "wallet": Scenario(
        comment="The ERC's wallet agent deposits tokens into a pool, then looks at a balance.",
        make=_build_wallet,
    ),
    "nested": Scenario(
        comment="An agent uses another agent as its tool, in one transaction.", make=_build_nested
    ),
    "rollback": Scenario(
        comment="An agent's tool changes the state, then the agent reverts as it may take one step "
        "only: nothing of the tool's work is left.",
        make=_build_rollback,
    ),
    "out-of-gas": Scenario(
        comment="The wallet agent deposits tokens, then its gas ends in the last step: the "
        "transaction halts there, and the deposit is undone.",
        make=_build_out_of_gas,
    ),
}
"""Scenarios by name, which is also the name of the fixture file."""


def _deploy_wallet(building: Chain) -> tuple[Chain, Address]:
    wallet = WalletDemo(building)
    return restart_from_state(wallet.chain), wallet.agent


def restart_from_state(building: Chain) -> Chain:
    """Return a new chain whose genesis is the state of another."""
    return Chain(
        building.config,
        building.models,
        numeric_models=building.numeric_models,
        accounts=record_state(building),
    )


def _deploy_agent(  # noqa: PLR0913 - the constructor's arguments
    owner: LocalAccount,
    name: str,
    description: str,
    base_prompt: str,
    tools: Sequence[Address],
    *,
    iterations: int = MAX_ITERATIONS,
) -> Address:
    texts = (name, description, "what to do", base_prompt)
    creation = load_artifact("SimpleAgent").encode_creation(
        EXECUTOR_ADDRESS, ALIASES[0], *texts, list(tools), iterations
    )
    return owner.deploy(creation)


def _instruct(chain: Chain, agent: Address, instruction: str) -> MinedBlock:
    return _send(chain, agent, load_artifact("WalletAgent").encode_call("instruct", instruction))


def _run(chain: Chain, agent: Address, instruction: str) -> MinedBlock:
    prompt = encode(["string"], [instruction])
    string_type = 0
    call = load_artifact("SimpleAgent").encode_call(
        "run", ([(string_type, prompt)], prompt), bytes(20)
    )
    return _send(chain, agent, call)


def _send(chain: Chain, to: Address, data: bytes, *, gas: int | None = None) -> MinedBlock:
    unsigned = chain.build_unsigned_transaction(Call(to=to, sender=OWNER, data=data, gas=gas))
    signed = unsigned.as_signed_transaction(DEVELOPMENT_KEY, chain_id=chain.config.chain_id)
    return chain.mine([signed])


def _read_counter(chain: Chain, counter: Address) -> int:
    counted = chain.call(Call(to=counter, data=load_artifact("CounterTool").encode_call("number")))
    return int(load_artifact("CounterTool").decode_result("number", counted.output))


def require_scenario(is_so: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Reject a run that is not the scenario.

    Raises: FixtureError: the model chose differently.
    """
    if not is_so:
        raise FixtureError(f"not the scenario: {otherwise}; try another model")
