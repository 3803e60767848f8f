"""The same agent on chains of several ids: on devnets, and by callback on anvil."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.contract_intelligence.argument_derivation import DEADLINE_SECONDS
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.models import CachingModel
from pyevm_agents.scenarios.swap.world import ONE_NATIVE, WRAPPED
from tests.pyevm_agents.contract_intelligence.chain_agents import (
    SharedModel,
    open_anvil,
    open_devnet,
)

if TYPE_CHECKING:
    from pyevm_agents.contract_intelligence.tool_spec import ToolSpec
    from pyevm_agents.models import LlamaModel
    from tests.pyevm_agents.contract_intelligence.chain_agents import (
        ChainAgent,
        EmbeddedAgent,
        Run,
    )

pytestmark = pytest.mark.slow

CHAIN_IDS = (1, 56, 97, 137, 42161)
"""Ethereum, BNB Smart Chain and its testnet, Polygon, Arbitrum One."""

GIVEN = ONE_NATIVE // 100
SHARED_CONTRACTS = ("AgentAccount", "AbiToolTexts", "AbiTool", "AbiToolFactory")
QUOTE, SWAP = "How much USDT for 0.01 {}?", "Swap 0.01 {} for USDT"


@pytest.fixture(scope="module")
def shared(llama: LlamaModel) -> SharedModel:
    facts = llama.profile_facts
    model = CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint)
    return SharedModel(model=model, facts=facts)


@pytest.fixture(scope="module")
def devnets(shared: SharedModel) -> dict[int, EmbeddedAgent]:
    """The agent on a devnet with each id."""
    symbols = {chain_id: get_chain_metadata(chain_id).native_symbol for chain_id in CHAIN_IDS}
    return {each: open_devnet(shared, each, symbol) for each, symbol in symbols.items()}


def require_runs(agent: ChainAgent) -> tuple[Run, Run]:
    """Ask for a quote and a swap; return the runs after the checks that hold on every chain."""
    got = agent.world.quote(GIVEN, WRAPPED, "USDT")
    usdt, wei = agent.read_balances()
    quote = agent.ask(QUOTE.format(agent.symbol))
    assert agent.read_balances() == (usdt, wei)
    assert {agent.find_function(tool) for tool in quote.tools} <= {"getAmountsOut"}
    swap = agent.ask(SWAP.format(agent.symbol))
    assert quote.swaps == ()
    assert [agent.find_function(tool) for tool in swap.tools] == ["swapExactETHForTokens"]
    assert agent.read_balances() == (usdt + got, wei - GIVEN)
    return quote, swap


def hide_symbol(text: str, symbol: str) -> str:
    """Return a text without the native symbol, which is no part of another word."""
    return re.sub(rf"(?<![A-Za-z]){symbol}(?![A-Za-z])", "NATIVE", text)


def hide_symbol_of(spec: ToolSpec, symbol: str) -> ToolSpec:
    """Return a tool without its name, and without the native symbol in its descriptions."""
    arguments = tuple(
        replace(each, description=hide_symbol(each.description, symbol)) for each in spec.arguments
    )
    value = replace(spec.value, description=hide_symbol(spec.value.description, symbol))
    description = hide_symbol(spec.description, symbol)
    return replace(spec, name="Tool", description=description, arguments=arguments, value=value)


def test_all_chains_have_the_same_agent(devnets: dict[int, EmbeddedAgent]) -> None:
    assert [agent.symbol for agent in devnets.values()] == ["ETH", "BNB", "BNB", "POL", "ETH"]
    first = devnets[1]
    for chain_id, agent in devnets.items():
        assert agent.chain.config.chain_id == chain_id
        assert f" {agent.symbol} is the native currency." in agent.plan.base_prompt
        for name in SHARED_CONTRACTS:
            assert agent.creations[name] == first.creations[name], name
        assert (agent.account, agent.agent) == (first.account, first.agent)
        assert agent.world.tokens == first.world.tokens
        prompts = [hide_symbol(each.plan.base_prompt, each.symbol) for each in (agent, first)]
        assert prompts[0] == prompts[1]
        specs = [
            [hide_symbol_of(tool.spec, each.symbol) for tool in each.plan.tools]
            for each in (agent, first)
        ]
        assert specs[0] == specs[1]
        # Equal symbols: equal data, so the tools have the same addresses.
        assert (agent.tools == first.tools) == (agent.symbol == first.symbol)
        assert (agent.creations == first.creations) == (agent.symbol == first.symbol)
        # The wrapped token is what the router tells.
        told = to_checksum_address(agent.world.read("router", "WETH"))
        assert agent.router.relationships.wrapped_native == told
        assert told == to_checksum_address(agent.world.address(WRAPPED))


def test_runs_are_the_same_on_all_chains_and_by_callback(
    shared: SharedModel, devnets: dict[int, EmbeddedAgent]
) -> None:
    swaps = []
    for chain_id, embedded in devnets.items():
        runs = require_runs(embedded)
        swaps.append(runs[1])
        with open_anvil(shared, chain_id, embedded.symbol) as other:
            assert int(other.request("eth_chainId"), 16) == chain_id
            assert (other.account, other.tools) == (embedded.account, embedded.tools)
            assert other.plan.base_prompt == embedded.plan.base_prompt
            assert other.router.relationships == embedded.router.relationships
            assert require_runs(other) == runs, chain_id
    [call] = swaps[0].swaps
    assert call.seconds_left == DEADLINE_SECONDS
    for swap in swaps:
        assert swap.swaps == (call,)
        assert swap.observations == swaps[0].observations
