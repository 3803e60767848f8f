"""`eth_*` methods for logs, filters and subscriptions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.rpc.block_ids import find_first_number, resolve_number
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.logs import LogCriteria, find_logs, parse_log_criteria
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import BlockId, accept_any, parse_text

if TYPE_CHECKING:
    from pyevm_agents.node import Node
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
def get_logs(rpc: RequestContext, filter: LogCriteria) -> list[Json]:  # noqa: A002 - the name in execution-apis
    """Return the logs that match, in order."""
    return [*find_logs(rpc.node, filter)]


@METHODS.method("eth_newFilter", parse_log_criteria)
def new_filter(rpc: RequestContext, filter: LogCriteria) -> str:  # noqa: A002 - the name in execution-apis
    """Open a filter for logs; return the id. The first poll has the logs from `fromBlock` on."""
    node, first_local = rpc.node, find_first_number(rpc.node)
    # The remote blocks of a fork do not change: only the local ones are read between two blocks.
    remote = _find_logs_within(node, filter, 0, first_local - 1)

    def open_filter() -> str:
        local = _find_logs_within(node, filter, first_local, int(node.chain.head.block_number))
        return rpc.events.open_filter("logs", filter, [*remote, *local])

    return rpc.run_exclusive(open_filter)


def _find_logs_within(node: Node, criteria: LogCriteria, first: int, last: int) -> list[Json]:
    """Return the logs of a range of blocks that a new filter begins with.

    Output: none without `fromBlock`, or where that is a tag of the end of the chain.
    Source: anvil and Hardhat, `eth_newFilter`. geth's filters begin with no logs.
    """
    begins = criteria.first.number is not None or criteria.first.tag == "earliest"
    if not begins or criteria.block_hash is not None:
        return []
    lowest = max(first, resolve_number(criteria.first, last))
    highest = min(last, resolve_number(criteria.last, last))
    if lowest > highest:
        return []
    within = replace(criteria, first=BlockId(number=lowest), last=BlockId(number=highest))
    return [*find_logs(node, within)]


@METHODS.method("eth_newBlockFilter")
def new_block_filter(rpc: RequestContext) -> str:
    """Open a filter for blocks; return the id."""
    return rpc.events.open_filter("blocks")


@METHODS.method("eth_newPendingTransactionFilter")
def new_pending_transaction_filter(rpc: RequestContext) -> str:
    """Open a filter for pending transactions; return the id."""
    return rpc.events.open_filter("pending")


@METHODS.method("eth_getFilterChanges", parse_text)
def get_filter_changes(rpc: RequestContext, filter_id: str) -> list[object]:
    """Return the results of a filter since the last poll."""
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
    """Close a filter; return whether found."""
    return rpc.events.close_filter(filter_id)


# Quick, so that the response precedes the notifications. Parsing `options` takes a millisecond.
@METHODS.method("eth_subscribe", parse_text, optional(accept_any), is_quick=True)
def subscribe(rpc: RequestContext, kind: str, options: object) -> str:
    """Subscribe to new heads, logs or pending transactions; return the subscription id."""
    if kind not in SUBSCRIPTIONS:
        raise RpcError(INVALID_PARAMS, f"subscription {kind!r}: must be {', '.join(SUBSCRIPTIONS)}")
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
    """Cancel a subscription; return whether found."""
    return rpc.session is not None and rpc.events.unsubscribe(subscription_id, rpc.session)
