"""`eth_*` that find logs, poll and subscribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.logs import LogCriteria, find_logs, log_criteria
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import anything, text

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.filters import Kind
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

SUBSCRIPTIONS: dict[str, Kind] = {
    "newHeads": "blocks",
    "logs": "logs",
    "newPendingTransactions": "pending",
    "syncing": "syncing",
}


@METHODS.method("eth_getLogs", log_criteria)
def get_logs(rpc: Rpc, filter: LogCriteria) -> list[Json]:  # noqa: A002 - execution-apis calls it so
    """Return the logs that match, in order."""
    return [*find_logs(rpc.node, filter)]


@METHODS.method("eth_newFilter", log_criteria)
def new_filter(rpc: Rpc, filter: LogCriteria) -> str:  # noqa: A002 - execution-apis calls it so
    """Open a filter for logs; return its id."""
    return rpc.events.new_filter("logs", filter)


@METHODS.method("eth_newBlockFilter")
def new_block_filter(rpc: Rpc) -> str:
    """Open a filter for blocks; return its id."""
    return rpc.events.new_filter("blocks")


@METHODS.method("eth_newPendingTransactionFilter")
def new_pending_transaction_filter(rpc: Rpc) -> str:
    """Open a filter for transactions that begin to wait; return its id."""
    return rpc.events.new_filter("pending")


@METHODS.method("eth_getFilterChanges", text)
def get_filter_changes(rpc: Rpc, filter_id: str) -> list[object]:
    """Return what a filter found since it was last asked."""
    return rpc.events.changes(filter_id)


@METHODS.method("eth_getFilterLogs", text)
def get_filter_logs(rpc: Rpc, filter_id: str) -> list[Json]:
    """Return all logs that match a filter."""
    found = rpc.events.filter(filter_id)
    if found.kind != "logs":
        raise RpcError(INVALID_PARAMS, f"filter {filter_id} is for {found.kind}, not for logs")
    return [*find_logs(rpc.node, found.criteria)]


@METHODS.method("eth_uninstallFilter", text)
def uninstall_filter(rpc: Rpc, filter_id: str) -> bool:
    """Close a filter; return whether there was one."""
    return rpc.events.close_filter(filter_id)


# Quick, so that its answer precedes what is told. Reading `options` takes a millisecond at most.
@METHODS.method("eth_subscribe", text, optional(anything), is_quick=True)
def subscribe(rpc: Rpc, kind: str, options: object) -> str:
    """Be told of new heads, logs or waiting transactions; return the subscription's id."""
    if kind not in SUBSCRIPTIONS:
        raise RpcError(
            INVALID_PARAMS, f"no subscription {kind!r}; there are {', '.join(SUBSCRIPTIONS)}"
        )
    if rpc.session is None:
        raise RpcError(INVALID_PARAMS, "notifications not supported: connect by WebSocket")
    criteria = LogCriteria()
    if kind == "logs" and options is not None:
        criteria = log_criteria(options, "options")
    is_full = kind == "newPendingTransactions" and options is True
    return rpc.events.subscribe(
        SUBSCRIPTIONS[kind], rpc.session, criteria=criteria, is_full=is_full
    )


@METHODS.method("eth_unsubscribe", text, is_quick=True)
def unsubscribe(rpc: Rpc, subscription_id: str) -> bool:
    """Be told no more; return whether there was such a subscription."""
    return rpc.session is not None and rpc.events.unsubscribe(subscription_id, rpc.session)
