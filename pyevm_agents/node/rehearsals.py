"""Rehearsals: transactions with inference are executed ahead of blocks, in a separate thread.

A rehearsal executes a transaction on the head and notes the generations. Meanwhile the write queue
mines the transactions of others. A block then repeats the notes without inference, unless state
read by the transaction has changed since.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.chain import GenerationNotes
from pyevm_agents.node.write_queue import WriteQueue
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI

    from pyevm_agents.chain import Chain

    OnEnd = Callable[[SignedTransactionAPI, BaseException | None], None]

MAX_REHEARSALS = 3
"""Upper bound of a transaction's rehearsals. If the blocks of others have changed its prompts after
each of them, it is executed in the write queue, and others wait for its inference."""


@dataclass(slots=True)
class _Rehearsed:
    """The rehearsals of one transaction."""

    notes: GenerationNotes = field(default_factory=GenerationNotes)
    count: int = 0
    running: Future[None] | None = None


class Rehearsals:
    """The rehearsals of a node's transactions, one at a time. Thread-safe."""

    def __init__(
        self, chain: Chain, build_header: Callable[[], BlockHeaderAPI], on_end: OnEnd
    ) -> None:
        """Start without rehearsals.

        Input:
            build_header: returns the header of the next block.
            on_end: called in the thread of the rehearsals with a transaction, and the fault that
                ended the rehearsal, if any.
        """
        self._chain, self._build_header, self._on_end = chain, build_header, on_end
        self._queue: WriteQueue | None = None
        self._by_hash: dict[bytes, _Rehearsed] = {}
        self._lock = threading.Lock()

    def begin(self, transaction: SignedTransactionAPI) -> Future[None] | None:
        """Queue a rehearsal of a transaction, unless one is queued or running; return the future.

        Output: raises the fault that ends the rehearsal; None if the transaction has had all
            rehearsals.
        """
        with self._lock:
            entry = self._by_hash.setdefault(transaction.hash, _Rehearsed())
            if entry.running is not None:
                return entry.running
            if entry.count >= MAX_REHEARSALS:
                return None
            entry.count += 1
            if self._queue is None:
                self._queue = WriteQueue()
            entry.running = self._queue.submit(lambda: self._run(transaction, entry))
            return entry.running

    def _run(self, transaction: SignedTransactionAPI, entry: _Rehearsed) -> None:
        fault: BaseException | None = None
        try:
            with self._chain.agent_events.run("block"):
                self._chain.rehearse(transaction, self._build_header(), entry.notes)
        except RuleError:
            pass  # A block refuses it, and says why, or is on another head.
        except BaseException as error:
            fault = error
            raise
        finally:
            with self._lock:
                entry.running = None
            self._on_end(transaction, fault)

    def get_running(self) -> dict[bytes, Future[None]]:
        """Return the futures of the rehearsals that have not ended, by transaction hash."""
        with self._lock:
            return {
                key: entry.running
                for key, entry in self._by_hash.items()
                if entry.running is not None
            }

    def merge_notes(self, transactions: Iterable[SignedTransactionAPI]) -> GenerationNotes | None:
        """Return the notes of some transactions; None if no rehearsal of these has ended."""
        with self._lock:
            entries = [self._by_hash.get(transaction.hash) for transaction in transactions]
            parts = [
                entry.notes for entry in entries if entry is not None and entry.running is None
            ]
            return GenerationNotes.merge(parts) if parts else None

    def keep_only(self, is_wanted: Callable[[bytes], bool]) -> None:
        """Forget the rehearsals of other transactions that have ended."""
        with self._lock:
            self._by_hash = {
                key: entry
                for key, entry in self._by_hash.items()
                if entry.running is not None or is_wanted(key)
            }

    def close(self) -> None:
        """Finish the rehearsals that were begun, and stop the thread."""
        if self._queue is not None:
            self._queue.close()
