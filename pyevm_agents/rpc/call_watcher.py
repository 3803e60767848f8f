"""Ends the executions of requests that take too long, or whose clients have left."""

from __future__ import annotations

import threading
import weakref
from time import monotonic  # noqa: TID251 - how long a request takes; no block depends on it
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.rpc.session import Session
    from pyevm_agents.vm import Interruption

DEFAULT_SECONDS = 300.0
"""Time limit of a request's executions: the timeout of ethers and Hardhat, the most patient
clients."""

CHECK_SECONDS = 0.5
"""Interval between checks."""

ABANDONED = "execution aborted: the client has left"


class CallWatcher:
    """Watches the executions of requests, in a thread that runs only while there are any."""

    def __init__(
        self, seconds: float = DEFAULT_SECONDS, *, now: Callable[[], float] = monotonic
    ) -> None:
        """Input: the time limit of a request in seconds; the clock, in seconds."""
        self._seconds = seconds
        self._now = now
        self._lock = threading.Lock()
        self._requests: dict[weakref.ref[Interruption], tuple[float, Session]] = {}
        """Deadline and session of each request that executes. Its end drops the reference."""

        self._is_running = False

    def watch(self, interruption: Interruption, session: Session) -> None:
        """Watch a request until the interruption is garbage. Idempotent.

        A request whose client has left, such as the next one of a batch, ends immediately.
        """
        if not session.is_open:
            interruption.end(ABANDONED)
            return
        with self._lock:
            self._requests.setdefault(
                weakref.ref(interruption), (self._now() + self._seconds, session)
            )
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="pyevm-agents-call-watcher", daemon=True).start()

    def check(self) -> bool:
        """End the executions that are late or abandoned; return whether any is watched."""
        with self._lock:
            self._requests = {
                reference: entry
                for reference, entry in self._requests.items()
                if reference() is not None
            }
            requests = [*self._requests.items()]
        for reference, (deadline, session) in requests:
            interruption = reference()
            if interruption is None:
                continue
            if not session.is_open:
                interruption.end(ABANDONED)
            elif self._now() > deadline:
                interruption.end(
                    f"execution aborted: it took more than {self._seconds:g} seconds; pass less "
                    "gas, or start the node with a larger --call-timeout"
                )
        return bool(requests)

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(CHECK_SECONDS)
            if self.check():
                continue
            with self._lock:
                if not self._requests:
                    self._is_running = False
                    return
