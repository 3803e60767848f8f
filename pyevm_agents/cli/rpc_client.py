"""JSON-RPC client of the commands, for a running node."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import orjson

from precompiles.escaping import escape_line
from pyevm_agents.errors import AgentsError, NotDoneError

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_URL = "http://127.0.0.1:8545"
TIMEOUT_SECONDS = 600.0
"""An estimate of an agent's run takes as long as the run: minutes."""

MAX_ANSWER_BYTES = 2**30
MAX_SHOWN_CHARACTERS = 300
REVERT_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class RpcClient:
    """A JSON-RPC client of the node at a URL."""

    def __init__(self, url: str) -> None:
        """Create a client. Sends no request."""
        self.url = url
        # A proxy can't reach this machine's loopback.
        is_near = urlsplit(url).hostname in LOOPBACK
        handlers = [urllib.request.ProxyHandler({})] if is_near else []
        self._opener = urllib.request.build_opener(*handlers)

    def call(self, method: str, *params: object) -> Any:  # noqa: ANN401 - the method's result
        """Call a method; return its result.

        Raises: NotDoneError: an agent undid its run. AgentsError: no node answers, or it returns
                another error.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = self._read(json.dumps(body).encode())
        if not isinstance(answer, dict) or not {"result", "error"} & answer.keys():
            raise self._build_protocol_error()
        error = answer.get("error")
        if error is None:
            return answer.get("result")
        detail = error.get("message") if isinstance(error, dict) else error
        message = "\n".join(map(escape_line, str(detail).split("\n")))
        if isinstance(error, dict) and error.get("code") == -32601:  # noqa: PLR2004 - JSON-RPC's own
            message += f": {self.url} is not a pyevm-agents node, or an older one"
        undone = _find_not_done(error)
        raise AgentsError(message) if undone is None else NotDoneError(message, undone)

    def _read(self, body: bytes) -> object:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 - checked by the option
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return orjson.loads(response.read(MAX_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            error_body = error.read(MAX_SHOWN_CHARACTERS).decode("utf-8", "replace")
            raise AgentsError(
                f"{self.url}: HTTP status {error.code} {error.reason}: {escape_line(error_body)}"
            ) from error
        except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise AgentsError(
                f"no node at {self.url} ({reason}); start one with `pyevm-agents node`, or pass "
                "another with --rpc"
            ) from error
        except ValueError as error:
            raise self._build_protocol_error() from error

    def _build_protocol_error(self) -> AgentsError:
        return AgentsError(f"{self.url}: not a JSON-RPC node; pass another with --rpc")


def _find_not_done(error: object) -> str | None:
    """Return the answer of an agent that undid its run, in a node's error; None without one."""
    data = error.get("data") if isinstance(error, dict) else None
    if not isinstance(data, str) or not REVERT_DATA.fullmatch(data):
        return None
    from pyevm_agents.abi.not_done import find_not_done  # noqa: PLC0415 - slow to import

    return find_not_done(bytes.fromhex(data[2:]))


def _connect(_context: click.Context, _option: click.Parameter, url: str) -> RpcClient:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise click.BadParameter(f"{url!r}: must be an HTTP URL, such as {DEFAULT_URL}")
    return RpcClient(url)


rpc_option = click.option(
    "--rpc",
    "--rpc-url",
    "remote",
    metavar="URL",
    default=DEFAULT_URL,
    show_default=True,
    envvar="ETH_RPC_URL",
    show_envvar=True,
    callback=_connect,
    help="URL of the node.",
)

json_option: Callable[..., Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print the node's result as JSON."
)


def print_json(value: object) -> None:
    """Print a result as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
