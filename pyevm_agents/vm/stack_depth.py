"""Nested EVM calls on Python's stack: threads with a large stack, and call trees without recursion.

py-evm recurses for each nested call. CPython 3.12 limits the nested C functions of a thread to
1,500. An EVM call takes three: depth 494 was a RecursionError, where the EVM allows 1,024. The
limit is per thread: every `LEVELS_OF_A_THREAD` levels, the call continues in a new thread while the
caller waits. CPython 3.11 has no limit of this kind, and that of 3.13 exceeds the EVM's depth.

The stack size is a setting of the process at the start of a thread, so threads start one by one.

Python's recursion limit is one of the process, too. py_ecc, which py-evm imports, sets 100,000. C
code counts as well: with that limit, nested brackets in `json.loads` exhaust 8 MiB of stack. So
this module lowers the limit to what 1,024 levels of the EVM need.

Source: CPython, `C_RECURSION_LIMIT` in Include/cpython/pystate.h.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from eth.constants import CREATE_CONTRACT_ADDRESS
from eth_typing import Address

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import ComputationAPI


ComputationT = TypeVar("ComputationT", bound="ComputationAPI")
T = TypeVar("T")

IS_BOUNDED = sys.version_info[:2] == (3, 12)

RIPEMD160_ADDRESS = Address(b"\x03".rjust(20, b"\0"))

PY_ECC_RECURSION_LIMIT = 100_000
"""Source: py_ecc/__init__.py, for functions that no longer recurse."""

RECURSION_LIMIT = 20 * 1_024
"""A nested creation takes 13.2 frames (py-evm's own limit has 12), the callers' take some hundred.
Twice as many levels of JSON fit 8 MiB of stack."""

if sys.getrecursionlimit() == PY_ECC_RECURSION_LIMIT:  # A limit of the user's own stays.
    sys.setrecursionlimit(RECURSION_LIMIT)

LEVELS_OF_A_THREAD = 256
"""Nested calls per thread. The first one may start deep in a server's stack."""


def run_at_depth(depth: int, call: Callable[[], T]) -> T:
    """Run an EVM call of some depth, in a new thread if necessary; return the result.

    Raises: the call's exceptions. EngineFault: no thread can be started.
    """
    if IS_BOUNDED and depth % LEVELS_OF_A_THREAD == 0:
        return _run_in_thread(call)
    return call()


def _run_in_thread(call: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run_call() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            errors.append(error)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run_call,), name="deep call", daemon=True)
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


def iter_computations(computation: ComputationT) -> Iterator[ComputationT]:
    """Yield a computation and nested calls, without those below a failed call."""
    pending = [computation]
    while pending:
        call = pending.pop()
        yield call
        if not call.is_error:
            pending += call.children  # type: ignore[arg-type]


def collect_touched_accounts(computation: ComputationAPI) -> set[Address]:
    """Return the touched accounts, which are deleted if empty (EIP-161).

    Failed calls touch nothing except the precompile at 3, for historical reasons
    (https://github.com/ethereum/EIPs/issues/716).
    """
    touched = {computation.state.coinbase}
    pending = [(computation, False)]
    while pending:
        call, was_undone = pending.pop()
        named = {*call.beneficiaries} if not call.is_error else set()
        if call.msg.to != CREATE_CONTRACT_ADDRESS:
            named.add(call.msg.to)
        is_undone = was_undone or call.is_error
        touched |= named & {RIPEMD160_ADDRESS} if is_undone else named
        pending += [(child, is_undone) for child in call.children]
    return touched


_start_lock = threading.Lock()


@contextmanager
def thread_stack_size(stack_bytes: int) -> Iterator[None]:
    """Set the stack size of threads that are started in this context. Serialized by a lock."""
    with _start_lock:
        before = threading.stack_size(stack_bytes)
        try:
            yield
        finally:
            threading.stack_size(before)


def start_thread(run: Callable[[], object], *, name: str, stack_bytes: int) -> None:
    """Start a daemon thread with a stack size.

    Raises: RuntimeError: no thread can be started.
    """
    with thread_stack_size(stack_bytes):
        threading.Thread(target=run, name=name, daemon=True).start()
