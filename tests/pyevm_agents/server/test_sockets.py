"""Listening on a host's addresses, and its errors."""

from __future__ import annotations

import asyncio
import socket

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.server.sockets import listen


def addresses(host: str, port: int = 0) -> list[tuple[str, int]]:
    async def run() -> list[tuple[str, int]]:
        listeners = await listen(asyncio.Protocol, host, port)
        names = [sock.getsockname()[:2] for each in listeners for sock in each.sockets]
        for listener in listeners:
            listener.close()
        return names

    return asyncio.run(run())


def test_a_free_port() -> None:
    ((host, port),) = addresses("127.0.0.1")
    assert host == "127.0.0.1"
    assert addresses("127.0.0.1", port) == [("127.0.0.1", port)]


def test_a_name_is_one_port_at_all_its_addresses() -> None:
    found = addresses("localhost")
    assert "127.0.0.1" in dict(found)
    assert len({port for _, port in found}) == 1


def test_everywhere() -> None:
    assert addresses("")


def test_a_port_in_use() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"127.0.0.1:{port}: the port is in use: stop the other"
        ):
            addresses("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_host_that_is_not_here(host: str) -> None:
    with pytest.raises(ConfigError, match=f"cannot listen on {host}:0: "):
        addresses(host)


@pytest.mark.parametrize("port", [-1, 65_536, 10**6])
def test_a_port_that_is_none(port: int) -> None:
    with pytest.raises(ConfigError, match=f"port {port}: must be"):
        addresses("127.0.0.1", port)
