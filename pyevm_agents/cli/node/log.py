"""The node's log: requests, transactions, steps of agents, `console.log`.

A separate thread writes, since Ctrl-S in the terminal blocks writing. A request's line is written
when the request has ended. Entries of the request wait for that line, but not for long.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import click

from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.agents.events import RunFaulted
from pyevm_agents.cli.node.call_trees import CallTrees
from pyevm_agents.cli.node.log_format import NodeLogFormatter, iter_mined_transactions
from pyevm_agents.errors import EngineFault
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.node.txpool import Leaving
from pyevm_agents.rpc.agent_subscriptions import Throttle, serialize_event
from pyevm_agents.rpc.dispatcher import RequestLogEntry
from pyevm_agents.server.thread_pool import STACK_BYTES
from pyevm_agents.vm.stack_depth import thread_stack_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.agents.events import Event
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.cli.node.log_format import MinedTransaction
    from pyevm_agents.cli.output import LiveOutput
    from pyevm_agents.node import Node
    from pyevm_agents.node.txpool import Departure

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Limit of unwritten entries. More are only counted."""

HELD_SECONDS = 0.25
"""Time that a transaction's lines wait for the request that sent it."""

END_SECONDS = 1.0
"""Time to write the last lines when the node stops."""

HANDSHAKES = frozenset({"eth_chainId", "net_version", "web3_clientVersion"})
"""Methods that clients call before each request, whose answers never change: the text shows the
first call of each alone."""

LIVE_SECONDS, JSON_SECONDS = 0.1, 1.0
"""Interval of progress on a live line, and in JSON."""


@dataclass(frozen=True, slots=True)
class _ConsoleEntry:
    thread_id: int
    line: str


@dataclass(frozen=True, slots=True)
class _WarningEntry:
    thread_id: int
    text: str


@dataclass(frozen=True, slots=True)
class _BlockEntry:
    thread_id: int
    transactions: tuple[MinedTransaction, ...]


@dataclass(frozen=True, slots=True)
class _NoteEntry:
    text: str
    is_live: bool


_Entry = RequestLogEntry | _ConsoleEntry | _WarningEntry | _BlockEntry | _NoteEntry


@dataclass(slots=True)
class _HeldEntries:
    """Entries that wait for the line of their request."""

    transactions: list[MinedTransaction] = field(default_factory=list)
    printed: dict[int, list[str]] = field(default_factory=dict)
    """Lines of calls, by the thread of the request."""

    warnings: dict[int, list[str]] = field(default_factory=dict)
    """Warnings about calls, by the thread of the request."""

    until: float | None = None


