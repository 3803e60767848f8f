"""A thread has the stack it was given, and others are as before."""

from __future__ import annotations

import threading

import pytest

from pyevm_agents.vm.stack_depth import start_thread, thread_stack_size
from tests.deadlines import HANG_SECONDS


def test_the_size_holds_for_one_thread_alone() -> None:
    before = threading.stack_size()
    has_run = threading.Event()
    start_thread(has_run.set, name="deep", stack_bytes=64 * 2**20)
    assert has_run.wait(HANG_SECONDS)
    assert threading.stack_size() == before


def test_the_size_is_as_before_when_no_thread_starts() -> None:
    before = threading.stack_size()
    with pytest.raises(ValueError, match="none"), thread_stack_size(64 * 2**20):
        raise ValueError("none")
    assert threading.stack_size() == before


def test_many_may_start_at_once() -> None:
    before = threading.stack_size()
    started = threading.Barrier(17)
    starters = [
        threading.Thread(
            target=start_thread,
            args=(started.wait,),
            kwargs={"name": "deep", "stack_bytes": 64 * 2**20},
        )
        for _ in range(16)
    ]
    for starter in starters:
        starter.start()
    started.wait(HANG_SECONDS)
    for starter in starters:  # each puts the size back after its thread has begun
        starter.join(HANG_SECONDS)
    assert threading.stack_size() == before
