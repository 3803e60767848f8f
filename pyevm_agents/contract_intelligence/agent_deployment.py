"""Transactions that make a planned agent: an account, tools of a factory, and the agent.

Every contract has the same owner, the sender. The executor answers the agent, or workers of an
oracle, on chains without the executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.contract_intelligence.tool_plan import AgentPlan
    from pyevm_agents.contract_intelligence.tool_spec import ToolSpec

DESCRIPTION = "Acts through an account for its owner"
INPUT_DESCRIPTION = "the instruction"
MAX_ITERATIONS = 5
"""How many times a run asks the model at most, by default."""

CALLBACK_GAS = 2_500_000
"""Gas of each callback, by default. Measured with base prompts of 2,000 characters: a step that
tries a swap, approves, swaps and asks again takes 1,170,000 in one pool and 1,410,000 along two.
The rest is for longer prompts, and tokens behind proxies. A run pays for the limit, not for the
use."""

STEP_SECONDS, RUN_SECONDS = 3_600, 36_000
"""Deadlines of a step and of a run, by default. Source: `pyevm-agents oracle deploy-agent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleSettings:
    """Terms of an agent's requests to an oracle: `CallbackAgent.OracleSettings`."""

    oracle: Address
    callback_gas: int = CALLBACK_GAS
    """Gas of each callback."""

    step_seconds: int = STEP_SECONDS
    """How long a request waits for a worker."""

    run_seconds: int = RUN_SECONDS
    """After so long anybody may end a run."""

    def as_abi(self) -> tuple[Address, int, int, int]:
        """Return the values in Solidity's order."""
        return (self.oracle, self.callback_gas, self.step_seconds, self.run_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Settings of an agent beside tools and prompt."""

    model: str
    """A name that the chain has, or the oracle's workers."""

    name: str = "Agent"
    iterations: int = MAX_ITERATIONS
    """How many times a run asks the model at most. All but the last can use a tool."""

    oracle: OracleSettings | None = None
    """None: the executor answers."""


def deploy_account(owner: SendingAccount, *, nonce: int | None = None) -> Address:
    """Deploy the `AgentAccount` that an agent acts through, without tools; return the address.

    Input: nonce: of the transaction, which decides the address; None for the owner's next one.
    """
    return _deploy(owner, "AgentAccount", owner.address, nonce=nonce)


def deploy_factory(owner: SendingAccount) -> Address:
    """Deploy an `AbiToolFactory` with the code that all tools share; return the address."""
    texts = _deploy(owner, "AbiToolTexts")
    return _deploy(owner, "AbiToolFactory", _deploy(owner, "AbiTool", texts))


def deploy_tools(
    owner: SendingAccount, factory: Address, account: Address, specs: Sequence[ToolSpec]
) -> tuple[Address, ...]:
    """Create tools and register each at the account; return the addresses, in order.

    Creations and registrations of an earlier deployment are not sent again.
    """
    return tuple(_deploy_tool(owner, factory, account, spec) for spec in specs)


def _deploy_tool(
    owner: SendingAccount, factory: Address, account: Address, spec: ToolSpec
) -> Address:
    creator, registry = load_artifact("AbiToolFactory"), load_artifact("AgentAccount")
    output = owner.read(factory, creator.encode_call("addressOf", spec.as_abi()))
    tool = Address(to_canonical_address(creator.decode_result("addressOf", output)))
    place = to_checksum_address(tool)
    # An address without code answers with nothing.
    if not owner.read(tool, load_artifact("AbiTool").encode_call("name")):
        purpose = f"Created tool {spec.name} at {place}"
        owner.transact(factory, spec.encode_creation(), purpose=purpose)
    is_tool = owner.read(account, registry.encode_call("isTool", tool))
    if not registry.decode_result("isTool", is_tool):
        purpose = f"Registered tool {spec.name}"
        owner.transact(account, spec.encode_registration(place), purpose=purpose)
    return tool


def deploy_agent(
    owner: SendingAccount, plan: AgentPlan, tools: Sequence[Address], settings: AgentSettings
) -> Address:
    """Deploy the agent, and let the agent run the account's tools; return the agent's address.

    The agent is an `OwnedCallbackAgent` if the settings have an oracle, else an `OwnedAgent`.

    Input: tools: those of the plan, as returned by `deploy_tools`.
    """
    texts = (settings.model, settings.name, DESCRIPTION, INPUT_DESCRIPTION, plan.base_prompt)
    rest = (*texts, [*tools], settings.iterations)
    if settings.oracle is None:
        agent = _deploy(owner, "OwnedAgent", owner.address, EXECUTOR_ADDRESS, *rest)
    else:
        agent = _deploy(owner, "OwnedCallbackAgent", settings.oracle.as_abi(), *rest)
    account = Address(to_canonical_address(plan.account))
    set_agent = load_artifact("AgentAccount").encode_call("setAgent", agent)
    owner.transact(account, set_agent, purpose="Set the account's agent")
    return agent


def _deploy(
    owner: SendingAccount, name: str, *arguments: object, nonce: int | None = None
) -> Address:
    creation = load_artifact(name).encode_creation(*arguments)
    return owner.deploy(creation, purpose=name, nonce=nonce)
