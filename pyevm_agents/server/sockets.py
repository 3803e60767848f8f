"""Listening sockets on every address of a host."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

BACKLOG = 512
"""Connections that the system queues until the event loop accepts them."""

UNAVAILABLE_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""Errors of addresses that this machine lacks, such as `::1` without IPv6."""

REASONS = {
    errno.EADDRINUSE: "the port is in use: stop the other program or choose another port",
    errno.EACCES: "permission denied: choose a port from 1024",
    errno.EADDRNOTAVAIL: "not an address of this machine",
}


async def listen(
    accept: Callable[[], asyncio.BaseProtocol], host: str, port: int
) -> list[asyncio.Server]:
    """Listen on a host's addresses, all at the same port, or for 0 at a free one.

    Raises:
        ConfigError: the host and port are not available; the message has the reason.
    """
    if not 0 <= port < 2**16:
        raise ConfigError(f"port {port}: must be 0 (any free port) to 65535")
    listeners: list[asyncio.Server] = []
    absent: OSError | None = None
    try:
        for address in await _resolve_addresses(host, port):
            try:
                listeners.append(await _create_listener(accept, address, port))
            except OSError as error:
                if error.errno not in UNAVAILABLE_ADDRESS:
                    raise
                absent = error
                continue
            port = listeners[0].sockets[0].getsockname()[1]
        if absent is not None and not listeners:
            raise absent
    except OSError as error:
        for listener in listeners:
            listener.close()
        reason = REASONS.get(error.errno or 0, str(error))
        raise ConfigError(f"cannot listen on {host or 'any address'}:{port}: {reason}") from error
    return listeners


async def _resolve_addresses(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    # In the system's order of preference, without duplicates.
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


async def _create_listener(
    accept: Callable[[], asyncio.BaseProtocol], address: str, port: int
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(accept, address, port, backlog=BACKLOG)
