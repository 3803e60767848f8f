"""One thing after another: in a thread of its own, or at once where nothing else is under way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.vm.stack_depth import thread_stack_size

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Address space for the stack of the thread: calls 1,024 deep are recursive in py-evm. Only what is
used takes memory."""


class BusyError(Exception):
    """Something else is under way, or waits for its turn."""


class WriteQueue:
    """Whose turn it is. All of it may be used in any thread."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._thread = _start_deep_thread()
        self._run_lock = threading.Lock()
        self._count_lock = threading.Lock()
        self._waiting = 0
        self._has_ended = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Do something in the thread, after whatever was asked before.

        Raises: RuntimeError: it has ended.
        """
        with self._count_lock:
            future = self._thread.submit(self._run, work)
            self._waiting += 1
        return future

    def _run(self, work: Callable[[], T]) -> T:
        try:
            with self._run_lock:
                return work()
        finally:
            with self._count_lock:
                self._waiting -= 1

    def run_now(self, work: Callable[[], T]) -> T:
        """Do something in this thread, now.

        Raises: BusyError: something else is under way or was asked before, or the thread has
                ended; nothing was done.
        """
        if self._has_ended or self._waiting or not self._run_lock.acquire(blocking=False):
            raise BusyError
        try:
            return work()
        finally:
            self._run_lock.release()

    def close(self) -> None:
        """Finish what was asked for, and end."""
        self._has_ended = True
        self._thread.shutdown(wait=True)


def _start_deep_thread() -> ThreadPoolExecutor:
    """Return a thread with room for calls 1,024 deep."""
    with thread_stack_size(STACK_BYTES):
        executor = ThreadPoolExecutor(1, thread_name_prefix="execution")
        executor.submit(int).result()  # Its stack has the size that holds now.
    return executor
