"""Events of a worker, and their counts as Prometheus metrics."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Protocol

EVENTS = (
    *("started", "found", "computing", "computed", "signed", "sent", "resent", "mined", "settled"),
    *("reorganized", "removed", "cancelled", "gap", "nonce_taken", "refused", "rejected"),
    *("fee_capped", "fault", "unreachable", "reachable", "not_registered", "stopped"),
)
"""Names of events."""


class WorkerLog(Protocol):
    """Takes the events of a worker."""

    def write(self, event: str, **fields: object) -> None:
        """Take an event. Bytes are hashes or addresses; a request is stated by key."""
        ...


class CountingLog:
    """Counts events, and passes events on. Thread-safe."""

    def __init__(self, log: WorkerLog | None = None) -> None:
        """Input: where events go; None for nowhere."""
        self._log, self._lock = log, threading.Lock()
        self.counts: Counter[str] = Counter()
        self.gauges: dict[str, float] = {}

    def write(self, event: str, **fields: object) -> None:
        """Take an event."""
        with self._lock:
            self.counts[event] += 1
        if self._log is not None:
            self._log.write(event, **fields)

    def set_gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self.gauges[name] = value

    def render(self) -> str:
        """Return the metrics in Prometheus' text format."""
        with self._lock:
            counts, gauges = dict(self.counts), dict(self.gauges)
        lines = [
            "# HELP pyevm_agents_oracle_events_total Events of the worker.",
            "# TYPE pyevm_agents_oracle_events_total counter",
            *(
                f'pyevm_agents_oracle_events_total{{event="{name}"}} {counts.get(name, 0)}'
                for name in EVENTS
            ),
        ]
        for name, value in sorted(gauges.items()):
            full = f"pyevm_agents_oracle_{name}"
            lines += [f"# HELP {full} {GAUGES[name]}", f"# TYPE {full} gauge", f"{full} {value:g}"]
        return "\n".join(lines) + "\n"


GAUGES = {
    "is_registered": "Whether the oracle has the worker registered.",
    "head_block": "Number of the chain's latest block.",
    "scanned_block": "Last block that was searched for requests.",
    "open_requests": "Requests that wait for an answer.",
    "waiting_transactions": "Transactions that are not mined.",
    "balance_wei": "Balance of the worker's account.",
    "claimable_wei": "What the worker may withdraw from the oracle.",
}
"""Gauges and their meanings."""
