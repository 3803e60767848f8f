"""Options of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.rpc.codec import Limits

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Address, access rules and limits of a server."""

    host: str = "127.0.0.1"
    """Address or host name to listen on."""

    port: int = 8545
    """Port to listen on; 0 for a free one."""

    ipc_path: Path | None = None
    """Path of a Unix socket to listen on as well; None for none."""

    allowed_hosts: frozenset[str] = frozenset()
    """Accepted `Host` names in addition to loopback names and the bound one; `*` for all."""

    allowed_origins: frozenset[str] = frozenset()
    """Origins such as `https://app.example` that CORS allows; `*` for all."""

    serves_page: bool = True
    """Whether browsers get the page at `/`."""

    limits: Limits = field(default_factory=Limits)

    connections: int = 512
    """Most open connections, at most half the limit of open files. Beyond, the oldest request with
    an incomplete body gets the response 503; if there is none, the new one."""

    threads: int = 64
    """Most requests that run concurrently. `CallThreadPool` shares the threads among methods."""

    waiting: int = 1_024
    """Most requests that wait for a thread; more are rejected."""

    pending: int = 256
    """Most unanswered requests of a WebSocket; more are rejected."""

    queue_bytes: int = 16 * 2**20
    """Most bytes queued for a WebSocket client behind the message in transmission."""

    idle_seconds: float = 75.0
    """Timeout of an idle connection, and of a request's headers."""

    body_seconds: float = 30.0
    """Timeout of a request's body."""

    stall_seconds: float = 30.0
    """Timeout of a client that does not read its response."""

    ping_seconds: float = 30.0
    """Idle time after which a WebSocket is pinged; after half as long again it is closed."""

    stop_seconds: float = 5.0
    """Time for running requests when the server stops."""
