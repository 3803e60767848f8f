"""Delays after failures."""

from __future__ import annotations

from pyevm_agents.workers.round_loop import MAX_DELAY_SECONDS, Delays


def test_delays_double_up_to_the_longest_and_begin_anew() -> None:
    delays = Delays()
    assert [delays.postpone("a") for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert MAX_DELAY_SECONDS == 30
    assert not delays.is_due("a")
    assert delays.is_due("b")
    delays.forget("a")
    assert delays.is_due("a")
    assert delays.postpone("a") == 0.5
