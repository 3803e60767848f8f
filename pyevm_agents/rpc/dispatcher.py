"""JSON-RPC 2.0 dispatcher: bytes in, bytes out. Shared by the server and the in-process providers.

message ─▶ Dispatcher.handle ─▶ the response, if every request is quick and none has to wait
                           └▶ DeferredResponse, to be run in a thread: the response
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter  # noqa: TID251 - how long a request takes is shown, and no more
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.rpc.codec import Limits, decode
from pyevm_agents.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    RpcError,
    WouldBlockError,
)
from pyevm_agents.rpc.request import JsonRpcRequest, encode_error, encode_result, read_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyevm_agents.rpc.request import Params
    from pyevm_agents.rpc.session import Session

    RequestListener = Callable[["RequestLogEntry"], None]

log = logging.getLogger(__name__)

INLINE_BYTES = 64 * 1024
"""Longer messages are parsed in a thread: this many bytes take about a millisecond at worst."""

INLINE_REQUESTS = 16
"""Longer batches run in a thread, even if every request is quick."""

LOGGED_FRAMES = 50
"""Innermost frames of a bug's traceback that are logged."""

MAX_BUG_CHARACTERS = 1_000
"""Characters of a bug's message in the response; the log has all of it."""


class Service(Protocol):
    """A service that executes requests. Thread-safe: several run concurrently."""

    def is_quick(self, method: str) -> bool:
        """Return whether a method takes well under a millisecond, waiting apart.

        Quick methods run on the event loop. A method that subscribes should be quick and never
        wait: the response then precedes the first notification, independently of other threads.
        """

    def prepare(self, requests: Sequence[tuple[str, Params]]) -> None:
        """Get ready for the requests of a batch, which follow. May block."""

    def call(
        self,
        method: str,
        params: Params,
        session: Session,
        *,
        may_wait: bool = True,
        resources: ExitStack | None = None,
    ) -> object:
        """Execute a method; return the JSON-ready result.

        Input:  whether the method may block: false on the event loop; a stack that is closed once
                the result is encoded, None if nothing closes one.
        Raises: RpcError: the error response. WouldBlockError: the method would block or take long,
                and may not. The call had no effect, and is repeated in a thread.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogEntry:
    """A request in the log."""

    method: str
    """Method name as sent by the client (untrusted). Empty if the message is not a request."""

    milliseconds: float
    """Duration of the service's call, without the wait for a thread."""

    error_code: int | None
    error_message: str | None = None
    """Message of the error response. It may contain the client's input."""

    transport: str
    thread_id: int = 0
    """The executing thread, in which `console.log` output is announced as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredResponse:
    """The remaining requests of a message, to be called once, in a thread, or refused."""

    method: str
    """The first method that is not quick, or that has to wait. Empty if it is not known yet."""

    is_batch: bool
    run: Callable[[], bytes | None]
    refuse: Callable[[RpcError], bytes | None]
    """Returns an error response to every request of the message, without execution."""

    def __call__(self) -> bytes | None:
        """Return the response; None if all requests are notifications."""
        return self.run()


class Dispatcher:
    """Decodes messages, executes them with a service, and encodes the responses.

    Every `Exception` of the service becomes an error response; KeyboardInterrupt passes.
    """

    def __init__(
        self,
        service: Service,
        *,
        limits: Limits | None = None,
        watch: RequestListener | None = None,
    ) -> None:
        """Input: the service; the limits; a callback for each finished request, in any thread."""
        self._service = service
        self._limits = Limits() if limits is None else limits
        self._on_request = watch

    def handle(self, body: bytes, session: Session) -> bytes | DeferredResponse | None:
        """Return the response of a message, or a deferred one if a request is not quick.

        None if all requests of the message are notifications.
        """
        is_batch = _is_batch(body)
        if len(body) > INLINE_BYTES:
            return DeferredResponse(
                method="",
                is_batch=is_batch,
                run=lambda: self._answer(body, session),
                refuse=lambda error: encode_error(None, error),
            )
        requests = self._read(body, session)
        if isinstance(requests, bytes):
            return requests
        answers = _BatchResponse(self, requests, session, is_batch=is_batch)
        slow = [request.method for request in requests if not self._is_quick(request)]
        waits_for = slow[0] if slow else ""
        if not slow and len(requests) <= INLINE_REQUESTS:
            try:
                return answers.execute_all(may_wait=False)
            except WouldBlockError:
                waits_for = answers.next_request.method
        return DeferredResponse(
            method=waits_for, is_batch=is_batch, run=answers.execute_all, refuse=answers.refuse_all
        )

    def _is_quick(self, request: JsonRpcRequest) -> bool:
        if request.refusal is not None:
            return True
        try:
            return self._service.is_quick(request.method)
        except Exception:
            log.exception(
                "is_quick(%.100r) failed: this is a bug, please report it", request.method
            )
            return False

    def _answer(self, body: bytes, session: Session) -> bytes | None:
        """Execute a message in this thread, even for long."""
        requests = self._read(body, session)
        if isinstance(requests, bytes):
            return requests
        return _BatchResponse(self, requests, session, is_batch=_is_batch(body)).execute_all()

    def _read(self, body: bytes, session: Session) -> Sequence[JsonRpcRequest] | bytes:
        """Return the requests of a message, or the error response of an invalid message."""
        try:
            message = decode(body, self._limits)
            if isinstance(message, list):
                self._check_batch(message)
                return [read_request(each) for each in message]
            return (read_request(message),)
        except RpcError as error:
            self._report("", 0.0, error, session)
            return encode_error(None, error)

    def _check_batch(self, batch: list[object]) -> None:
        if not batch:
            raise RpcError(INVALID_REQUEST, "empty batch")
        if len(batch) > self._limits.batch:
            raise RpcError(
                INVALID_REQUEST,
                f"batch too large: {len(batch):,} requests, at most {self._limits.batch:,}",
            )

    @property
    def batch_answer_bytes(self) -> int:
        """Bytes of responses after which the rest of a batch is rejected."""
        return self._limits.batch_answer_bytes

    def prepare(self, requests: Iterable[JsonRpcRequest]) -> None:
        """Let the service get ready for the requests of a batch."""
        try:
            self._service.prepare(
                [(each.method, each.params) for each in requests if each.refusal is None]
            )
        except Exception:
            log.exception("prepare failed: this is a bug, please report it")

    def execute(self, request: JsonRpcRequest, session: Session, *, may_wait: bool) -> bytes | None:
        """Execute one request.

        Raises: WouldBlockError: the method would block, and may not; there was no effect.
        """
        if request.refusal is not None:
            return self.refuse(request, request.refusal, session)
        started = perf_counter()
        error = None
        answer = None
        try:
            with ExitStack() as resources:
                result = self._service.call(
                    request.method,
                    request.params,
                    session,
                    may_wait=may_wait,
                    resources=resources,
                )
                if not request.is_notification:
                    answer = encode_result(request.id, result)
                del result  # Its memory is counted until here.
        except WouldBlockError:
            raise
        except Exception as exception:  # noqa: BLE001 - any bug becomes an error response
            error = _as_rpc_error(exception, request.method)
            if not request.is_notification:
                answer = _encode_service_error(request.id, error)
        self._report(request.method, (perf_counter() - started) * 1_000, error, session)
        return answer

    def refuse(self, request: JsonRpcRequest, error: RpcError, session: Session) -> bytes | None:
        """Return the error response of one request, without execution."""
        self._report(request.method, 0.0, error, session)
        return None if request.is_notification else encode_error(request.id, error)

    def _report(
        self, method: str, milliseconds: float, error: RpcError | None, session: Session
    ) -> None:
        if self._on_request is None:
            return
        self._on_request(
            RequestLogEntry(
                method=method,
                milliseconds=milliseconds,
                error_code=None if error is None else error.code,
                error_message=None if error is None else error.message,
                transport=session.transport,
                thread_id=threading.get_ident(),
            )
        )


class _BatchResponse:
    """The responses of a message's requests, in order; execution can resume in another thread."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        requests: Sequence[JsonRpcRequest],
        session: Session,
        *,
        is_batch: bool,
    ) -> None:
        self._dispatcher = dispatcher
        self._remaining = deque(requests)
        self._session = session
        self._is_batch = is_batch
        self._answers: list[bytes] = []
        self._remaining_bytes = dispatcher.batch_answer_bytes

    @property
    def next_request(self) -> JsonRpcRequest:
        """The first request without a response."""
        return self._remaining[0]

    def execute_all(self, *, may_wait: bool = True) -> bytes | None:
        """Execute the remaining requests; return the joined responses of all.

        Raises: WouldBlockError: the next request would block, and may not.
        """
        if self._is_batch and may_wait:
            self._dispatcher.prepare(self._remaining)
        while self._remaining:
            self._append(self._execute_next(self.next_request, may_wait=may_wait))
        return self._join()

    def refuse_all(self, error: RpcError) -> bytes | None:
        """Reject the remaining requests with an error; return the joined responses of all."""
        while self._remaining:
            self._append(self._dispatcher.refuse(self.next_request, error, self._session))
        return self._join()

    def _execute_next(self, request: JsonRpcRequest, *, may_wait: bool) -> bytes | None:
        if self._is_batch and self._remaining_bytes < 0:
            return self._dispatcher.refuse(request, self._batch_size_error(), self._session)
        return self._dispatcher.execute(request, self._session, may_wait=may_wait)

    def _append(self, answer: bytes | None) -> None:
        self._remaining.popleft()
        if answer is not None:
            self._answers.append(answer)
            self._remaining_bytes -= len(answer)

    def _batch_size_error(self) -> RpcError:
        return RpcError(
            LIMIT_EXCEEDED,
            f"batch response too large: more than {self._dispatcher.batch_answer_bytes:,} bytes; "
            "this request was not executed, send it in another batch",
        )

    def _join(self) -> bytes | None:
        if not self._answers:
            return None
        return b"[%b]" % b",".join(self._answers) if self._is_batch else self._answers[0]


