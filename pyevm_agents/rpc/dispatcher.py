"""JSON-RPC 2.0 around a service: bytes in, bytes out. A server and a provider in process share it.

message ─▶ Dispatcher.handle ─▶ the answer, where all of it is quick and nothing is waited for
                           └▶ DeferredResponse, to be run in a thread: the answer
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import deque
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
    from collections.abc import Callable, Sequence

    from pyevm_agents.rpc.request import Params
    from pyevm_agents.rpc.session import Session

    RequestListener = Callable[["RequestLogEntry"], None]

log = logging.getLogger(__name__)

INLINE_BYTES = 64 * 1024
"""A longer message is parsed in a thread: this many bytes take about a millisecond at worst."""

INLINE_REQUESTS = 16
"""A longer batch runs in a thread, though all of it be quick."""

LOGGED_FRAMES = 50
"""How many calls of a bug's traceback are logged: the innermost."""

MAX_BUG_CHARACTERS = 1_000
"""How much of a bug's message is answered; the log has all of it."""


class Service(Protocol):
    """What answers requests. Thread-safe: several run at once."""

    def is_quick(self, method: str) -> bool:
        """Say whether a method takes well under a millisecond where it need not wait.

        It is then called on the server's loop. A method that subscribes should be quick and never
        wait: its answer then precedes the first notification, whatever other threads do.
        """

    def call(
        self, method: str, params: Params, session: Session, *, may_wait: bool = True
    ) -> object:
        """Execute a method and return its result, JSON-ready.

        Input:  whether it may wait for others: not on the server's loop, where quick ones run.
        Raises: RpcError: the error to answer. WouldBlockError: it may not wait, and would, or would
                take long; nothing was done. It is called again in a thread.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLogEntry:
    """What the log knows of a request."""

    method: str
    """As it was asked for, by whomever: any string of any length. Empty for what is no request."""

    milliseconds: float
    """How long the service took; waiting for a thread is not in it."""

    error_code: int | None
    error_message: str | None = None
    """What was answered in place of a result. It may repeat what whoever asked said."""

    transport: str
    thread_id: int = 0
    """Which thread executed it: what a contract prints meanwhile is told in the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredResponse:
    """The rest of answering a message: call it once, in a thread of its own, or refuse it."""

    method: str
    """What it waits for: the first method that is not quick, or that would have to wait. Empty
    where nobody knows yet."""

    is_batch: bool
    run: Callable[[], bytes | None]
    refuse: Callable[[RpcError], bytes | None]
    """Answers every request of the message with an error; none is executed."""

    def __call__(self) -> bytes | None:
        """Return the answer, None where none is due."""
        return self.run()


class Dispatcher:
    """Reads messages, has a service execute them, and writes the answers.

    No message and no exception of the service's escapes it, except those that are no `Exception`:
    KeyboardInterrupt passes.
    """

    def __init__(
        self,
        service: Service,
        *,
        limits: Limits | None = None,
        watch: RequestListener | None = None,
    ) -> None:
        """Answer for a service; `watch` is told of each request as it ends, in any thread."""
        self._service = service
        self._limits = Limits() if limits is None else limits
        self._on_request = watch

    def handle(self, body: bytes, session: Session) -> bytes | DeferredResponse | None:
        """Answer a message at once, or return the work that answering it is.

        None means that it needs no answer: all of it were notifications.
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
        """Answer a message in this thread, however long it takes."""
        requests = self._read(body, session)
        if isinstance(requests, bytes):
            return requests
        return _BatchResponse(self, requests, session, is_batch=_is_batch(body)).execute_all()

    def _read(self, body: bytes, session: Session) -> Sequence[JsonRpcRequest] | bytes:
        """Return the requests of a message, or the answer to one that has none."""
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
            raise RpcError(INVALID_REQUEST, "the batch is empty")
        if len(batch) > self._limits.batch:
            raise RpcError(
                INVALID_REQUEST,
                f"the batch has {len(batch):,} requests; at most {self._limits.batch:,} are taken",
            )

    @property
    def batch_answer_bytes(self) -> int:
        """After how many bytes of answers the rest of a batch is refused."""
        return self._limits.batch_answer_bytes

    def execute(self, request: JsonRpcRequest, session: Session, *, may_wait: bool) -> bytes | None:
        """Execute one request.

        Raises: WouldBlockError: it may not wait, and would; it is as if it were not asked yet.
        """
        if request.refusal is not None:
            return self.refuse(request, request.refusal, session)
        started = perf_counter()
        error = None
        answer = None
        try:
            result = self._service.call(request.method, request.params, session, may_wait=may_wait)
            if not request.is_notification:
                answer = encode_result(request.id, result)
        except WouldBlockError:
            raise
        except Exception as exception:  # noqa: BLE001 - whatever it is, the server goes on
            error = _as_rpc_error(exception, request.method)
            if not request.is_notification:
                answer = _encode_service_error(request.id, error)
        self._report(request.method, (perf_counter() - started) * 1_000, error, session)
        return answer

    def refuse(self, request: JsonRpcRequest, error: RpcError, session: Session) -> bytes | None:
        """Answer one request with an error; it is not executed."""
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
    """The answers to a message's requests, one after the other; also in two goes."""

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
        """The request that is not answered yet."""
        return self._remaining[0]

    def execute_all(self, *, may_wait: bool = True) -> bytes | None:
        """Execute what is left; return the answers of all, joined.

        Raises: WouldBlockError: the next one may not wait, and would.
        """
        while self._remaining:
            self._append(self._execute_next(self.next_request, may_wait=may_wait))
        return self._join()

    def refuse_all(self, error: RpcError) -> bytes | None:
        """Answer what is left with an error; return the answers of all, joined."""
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
            f"the batch's answers exceed {self._dispatcher.batch_answer_bytes:,} bytes, so this "
            "request was not executed: send it again in another batch",
        )

    def _join(self) -> bytes | None:
        if not self._answers:
            return None
        return b"[%b]" % b",".join(self._answers) if self._is_batch else self._answers[0]


def _is_batch(body: bytes) -> bool:
    """Say whether a message that was read is a list."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def _as_rpc_error(exception: Exception, method: str) -> RpcError:
    """Return the error to answer; what no method should raise is logged as the bug it is."""
    if isinstance(exception, RpcError):
        return exception
    log.error(
        "%.100r failed: this is a bug, please report it\n%s", method, _format_traceback(exception)
    )
    return RpcError(INTERNAL_ERROR, _describe_exception(exception))


def _format_traceback(exception: Exception) -> str:
    """Return the traceback, writable to any log: half a surrogate pair is no UTF-8."""
    # The frames of an endless recursion would take seconds to write.
    frames = traceback.format_exception(exception, limit=-LOGGED_FRAMES)
    return "".join(frames).encode("utf-8", "backslashreplace").decode()


def _describe_exception(exception: Exception) -> str:
    try:
        text = str(exception)[:MAX_BUG_CHARACTERS]
    except Exception:  # noqa: BLE001 - a broken __str__ is one bug more
        text = "its message can't be read"
    text = text.encode("utf-8", "replace").decode()
    return f"{type(exception).__name__}: {text}"


def _encode_service_error(request_id: object, error: RpcError) -> bytes:
    """Write an error of the service's, whose data may be no JSON."""
    try:
        return encode_error(request_id, error)
    except Exception as exception:
        log.exception("An error's data is not JSON-ready: this is a bug, please report it")
        return encode_error(request_id, RpcError(INTERNAL_ERROR, _describe_exception(exception)))
