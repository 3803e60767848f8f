"""The stage of a benchmark: the swap world with its agent, and the refusal that is expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.scenarios.swap.agent import deploy_swap_agent, find_refusal
from pyevm_agents.scenarios.swap.market import describe_world
from pyevm_agents.scenarios.swap.world import SwapWorld

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.scenarios.swap.agent import SwapAgent
    from pyevm_agents.scenarios.swap.market import SwapMarket


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapStage:
    """A market with an agent, and the account that owns it."""

    sender: LocalAccount
    market: SwapMarket
    agent: SwapAgent
    refusal: str
    """The line of the base prompt that says why the account cannot turn the switch."""


def deploy_stage(chain: Chain, native_symbol: str) -> SwapStage:
    """Deploy the world, and an agent with funds.

    Raises: RevertedError: the chain refuses a contract.
    """
    sender = LocalAccount(chain)
    world = SwapWorld(sender, native_symbol=native_symbol)
    market = describe_world(world)
    agent = deploy_swap_agent(sender, market, world.fund)
    return SwapStage(sender=sender, market=market, agent=agent, refusal=find_refusal(agent))
