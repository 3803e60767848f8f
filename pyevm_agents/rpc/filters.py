"""Filters (polled) and subscriptions (pushed) of a node's blocks, logs and transactions.

After `evm_revert` the logs of the reverted blocks are sent again with `removed: true`, the latest
first; then those of the blocks that replace them.

Source: execution-apis, `eth_newFilter` and the other filter methods; geth's pub/sub.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from time import monotonic  # noqa: TID251 - when a filter was polled; no block depends on it
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyevm_agents.chain import BlockRecord
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.agent_subscriptions import StepSubscriptions
from pyevm_agents.rpc.errors import INVALID_PARAMS, LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.logs import LogCriteria, filter_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.session import Session

EventKind: TypeAlias = Literal["blocks", "logs", "pending", "syncing"]
"""A "syncing" subscription gets no notifications: the node has no peers."""

MAX_FILTERS = 1_000
"""Open filters of a node; beyond, the least recently polled one is removed."""

MAX_QUEUED = 100_000
"""Unpolled results of all filters; beyond, the least recently polled filter is removed. A log takes
about 2 KB."""

MAX_SUBSCRIPTIONS = 1_000
"""Open subscriptions of a session, each of which is notified of every block. A page needs some
dozens."""

IDLE_SECONDS = 300.0
"""Seconds after which an unpolled filter is removed. Source: geth's `deadline`, and anvil's."""


@dataclass(slots=True, kw_only=True)
class Filter:
    """An open filter and the unpolled results."""

    kind: EventKind
    polled_seconds: float
    """Time of the last poll, or of opening."""

    criteria: LogCriteria = field(default_factory=LogCriteria)
    queue: deque[object] = field(default_factory=deque)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A subscription of a session."""

    kind: EventKind
    criteria: LogCriteria
    is_full: bool
    """Whether pending transactions are sent in full instead of by hash."""

    session: Session
    send: Callable[[object], None]


