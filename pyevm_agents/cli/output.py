"""Terminal output of the commands: consoles, tables, status line, live log, decision margins."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape

from precompiles.escaping import escape_line
from precompiles.outcome import is_done

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.status import Status
    from rich.table import Table

    from pyevm_agents.models import Progress


QUIET_SECONDS = 0.3
"""Loading prints nothing for this long, if the output is not a terminal."""

SLOW_SECONDS = 2.0
"""A request to a node shows nothing for this long."""

out = Console(highlight=False)
err = Console(highlight=False, stderr=True)


json_option: Callable[..., Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)


def print_json(value: object) -> None:
    """Print a result as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(table: Table) -> None:
    """Print a table without trailing spaces."""
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def format_answer_label(answer: str) -> tuple[str, str]:
    """Return the label and the style of an agent's answer: not green if not done."""
    return ("Answer", "bold green") if is_done(answer) else ("Not done", "bold yellow")


def is_live() -> bool:
    """Return whether standard error is a terminal that can rewrite a line."""
    return err.is_terminal and not err.is_dumb_terminal


def format_loading(progress: Progress) -> str:
    """Return the progress of loading a model."""
    done, total = progress.done, progress.total
    return {
        "hash": f"reading the model's file, {done / 1e6:,.0f} of {total / 1e6:,.0f} MB",
        "start": "starting the engine",
        "load": f"loading the model, {done} %",
        "check": "checking the model's bits",
    }[progress.phase]


class StatusLine:
    """The model's progress: a live line in a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        """Start without a line."""
        self._status: Status | None = None
        self._phase = ""
        self._generation = 0
        self._loading_since: float | None = None

    def __enter__(self) -> Self:
        """Return the status line."""
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the live line."""
        self.stop()

    def show_status(self, text: str) -> None:
        """Show a status."""
        if not is_live():
            err.print(f"… {text}", soft_wrap=True, markup=False)
            return
        if self._status is None:
            self._status = err.status("", spinner="dots")
            self._status.start()
        self._status.update(escape(text[: max(20, err.width - 4)]))

    def stop(self) -> None:
        """Clear the live line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def on_progress(self, progress: Progress) -> None:
        """Show the model's progress."""
        if not progress.is_loading:
            self._loading_since = None
        elif self._loading_since is None:
            self._loading_since = time.monotonic()
        if is_live():
            self._enter_phase(progress)
            self.show_status(self._format_line(progress))
        elif progress.phase != self._phase and not self._is_early():
            self._enter_phase(progress)
            self.show_status(self._format_short_line(progress))

    def _is_early(self) -> bool:
        since = self._loading_since
        return since is not None and time.monotonic() - since < QUIET_SECONDS

    def _enter_phase(self, progress: Progress) -> None:
        self._generation += progress.phase == "prompt" != self._phase
        self._phase = progress.phase

    def _format_short_line(self, progress: Progress) -> str:
        step = f"step {self._generation}: "
        return {
            "hash": f"reading the model's file, {progress.total / 1e6:,.0f} MB",
            "load": "loading the model",
            "prompt": f"{step}reading the prompt",
            "output": f"{step}writing",
        }.get(progress.phase) or self._format_line(progress)

    def _format_line(self, progress: Progress) -> str:
        if progress.is_loading:
            return format_loading(progress)
        step, done, total = f"step {self._generation}", progress.done, progress.total
        text = escape_line(" ".join(progress.text.split()))
        room = max(20, err.width - len(step) - 24)
        lines = {
            "prompt": f"{step}: reading {done} of {total} tokens",
            "output": f"{step}: writing, {done} tokens  {text[-room:]}",
        }
        return lines[progress.phase]


@contextmanager
def show_waiting(text: str) -> Iterator[None]:
    """Show the text and the seconds, if a block of code takes long.

    In a terminal the line is rewritten each second; elsewhere the line is printed once.
    """
    done = threading.Event()
    start = time.monotonic()

    def show() -> None:
        if done.wait(SLOW_SECONDS):
            return
        while True:
            seconds = f", {time.monotonic() - start:.0f} s" if is_live() else ""
            status.show_status(f"{text}{seconds}")
            if not is_live() or done.wait(1):
                return

    with StatusLine() as status:
        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


CLEAR = "\r\x1b[2K"
"""Return to the start of the line and erase it."""


class LiveOutput:
    """Standard output of a log, with colours and a live line in a terminal.

    Only one thread may write.
    """

    def __init__(self) -> None:
        """Detect the terminal's abilities."""
        self._has_colour = out.is_terminal and not out.no_color
        self.is_live = out.is_terminal and not out.is_dumb_terminal
        self._live = ""

    def paint(self, text: str, colour: str | None = None, **style: bool) -> str:
        """Return a text in a colour; unchanged if the output has no colours."""
        return click.style(text, fg=colour, **style) if self._has_colour and text else text

    def write(self, lines: Sequence[str]) -> None:
        """Write lines above the live line."""
        if not lines:
            return
        text = "".join(f"{line}\n" for line in lines)
        if self.is_live:  # This also erases the terminal's own echo, such as ^C.
            text = f"{CLEAR}{text}{self._live}"
        self._put(text)

    def set_live_line(self, text: str) -> None:
        """Set the live line, cut to the terminal's width; an empty text erases the line."""
        if not self.is_live:
            return
        width = max(out.width - 1, 1)
        line = text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
        if line != self._live:
            self._live = line
            self._put(f"{CLEAR}{line}")

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
