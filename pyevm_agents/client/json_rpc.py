"""JSON-RPC over HTTP to a remote node: batches, retries with back-off, errors without secrets."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import orjson

from precompiles.escaping import escape_line
from pyevm_agents.client.http_transport import (
    MAX_ANSWER_BYTES,
    AnswerTimeoutError,
    AnswerTooLargeError,
    HttpTransport,
    TransportError,
)
from pyevm_agents.errors import AgentsError, ConfigError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.client.http_transport import HttpAnswer

DEFAULT_RETRIES = 5
"""Source: anvil's --retries."""

MAX_RETRIES = 100
DEFAULT_TIMEOUT_SECONDS = 45.0
"""Source: anvil's --timeout."""

FIRST_DELAY_SECONDS = 0.5
"""Delay before the first retry; each further one is twice as long: 15.5 s for five retries."""

MAX_DELAY_SECONDS = 60.0
"""The longest delay. A server that asks for a longer one is not asked again."""

MAX_BATCH = 48
"""Requests in a batch, without one for the fork block: the strictest known node takes 50."""

SHOWN_CHARACTERS = 300
"""Characters of a remote message in ours."""

SECRET_CHARACTERS = 4_096
"""More than a secret takes in a message, in any form: so much is read beyond what is shown."""

REVERTED = 3
"""Code of a reverted call. Source: geth."""

TOO_MANY_REQUESTS = 429
FIRST_SERVER_ERROR = 500
OK = 200

QUANTITY = re.compile(r"0[xX][0-9a-fA-F]{1,64}")
RATE_LIMIT = re.compile(
    r"rate.?limit|too many requests|request limit reached|compute units|"
    r"(?:daily|monthly|credit|request|capacity).{0,20}exceeded|exceeded.{0,20}(?:quota|capacity)",
    re.IGNORECASE,
)
"""Messages of errors that end by themselves: Alchemy's, Infura's, QuickNode's, Ankr's."""


Item = TypeVar("Item")


