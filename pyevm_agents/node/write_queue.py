"""The write queue: changes of a chain, one at a time, in order."""

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
"""Stack of the queue's thread: py-evm recurses for calls 1,024 deep. This is address space; only
used pages take memory."""


class BusyError(Exception):
    """The write queue is not idle."""


class WriteQueue:
    """Runs functions one at a time in a separate thread. Thread-safe."""

    def __init__(self) -> None:
        self._thread = _start_deep_thread()
        self._run_lock = threading.Lock()
        self._count_lock = threading.Lock()
        self._waiting = 0
        self._has_ended = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Queue a function; return the future.

        Raises: RuntimeError: the queue is closed.
        """
        if self._has_ended:
            raise RuntimeError("the chain is closed: it executes no more transactions")
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
        """Run a function in the calling thread.

        Raises: BusyError: the queue is not idle, or closed; the function did not run.
        """
        if self._has_ended or self._waiting or not self._run_lock.acquire(blocking=False):
            raise BusyError
        try:
            return work()
        finally:
            self._run_lock.release()

    def close(self) -> None:
        """Finish the queued functions and stop the thread."""
        self._has_ended = True
        self._thread.shutdown(wait=True)


def _start_deep_thread() -> ThreadPoolExecutor:
    """Return a single-thread executor with room for calls 1,024 deep."""
    with thread_stack_size(STACK_BYTES):
        executor = ThreadPoolExecutor(1, thread_name_prefix="execution")
        executor.submit(int).result()  # Starts the thread while the stack size is set.
    return executor
