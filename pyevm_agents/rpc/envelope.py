"""JSON-RPC 2.0 around a service: bytes in, bytes out. A server and a provider in process share it.

message ─▶ Dispatcher.begin ─▶ the answer, where all of it is quick
                           └▶ Work, to be run in a thread: the answer
"""

from __future__ import annotations

import logging
import threading
import traceback
from dataclasses import dataclass, replace
from time import perf_counter  # noqa: TID251 - how long a request takes is shown, and no more
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.rpc.codec import decode
from pyevm_agents.rpc.errors import INTERNAL_ERROR, INVALID_REQUEST, LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.limits import Limits
from pyevm_agents.rpc.request import Request, failure, read_request, success

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyevm_agents.rpc.request import Params
    from pyevm_agents.rpc.session import Session

    Watch = Callable[["Answered"], None]

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
        """Say whether a method never waits and takes well under a millisecond.

        It is then called on the server's loop. A method that subscribes should be quick: its
        answer then precedes the first notification, whatever other threads do.
        """

    def call(self, method: str, params: Params, session: Session) -> object:
        """Execute a method and return its result, JSON-ready.

        Raises: RpcError: the error to answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the log knows of a request."""

    method: str
    """As it was asked for, by whomever: any string of any length. Empty for what is no request."""

    milliseconds: float
    """How long the service took; waiting for a thread is not in it."""

    error_code: int | None
    transport: str
    thread_id: int = 0
    """Which thread executed it: what a contract prints meanwhile is told in the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The rest of answering a message: call it once, in a thread of its own, or refuse it."""

    method: str
    """What it waits for: the first method that is not quick. Empty where nobody knows yet."""

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
        self, service: Service, *, limits: Limits | None = None, watch: Watch | None = None
    ) -> None:
        """Answer for a service; `watch` is told of each request as it ends, in any thread."""
        self._service = service
        self._limits = Limits() if limits is None else limits
        self._watch = watch

    def begin(self, body: bytes, session: Session) -> bytes | Work | None:
        """Answer a message at once, or return the work that answering it is.

        None means that it needs no answer: all of it were notifications.
        """
        is_batch = _is_batch(body)
        if len(body) > INLINE_BYTES:
            return Work(
                method="",
                is_batch=is_batch,
                run=lambda: self._answer(body, session),
                refuse=lambda error: failure(None, error),
            )
        requests = self._read(body, session)
        if isinstance(requests, bytes):
            return requests
        slow = [request.method for request in requests if not self._is_quick(request)]
        if not slow and len(requests) <= INLINE_REQUESTS:
            return self._answers(requests, session, is_batch=is_batch)
        return Work(
            method=slow[0] if slow else "",
            is_batch=is_batch,
            run=lambda: self._answers(requests, session, is_batch=is_batch),
            refuse=lambda error: self._answers(
                [replace(request, refusal=error) for request in requests],
                session,
                is_batch=is_batch,
            ),
        )

    def _is_quick(self, request: Request) -> bool:
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
        return self._answers(requests, session, is_batch=_is_batch(body))

    def _read(self, body: bytes, session: Session) -> Sequence[Request] | bytes:
        """Return the requests of a message, or the answer to one that has none."""
        try:
            message = decode(body, self._limits)
            if isinstance(message, list):
                self._check_batch(message)
                return [read_request(each) for each in message]
            return (read_request(message),)
        except RpcError as error:
            self._tell("", 0.0, error.code, session)
            return failure(None, error)

    def _check_batch(self, batch: list[object]) -> None:
        if not batch:
            raise RpcError(INVALID_REQUEST, "the batch is empty")
        if len(batch) > self._limits.batch:
            raise RpcError(
                INVALID_REQUEST,
                f"the batch has {len(batch):,} requests; at most {self._limits.batch:,} are taken",
            )

    def _answers(
        self, requests: Sequence[Request], session: Session, *, is_batch: bool
    ) -> bytes | None:
        """Execute requests one after the other and join their answers."""
        if not is_batch:
            return self._execute(requests[0], session)
        answers: list[bytes] = []
        room_bytes = self._limits.batch_answer_bytes
        for request in requests:
            if room_bytes < 0:
                answer = self._refuse(request, self._too_long(), session)
            else:
                answer = self._execute(request, session)
            if answer is not None:
                answers.append(answer)
                room_bytes -= len(answer)
        return b"[%b]" % b",".join(answers) if answers else None

    def _too_long(self) -> RpcError:
        return RpcError(
            LIMIT_EXCEEDED,
            f"the batch's answers exceed {self._limits.batch_answer_bytes:,} bytes, so this "
            "request was not executed: send it again in another batch",
        )

    def _execute(self, request: Request, session: Session) -> bytes | None:
        """Execute one request."""
        if request.refusal is not None:
            return self._refuse(request, request.refusal, session)
        started = perf_counter()
        code = None
        answer = None
        try:
            result = self._service.call(request.method, request.params, session)
            if not request.is_notification:
                answer = success(request.id, result)
        except Exception as exception:  # noqa: BLE001 - whatever it is, the server goes on
            error = _as_rpc_error(exception, request.method)
            code = error.code
            if not request.is_notification:
                answer = _written(request.id, error)
        self._tell(request.method, (perf_counter() - started) * 1_000, code, session)
        return answer

    def _refuse(self, request: Request, error: RpcError, session: Session) -> bytes | None:
        self._tell(request.method, 0.0, error.code, session)
        return None if request.is_notification else failure(request.id, error)

    def _tell(self, method: str, milliseconds: float, code: int | None, session: Session) -> None:
        if self._watch is None:
            return
        self._watch(
            Answered(
                method=method,
                milliseconds=milliseconds,
                error_code=code,
                transport=session.transport,
                thread_id=threading.get_ident(),
            )
        )


def _is_batch(body: bytes) -> bool:
    """Say whether a message that was read is a list."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def _as_rpc_error(exception: Exception, method: str) -> RpcError:
    """Return the error to answer; what no method should raise is logged as the bug it is."""
    if isinstance(exception, RpcError):
        return exception
    log.error("%.100r failed: this is a bug, please report it\n%s", method, _frames(exception))
    return RpcError(INTERNAL_ERROR, _told(exception))


def _frames(exception: Exception) -> str:
    """Return the traceback, writable to any log: half a surrogate pair is no UTF-8."""
    # The frames of an endless recursion would take seconds to write.
    frames = traceback.format_exception(exception, limit=-LOGGED_FRAMES)
    return "".join(frames).encode("utf-8", "backslashreplace").decode()


def _told(exception: Exception) -> str:
    try:
        text = str(exception)[:MAX_BUG_CHARACTERS]
    except Exception:  # noqa: BLE001 - a broken __str__ is one bug more
        text = "its message can't be read"
    text = text.encode("utf-8", "replace").decode()
    return f"{type(exception).__name__}: {text}"


def _written(request_id: object, error: RpcError) -> bytes:
    """Write an error of the service's, whose data may be no JSON."""
    try:
        return failure(request_id, error)
    except Exception as exception:
        log.exception("An error's data is not JSON-ready: this is a bug, please report it")
        return failure(request_id, RpcError(INTERNAL_ERROR, _told(exception)))
