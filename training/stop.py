"""Ctrl-C in a training run: the first one stops after saving, the second one immediately."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

STOPPED = 130
"""Exit status after Ctrl-C."""


class Stop:
    """Handles Ctrl-C and SIGTERM."""

    def __init__(self) -> None:
        """Install the signal handlers."""
        self._is_asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._is_asked

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self._is_asked = True
        signal.signal(number, signal.SIG_DFL)
