"""Registry of all method tables, and the service of all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.call_watcher import DEFAULT_SECONDS, CallWatcher
from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.methods import (
    agent,
    agent_calls,
    agent_contracts,
    agent_export,
    agent_subscribe,
    anvil_mining,
    anvil_node,
    anvil_snapshots,
    anvil_state,
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
    net,
    ots,
    trace_execute,
    trace_mined,
    txpool,
)
from pyevm_agents.rpc.service import NodeService
from pyevm_agents.rpc.unsupported import UNSUPPORTED_METHODS
from pyevm_agents.tracing import TracePool

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyevm_agents.node import Node
    from pyevm_agents.rpc.method_table import RpcMethod

METHODS = MethodTable()


@METHODS.method("rpc_modules", is_quick=True)
def rpc_modules(rpc: RequestContext) -> dict[str, str]:  # noqa: ARG001 - the signature of a method
    """Return the namespaces of the methods, each with a version."""
    return dict.fromkeys(sorted({name.partition("_")[0] for name in collect_methods()}), "1.0")


TABLES: tuple[MethodTable, ...] = (
    agent.METHODS,
    agent_calls.METHODS,
    agent_contracts.METHODS,
    agent_export.METHODS,
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
    txpool.METHODS,
    anvil_mining.METHODS,
    anvil_snapshots.METHODS,
    anvil_state.METHODS,
    anvil_node.METHODS,
    eth_proof.METHODS,
    eth_simulate.METHODS,
    debug_state.METHODS,
    debug_trace.METHODS,
    trace_mined.METHODS,
    trace_execute.METHODS,
    ots.METHODS,
    METHODS,
)


def merge_tables(tables: Iterable[MethodTable]) -> dict[str, RpcMethod]:
    """Return the methods of several tables by name.

    Raises: TypeError: two tables have the same name.
    """
    methods: dict[str, RpcMethod] = {}
    for table in tables:
        for name, method in table.methods.items():
            if name in methods:
                raise TypeError(
                    f"method {name}: registered by {methods[name].handler.__module__} and "
                    f"{method.handler.__module__}; must be in one table"
                )
            methods[name] = method
    return methods


def collect_methods() -> dict[str, RpcMethod]:
    """Return every method by name."""
    return merge_tables(TABLES)


def build_node_service(  # noqa: PLR0913 - keyword arguments
    node: Node,
    *,
    send_seconds: float = 2.0,
    throws_on_failure: bool = False,
    call_gas: int | None = None,
    call_seconds: float = DEFAULT_SECONDS,
    trace_pool: TracePool | None = None,
    tables: Sequence[MethodTable] = (),
) -> NodeService:
    """Build the JSON-RPC service of a node.

    Input: the node; the seconds that a send waits for a block before returning the hash; whether a
           send whose transaction fails is an error; the maximum gas limit of a call, None for the
           default; the time limit of a call in seconds; the memory that the traces of all requests
           share, None for the default; tables of further methods, of packages above this one.
    """
    methods = merge_tables((*TABLES, *tables))
    rpc = RequestContext(
        node=node,
        events=EventSystem(node),
        send_seconds=send_seconds,
        throws_on_failure=throws_on_failure,
        call_gas=call_gas,
        calls=CallWatcher(call_seconds),
        trace_pool=TracePool() if trace_pool is None else trace_pool,
    )
    return NodeService(
        rpc, methods, {n: why for n, why in UNSUPPORTED_METHODS.items() if n not in methods}
    )
