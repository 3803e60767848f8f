"""Threads for requests that compute or wait, with stacks deep enough for whatever they do.

How they are shared: a method may hold as many threads as it leaves free, no more. Of 64, one
method gets 32, a second one 16, so seven methods must wait at once before an eighth does.

A stack of 256 MiB is address space, not memory: 1,024 nested calls or creations take less than
1 MiB of it (CPython 3.11.7 and 3.13.0; 512 KiB were too few). The rest is for bugs. py_ecc, which
py-evm imports, sets Python's recursion limit to 100,000, and functions of C can spend 2 KiB a
level: an endless recursion through `sorted` ended the process with 128 MiB of stack, and is a
RecursionError with 256.
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
    """A pool that grows as it is needed. Everything but the calls happens on the loop's thread."""

    def __init__(self, *, threads: int, waiting: int) -> None:
        """Have up to `threads` calls at work and `waiting` behind them."""
        self._loop = asyncio.get_running_loop()
        self._max_threads = threads
        self._max_waiting = waiting
        self._threads = 0
        self._running_by_method: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Call]] = {}
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()

    @property
    def running(self) -> int:
        """How many calls are at work."""
        return self._running_by_method.total()

    def submit(self, method: str, run: Callable[[], bytes | None]) -> asyncio.Future[bytes | None]:
        """Run a call in a thread, as soon as one is free for its method.

        Cancelling the future takes the call out of the line; once begun, it goes to its end.

        Raises:
            RpcError: too many wait already, or the system gives no thread.
        """
        if sum(map(len, self._waiting.values())) >= self._max_waiting:
            raise RpcError(
                LIMIT_EXCEEDED,
                f"{self._max_waiting:,} requests wait already: try again when some are answered",
            )
        future: asyncio.Future[bytes | None] = self._loop.create_future()
        self._waiting.setdefault(method, deque()).append(
            _Call(method=method, run=run, future=future)
        )
        self._start_next()
        return future

    def close(self) -> int:
        """Cancel what waits, let threads end with their call; return how many are at work."""
        for calls in self._waiting.values():
            for call in calls:
                call.future.cancel()
        self._waiting.clear()
        for _ in range(self._threads):
            self._queue.put(None)
        self._threads = 0
        return self.running

    def _start_next(self) -> None:
        """Start every call that may."""
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
                # The system has no more. Those that there are will do, if there are any.
                if not self._threads:
                    reason = f"no thread can be started ({error}): free memory or processes"
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
            except BaseException as error:  # noqa: BLE001 - the loop's thread is to raise it
                outcome = error
            try:
                self._loop.call_soon_threadsafe(self._finish, call, outcome)
            except RuntimeError:
                return  # The loop is closed: nobody waits.
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
