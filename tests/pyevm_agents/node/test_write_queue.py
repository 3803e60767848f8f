"""Whose turn it is: one after another, at once only where nothing else is under way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.node.write_queue import BusyError, WriteQueue
from pyevm_agents.vm.stack_depth import thread_stack_size
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def turns() -> Iterator[WriteQueue]:
    turns = WriteQueue()
    yield turns
    turns.close()


def test_what_is_asked_for_is_done_in_order_in_one_thread(turns: WriteQueue) -> None:
    done: list[int] = []
    futures = [turns.submit(lambda i=i: done.append(i) or threading.get_ident()) for i in range(50)]  # type: ignore[misc,func-returns-value]
    assert len({future.result(HANG_SECONDS) for future in futures}) == 1
    assert done == [*range(50)]


def test_at_once_is_in_the_thread_that_asks(turns: WriteQueue) -> None:
    assert turns.run_now(threading.get_ident) == threading.get_ident()


def test_at_once_is_refused_while_something_is_under_way(turns: WriteQueue) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        assert may_end.wait(HANG_SECONDS)

    ends = turns.submit(long)
    assert begun.wait(HANG_SECONDS)
    with pytest.raises(BusyError):
        turns.run_now(int)
    may_end.set()
    ends.result(HANG_SECONDS)
    turns.submit(int).result(HANG_SECONDS)
    while True:  # The last one's turn ends a moment after its result is there.
        try:
            assert turns.run_now(int) == 0
        except BusyError:
            continue
        break


def test_at_once_is_refused_to_what_it_does_itself(turns: WriteQueue) -> None:
    def nested() -> None:
        turns.run_now(int)

    with pytest.raises(BusyError):
        turns.run_now(nested)


def test_what_fails_gives_the_turn_back(turns: WriteQueue) -> None:
    def fail() -> None:
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            turns.run_now(fail)
        with pytest.raises(ValueError, match="no"):
            turns.submit(fail).result(HANG_SECONDS)


def test_nothing_is_done_after_the_end(turns: WriteQueue) -> None:
    turns.close()
    with pytest.raises(BusyError):
        turns.run_now(int)
    with pytest.raises(RuntimeError, match="the chain is closed: it executes no more"):
        turns.submit(int)


def test_no_two_things_happen_at_a_time(turns: WriteQueue) -> None:
    inside, seen = 0, 0

    def work() -> None:
        nonlocal inside, seen
        inside += 1
        seen = max(seen, inside)
        for _ in range(1_000):
            pass
        inside -= 1

    def ask(_: int) -> None:
        for _ in range(100):
            try:
                turns.run_now(work)
            except BusyError:
                turns.submit(work).result(HANG_SECONDS)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))
    assert (inside, seen) == (0, 1)


def test_its_thread_starts_when_no_other_one_with_a_stack_of_its_own_does() -> None:
    made: list[WriteQueue] = []
    maker = threading.Thread(target=lambda: made.append(WriteQueue()))
    with thread_stack_size(64 * 2**20):
        maker.start()
        maker.join(0.2)
        assert not made
    maker.join(HANG_SECONDS)
    made[0].close()
