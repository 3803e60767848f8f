"""`eth_*` that find logs, poll and subscribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.logs import LogCriteria, find_logs, parse_log_criteria
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import accept_any, parse_text

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.filters import EventKind
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

SUBSCRIPTIONS: dict[str, EventKind] = {
    "newHeads": "blocks",
    "logs": "logs",
    "newPendingTransactions": "pending",
    "syncing": "syncing",
}


@METHODS.method("eth_getLogs", parse_log_criteria)
def get_logs(rpc: RequestContext, filter: LogCriteria) -> list[Json]:  # noqa: A002 - execution-apis calls it so
    """Return the logs that match, in order."""
    return [*find_logs(rpc.node, filter)]


@METHODS.method("eth_newFilter", parse_log_criteria)
def new_filter(rpc: RequestContext, filter: LogCriteria) -> str:  # noqa: A002 - execution-apis calls it so
    """Open a filter for logs; return its id."""
    return rpc.events.open_filter("logs", filter)


@METHODS.method("eth_newBlockFilter")
def new_block_filter(rpc: RequestContext) -> str:
    """Open a filter for blocks; return its id."""
    return rpc.events.open_filter("blocks")


@METHODS.method("eth_newPendingTransactionFilter")
def new_pending_transaction_filter(rpc: RequestContext) -> str:
    """Open a filter for transactions that begin to wait; return its id."""
    return rpc.events.open_filter("pending")


@METHODS.method("eth_getFilterChanges", parse_text)
def get_filter_changes(rpc: RequestContext, filter_id: str) -> list[object]:
    """Return what a filter found since it was last asked."""
    return rpc.events.poll_changes(filter_id)


@METHODS.method("eth_getFilterLogs", parse_text)
def get_filter_logs(rpc: RequestContext, filter_id: str) -> list[Json]:
    """Return all logs that match a filter."""
    entry = rpc.events.get_filter(filter_id)
    if entry.kind != "logs":
        raise RpcError(INVALID_PARAMS, f"filter {filter_id} is for {entry.kind}, not for logs")
    return [*find_logs(rpc.node, entry.criteria)]


@METHODS.method("eth_uninstallFilter", parse_text)
def uninstall_filter(rpc: RequestContext, filter_id: str) -> bool:
    """Close a filter; return whether there was one."""
    return rpc.events.close_filter(filter_id)


# Quick, so that its answer precedes what is told. Reading `options` takes a millisecond at most.
@METHODS.method("eth_subscribe", parse_text, optional(accept_any), is_quick=True)
def subscribe(rpc: RequestContext, kind: str, options: object) -> str:
    """Be told of new heads, logs or waiting transactions; return the subscription's id."""
    if kind not in SUBSCRIPTIONS:
        raise RpcError(
            INVALID_PARAMS, f"no subscription {kind!r}; there are {', '.join(SUBSCRIPTIONS)}"
        )
    if rpc.session is None:
        raise RpcError(INVALID_PARAMS, "notifications not supported: connect by WebSocket")
    criteria = LogCriteria()
    if kind == "logs" and options is not None:
        criteria = parse_log_criteria(options, "options")
    is_full = kind == "newPendingTransactions" and options is True
    return rpc.events.subscribe(
        SUBSCRIPTIONS[kind], rpc.session, criteria=criteria, is_full=is_full
    )


@METHODS.method("eth_unsubscribe", parse_text, is_quick=True)
def unsubscribe(rpc: RequestContext, subscription_id: str) -> bool:
    """Be told no more; return whether there was such a subscription."""
    return rpc.session is not None and rpc.events.unsubscribe(subscription_id, rpc.session)
