"""An agent of the swap world: an account, the tools of `tools deploy`, and a closed function.

What its tools derive is what the analysis derives by default: the recipient, the deadline, the
least output, the path, and approvals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from benchmarks.contract_scenarios import AgentFunction, SwapAgent
from precompiles.abi import ParamDescription
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.agent_deployment import (
    AgentSettings,
    SilentDeployer,
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
from pyevm_agents.devnet.chain import ALIASES
from pyevm_agents.devnet.swap_world import NATIVE

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.tool_plan import AgentPlan, PlannedTool
    from pyevm_agents.devnet.chain import DevelopmentAccount
    from pyevm_agents.devnet.swap_world import SwapWorld

CONTRACTS = ("USDT", "router", "switch")
FUNCTIONS = ("USDT.balanceOf", "getAmountsOut", "swapExactETHForTokens", "swapExactTokensForETH")

MOST_WEI = 5 * NATIVE


def deploy_swap_agent(
    chain: Chain, sender: DevelopmentAccount, world: SwapWorld
) -> tuple[SwapAgent, str]:
    """Deploy an account with funds, its tools and its agent; return the agent, and a refusal.

    The refusal is the line of the base prompt that says why the account cannot turn the switch.

    Raises: VMError: the chain refuses a contract.
    """
    deployer = SilentDeployer(sender)
    account = deploy_account(deployer)
    world.fund(account)
    plan = plan_swap_agent(chain, world, account)
    specs = [planned.spec for planned in plan.tools]
    tools = deploy_tools(deployer, deploy_factory(deployer), account, specs)
    functions = {
        tool: _describe(world, planned) for tool, planned in zip(tools, plan.tools, strict=True)
    }
    agent = deploy_agent(deployer, plan, tools, AgentSettings(model=ALIASES[0]))
    swap_agent = SwapAgent(
        address=agent,
        account=account,
        functions=functions,
        slippage_bps=SLIPPAGE_BPS,
        deadline_seconds=DEADLINE_SECONDS,
    )
    return swap_agent, find_refusal(plan)


def plan_swap_agent(chain: Chain, world: SwapWorld, account: Address) -> AgentPlan:
    """Inspect the router, a token and the switch for an account; return its tools and prompt."""
    contracts = [world.contracts[name] for name in CONTRACTS]
    found = inspect_contracts(
        chain,
        [
            InspectedContract(
                address=to_checksum_address(each.address),
                interface=read_interface(
                    [*each.artifact.abi], name=each.artifact.name, source="file"
                ),
            )
            for each in contracts
        ],
        to_checksum_address(account),
        analyse=analyse_functions,
    )
    metadata = get_chain_metadata(chain.config.chain_id)
    metadata = replace(metadata, native_symbol=world.native_symbol)
    return plan_agent(found, metadata, PlanOptions(functions=FUNCTIONS, most_wei=MOST_WEI))


def find_refusal(plan: AgentPlan) -> str:
    """Return why an account cannot turn the switch, as its base prompt says it.

    Raises: ValueError: the prompt does not say it.
    """
    for line in plan.base_prompt.splitlines():
        if line.startswith("I cannot call adminFunction "):
            return line
    raise ValueError("adminFunction: the analysis says that the account can call it")


def _describe(world: SwapWorld, planned: PlannedTool) -> AgentFunction:
    spec = planned.spec
    names = {each.address: each.name for each in world.contracts.values()}
    return AgentFunction(
        name=spec.name,
        contract=names[Address(to_canonical_address(spec.target))],
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
