"""What happens on a node, for who polls (filters) and for who is told (subscriptions).

After `evm_revert` the logs of the blocks that are gone come again with `removed: true`, the latest
first; then whatever is mined in their place.

Source: execution-apis `eth_newFilter` and its kin; geth's pub/sub.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyevm_agents.chain import Record
from pyevm_agents.node.node import Watcher
from pyevm_agents.rpc import formats
from pyevm_agents.rpc.agent_events import StepSubscriptions
from pyevm_agents.rpc.agent_trace import keep_traces
from pyevm_agents.rpc.errors import INVALID_PARAMS, LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.logs import LogCriteria, logs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node import Node
    from pyevm_agents.node.pool import Waiting
    from pyevm_agents.rpc.session import Session

Kind: TypeAlias = Literal["blocks", "logs", "pending", "syncing"]
"""Of "syncing" nobody is ever told anything: there is nobody to sync with."""

MAX_FILTERS = 1_000
"""Filters that may be open at once; the one that was not polled for longest goes."""

MAX_QUEUED = 100_000
"""Results that a filter keeps until it is polled; older ones are dropped."""


@dataclass(slots=True, kw_only=True)
class Filter:
    """What somebody polls for."""

    kind: Kind
    criteria: LogCriteria = field(default_factory=LogCriteria)
    queue: deque[object] = field(default_factory=lambda: deque(maxlen=MAX_QUEUED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What somebody is told."""

    kind: Kind
    criteria: LogCriteria
    is_full: bool
    """Whether of waiting transactions all is told, or the hash."""

    tell: Callable[[object], None]


class Events:
    """Filters and subscriptions of a node. All of it may be used in any thread."""

    def __init__(self, node: Node) -> None:
        """Begin to listen."""
        self._node = node
        self._lock = threading.Lock()
        self._filters: dict[str, Filter] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._numbers = itertools.count(1)
        self.steps = StepSubscriptions(node)
        """Who is told of agents' steps."""

        node.watch(Watcher(mined=self._mined, waits=self._waits, undone=self._undone))

    # -- polling -- #

    def new_filter(self, kind: Kind, criteria: LogCriteria | None = None) -> str:
        """Open a filter; return its id."""
        with self._lock:
            if len(self._filters) >= MAX_FILTERS:
                del self._filters[next(iter(self._filters))]
            name = hex(next(self._numbers))
            self._filters[name] = Filter(kind=kind, criteria=criteria or LogCriteria())
            return name

    def filter(self, name: str) -> Filter:
        """Return a filter that is open.

        Raises: RpcError: there is none.
        """
        with self._lock:
            found = self._filters.pop(name, None)
            if found is None:
                raise RpcError(INVALID_PARAMS, f"filter not found: {name}")
            self._filters[name] = found  # The last one that was polled.
            return found

    def changes(self, name: str) -> list[object]:
        """Return what came since the last poll.

        Raises: RpcError: there is no such filter.
        """
        found = self.filter(name)
        with self._lock:
            changes = [*found.queue]
            found.queue.clear()
        return changes

    def close_filter(self, name: str) -> bool:
        """Close a filter; return whether there was one."""
        with self._lock:
            return self._filters.pop(name, None) is not None

    # -- telling -- #

    def subscribe(
        self, kind: Kind, session: Session, *, criteria: LogCriteria, is_full: bool
    ) -> str:
        """Tell a session from now on; return the subscription's id.

        Raises: RpcError: it can't be told anything.
        """
        notify = session.notify
        if notify is None:
            raise RpcError(LIMIT_EXCEEDED, "notifications not supported: connect by WebSocket")
        name = f"0x{next(self._numbers):032x}"

        def tell(result: object) -> None:
            notify(
                {
                    "jsonrpc": "2.0",
                    "method": "eth_subscription",
                    "params": {"subscription": name, "result": result},
                }
            )

        with self._lock:
            self._subscriptions[name] = Subscription(
                kind=kind, criteria=criteria, is_full=is_full, tell=tell
            )
        session.on_close(lambda: self._forget(name))
        return name

    def unsubscribe(self, name: str) -> bool:
        """Tell no more; return whether there was such a subscription."""
        with self._lock:
            return self._subscriptions.pop(name, None) is not None

    def _forget(self, name: str) -> None:
        self.unsubscribe(name)

    # -- what happens, in the thread that executes -- #

    def _open(self, kind: Kind) -> Iterator[Filter]:
        return (one for one in self._filters.values() if one.kind == kind)

    def _told(self, kind: Kind) -> Iterator[Subscription]:
        return (one for one in self._subscriptions.values() if one.kind == kind)

    def _mined(self, mined: MinedBlock) -> None:
        record = Record(block=mined.block, receipts=mined.receipts)
        keep_traces(self._node.chain, mined)
        with self._lock:
            for one in self._open("blocks"):
                one.queue.append(formats.data(mined.block.hash))
            for told in self._told("blocks"):
                told.tell(formats.header_json(mined.block.header))
            self._tell_logs(record)

    def _tell_logs(self, record: Record, *, is_removed: bool = False) -> None:
        takers = [(one.criteria, one.queue.append) for one in self._open("logs")]
        takers += [(told.criteria, told.tell) for told in self._told("logs")]
        for criteria, take in takers:
            logs = [log | {"removed": is_removed} for log in logs_of(record, criteria)]
            for log in reversed(logs) if is_removed else logs:
                take(log)

    def _waits(self, waiting: Waiting) -> None:
        transaction = waiting.transaction
        with self._lock:
            for one in self._open("pending"):
                one.queue.append(formats.data(transaction.hash))
            for told in self._told("pending"):
                whole = formats.transaction_json(transaction) if told.is_full else None
                told.tell(whole or formats.data(transaction.hash))

    def _undone(self, headers: list[BlockHeaderAPI]) -> None:
        with self._lock:
            for header in headers:
                self._tell_logs(self._node.chain.record(header), is_removed=True)
