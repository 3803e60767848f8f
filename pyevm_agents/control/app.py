"""The ASGI application of the control plane, and the server."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from pyevm_agents.control.access import AccessMiddleware
from pyevm_agents.control.mcp_tools import build_mcp_server
from pyevm_agents.control.rest import build_rest_app
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.endpoints import MCP_PATH
from pyevm_agents.server.sockets import REASONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

    from pyevm_agents.control.access import AsgiApp
    from pyevm_agents.control.plane import ControlPlane
    from pyevm_agents.server.origin_checks import AccessPolicy

STOP_SECONDS = 5
"""Time for running requests when the server stops: an MCP client may keep a stream open."""


def build_app(plane: ControlPlane, policy: AccessPolicy) -> AsgiApp:
    """Return the application: REST, MCP below `/mcp`, and the access checks before both."""
    mcp_server = build_mcp_server(plane)
    # Hosts and origins are checked before, by the rules of the node's server.
    # The tools are requests and answers: there is no session to keep, and none to forget.
    mcp_app: Any = mcp_server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def run_sessions(_app: FastAPI) -> AsyncIterator[None]:
        async with mcp_server.session_manager.run():
            yield

    app = build_rest_app(plane, run_sessions)
    app.router.routes.extend(mcp_app.routes)
    return AccessMiddleware(app, policy)


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Input: port: 0 for a free one.

    Raises: ConfigError: the host and port are not available.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = REASONS.get(error.errno or 0, str(error.strerror or error))
        raise ConfigError(f"cannot listen on {host or 'any address'}:{port}: {reason}") from error
    # Its connections inherit it; asyncio sets it only for sockets that it makes itself. Without it
    # the body of each answer waits some 40 ms for the client's acknowledgement of the head.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def build_server(app: AsgiApp) -> uvicorn.Server:
    """Return the server of an application; `serve(sockets=[…])` runs until a signal."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws="none",
        http="h11",  # It passes an absolute target on, which the access checks look at.
    )
    return uvicorn.Server(config)
