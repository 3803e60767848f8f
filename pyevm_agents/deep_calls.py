"""Calls in calls where Python bounds how deep functions of C may be nested, whatever the stack.

CPython 3.12 lets a thread have 1,500 of them. A call of the EVM takes three in py-evm, so that one
at depth 494 was a RecursionError, and the EVM goes to 1,024. Each thread has a count of its own:
after so many levels the call goes on in a fresh one, and its caller waits. CPython 3.11 has no such
bound, and that of 3.13 is beyond what the EVM asks for.

Source: CPython, `C_RECURSION_LIMIT` in Include/cpython/pystate.h.
"""

from __future__ import annotations

import sys
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

IS_BOUNDED = sys.version_info[:2] == (3, 12)

LEVELS_OF_A_THREAD = 256
"""Calls in calls until the next thread. One may begin deep in a server's own functions."""


def at_depth(depth: int, call: Callable[[], T]) -> T:
    """Do a call of the EVM at some depth, in the thread that has room for it; return its result.

    Raises: whatever the call raises. EngineFault: the system gives no thread.
    """
    if IS_BOUNDED and depth % LEVELS_OF_A_THREAD == 0:
        return _in_a_thread(call)
    return call()


def _in_a_thread(call: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            errors.append(error)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="deep call", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise EngineFault(
            f"no thread can be started for a deep call ({error}): free memory or processes"
        ) from error
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