def split(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split a sequence into parts of at most `size` items, in order."""
    return (items[start : start + size] for start in range(0, len(items), size))


class Request(NamedTuple):
    """A JSON-RPC request."""

    method: str
    params: Sequence[object]


class RemoteError(AgentsError):
    """An error response of the remote node."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Input: the three fields of a JSON-RPC error."""
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def revert_data(self) -> bytes:
        """The data of a revert; empty if the error has none."""
        return _find_revert_data(self.data)


class UnansweredFault(RemoteFault):
    """A request that no try got an answer to: there is no server, or a busy one."""

    def __init__(self, message: str, reason: str) -> None:
        """Input: the message; the reason of the last try, such as `connection refused`."""
        super().__init__(message)
        self.reason = reason


class UnreachedFault(UnansweredFault):
    """A request that reached no node: no server, or another one."""


class BatchRefusedError(Exception):
    """The remote node answers no batches."""


class _StatusFault(RemoteFault):
    """An answer with an HTTP status that refuses the request."""


class _TemporaryError(Exception):
    """A failure that may end by itself, and the delay in the server's response, in seconds."""

    def __init__(
        self, message: str, delay_seconds: float | None = None, *, is_unreached: bool = False
    ) -> None:
        super().__init__(message)
        self.delay_seconds, self.is_unreached = delay_seconds, is_unreached


class RemoteClient:
    """A JSON-RPC client of one remote node. Thread-safe."""

    def __init__(  # noqa: PLR0913 - options of a connection
        self,
        url: str,
        *,
        retries: int = DEFAULT_RETRIES,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        repeats_timeouts: bool = True,
        max_message_characters: int = SHOWN_CHARACTERS,
        proxy: str | None = None,
    ) -> None:
        """Send nothing yet.

        Input:
            url: an HTTP URL.
            retries: how often a request is repeated that found no server, or a busy one.
            timeout_seconds: how long one try may take.
            repeats_timeouts: whether a request without an answer in time is repeated. One that
                runs a model starts anew.
            max_message_characters: how much of a remote message errors show.
            proxy: the URL of an HTTP proxy; None for none.

        Raises: ConfigError: an invalid value.
        """
        if not 0 <= retries <= MAX_RETRIES:
            raise ConfigError(f"retries {retries}: must be 0 to {MAX_RETRIES}")
        if timeout_seconds <= 0:
            raise ConfigError(f"timeout of {timeout_seconds} s: must be above 0")
        self._transport = HttpTransport(url, timeout_seconds, proxy=proxy)
        self.retries = retries
        self._repeats_timeouts = repeats_timeouts
        self._max_message_characters = max_message_characters
        self._is_closed = threading.Event()
        self._has_batches = True

    @property
    def host(self) -> str:
        """Host and port of the node; nothing else of the URL may be shown."""
        return self._transport.host

    @property
    def public_url(self) -> str:
        """The URL without secret parts: scheme, host and port."""
        return f"{self._transport.scheme}://{self.host}"

    def request(self, method: str, params: Sequence[object]) -> object:
        """Call a method; return the result.

        Raises: RemoteError: the node's error response. RemoteFault: no answer.
        """
        body = json.dumps(_build_form(0, Request(method, params))).encode()
        result = self._read_response(self._send(body, method), method)
        if isinstance(result, RemoteError):
            raise result
        return result

    def request_quantity(self, method: str, *params: object) -> int:
        """Call a method whose result is a quantity; return the number.

        Raises: RemoteError: the node's error response. RemoteFault: no answer, or another result.
        """
        result = self.request(method, params)
        try:
            return parse_quantity(result)
        except ValueError as error:
            raise self.build_fault(method, "not a quantity", "pass the URL of a node") from error

    def request_all(self, requests: Sequence[Request]) -> list[object]:
        """Call several methods in few round trips, or in one each if the node answers no batches.

        Output: for each request the result, or a RemoteError.
        Raises: RemoteFault: the node does not answer.
        """
        parts = split(requests, MAX_BATCH)
        return [result for part in parts for result in self._request_part(part)]

    def _request_part(self, requests: Sequence[Request]) -> list[object]:
        """Call at most `MAX_BATCH` methods; see `request_all`."""
        if len(requests) > 1 and self._has_batches:
            try:
                return self._request_batch(requests)
            except BatchRefusedError:
                results = [self._request_one(each) for each in requests]
                self._has_batches = False  # After an answer: the node may have refused the key.
                return results
        return [self._request_one(each) for each in requests]

    def close(self) -> None:
        """Close the connections; waiting requests end with a fault."""
        self._is_closed.set()
        self._transport.close()

    def wait(self, seconds: float, method: str) -> None:
        """Wait before a request of this method is repeated.

        Raises: RemoteFault: the client was closed.
        """
        if self._is_closed.wait(seconds):
            raise self.build_fault(method, "the fork was closed", "open it again")

    def build_fault(self, method: str, problem: str, advice: str) -> RemoteFault:
        """Return the fault of a request: host, method, the problem, and the next step."""
        return RemoteFault(f"remote chain at {self.host}: {method}: {problem}; {advice}")

    def _request_one(self, request: Request) -> object:
        try:
            return self.request(request.method, request.params)
        except RemoteError as error:
            return error

    def _request_batch(self, requests: Sequence[Request]) -> list[object]:
        method = requests[0].method
        forms = [_build_form(index, each) for index, each in enumerate(requests)]
        try:
            answers = self._send(json.dumps(forms).encode(), method)
        except _StatusFault as error:
            raise BatchRefusedError from error
        if not isinstance(answers, list):
            raise BatchRefusedError
        by_id = {each.get("id"): each for each in answers if isinstance(each, dict)}
        if by_id.keys() != {*range(len(requests))}:
            raise BatchRefusedError
        return [
            self._read_response(by_id[index], each.method) for index, each in enumerate(requests)
        ]

    def _read_response(self, response: object, method: str) -> object:
        """Return the result of a response, or the error."""
        if isinstance(response, dict):
            if (error := response.get("error")) is not None:
                return self._read_error(error)
            if "result" in response:
                return response["result"]
        raise self.build_fault(method, "the answer is not JSON-RPC", "pass the URL of a node")

    def _read_error(self, error: object) -> RemoteError:
        form = error if isinstance(error, dict) else {"message": str(error)}
        code, message = form.get("code"), self._shorten(str(form.get("message")))
        data = self._transport.redactor.redact_json(form.get("data"))
        return RemoteError(code if isinstance(code, int) else 0, message, data)

    def _shorten(self, text: str) -> str:
        most = self._max_message_characters
        text = self._transport.redactor.redact(text[: most + SECRET_CHARACTERS])
        return text if len(text) <= most else f"{text[:most]}…"

    def _describe_status(self, answer: HttpAnswer) -> str:
        """Return the status, and the first line of a body that is neither JSON nor HTML."""
        redact = self._transport.redactor.redact
        status = f"HTTP status {answer.status} {escape_line(redact(answer.reason))}".rstrip()
        line = answer.body.decode(errors="replace").strip().partition("\n")[0].rstrip()
        if not line or line[0] in "<{[":
            return status
        shown = escape_line(redact(line[: SHOWN_CHARACTERS + SECRET_CHARACTERS]))
        return f"{status}: {shown[:SHOWN_CHARACTERS]}{'…' * (len(shown) > SHOWN_CHARACTERS)}"

    def _send(self, body: bytes, method: str) -> object:
        """Return the JSON of an answer; repeat the request while the failure may end by itself."""
        for attempt in range(self.retries + 1):
            try:
                return self._try(body, method)
            except _TemporaryError as error:
                delay = FIRST_DELAY_SECONDS * 2**attempt
                delay = (
                    min(delay, MAX_DELAY_SECONDS)
                    if error.delay_seconds is None
                    else (error.delay_seconds)
                )
                tries = f"after {attempt + 1} {'try' if attempt == 0 else 'tries'}"
                if attempt == self.retries or delay > MAX_DELAY_SECONDS:
                    fault = self.build_fault(
                        method, f"{error} ({tries})", "check the URL and the network, or try later"
                    )
                    kind = UnreachedFault if error.is_unreached else UnansweredFault
                    raise kind(str(fault), str(error)) from error
            self.wait(delay, method)
        raise AssertionError  # The last attempt returns or raises.

    def _try(self, body: bytes, method: str) -> object:
        if self._is_closed.is_set():
            raise self.build_fault(method, "the fork was closed", "open it again")
        try:
            answer = self._transport.post(body)
        except AnswerTimeoutError as error:
            if self._repeats_timeouts:
                raise _TemporaryError(str(error)) from error
            fault = self.build_fault(method, str(error), "look at the node, or try later")
            raise UnansweredFault(str(fault), str(error)) from error
        except TransportError as error:
            raise _TemporaryError(str(error), is_unreached=True) from error
        except AnswerTooLargeError as error:
            raise self.build_fault(
                method, f"the answer has more than {MAX_ANSWER_BYTES:,} bytes", "request less"
            ) from error
        if answer.status == TOO_MANY_REQUESTS or answer.status >= FIRST_SERVER_ERROR:
            raise _TemporaryError(self._describe_status(answer), _read_retry_after(answer))
        return self._parse(answer, method)

    def _parse(self, answer: HttpAnswer, method: str) -> object:
        try:
            parsed: object = orjson.loads(answer.body)
        except ValueError as error:
            if answer.status != OK:
                status = self._describe_status(answer)
                raise _StatusFault(
                    f"remote chain at {self.host}: {method}: {status}; check the URL and its key"
                ) from error
            raise _TemporaryError("the answer is not JSON", is_unreached=True) from error
        for each in parsed if isinstance(parsed, list) else [parsed]:
            if (message := _find_rate_limit(each)) is not None:
                raise _TemporaryError(self._shorten(message), _read_retry_after(answer))
        return parsed


def parse_quantity(value: object) -> int:
    """Return the number of a quantity of JSON-RPC.

    Raises: ValueError: not one of at most 256 bits. A sign or a blank makes no quantity.
    """
    if not isinstance(value, str) or not QUANTITY.fullmatch(value):
        raise ValueError
    return int(value, 16)


def _find_revert_data(value: object) -> bytes:
    """Return the revert data in an error's `data`: a text, or a member of Hardhat's object."""
    if isinstance(value, dict):
        found = (_find_revert_data(value.get(key)) for key in ("data", "result"))
        return next(filter(None, found), b"")
    if not isinstance(value, str) or not value.startswith("0x"):
        return b""
    try:
        return bytes.fromhex(value[2:])
    except ValueError:
        return b""


def _build_form(request_id: int, request: Request) -> dict[str, object]:
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": request.method,
        "params": list(request.params),
    }


def _find_rate_limit(response: object) -> str | None:
    """Return the message of a response that refuses a request for now; None for others.

    A revert is an answer, whatever its reason says.
    """
    error = response.get("error") if isinstance(response, dict) else None
    if not isinstance(error, dict) or error.get("code") == REVERTED:
        return None
    if _find_revert_data(error.get("data")):
        return None
    message = str(error.get("message"))
    is_limit = error.get("code") == TOO_MANY_REQUESTS or RATE_LIMIT.search(message)
    return message if is_limit else None


def _read_retry_after(answer: HttpAnswer) -> float | None:
    """Return the seconds of `Retry-After`; None if missing or a date, which nodes don't send.

    Source: RFC 9110, section 10.2.3.
    """
    text = answer.headers.get("retry-after", "").strip()
    return float(text) if text.isdecimal() else None
