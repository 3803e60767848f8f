"""An agent for a `SwapMarket`: an account, the tools of `tools deploy`, and a closed function.

The tools derive the same values as the analysis by default: the recipient, the deadline, the least
output, the path, and approvals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import (
    function_signature_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)

from precompiles.abi import ParamDescription
from pyevm_agents.contract_intelligence.agent_deployment import (
    AgentSettings,
    deploy_account,
    deploy_agent,
    deploy_factory,
    deploy_tools,
)
from pyevm_agents.contract_intelligence.argument_derivation import DEADLINE_SECONDS, SLIPPAGE_BPS
from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.tool_plan import PlanOptions, plan_agent
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.scenarios.swap.requests import ExpectedCall
from pyevm_agents.scenarios.swap.world import ONE_NATIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eth.abc import ComputationAPI

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.tool_plan import AgentPlan, PlannedTool
    from pyevm_agents.devnet.local_account import LocalAccount
    from pyevm_agents.scenarios.swap.market import SwapMarket

TOKEN_FUNCTIONS = ("balanceOf",)
ROUTER_FUNCTIONS = ("getAmountsOut", "swapExactETHForTokens", "swapExactTokensForETH")

MOST_WEI = 5 * ONE_NATIVE
"""The most native currency that goes with one call."""

APPROVE = bytes(function_signature_to_4byte_selector("approve(address,uint256)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFunction:
    """A function of a contract as a tool of an agent."""

    name: str
    """The tool's name."""

    contract: str
    """The contract's name in the market."""

    signature: str
    argument_names: tuple[str, ...]
    """Of the function, in its order."""

    parameters: tuple[ParamDescription, ...]
    """What the model is asked for: arguments by name, and `value`."""

    gives_approvals: bool = False
    """Whether the tool approves tokens by itself, as far as they are needed."""

    fixed: Mapping[str, object] = field(default_factory=dict)
    """Values of arguments that the tool sets to one value each, by name."""

    @property
    def selector(self) -> bytes:
        """The first bytes of a call of the function."""
        return bytes(function_signature_to_4byte_selector(self.signature))


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapAgent:
    """An agent whose tools act through an account, with the `run` of the ERC's agents."""

    address: Address
    account: Address
    functions: Mapping[Address, AgentFunction]
    """By tool."""

    slippage_bps: int = SLIPPAGE_BPS
    deadline_seconds: int = DEADLINE_SECONDS
    plan: AgentPlan | None = None
    """What the analysis made the tools and the base prompt from; None for other tools."""


def deploy_swap_agent(
    sender: LocalAccount,
    market: SwapMarket,
    fund: Callable[[Address], None],
    *,
    report: Callable[[str], None] = lambda _: None,
) -> SwapAgent:
    """Deploy an account with funds, the tools and the agent.

    Input:
        fund: sends the account the assets to spend.
        report: gets a text at each step.

    Raises: RevertedError: the chain refuses a contract. ConfigError: the router has not the
            functions.
    """
    account = deploy_account(sender)
    report("buying tokens and funding the account")
    fund(account)
    plan = plan_swap_agent(sender.chain, market, account, report=report)
    specs = [planned.spec for planned in plan.tools]
    report("deploying the tools and the agent")
    tools = deploy_tools(sender, deploy_factory(sender), account, specs)
    return SwapAgent(
        address=deploy_agent(sender, plan, tools, AgentSettings(model=ALIASES[0])),
        account=account,
        functions={
            tool: _describe(market, planned)
            for tool, planned in zip(tools, plan.tools, strict=True)
        },
        plan=plan,
    )


def plan_swap_agent(
    chain: Chain,
    market: SwapMarket,
    account: Address,
    *,
    report: Callable[[str], None] = lambda _: None,
) -> AgentPlan:
    """Inspect the token, the router and the switch for an account; return tools and prompt."""
    found = inspect_contracts(
        chain,
        [
            InspectedContract(
                address=to_checksum_address(each.address),
                interface=read_interface(
                    [*each.artifact.abi], name=each.artifact.name, source="file"
                ),
            )
            for each in market.contracts
        ],
        to_checksum_address(account),
        report=report,
    )
    metadata = get_chain_metadata(chain.config.chain_id)
    metadata = replace(metadata, native_symbol=market.native_symbol)
    functions = [
        f"{to_checksum_address(contract.address)}.{name}"
        for contract, names in (
            (market.token, TOKEN_FUNCTIONS), (market.router, ROUTER_FUNCTIONS)
        )
        for name in names
    ]  # fmt: skip
    return plan_agent(found, metadata, PlanOptions(functions=tuple(functions), most_wei=MOST_WEI))


def find_refusal(agent: SwapAgent) -> str:
    """Return why the account cannot turn the switch, from the agent's base prompt.

    Raises: ValueError: no reason in the prompt.
    """
    lines = [] if agent.plan is None else agent.plan.base_prompt.splitlines()
    for line in lines:
        if line.startswith("I cannot call adminFunction "):
            return line
    raise ValueError("adminFunction: the base prompt does not say that the account cannot call it")


def _describe(market: SwapMarket, planned: PlannedTool) -> AgentFunction:
    spec = planned.spec
    return AgentFunction(
        name=spec.name,
        contract=market.names[Address(to_canonical_address(spec.target))],
        signature=planned.function.signature,
        argument_names=tuple(argument.name for argument in spec.arguments),
        parameters=tuple(
            ParamDescription(param_type=kind, name=name, description=text)
            for kind, name, text in spec.model_parameters
        ),
        gives_approvals=any(allowance.is_derived for allowance in spec.allowances),
        fixed={
            argument.name: argument.value
            for argument in spec.arguments
            if argument.source is Source.FIXED
        },
    )


# -- the calls of a run -- #


def extract_calls(
    computation: ComputationAPI, market: SwapMarket, agent: SwapAgent
) -> tuple[ExpectedCall, ...]:
    """Return the calls of tools' own functions, and approvals, that tools and account made.

    Calls that were reverted do not count, nor do reads that a tool makes for other purposes.
    """
    names = market.names
    if computation.is_error:
        return ()
    return tuple(
        ExpectedCall(
            contract=names.get(call.to, to_checksum_address(call.to)),
            data=call.data,
            value_wei=call.value_wei,
        )
        for call in _iter_calls(computation, agent, None)
    )


@dataclass(frozen=True, slots=True)
class _Call:
    to: Address
    data: bytes
    value_wei: int


def _iter_calls(
    computation: ComputationAPI, agent: SwapAgent, tool: Address | None
) -> Iterator[_Call]:
    for child in computation.children:
        message = child.msg
        if child.is_error:
            continue
        within = message.to if message.to in agent.functions else tool
        is_call = message.code_address == message.storage_address
        if is_call and tool is not None and message.sender in {agent.account, tool}:
            call = _Call(message.to, bytes(message.data), message.value)
            if _is_own(
                call, agent.functions[tool], sender_is_account=message.sender == agent.account
            ):
                yield call
        yield from _iter_calls(child, agent, within)


def _is_own(call: _Call, function: AgentFunction, *, sender_is_account: bool) -> bool:
    selector = call.data[:4]
    return selector == function.selector or (sender_is_account and selector == APPROVE)
