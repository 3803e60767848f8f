"""A host and a port, listened on at every address that the host has."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

BACKLOG = 512
"""Connections that the system accepts before the loop does."""

UNAVAILABLE_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""A name may stand for an address that this machine lacks: `::1` where there is no IPv6."""

REASONS = {
    errno.EADDRINUSE: "the port is in use: stop what listens there, or choose another one",
    errno.EACCES: "the system allows it to no ordinary user: choose a port from 1024",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}


async def listen(
    accept: Callable[[], asyncio.BaseProtocol], host: str, port: int
) -> list[asyncio.Server]:
    """Listen on a host's addresses, all at the same port: where it is 0, at one that is free.

    Raises:
        ConfigError: it can't be done; the message says why.
    """
    if not 0 <= port < 2**16:
        raise ConfigError(f"port is {port}; it must be 0, for any that is free, or up to 65535")
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
        raise ConfigError(f"Can't listen on {host or 'any address'}:{port}: {reason}") from error
    return listeners


async def _resolve_addresses(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    # In the order in which the system prefers them, each once.
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


async def _create_listener(
    accept: Callable[[], asyncio.BaseProtocol], address: str, port: int
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(accept, address, port, backlog=BACKLOG)