def _is_batch(body: bytes) -> bool:
    """Return whether a message is a list."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def _as_rpc_error(exception: Exception, method: str) -> RpcError:
    """Return the error response of an exception; anything but RpcError is logged as a bug."""
    if isinstance(exception, RpcError):
        return exception
    log.error(
        "%.100r failed: this is a bug, please report it\n%s", method, _format_traceback(exception)
    )
    return RpcError(INTERNAL_ERROR, _describe_exception(exception))


def _format_traceback(exception: Exception) -> str:
    """Return the traceback as valid UTF-8: a message may contain half a surrogate pair."""
    # The frames of an endless recursion would take seconds to format.
    frames = traceback.format_exception(exception, limit=-LOGGED_FRAMES)
    return "".join(frames).encode("utf-8", "backslashreplace").decode()


def _describe_exception(exception: Exception) -> str:
    try:
        text = str(exception)[:MAX_BUG_CHARACTERS]
    except Exception:  # noqa: BLE001 - a broken __str__ is one bug more
        text = "its message is not readable"
    text = text.encode("utf-8", "replace").decode()
    return f"{type(exception).__name__}: {text}"


def _encode_service_error(request_id: object, error: RpcError) -> bytes:
    """Encode an error of the service, whose data may not be JSON-ready."""
    try:
        return encode_error(request_id, error)
    except Exception as exception:
        log.exception("An error's data is not JSON-ready: this is a bug, please report it")
        return encode_error(request_id, RpcError(INTERNAL_ERROR, _describe_exception(exception)))
