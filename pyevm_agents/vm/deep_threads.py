"""Threads with stacks deep enough for the EVM: py-evm calls itself for each nested call.

A thread gets the stack size that holds in the process when it starts, so threads start one by one.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_starting = threading.Lock()


@contextmanager
def stacks_of(stack_bytes: int) -> Iterator[None]:
    """Give threads that are started meanwhile a stack of this size; nobody else starts one deep."""
    with _starting:
        before = threading.stack_size(stack_bytes)
        try:
            yield
        finally:
            threading.stack_size(before)


def start_thread(run: Callable[[], object], *, name: str, stack_bytes: int) -> None:
    """Start a thread that Python does not wait for when it exits.

    Raises: RuntimeError: the system gives no thread.
    """
    with stacks_of(stack_bytes):
        threading.Thread(target=run, name=name, daemon=True).start()
