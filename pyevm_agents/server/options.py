"""What a server can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyevm_agents.rpc.codec import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where a server listens, whom it answers, and its bounds on connections."""

    host: str = "127.0.0.1"
    """An address or a name of this machine."""

    port: int = 8545
    """0 for any that is free."""

    allowed_hosts: frozenset[str] = frozenset()
    """Names in `Host` that are answered besides the loopback's and the bound one; `*` for all."""

    allowed_origins: frozenset[str] = frozenset()
    """Pages such as `https://app.example` whose scripts may ask and read answers; `*` for all."""

    limits: Limits = field(default_factory=Limits)

    connections: int = 512
    """One more is answered 503. Of the system's limit on open files, at most half is used."""

    threads: int = 64
    """Requests that compute or wait at once. `CallThreadPool` shares them among methods."""

    waiting: int = 1_024
    """Requests that wait for a thread; one more is refused."""

    pending: int = 256
    """Requests of a WebSocket that are not answered yet; one more is refused."""

    queue_bytes: int = 16 * 2**20
    """What may wait for a WebSocket's reader behind the message that it is reading."""

    idle_seconds: float = 75.0
    """How long a connection may be silent between requests, or take to send a request's head."""

    body_seconds: float = 30.0
    """How long the rest of a request may take."""

    stall_seconds: float = 30.0
    """How long a client may read nothing of an answer."""

    ping_seconds: float = 30.0
    """A WebSocket that is silent so long is pinged; half as long after that it is closed."""

    stop_seconds: float = 5.0
    """How long requests may still take when the server stops."""
