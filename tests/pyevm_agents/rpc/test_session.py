"""A session closes once and calls every callback."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    import pytest


def test_callbacks_run_when_it_ends() -> None:
    session = Session("ws")
    told: list[int] = []
    session.on_close(lambda: told.append(1))
    session.on_close(lambda: told.append(2))
    assert (session.is_open, told) == (True, [])
    session.close()
    session.close()
    assert (session.is_open, told) == (False, [1, 2])


def test_a_callback_that_comes_late_runs_at_once() -> None:
    session = Session("ws")
    session.close()
    told: list[int] = []
    session.on_close(lambda: told.append(1))
    assert told == [1]


def test_a_callback_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    session = Session("ws")
    told: list[int] = []
    session.on_close(lambda: told.append(1 // 0))
    session.on_close(lambda: told.append(2))
    session.close()
    assert told == [2]
    assert "ZeroDivisionError" in caplog.text


def test_every_callback_runs_once_whoever_closes() -> None:
    for _ in range(100):
        session = Session("ws")
        told: list[int] = []

        def add(session: Session = session, told: list[int] = told) -> None:
            for number in range(20):
                session.on_close(partial(told.append, number))

        threads = [threading.Thread(target=add), threading.Thread(target=session.close)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told) == list(range(20))
