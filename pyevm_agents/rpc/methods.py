"""All tables of methods together, and the service that answers from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc import (
    agent,
    debug_raw,
    eth_access_list,
    eth_events,
    eth_fees,
    eth_proof,
    eth_send,
    eth_simulate,
    eth_state,
    evm,
    net,
)
from pyevm_agents.rpc.context import Rpc
from pyevm_agents.rpc.events import Events
from pyevm_agents.rpc.service import NodeService

if TYPE_CHECKING:
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.table import Method

TABLES = (
    agent,
    eth_state,
    eth_send,
    eth_events,
    eth_fees,
    eth_proof,
    eth_access_list,
    eth_simulate,
    debug_raw,
    evm,
    net,
)


def all_methods() -> dict[str, Method]:
    """Return every method by name."""
    return {name: method for table in TABLES for name, method in table.METHODS.methods.items()}


def node_service(node: Node) -> NodeService:
    """Return what answers all methods about a node."""
    return NodeService(Rpc(node=node, events=Events(node)), all_methods(), {})
