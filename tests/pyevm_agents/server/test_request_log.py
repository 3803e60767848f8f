"""The listener gets each request, in order, and blocks no request."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pyevm_agents.rpc.dispatcher import RequestLogEntry
from pyevm_agents.server.request_log import MAX_WAITING, RequestLogThread
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    import pytest


def answered(number: int) -> RequestLogEntry:
    return RequestLogEntry(method=str(number), milliseconds=1.0, error_code=None, transport="test")


def test_everything_is_told_in_order_before_the_end() -> None:
    told: list[str] = []
    watch = RequestLogThread(lambda each: told.append(each.method))
    for number in range(1_000):
        watch(answered(number))
    watch.close()
    assert told == [str(number) for number in range(1_000)]


def test_a_listener_that_fails_is_told_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def fail_once(each: RequestLogEntry) -> None:
        told.append(each.method)
        if each.method == "0":
            raise ValueError("no")

    watch = RequestLogThread(fail_once)
    for number in range(3):
        watch(answered(number))
    watch.close()
    assert told == ["0", "1", "2"]
    assert "ValueError: no" in caplog.text


def test_a_listener_that_hangs_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    gate = threading.Event()
    told: list[str] = []

    def hang(each: RequestLogEntry) -> None:
        gate.wait(HANG_SECONDS)
        told.append(each.method)

    watch = RequestLogThread(hang)
    for number in range(MAX_WAITING + 100):
        watch(answered(number))
    gate.set()
    watch.close()
    assert MAX_WAITING <= len(told) <= MAX_WAITING + 1
    assert "requests dropped" in caplog.text
