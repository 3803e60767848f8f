"""All tables of methods, and the service that answers with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.context import Rpc
from pyevm_agents.rpc.filters import Events
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.methods import (
    agent,
    agent_subscribe,
    anvil,
    debug_state,
    debug_trace,
    eth_call,
    eth_call_many,
    eth_config,
    eth_fees,
    eth_filters,
    eth_nonstandard,
    eth_proof,
    eth_send,
    eth_sign,
    eth_simulate,
    eth_state,
    evm,
    net,
    ots,
    trace_execute,
    trace_mined,
)
from pyevm_agents.rpc.service import NodeService
from pyevm_agents.rpc.unsupported import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.node import Node
    from pyevm_agents.rpc.method_table import Method

METHODS = Table()


@METHODS.method("rpc_modules", is_quick=True)
def rpc_modules(rpc: Rpc) -> dict[str, str]:  # noqa: ARG001 - as all methods
    """Return the namespaces that have methods, each with its version."""
    return dict.fromkeys(sorted({name.partition("_")[0] for name in all_methods()}), "1.0")


TABLES: tuple[Table, ...] = (
    agent.METHODS,
    agent_subscribe.METHODS,
    eth_state.METHODS,
    eth_call.METHODS,
    eth_call_many.METHODS,
    eth_config.METHODS,
    eth_send.METHODS,
    eth_sign.METHODS,
    eth_nonstandard.METHODS,
    eth_fees.METHODS,
    eth_filters.METHODS,
    net.METHODS,
    evm.METHODS,
    anvil.METHODS,
    eth_proof.METHODS,
    eth_simulate.METHODS,
    debug_state.METHODS,
    debug_trace.METHODS,
    trace_mined.METHODS,
    trace_execute.METHODS,
    ots.METHODS,
    METHODS,
)


def merged(tables: Iterable[Table]) -> dict[str, Method]:
    """Return the methods of several tables.

    Raises: TypeError: two tables have one name.
    """
    methods: dict[str, Method] = {}
    for table in tables:
        for name, method in table.methods.items():
            if name in methods:
                raise TypeError(
                    f"{name} is both {methods[name].answer.__module__}'s and "
                    f"{method.answer.__module__}'s; enter it in one table"
                )
            methods[name] = method
    return methods


def all_methods() -> dict[str, Method]:
    """Return every method by name."""
    return merged(TABLES)


def node_service(node: Node, *, send_seconds: float = 2.0) -> NodeService:
    """Return what answers requests about a node.

    Input: how long a send waits for its block before it answers with the hash.
    """
    methods = all_methods()
    rpc = Rpc(node=node, events=Events(node), send_seconds=send_seconds)
    return NodeService(rpc, methods, {n: why for n, why in ABSENT.items() if n not in methods})
