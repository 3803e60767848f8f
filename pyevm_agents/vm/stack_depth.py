"""Nested calls of the EVM on Python's stack: deep threads, and fresh ones on the way down.

py-evm calls itself for each nested call. CPython 3.12 lets a thread nest 1,500 functions of C,
whatever its stack. A call of the EVM takes three in py-evm, so that one at depth 494 was a
RecursionError, and the EVM goes to 1,024. Each thread has a count of its own: after so many levels
the call goes on in a fresh one, and its caller waits. CPython 3.11 has no such bound, and that of
3.13 is beyond the EVM's depth. The results of all calls are collected in a loop here; py-evm does
it by recursion.

A thread gets the stack size that holds in the process when it starts, so threads start one by one.

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

LEVELS_OF_A_THREAD = 256
"""Calls in calls until the next thread. One may begin deep in a server's own functions."""


def run_at_depth(depth: int, call: Callable[[], T]) -> T:
    """Do a call of the EVM at some depth, in the thread that has room for it; return its result.

    Raises: whatever the call raises. EngineFault: the system gives no thread.
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
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
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
    """Yield a computation and what it called, but nothing below a failure."""
    pending = [computation]
    while pending:
        call = pending.pop()
        yield call
        if not call.is_error:
            pending += call.children  # type: ignore[arg-type]


def collect_touched_accounts(computation: ComputationAPI) -> set[Address]:
    """Return the accounts that are to be deleted if they are empty (EIP-161).

    What happened below a failure touched nothing, but for the precompile at 3: two clients had it
    so when it mattered (https://github.com/ethereum/EIPs/issues/716).
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
    """Give threads that are started meanwhile a stack of this size; nobody else starts one deep."""
    with _start_lock:
        before = threading.stack_size(stack_bytes)
        try:
            yield
        finally:
            threading.stack_size(before)


def start_thread(run: Callable[[], object], *, name: str, stack_bytes: int) -> None:
    """Start a thread that Python does not wait for when it exits.

    Raises: RuntimeError: the system gives no thread.
    """
    with thread_stack_size(stack_bytes):
        threading.Thread(target=run, name=name, daemon=True).start()
