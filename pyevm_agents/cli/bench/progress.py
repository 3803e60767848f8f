"""Progress of a benchmark: a bar for each part, with the remaining time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.cli.output import err, is_live
from pyevm_agents.display import pluralize

if TYPE_CHECKING:
    from rich.progress import TaskID

SPEED_SECONDS = 60.0
"""Window of the estimate of the remaining time."""

DETAIL_CHARACTERS = 44


class BenchProgress:
    """Bars in a terminal, elsewhere a line every half minute. A `rounds.Observer`."""

    def __init__(self, heartbeat: Heartbeat | None = None) -> None:
        """Show nothing yet.

        Input: lines of progress for an output that is not a terminal; None for the usual ones.
        """
        self._heartbeat = heartbeat or Heartbeat("bench", write=_write_line)
        self._bars: Progress | None = None
        self._task: TaskID | None = None
        self._title = ""
        self._started = 0.0

    def __enter__(self) -> Self:
        """Start the display."""
        if is_live():
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("[dim]left"),
                TimeRemainingColumn(),
                TextColumn("[dim]{task.fields[detail]}"),
                console=err,
                speed_estimate_period=SPEED_SECONDS,
            )
            self._bars.start()
        else:
            self._heartbeat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bars in place."""
        self._end_part()
        if self._bars is not None:
            self._bars.stop()
        else:
            self._heartbeat.__exit__()

    def begin_part(self, title: str, steps: int) -> None:
        """Begin a part of `steps` steps."""
        self._end_part()
        self._title, self._started = title, time.monotonic()
        if self._bars is None:
            self._heartbeat.begin_part(title, steps)
            _write_line(f"… {title}: {pluralize(steps, 'step')}")
            return
        self._task = self._bars.add_task(escape(title), total=max(1, steps), detail="")

    def finish_step(self, detail: str) -> None:
        """End a step of the part."""
        self._heartbeat.finish_step(detail)
        if self._bars is not None and self._task is not None:
            text = escape(detail[:DETAIL_CHARACTERS])
            self._bars.update(self._task, advance=1, detail=text)

    def _end_part(self) -> None:
        """End the current bar, without the detail of the last step."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, detail="")
            self._bars.stop_task(self._task)
        elif self._title:
            seconds = time.monotonic() - self._started
            _write_line(f"… {self._title}: {seconds:.1f} s")
        self._task, self._title = None, ""


def _write_line(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)