class EventSystem:
    """Filters and subscriptions of a node. Thread-safe.

    Results are serialized outside the lock, once for all subscriptions: subscribing never blocks.
    """

    def __init__(self, node: Node, *, now: Callable[[], float] = monotonic) -> None:
        """Listen to a node.

        Input: the node; the clock, in seconds.
        """
        self._node = node
        self._now = now
        self._lock = threading.Lock()
        self._filters: dict[str, Filter] = {}
        """Filters by id, the least recently polled first."""

        self._queued_count = 0
        """Unpolled results of all filters."""

        self._subscriptions: dict[str, Subscription] = {}
        self._numbers = itertools.count(1)
        self.steps = StepSubscriptions(node, self._numbers)
        """Subscriptions to agents' steps."""

        node.listeners.add(
            NodeListener(
                on_mined=self._on_mined, on_pending=self._on_pending, on_reorg=self._on_reorg
            )
        )

    # -- polling -- #

    def open_filter(
        self,
        kind: EventKind,
        criteria: LogCriteria | None = None,
        earlier: Sequence[object] = (),
    ) -> str:
        """Open a filter; return the id.

        Input:  the kind; the logs that match; the results of the first poll that are there already.
        Raises: RpcError: more results than all filters may keep.
        """
        if len(earlier) > MAX_QUEUED:
            raise RpcError(
                LIMIT_EXCEEDED,
                f"query returned more than {MAX_QUEUED:,} results; give a later fromBlock",
            )
        with self._lock:
            self._drop_idle()
            if len(self._filters) >= MAX_FILTERS:
                self._drop(next(iter(self._filters)))
            name = hex(next(self._numbers))
            self._filters[name] = Filter(
                kind=kind, polled_seconds=self._now(), criteria=criteria or LogCriteria()
            )
            self._enqueue(self._filters[name], earlier)
            return name

    def get_filter(self, name: str) -> Filter:
        """Return an open filter.

        Raises: RpcError: the filter is unknown.
        """
        with self._lock:
            return self._refresh_filter(name)

    def poll_changes(self, name: str) -> list[object]:
        """Return the results since the last poll.

        Raises: RpcError: the filter is unknown.
        """
        with self._lock:
            queue = self._refresh_filter(name).queue
            changes = [*queue]
            self._queued_count -= len(queue)
            queue.clear()
        return changes

    def _refresh_filter(self, name: str) -> Filter:
        self._drop_idle()
        event_filter = self._filters.pop(name, None)
        if event_filter is None:
            raise RpcError(INVALID_PARAMS, f"filter not found: {name}")
        event_filter.polled_seconds = self._now()
        self._filters[name] = event_filter
        return event_filter

    def _drop_idle(self) -> None:
        end = self._now() - IDLE_SECONDS
        for name, event_filter in [*self._filters.items()]:
            if event_filter.polled_seconds > end:
                return
            self._drop(name)

    def _drop(self, name: str) -> None:
        self._queued_count -= len(self._filters.pop(name).queue)

    def _enqueue(self, event_filter: Filter, results: Sequence[object]) -> None:
        event_filter.queue.extend(results)
        self._queued_count += len(results)
        while self._queued_count > MAX_QUEUED:
            self._drop(next(iter(self._filters)))

    def close_filter(self, name: str) -> bool:
        """Close a filter; return whether found."""
        with self._lock:
            is_open = name in self._filters
            if is_open:
                self._drop(name)
            return is_open

    # -- subscriptions -- #

    def subscribe(
        self, kind: EventKind, session: Session, *, criteria: LogCriteria, is_full: bool
    ) -> str:
        """Subscribe a session; return the subscription id.

        Raises: RpcError: the transport has no notifications, or the session has too many
                subscriptions.
        """
        notify = session.notify
        if notify is None:
            raise RpcError(LIMIT_EXCEEDED, "notifications not supported: connect by WebSocket")
        name = f"0x{next(self._numbers):032x}"

        def send(result: object) -> None:
            notify(
                {
                    "jsonrpc": "2.0",
                    "method": "eth_subscription",
                    "params": {"subscription": name, "result": result},
                }
            )

        with self._lock:
            if self._count_subscriptions(session) >= MAX_SUBSCRIPTIONS:
                raise RpcError(
                    LIMIT_EXCEEDED,
                    f"too many subscriptions on this connection: at most {MAX_SUBSCRIPTIONS:,}; "
                    "cancel some with eth_unsubscribe",
                )
            self._subscriptions[name] = Subscription(
                kind=kind, criteria=criteria, is_full=is_full, session=session, send=send
            )
        session.on_close(lambda: self._forget(name))
        return name

    def unsubscribe(self, name: str, session: Session) -> bool:
        """Cancel a subscription of a session; return whether found."""
        with self._lock:
            subscription = self._subscriptions.get(name)
            if subscription is None or subscription.session is not session:
                return False
            del self._subscriptions[name]
            return True

    def _count_subscriptions(self, session: Session) -> int:
        return sum(entry.session is session for entry in self._subscriptions.values())

    def _forget(self, name: str) -> None:
        with self._lock:
            self._subscriptions.pop(name, None)

    # -- node events, in the executing or the sending thread -- #

    def _publish(
        self, kind: EventKind, polled: object, builder: Callable[[Subscription], object]
    ) -> None:
        """Publish a result to the filters and subscriptions of a kind.

        Input:  the result for filters; a function that builds the result for a subscription.
        """
        with self._lock:
            self._drop_idle()
            for event_filter in [entry for entry in self._filters.values() if entry.kind == kind]:
                self._enqueue(event_filter, [polled])
            subscriptions = self._list_subscriptions(kind)
        for subscription in subscriptions:
            subscription.send(builder(subscription))

    def _list_subscriptions(self, kind: EventKind) -> list[Subscription]:
        return [entry for entry in self._subscriptions.values() if entry.kind == kind]

    def _publish_logs(self, record: BlockRecord, *, is_removed: bool = False) -> None:
        if not any(receipt.logs for receipt in record.receipts):
            return
        logs = [log | {"removed": is_removed} for log in filter_logs(record, LogCriteria())]
        logs = logs[::-1] if is_removed else logs
        with self._lock:
            for event_filter in [entry for entry in self._filters.values() if entry.kind == "logs"]:
                self._enqueue(event_filter, [*filter(event_filter.criteria.matches, logs)])
            subscriptions = self._list_subscriptions("logs")
        for subscription in subscriptions:
            for log in filter(subscription.criteria.matches, logs):
                subscription.send(log)

    def _on_mined(self, mined: MinedBlock) -> None:
        header = mined.block.header
        form = cache(lambda: serializers.serialize_header(header))
        self._publish("blocks", serializers.encode_data(header.hash), lambda _: form())
        self._publish_logs(BlockRecord(block=mined.block, receipts=mined.receipts))

    def _on_pending(self, transaction: SignedTransactionAPI) -> None:
        hashed = serializers.encode_data(transaction.hash)
        form = cache(lambda: serializers.serialize_transaction(transaction))
        self._publish("pending", hashed, lambda each: form() if each.is_full else hashed)

    def _on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        for header in headers:
            self._publish_logs(self._node.chain.block_with_receipts(header), is_removed=True)