class NodeLog:
    """The log of a node, while the node's logging is on."""

    def __init__(
        self, node: Node, paper: LiveOutput, *, is_json: bool, has_traces: bool = False
    ) -> None:
        """Listen to a node, and start the writing thread.

        Input: the node; the output; whether entries are JSON; whether transactions have the tree of
               their calls.
        """
        self._node, self._paper, self._is_json = node, paper, is_json
        self._names = AddressNames(
            known=node.chain.known_contracts, get_code=partial(_get_code, node)
        )
        self._lines = NodeLogFormatter(paper, self._names)
        self._traces = CallTrees(node, self._names) if has_traces else None
        self._rhythm = Throttle(JSON_SECONDS if is_json else LIVE_SECONDS)
        self._entries: SimpleQueue[_Entry | Event | None] = SimpleQueue()
        self._dropped_count = 0
        self._held = _HeldEntries()
        self._shown_handshakes: set[str] = set()
        self._faulted: set[bytes] = set()
        """Transactions in the pool whose fault has a line."""

        self._stops: list[Callable[[], None]] = [
            node.listeners.add(
                NodeListener(
                    on_mined=self._on_mined_block,
                    on_console_log=self._on_console_log,
                    on_warning=self._on_warning,
                    on_dropped=self._on_dropped,
                )
            ),
            node.chain.agent_events.listen(self._on_step),
        ]
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        with thread_stack_size(STACK_BYTES):  # It replays transactions for their traces.
            self._thread.start()

    def record_request(self, answered: RequestLogEntry) -> None:
        """Log a request."""
        self._put(answered)

    def add_note(self, text: str, *, is_live: bool = False) -> None:
        """Log a message of the node itself.

        Input: is_live: whether the next message replaces this one.
        """
        self._entries.put(_NoteEntry(text, is_live))

    def close(self) -> None:
        """Write the remaining entries, and stop the thread."""
        for stop in self._stops:
            stop()
        self._stops.clear()
        self._entries.put(None)
        self._thread.join(END_SECONDS)

    # -- what happens, in any thread -- #

    def _on_console_log(self, line: str) -> None:
        self._put(_ConsoleEntry(threading.get_ident(), line))

    def _on_warning(self, text: str) -> None:
        self._put(_WarningEntry(threading.get_ident(), text))

    def _on_dropped(self, transaction: SignedTransactionAPI, departure: Departure) -> None:
        # A fault of an agent has a line of its own, and a removal that of its request.
        is_told = transaction.hash in self._faulted
        self._faulted.discard(transaction.hash)
        if departure.way is not Leaving.REMOVED and not (
            is_told and departure.way is Leaving.FAULT
        ):
            text = f"dropped transaction 0x{transaction.hash.hex()}: {departure.reason}"
            self._put(_NoteEntry(text, is_live=False))

    def _on_mined_block(self, mined: MinedBlock) -> None:
        if self._node.is_logging and mined.block.transactions:
            self._put(_BlockEntry(threading.get_ident(), tuple(iter_mined_transactions(mined))))

    def _on_step(self, event: Event) -> None:
        place = event.location
        if isinstance(event, RunFaulted) and place.purpose == "block" and place.transaction_hash:
            self._faulted.add(place.transaction_hash)
        if self._rhythm.take_turn(event):
            self._put(event)

    def _put(self, entry: _Entry | Event) -> None:
        if not self._node.is_logging:
            return
        if self._entries.qsize() < MAX_WAITING:
            self._entries.put(entry)
        else:
            self._dropped_count += 1

    # -- writing, in the log's own thread -- #

    def _write(self) -> None:
        while True:
            try:
                entry = self._wait_for_entry()
                if entry is None:
                    self._release()
                    self._paper.set_live_line("")
                    return
                self._handle_entry(entry)
                if self._dropped_count:
                    self._paper.write(
                        [f"… {self._dropped_count:,} lines left out: writing is slow"]
                    )
                    self._dropped_count = 0
            except OSError:
                return  # The reader closed the pipe; the node continues.
            except Exception:
                log.exception("The log failed: this is a bug, please report it")

    def _wait_for_entry(self) -> _Entry | Event | None:
        """Return the next entry; release held entries whose time is over meanwhile."""
        while True:
            until = self._held.until
            try:
                left = None if until is None else max(until - time.monotonic(), 0.0)
                return self._entries.get(timeout=left)
            except Empty:
                self._release()

    def _handle_entry(self, entry: _Entry | Event) -> None:
        match entry:
            case RequestLogEntry():
                self._write_request(entry)
            case _ConsoleEntry(thread_id=thread_id, line=line):
                self._held.printed.setdefault(thread_id, []).append(line)
                self._hold()
            case _WarningEntry(thread_id=thread_id, text=text):
                self._held.warnings.setdefault(thread_id, []).append(text)
                self._hold()
            case _BlockEntry(thread_id=thread_id, transactions=transactions):
                self._held.printed.pop(thread_id, None)  # They are in its transactions.
                self._held.warnings.pop(thread_id, None)
                self._held.transactions += transactions
                self._hold()
            case _NoteEntry(text=text, is_live=is_live):
                self._write_note(text, is_live=is_live)
            case _:
                self._write_step(entry)

    def _hold(self) -> None:
        if self._held.until is None:
            self._held.until = time.monotonic() + HELD_SECONDS

    def _write_request(self, answered: RequestLogEntry) -> None:
        held = self._held
        printed = held.printed.pop(answered.thread_id, [])
        warnings = held.warnings.pop(answered.thread_id, [])
        transactions = held.transactions if _can_mine_blocks(answered.method) else []
        if transactions:
            held.transactions = []
        if not (held.transactions or held.printed or held.warnings):
            held.until = None
        if self._is_json:
            _write_json(
                event="request",
                method=answered.method[:1_000],
                milliseconds=round(answered.milliseconds, 2),
                error=answered.error_code,
                message=answered.error_message,
                transport=answered.transport,
                console=printed,
                warnings=warnings,
            )
        elif not self._is_repeated(answered):
            self._paper.write(
                [
                    *self._lines.format_request(answered, printed),
                    *self._lines.format_warnings(warnings),
                ]
            )
        self._write_transactions(transactions)

    def _is_repeated(self, answered: RequestLogEntry) -> bool:
        """Whether a request is one that clients repeat before each other one."""
        if answered.method not in HANDSHAKES or answered.error_code is not None:
            return False
        is_repeated = answered.method in self._shown_handshakes
        self._shown_handshakes.add(answered.method)
        return is_repeated

    def _release(self) -> None:
        """Write the entries that waited for a request."""
        held, self._held = self._held, _HeldEntries()
        self._write_transactions(held.transactions)
        for printed in held.printed.values():
            if self._is_json:
                _write_json(event="console", console=printed)
            else:
                self._paper.write(self._lines.format_console_lines(printed))
        for warnings in held.warnings.values():
            if self._is_json:
                _write_json(event="warning", warnings=warnings)
            else:
                self._paper.write(self._lines.format_warnings(warnings))

    def _write_transactions(self, transactions: list[MinedTransaction]) -> None:
        for transaction in transactions:
            tree = () if self._traces is None else self._traces.trace(transaction.hash)
            if self._is_json:
                fields = transaction.as_json(self._names.known)
                if self._traces is not None:
                    fields["trace"] = [line.branches + line.text for line in tree]
                _write_json(event="transaction", **fields)
            else:
                lines = self._lines.format_transaction(transaction)
                self._paper.write([*lines, *self._lines.format_tree(tree)])

    def _write_step(self, event: Event) -> None:
        if self._is_json:
            _write_json(event="step", **serialize_event(event, self._node.chain.models))
            return
        live = self._lines.format_progress(event)
        if live == "":
            self._paper.set_live_line("")
        self._paper.write(self._lines.format_step(event))
        if live:
            self._paper.set_live_line(live)

    def _write_note(self, text: str, *, is_live: bool) -> None:
        if not is_live:
            self._release()
        if self._is_json:
            if not is_live:
                _write_json(event="note", text=text)
        elif is_live:
            self._paper.set_live_line(text)
        else:
            self._paper.set_live_line("")
            self._paper.write([text])


def _get_code(node: Node, address: Address) -> bytes:
    """Return an account's code; nothing if the remote chain of a fork does not answer."""
    try:
        return node.chain.code(address)
    except EngineFault:
        return b""


def _can_mine_blocks(method: str) -> bool:
    """Return whether a method may have mined a block."""
    name = method.lower()
    return "send" in name or "mine" in name


def _write_json(**fields: object) -> None:
    click.echo(json.dumps(fields))
