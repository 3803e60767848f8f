"""Nodes on a clock that stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import Keys, MiningMode, Node
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS, START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eth_typing import Address

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
        codes: Mapping[Address, bytes] | None = None,
        **mining: Any,  # noqa: ANN401
    ) -> Node:
        config = ChainConfig(block_gas_limit=gas_limit)
        accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
        accounts |= {one: GenesisAccount(nonce=1, code=code) for one, code in (codes or {}).items()}
        chain = Chain(config, accounts=accounts)
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
