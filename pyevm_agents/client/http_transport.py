"""HTTP requests to one server, over kept connections, within limits of time and size."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

MAX_ANSWER_BYTES = 64 * 2**20
"""Bytes of an answer's body. The logs of 10,000 transfers are 6 MB of JSON, the trace of a block
of 30 million gas some 20 MB."""

MAX_IDLE_CONNECTIONS = 8
"""Connections kept between requests: as many threads read at once."""

CHUNK_BYTES = 64 * 1024
"""Bytes read at a time: the deadline is checked after each."""

PORTS = {"http": 80, "https": 443}
REMOTE_CHAIN = "the remote chain"
MIN_SECRET_CHARACTERS = 4
"""Shorter parts of a URL, such as `v2`, are no secrets."""


class TransportError(Exception):
    """A request without a complete answer; may succeed if repeated."""


class AnswerTimeoutError(TransportError):
    """A request without a complete answer in time."""


class AnswerTooLargeError(Exception):
    """An answer of more bytes than a transport takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer to a request."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """Names are in lower case."""

    body: bytes


class HttpTransport:
    """Posts JSON to a URL, or gets JSON from there. Thread-safe.

    Redirects are not followed. Paths, queries and passwords of URLs contain API keys, so no message
    shows them.
    """

    def __init__(
        self,
        url: str,
        timeout_seconds: float,
        *,
        server: str = REMOTE_CHAIN,
        max_answer_bytes: int | None = None,
        proxy: str | None = None,
    ) -> None:
        """Open no connection yet.

        Input:  the URL; the seconds that a request may take; the name of the URL's server, for
                messages; the most bytes of an answer's body, None for `MAX_ANSWER_BYTES`; the
                URL of an HTTP proxy, None for none.
        Raises: ConfigError: not an HTTP URL.
        """
        parts = _split_url(url, server)
        self._max_answer_bytes = max_answer_bytes
        self.scheme = parts.scheme
        self._timeout_seconds = timeout_seconds
        self._name, self._port = str(parts.hostname), parts.port or PORTS[parts.scheme]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = _build_headers(parts)
        self._secrets = _list_secrets(parts)
        self._context = ssl.create_default_context() if self.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self.host = f"{self._name}:{self._port}"
        """Host and port, for messages."""
        self._place = self._name, self._port
        self._tunnel: dict[str, str] | None = None
        if proxy is not None:
            place = _split_url(proxy if "://" in proxy else f"http://{proxy}", "the HTTP proxy")
            self._place = str(place.hostname), place.port or PORTS[place.scheme]
            self._tunnel = _build_credentials(place, "Proxy-Authorization")
            if self.scheme == "http":  # The proxy reads the request.
                self._target = f"http://{parts.netloc.rpartition('@')[2]}{self._target}"
                self._headers |= self._tunnel

    def redact(self, text: str) -> str:
        """Replace the parts of the URL that may be secret, which servers repeat in their errors."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text

    def post(self, body: bytes) -> HttpAnswer:
        """Send a body; return the answer.

        Raises: TransportError: there is no complete answer in time. AnswerTooLargeError.
        """
        return self._request("POST", self._target, body)

    def get(self, query: str, *, path: str = "") -> HttpAnswer:
        """Get the URL with a query and a path added; return the answer.

        Input:  both percent-encoded.
        Raises: TransportError: there is no complete answer in time. AnswerTooLargeError.
        """
        target, mark, own_query = self._target.partition("?")
        joined = "&".join(filter(None, (own_query if mark else "", query)))
        return self._request("GET", f"{target.rstrip('/') if path else target}{path}?{joined}", b"")

    def _request(self, method: str, target: str, body: bytes) -> HttpAnswer:
        deadline = monotonic() + self._timeout_seconds
        try:
            kept = self._take_idle()
            if kept is not None:
                # The server may have closed it in the meantime.
                with suppress(ConnectionError, http.client.BadStatusLine):
                    return self._exchange(kept, method, target, body, deadline)
            return self._exchange(self._connect(), method, target, body, deadline)
        except TimeoutError as error:
            seconds = f"{self._timeout_seconds:g} s"
            raise AnswerTimeoutError(f"no complete answer within {seconds}") from error
        except (OSError, http.client.HTTPException) as error:
            raise TransportError(_describe_failure(error)) from error

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take_idle(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        (name, port), timeout = self._place, self._timeout_seconds
        if self._context is None:
            return http.client.HTTPConnection(name, port, timeout=timeout)
        connection = http.client.HTTPSConnection(name, port, timeout=timeout, context=self._context)
        if self._tunnel is not None:  # TLS with the server, through the proxy.
            connection.set_tunnel(self._name, self._port, self._tunnel)
        return connection

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: bytes,
        deadline: float,
    ) -> HttpAnswer:
        is_whole = False
        try:
            if connection.sock is None:
                connection.connect()
            sock = connection.sock
            sock.settimeout(_get_rest(deadline))
            connection.request(method, target, body or None, self._headers)
            response = connection.getresponse()
            with response:
                limit = self._max_answer_bytes or MAX_ANSWER_BYTES
                data = _read_body(response, sock, deadline, limit)
            is_whole = not response.will_close
        finally:
            if is_whole:
                self._keep(connection)
            else:
                connection.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpAnswer(
            status=response.status, reason=response.reason, headers=headers, body=data
        )


def _split_url(url: str, server: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        scheme = url.partition("://")[0] if "://" in url else ""
        shown = f" with scheme {scheme}" if scheme.isalnum() else ""
        hint = "; most nodes that serve WebSocket serve HTTP as well" * (server == REMOTE_CHAIN)
        raise ConfigError(
            f"URL of {server}{shown}: must be an HTTP URL, such as https://host/key{hint}"
        )
    return parts


def _build_headers(parts: SplitResult) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    return headers | _build_credentials(parts, "Authorization")


def _build_credentials(parts: SplitResult, header: str) -> dict[str, str]:
    if parts.username is None:
        return {}
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {header: "Basic " + base64.b64encode(credentials.encode()).decode()}


def _list_secrets(parts: SplitResult) -> list[str]:
    """Return the parts of a URL that may be secret, the longest first."""
    pieces = {parts.path, parts.query, parts.username or "", parts.password or ""}
    pieces.update(parts.path.split("/"))
    pieces.update(pair.partition("=")[2] for pair in parts.query.split("&"))
    found = (piece for piece in pieces if len(piece) >= MIN_SECRET_CHARACTERS)
    return sorted(found, key=lambda piece: (-len(piece), piece))


def _get_rest(deadline: float) -> float:
    rest = deadline - monotonic()
    if rest <= 0:
        raise TimeoutError
    return rest


def _read_body(
    response: http.client.HTTPResponse, sock: socket.socket, deadline: float, max_bytes: int
) -> bytes:
    """Return the body; `response.length` is the missing part of one of known length."""
    if (response.length or 0) > max_bytes:
        raise AnswerTooLargeError
    pieces, size = [], 0
    while piece := response.read1(CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise AnswerTooLargeError
        sock.settimeout(_get_rest(deadline))
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _describe_failure(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "the host name is unknown, or there is no network"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or 'no valid certificate'}"
    if isinstance(error, http.client.HTTPException):
        return "the answer broke off, or is not HTTP"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "the connection broke"
