"""Work that a request waits for only so long."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.vm.deep_threads import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

STACK_BYTES = 256 * 2**20
"""As the server's threads have: see there."""


def done_within(seconds: float, work: Callable[[], T]) -> T | None:
    """Return what work returns, or raise what it raises; None where it takes longer.

    It goes on then, and what the model says is remembered.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - who waits is to raise it
            future.set_exception(error)

    start_thread(run, name="pyevm-agents-patience", stack_bytes=STACK_BYTES)
    try:
        return future.result(seconds)
    except TooLate:
        if future.done():
            raise
        return None
