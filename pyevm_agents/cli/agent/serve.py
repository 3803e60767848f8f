"""`pyevm-agents agent serve`: the control plane of agents, for REST and MCP clients."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import click

from pyevm_agents.cli.agent.agent_type import AGENT_TYPE
from pyevm_agents.cli.agent.plane_options import add_plane_options
from pyevm_agents.cli.agent.public_url import public_url_option
from pyevm_agents.cli.agent.treasury_options import add_treasury_options
from pyevm_agents.cli.options.models import allow_host_option, allow_origin_option
from pyevm_agents.cli.output import StatusLine, err
from pyevm_agents.cli.store import warn_run
from pyevm_agents.control.agent_template import DEFAULT_PORT
from pyevm_agents.control.app import bind_socket, build_app, build_server
from pyevm_agents.control.mcp_tools import build_mcp_server
from pyevm_agents.control.open_plane import open_plane
from pyevm_agents.manifests.endpoints import MCP_PATH, build_endpoints, build_listening_url
from pyevm_agents.oracle.rpc_methods import METHODS as ORACLE_METHODS
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.server import Server, ServerOptions
from pyevm_agents.server.origin_checks import AccessPolicy

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable
    from pathlib import Path

    from pyevm_agents.cli.agent.plane_options import PlaneChoices
    from pyevm_agents.cli.agent.treasury_options import TreasuryChoices
    from pyevm_agents.control.open_plane import OpenedPlane
    from pyevm_agents.control.plane_config import DeployedAgent

EXAMPLES = """\b
Examples:
  pyevm-agents agent serve gas-watcher
  pyevm-agents agent serve gas-watcher trader --data runs --port 3001 --rpc-port 8545
  pyevm-agents agent serve clerk=0x… --data runs
  pyevm-agents agent serve gas-watcher --stdio --no-model        # for an MCP client that starts it
"""


@click.command(epilog=EXAMPLES)
@click.argument(
    "agents", type=AGENT_TYPE, nargs=-1, required=True, metavar="AGENT...",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True,
    help="Port of REST and MCP; 0 for a free one.",
)  # fmt: skip
@click.option(
    "--rpc-port", type=click.IntRange(0, 65_535), metavar="PORT",
    help="Serve the chain's JSON-RPC as well, on this port; 0 for a free one.",
)  # fmt: skip
@public_url_option
@allow_origin_option
@allow_host_option
@click.option(
    "--stdio", is_flag=True,
    help="Speak MCP on standard input and output, and listen on no port of REST.",
)  # fmt: skip
@click.option(
    "--confirm", "confirms", is_flag=True, help="Let every run wait for the operator's signature."
)
@add_treasury_options
@add_plane_options
def serve(  # noqa: PLR0913 - one for each option
    agents: tuple[Path | DeployedAgent, ...],
    *,
    host: str,
    port: int,
    rpc_port: int | None,
    public_url: str | None,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    stdio: bool,
    confirms: bool,
    treasury_choices: TreasuryChoices,
    choices: PlaneChoices,
) -> None:
    """Serve AGENTs on a development chain with the registries of ERC-8004.

    An AGENT is a folder, or a deployed IERCAgent on the chain of --data or --fixture: 0x… or
    NAME=0x…. The folder of a deployed one is agents/NAME in that of --data.

    REST has a page at /docs, MCP (streamable HTTP) is at /mcp, and the manifests of the first agent
    are below /.well-known/. Agents are Python programs of yours: the command imports and runs your
    code. Ctrl-C stops the server after the phase that is being performed.
    """
    public_host = () if public_url is None else (str(urlsplit(public_url).hostname),)
    policy = AccessPolicy(
        bound_host=host,
        allowed_hosts=frozenset((*hosts, *public_host)),
        allowed_origins=frozenset(origins),
    )
    with ExitStack() as stack:
        status = stack.enter_context(StatusLine())
        # A port in use is reported before a model is loaded.
        bound = None if stdio else stack.enter_context(bind_socket(host, port))
        opened = stack.enter_context(
            open_plane(
                choices.build_config(
                    agents,
                    treasury_choices,
                    confirms=confirms,
                    endpoints=_list_endpoints(bound, public_url),
                ),
                on_progress=status.on_progress,
                on_warning=warn_run,
            )
        )
        status.stop()
        _print_lines(opened.notes)
        rpc = ServerOptions(
            host=host,
            port=rpc_port or 0,
            allowed_hosts=frozenset(hosts),
            allowed_origins=frozenset(origins),
        )
        if bound is None:
            anyio.run(_serve_stdio, opened, None if rpc_port is None else rpc)
        else:
            asyncio.run(_serve(opened, bound, policy, None if rpc_port is None else rpc))


def _list_endpoints(bound: socket.socket | None, public_url: str | None) -> dict[str, str]:
    """Return the endpoints for manifests: public ones, those of the port, or none."""
    if public_url is not None:
        return build_endpoints(public_url)
    return {} if bound is None else build_endpoints(build_listening_url(*bound.getsockname()[:2]))


async def _serve(
    opened: OpenedPlane, bound: socket.socket, policy: AccessPolicy, rpc: ServerOptions | None
) -> None:
    address, port = bound.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    url = f"http://{shown}:{port}"
    _print_lines([f"REST {url}/docs", f"MCP {url}{MCP_PATH}"])
    server = build_server(build_app(opened.plane, policy))
    if rpc is None:
        await server.serve(sockets=[bound])
        return
    async with _build_rpc_server(opened, rpc) as rpc_server:
        _print_lines([f"JSON-RPC {rpc_server.url}"])
        await server.serve(sockets=[bound])


async def _serve_stdio(opened: OpenedPlane, rpc: ServerOptions | None) -> None:
    mcp_server = build_mcp_server(opened.plane)
    if rpc is None:
        await mcp_server.run_stdio_async()
        return
    async with _build_rpc_server(opened, rpc) as rpc_server:
        _print_lines([f"JSON-RPC {rpc_server.url}"])
        await mcp_server.run_stdio_async()


def _build_rpc_server(opened: OpenedPlane, options: ServerOptions) -> Server:
    opened.node.resume()
    return Server(build_node_service(opened.node, tables=[ORACLE_METHODS]), options)


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines to standard error: standard output may be an MCP client's."""
    for line in lines:
        err.print(line, soft_wrap=True, markup=False)
    sys.stderr.flush()
