"""Fixtures: an agent with a counter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from web3.contract import Contract

    from pyevm_agents.testing.chain import AgentChain


@pytest.fixture
def counter(agent_chain: AgentChain) -> Contract:
    deployed: Contract = agent_chain.deploy("CounterTool")
    return deployed


@pytest.fixture
def agent(agent_chain: AgentChain, counter: Contract) -> Contract:
    deployed: Contract = clerk(agent_chain, counter)
    return deployed
