"""Thread pool for requests that compute or block, with large stacks.

Fairness: a method may use at most as many threads as are left free. Of 64 threads, a first method
gets 32 and a second one 16; only after seven blocked methods does an eighth have to wait.

A stack of 256 MiB is address space, not memory: 1,024 nested calls or creations take less than 1
MiB (CPython 3.11.7 and 3.13.0; 512 KiB are too few). The rest is for bugs: C functions can use 2
KiB a level, and an embedding program may set Python's recursion limit to 100,000. An endless
recursion through `sorted` then crashes the process with 128 MiB of stack, and raises RecursionError
with 256.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.vm.stack_depth import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable

STACK_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Call:
    method: str
    run: Callable[[], bytes | None]
    future: asyncio.Future[bytes | None]


class CallThreadPool:
    """A pool that grows on demand. All methods are for the event loop's thread."""

    def __init__(self, *, threads: int, waiting: int) -> None:
        """Input: the most running calls; the most waiting calls."""
        self._loop = asyncio.get_running_loop()
        self._max_threads = threads
        self._max_waiting = waiting
        self._threads = 0
        self._running_by_method: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Call]] = {}
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()

    @property
    def running(self) -> int:
        """Number of running calls."""
        return self._running_by_method.total()

    def submit(self, method: str, run: Callable[[], bytes | None]) -> asyncio.Future[bytes | None]:
        """Run a call in a thread, as soon as one is free for the method.

        Cancelling the future removes a waiting call; a running call continues.

        Raises:
            RpcError: too many calls are waiting; or, from the future, no thread can be started.
        """
        if sum(map(len, self._waiting.values())) >= self._max_waiting:
            raise RpcError(
                LIMIT_EXCEEDED,
                f"too many waiting requests: at most {self._max_waiting:,}; retry later",
            )
        future: asyncio.Future[bytes | None] = self._loop.create_future()
        self._waiting.setdefault(method, deque()).append(
            _Call(method=method, run=run, future=future)
        )
        self._start_next()
        return future

    def close(self) -> int:
        """Cancel the waiting calls, let threads exit; return the number of running calls."""
        for calls in self._waiting.values():
            for call in calls:
                call.future.cancel()
        self._waiting.clear()
        for _ in range(self._threads):
            self._queue.put(None)
        self._threads = 0
        return self.running

    def _start_next(self) -> None:
        """Start every waiting call whose method has a free thread."""
        for method in list(self._waiting):
            calls = self._waiting[method]
            while calls and self._running_by_method[method] < self._max_threads - self.running:
                call = calls.popleft()
                if not call.future.cancelled():
                    self._start(call)
            if not calls:
                del self._waiting[method]

    def _start(self, call: _Call) -> None:
        if self.running == self._threads:
            try:
                self._add_thread()
            except RuntimeError as error:
                # The system has no more threads. Use the existing ones, if any.
                if not self._threads:
                    reason = f"cannot start a thread ({error}): free memory or processes"
                    call.future.set_exception(RpcError(LIMIT_EXCEEDED, reason))
                    return
        self._running_by_method[call.method] += 1
        self._queue.put(call)

    def _add_thread(self) -> None:
        name = f"pyevm-agents-call-{self._threads}"
        start_thread(self._run_calls, name=name, stack_bytes=STACK_BYTES)
        self._threads += 1

    def _run_calls(self) -> None:
        """Run calls, in a thread of the pool."""
        while (call := self._queue.get()) is not None:
            outcome: bytes | BaseException | None
            try:
                outcome = call.run()
            except BaseException as error:  # noqa: BLE001 - raised in the event loop's thread
                outcome = error
            try:
                self._loop.call_soon_threadsafe(self._finish, call, outcome)
            except RuntimeError:
                return  # The event loop is closed.
            del call, outcome

    def _finish(self, call: _Call, outcome: bytes | BaseException | None) -> None:
        self._running_by_method[call.method] -= 1
        if not self._running_by_method[call.method]:
            del self._running_by_method[call.method]
        if not call.future.done():
            if isinstance(outcome, BaseException):
                call.future.set_exception(outcome)
            else:
                call.future.set_result(outcome)
        self._start_next()
