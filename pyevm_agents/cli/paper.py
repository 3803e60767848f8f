"""Where a log is written: lines, and in a terminal one more below them that changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len, set_cell_size

from pyevm_agents.cli.output import out

if TYPE_CHECKING:
    from collections.abc import Sequence

CLEAR = "\r\x1b[2K"
"""Back to the start of the line, and nothing in it."""


class Paper:
    """Standard output for one thread that writes."""

    def __init__(self) -> None:
        """Write in colour, and a live line, where it is a terminal that can."""
        self._has_colour = out.is_terminal and not out.no_color
        self.is_live = out.is_terminal and not out.is_dumb_terminal
        self._live = ""

    def paint(self, text: str, colour: str | None = None, **style: bool) -> str:
        """Return a text in a colour, or as it is where there are none."""
        return click.style(text, fg=colour, **style) if self._has_colour and text else text

    def write(self, lines: Sequence[str]) -> None:
        """Write lines above the live one."""
        if not lines:
            return
        text = "".join(f"{line}\n" for line in lines)
        if self.is_live:  # Also what the terminal itself has put there, such as ^C.
            text = f"{CLEAR}{text}{self._live}"
        self._put(text)

    def live(self, text: str) -> None:
        """Say what goes on now, cut to the terminal's width; nothing where it is empty."""
        if not self.is_live:
            return
        width = max(out.width - 1, 1)
        shown = text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
        if shown != self._live:
            self._live = shown
            self._put(f"{CLEAR}{shown}")

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
