"""Functions with a timeout."""

from __future__ import annotations

import sys
import threading

import pytest

from pyevm_agents.rpc.methods.eth_send import run_with_timeout
from tests.deadlines import HANG_SECONDS


def test_what_is_done_in_time_is_returned_or_raised() -> None:
    assert run_with_timeout(HANG_SECONDS, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(HANG_SECONDS, lambda: 1 // 0)
    with pytest.raises(TimeoutError, match="its own"):
        run_with_timeout(HANG_SECONDS, lambda: _raise(TimeoutError("its own")))


def test_what_takes_longer_goes_on() -> None:
    may_end, has_ended = threading.Event(), threading.Event()

    def work() -> bool:
        assert may_end.wait(HANG_SECONDS)
        has_ended.set()
        return True

    assert run_with_timeout(0.01, work) is None
    assert not has_ended.is_set()
    may_end.set()
    assert has_ended.wait(HANG_SECONDS)


def test_there_is_room_for_deep_calls() -> None:
    def deep(levels: int) -> int:
        return 0 if not levels else 1 + max(deep(levels - 1) for _ in range(1))

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        assert run_with_timeout(HANG_SECONDS, lambda: deep(1_000)) == 1_000
    finally:
        sys.setrecursionlimit(before)


def _raise(error: Exception) -> None:
    raise error
