"""When blocks are made."""

from __future__ import annotations

import threading

from pyevm_agents.node.mining import Ticker
from tests.deadlines import HANG_SECONDS


def test_a_ticker_calls_until_it_is_stopped() -> None:
    called = threading.Semaphore(0)
    ticker = Ticker(called.release)
    ticker.set(0.001)
    for _ in range(3):
        assert called.acquire(timeout=HANG_SECONDS)
    ticker.stop()
    ticker.stop()


def test_a_ticker_that_is_not_set_calls_nobody() -> None:
    calls: list[int] = []
    ticker = Ticker(lambda: calls.append(1))
    ticker.set(0)
    ticker.set(1_000)
    ticker.set(0)
    assert calls == []


def test_a_ticker_goes_on_after_a_call_that_failed() -> None:
    called = threading.Semaphore(0)

    def fail() -> None:
        called.release()
        raise ValueError("as told")

    failures: list[threading.ExceptHookArgs] = []
    before = threading.excepthook
    threading.excepthook = failures.append
    ticker = Ticker(fail)
    try:
        ticker.set(0.001)
        for _ in range(3):
            assert called.acquire(timeout=HANG_SECONDS)
    finally:
        ticker.stop()
        threading.excepthook = before
    assert failures == []
