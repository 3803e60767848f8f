"""A line of progress on standard error every half minute, for work that takes minutes.

Used by `pyevm-agents bench` where the output is not a terminal, and by the long benchmarks.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Self, TypeVar

from pyevm_agents.reports.number_format import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

T = TypeVar("T")

INTERVAL_S = 30.0


def write_to_stderr(line: str) -> None:
    """Write a line to standard error at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def open_heartbeat(title: str) -> AbstractContextManager[object]:
    """Return a heartbeat for a task with own live bars: nothing in a terminal."""
    return nullcontext() if sys.stderr.isatty() else Heartbeat(title)


class Heartbeat:
    """Print the state of a long task at regular intervals. A context manager."""

    def __init__(
        self,
        title: str,
        *,
        interval_s: float = INTERVAL_S,
        write: Callable[[str], None] = write_to_stderr,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the task.

        Input: seconds between lines, the output of a line, and the clock of elapsed times.
        """
        self._title = title
        self._interval_s = interval_s
        self._write = write
        self._clock = clock
        self._started_s = self._part_started_s = clock()
        self._part, self._detail, self._done, self._steps = "", "", 0, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        """Start the clock and the lines."""
        self._started_s = self._part_started_s = self._clock()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the lines."""
        self._ended.set()
        self._thread.join()

    def begin_part(self, title: str, steps: int = 0) -> None:
        """Begin a part of the task, of `steps` steps if their number is known."""
        self._part, self._detail, self._done, self._steps = title, "", 0, steps
        self._part_started_s = self._clock()

    def finish_step(self, detail: str = "") -> None:
        """End a step of the part; `detail` is the result in a few words."""
        self._done, self._detail = self._done + 1, detail

    def track(self, items: Collection[T], title: str = "") -> Iterator[T]:
        """Yield items as the steps of a part."""
        self.begin_part(title, len(items))
        for item in items:
            yield item
            self.finish_step()

    def format_line(self) -> str:
        """Return the line of the current state."""
        now = self._clock()
        words = [format_seconds(round(now - self._started_s))]
        if self._part:
            words.append(self._part)
        if self._steps:
            words.append(f"{self._done:,} of {self._steps:,}")
            if 0 < self._done < self._steps:
                each = (now - self._part_started_s) / self._done
                left = format_seconds(round(each * (self._steps - self._done)))
                words.append(f"about {left} left")
        elif self._done:
            words.append(f"{self._done:,} done")
        if self._detail:
            words.append(self._detail)
        return f"… {self._title}: {', '.join(words)}"

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            self._write(self.format_line())
