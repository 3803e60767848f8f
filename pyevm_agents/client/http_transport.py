"""HTTP requests to one server, over kept connections, within limits of time and size."""

from __future__ import annotations

import base64
import http.client
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from socket import gaierror
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pyevm_agents.client.redaction import Redactor, find_credentials, find_url_secrets
from pyevm_agents.client.timed_socket import TimedSocket, TimedTlsSocket, open_socket
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from urllib.parse import SplitResult

MAX_ANSWER_BYTES = 64 * 2**20
"""Bytes of an answer's body. The logs of 10,000 transfers are 6 MB of JSON, the trace of a block
of 30 million gas some 20 MB."""

MAX_IDLE_CONNECTIONS = 8
"""Connections kept between requests: as many threads read at once."""

CHUNK_BYTES = 64 * 1024
"""Bytes read at a time: the size is checked after each."""

PORTS = {"http": 80, "https": 443}
REMOTE_CHAIN = "the remote chain"


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

    The limit of time holds for a whole request: connecting, TLS, a proxy, and each byte of the
    answer. The system alone limits how long it looks up a name. Redirects are not followed. Paths,
    queries and passwords of URLs contain API keys, so no message shows them.
    """

    def __init__(  # noqa: PLR0913 - options of a connection
        self,
        url: str,
        timeout_seconds: float,
        *,
        server: str = REMOTE_CHAIN,
        max_answer_bytes: int | None = None,
        proxy: str | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """Open no connection yet.

        Input:  the URL; the seconds that a request may take; the name of the URL's server, for
                messages; the most bytes of an answer's body, None for `MAX_ANSWER_BYTES`; the
                URL of an HTTP proxy, None for none; secrets beside those of both URLs.
        Raises: ConfigError: not an HTTP URL.
        """
        parts = _split_url(url, server)
        self._max_answer_bytes = max_answer_bytes
        self.scheme = parts.scheme
        self._timeout_seconds = timeout_seconds
        self._name, self._port = str(parts.hostname), parts.port or PORTS[parts.scheme]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = _build_headers(parts)
        hidden = [*secrets, *find_url_secrets(parts)]
        self._context: ssl.SSLContext | None = None
        if self.scheme == "https":
            self._context = ssl.create_default_context()
            self._context.sslsocket_class = TimedTlsSocket
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self.host = f"{self._name}:{self._port}"
        """Host and port, for messages."""
        self._place = self._name, self._port
        self._tunnel: dict[str, str] | None = None
        if proxy is not None:
            place = _split_url(proxy if "://" in proxy else f"http://{proxy}", "the HTTP proxy")
            self._place = str(place.hostname), place.port or PORTS[place.scheme]
            hidden += find_url_secrets(place)
            self._tunnel = _build_credentials(place, "Proxy-Authorization")
            if self.scheme == "http":  # The proxy reads the request.
                self._target = f"http://{parts.netloc.rpartition('@')[2]}{self._target}"
                self._headers |= self._tunnel
        self.redactor = Redactor(hidden)
        """Hides what of the URLs may be secret, which servers repeat in their errors."""

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
            return self._exchange(self._connect(deadline), method, target, body, deadline)
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

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        """Return a new connection, through the proxy and TLS where there are any."""
        sock = open_socket(self._place, deadline)
        try:
            if self._context is None:
                connection = http.client.HTTPConnection(self._name, self._port)
                connection.sock = sock
                return connection
            if self._tunnel is not None:
                self._open_tunnel(sock, self._tunnel)
            sock.limit_wait()
            secure = self._context.wrap_socket(sock, server_hostname=self._name)
        except BaseException:
            sock.close()
            raise
        connection = http.client.HTTPSConnection(self._name, self._port, context=self._context)
        connection.sock = secure
        return connection

    def _open_tunnel(self, sock: TimedSocket, headers: Mapping[str, str]) -> None:
        """Have the proxy connect to the server. Source: RFC 9110, section 9.3.6."""
        host = f"[{self._name}]" if ":" in self._name else self._name
        place = f"{host}:{self._port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        with http.client.HTTPResponse(sock, method="CONNECT") as response:
            response.begin()
            if response.status != http.client.OK:
                raise OSError(0, f"the proxy refuses, status {response.status}")

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
            sock = connection.sock
            assert isinstance(sock, TimedSocket)  # noqa: S101 - made by `_connect`
            sock.deadline = deadline
            connection.request(method, target, body or None, self._headers)
            response = connection.getresponse()
            with response:
                limit = self._max_answer_bytes or MAX_ANSWER_BYTES
                data = _read_body(response, limit)
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
    credentials = find_credentials(parts)
    if credentials is None:
        return {}
    return {header: "Basic " + base64.b64encode(credentials).decode()}


def _read_body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Return the body; `response.length` is the missing part of one of known length."""
    if (response.length or 0) > max_bytes:
        raise AnswerTooLargeError
    pieces, size = [], 0
    while piece := response.read1(CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise AnswerTooLargeError
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _describe_failure(error: Exception) -> str:
    if isinstance(error, gaierror):
        return "the host name is unknown, or there is no network"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or 'no valid certificate'}"
    if isinstance(error, http.client.HTTPException):
        return "the answer broke off, or is not HTTP"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "the connection broke"
