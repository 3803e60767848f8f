"""The node of a command: the URL as an option, and calls of the node's methods."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import click

from precompiles.escaping import escape_line
from pyevm_agents.client.json_rpc import RemoteClient, RemoteError, UnansweredFault, UnreachedFault
from pyevm_agents.errors import AgentsError, NotDoneError

DEFAULT_URL = "http://127.0.0.1:8545"
TIMEOUT_SECONDS = 600.0
"""An estimate of an agent's run takes as long as the run: minutes."""

MAX_MESSAGE_CHARACTERS = 1 << 20
"""Of a node's error: a message may have the steps of a run."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts that no proxy can reach."""

METHOD_NOT_FOUND = -32601
"""Source: JSON-RPC 2.0."""


def call_node(url: str, method: str, *params: object) -> Any:  # noqa: ANN401 - the method's result
    """Call a method of the node at a URL; return the result.

    Raises: NotDoneError: an agent undid the run. AgentsError: no node answers, or the node returns
            another error.
    """
    client = RemoteClient(
        url,
        retries=0,
        timeout_seconds=TIMEOUT_SECONDS,
        max_message_characters=MAX_MESSAGE_CHARACTERS,
        proxy=find_proxy(url),
    )
    with closing(client):
        try:
            return client.request(method, params)
        except RemoteError as error:
            raise _translate(error, client.public_url) from error
        except UnreachedFault as error:
            raise AgentsError(
                f"no node at {client.public_url} ({escape_line(error.reason)}); start one with "
                "`pyevm-agents node`, or pass another with --rpc"
            ) from error
        except UnansweredFault as error:
            raise AgentsError(
                f"node at {client.public_url}: {escape_line(error.reason)}; try again, or pass "
                "another with --rpc"
            ) from error


def find_proxy(url: str) -> str | None:
    """Return the HTTP proxy of a URL by the environment; None for one on this machine.

    Source: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, as `urllib.request` reads them.
    """
    parts = urlsplit(url)
    if parts.hostname in LOOPBACK or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return getproxies().get(parts.scheme)


def _translate(error: RemoteError, url: str) -> AgentsError:
    """Return the error of a node with control characters escaped, and lines kept."""
    message = "\n".join(map(escape_line, error.message.split("\n")))
    if error.code == METHOD_NOT_FOUND:
        message += f": {url} is not a pyevm-agents node, or an older one"
    data = error.revert_data
    if not data:
        return AgentsError(message)
    from pyevm_agents.abi.not_done import find_not_done  # noqa: PLC0415 - slow to import

    undone = find_not_done(data)
    return AgentsError(message) if undone is None else NotDoneError(message, undone)


def _check_url(_context: click.Context, _option: click.Parameter, url: str) -> str:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise click.BadParameter(f"{url!r}: must be an HTTP URL, such as {DEFAULT_URL}")
    return url


rpc_option = click.option(
    "--rpc",
    "--rpc-url",
    "url",
    metavar="URL",
    default=DEFAULT_URL,
    show_default=True,
    envvar="ETH_RPC_URL",
    show_envvar=True,
    callback=_check_url,
    help="URL of the node.",
)
