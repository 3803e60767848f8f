"""The scenario `swap`: five requests to an agent for Uniswap V2, whose tools the analysis made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.contract_intelligence.swap_demo import (
    SWAP_CHAIN_ID,
    SwapDemo,
    change_chain_id,
)
from pyevm_agents.devnet.scenarios import (
    Scenario,
    require_scenario,
    require_success,
    restart_from_state,
)

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain


def _build_swap(building: Chain) -> Chain:
    demo = SwapDemo.deploy(change_chain_id(building, SWAP_CHAIN_ID))
    chain = restart_from_state(demo.chain)
    demo.move_to(chain)
    for run in demo.run_all():
        who = f"the agent's run of {run.instruction!r}"
        require_success(run.computation, who)
        require_scenario(run.is_ideal, f"{who} is not the ideal: {'; '.join(run.differences)}")
    return chain


SWAP = Scenario(
    comment="An agent for Uniswap V2 whose tools come from an analysis of the contracts: a "
    "balance, a quote, a swap, a function that its account cannot call, and a swap back with the "
    "approval that it needs.",
    make=_build_swap,
)
