"""Events of a worker, for logs and metrics."""

from __future__ import annotations

from typing import Protocol

EVENTS = (
    *("started", "found", "computing", "computed", "signed", "sent", "resent", "mined", "settled"),
    *("reorganized", "removed", "cancelled", "gap", "nonce_taken", "refused", "rejected"),
    *("fee_capped", "fault", "malformed", "unreachable", "reachable", "not_registered", "stopped"),
)
"""Names of events."""


class WorkerLog(Protocol):
    """Takes the events of a worker."""

    def write(self, event: str, **fields: object) -> None:
        """Take an event. Bytes are hashes or addresses; a `request` is its key."""
        ...
