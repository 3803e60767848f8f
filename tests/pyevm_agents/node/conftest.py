"""Nodes on a clock that stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import Keys, MiningMode, Node
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS, START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.pyevm_agents.node.senders_of_tests import MakeNode


@pytest.fixture
def make() -> Iterator[MakeNode]:
    """Make nodes that are closed at the end."""
    nodes: list[Node] = []

    def make(
        *,
        gas_limit: int = 30_000_000,
        now: Callable[[], float] | None = None,
        rehearses: bool = False,
        **mining: Any,  # noqa: ANN401
    ) -> Node:
        config = ChainConfig(block_gas_limit=gas_limit)
        chain = Chain(
            config, accounts={one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
        )
        node = Node(
            chain,
            now=now or (lambda: START + 100.0),
            keys=Keys(KEYS),
            mining=MiningMode(**mining),
            since_seconds=START,
            rehearses=rehearses,
        )
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.close()
