"""A loop of rounds over a chain's heads, with delays after failures and one computing thread."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from pyevm_agents.client.sqlite_store import StoreWriteError
from pyevm_agents.client.worker_log import CountingLog
from pyevm_agents.errors import AgentsError
from pyevm_agents.vm.stack_depth import thread_stack_size

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pyevm_agents.client.worker_log import WorkerLog

Job = TypeVar("Job")
Result = TypeVar("Result")

STACK_BYTES = 256 * 2**20
"""Stack of the computing thread: py-evm recurses for each call of a contract."""

FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.5, 30.0
"""Delays after failures: each is twice the one before, up to the longest."""


@dataclass
class Delays:
    """Back-off of single requests. Only in memory: a restart tries at once."""

    until: dict[Hashable, float] = field(default_factory=dict)
    failures: Counter[Hashable] = field(default_factory=Counter)

    def is_due(self, key: Hashable) -> bool:
        """Return whether a request may be tried again."""
        return time.monotonic() >= self.until.get(key, 0.0)

    def postpone(self, key: Hashable) -> float:
        """Note a failure; return the seconds until the next try."""
        seconds = get_delay(self.failures[key])
        self.failures[key] += 1
        self.until[key] = time.monotonic() + seconds
        return seconds

    def forget(self, key: Hashable) -> None:
        """Forget the failures of a request."""
        self.until.pop(key, None)
        self.failures.pop(key, None)


class ComputingThread(Generic[Job, Result]):
    """Computes one answer at a time, beside the loop."""

    def __init__(self, compute: Callable[[Job], Result], wake: threading.Event) -> None:
        """Start the thread. Input: computes an answer; the event to set after each answer."""
        self._compute, self._wake = compute, wake
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._results: SimpleQueue[tuple[Job, Result | Exception]] = SimpleQueue()
        self.current: Job | None = None
        """What is computed; None if nothing is, and the last result was taken."""

        with thread_stack_size(STACK_BYTES):
            threading.Thread(target=self._work, name="computing", daemon=True).start()

    def start(self, job: Job) -> None:
        """Compute the answer to a request."""
        self.current = job
        self._jobs.put(job)

    def take(self) -> tuple[Job, Result | Exception] | None:
        """Return the last request and the answer, or the failure; None if not ready."""
        try:
            result = self._results.get_nowait()
        except Empty:
            return None
        self.current = None
        return result

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                result: Result | Exception = self._compute(job)
            except Exception as error:  # noqa: BLE001 - a faulty model must not end the worker
                result = error
            self._results.put((job, result))
            self._wake.set()


class RoundLoop:
    """Does rounds until stopped; goes on after faults of the node and of the disk."""

    def __init__(self, poll_seconds: float, log: WorkerLog | None, **identity: object) -> None:
        """Start nothing yet.

        Input: time between two rounds; where events go; the values of the event `started`.
        """
        self._poll_seconds, self._identity = poll_seconds, identity
        self.log = CountingLog(log)
        self._wake, self._is_stopped = threading.Event(), threading.Event()
        self._failures = 0
        self.last_round: float | None = None
        """When the last round ended without a fault, by the monotonic clock; None if none has."""

    def run(self) -> None:
        """Work until `stop`."""
        self.log.write("started", **self._identity)
        while not self._is_stopped.is_set():
            self._wake.clear()
            self._wake.wait(self._try_round())
        self.log.write("stopped")

    def stop(self) -> None:
        """End `run` after the current round. For any thread."""
        self._is_stopped.set()
        self._wake.set()

    def wake(self) -> None:
        """Begin the next round now. For any thread."""
        self._wake.set()

    def _try_round(self) -> float:
        """Do one round; return the seconds until the next."""
        try:
            self.do_round()
        except (AgentsError, OSError) as error:
            if self._failures == 0:
                name = "fault" if isinstance(error, StoreWriteError) else "unreachable"
                self.log.write(name, message=str(error))
            self._failures += 1
            return get_delay(self._failures)
        if self._failures:
            self.log.write("reachable", failures=self._failures)
        self._failures = 0
        self.last_round = time.monotonic()
        return self._poll_seconds

    def do_round(self) -> None:
        """Read the chain, and do the due actions. Raises: AgentsError: the next round goes on."""
        raise NotImplementedError


def get_delay(failures: int) -> float:
    """Return the seconds until the next try after a number of failures."""
    return min(FIRST_DELAY_SECONDS * float(2 ** min(failures, 16)), MAX_DELAY_SECONDS)
