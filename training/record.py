"""Progress of a training run: a log of JSON lines, and a line on the terminal."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from training.learner import Outcome

PLAIN_SECONDS = 30.0
"""Seconds between progress lines if the output is not a terminal."""


class Record:
    """Log and progress output of a run."""

    def __init__(self, log: Path, *, steps_done: int, screen: TextIO | None = None) -> None:
        """Open the log, and remove entries of steps after the checkpoint."""
        self._file = open_log(log, steps_done)
        self._screen = sys.stderr if screen is None else screen
        self._shown_at = 0.0

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def step(
        self,
        step: int,
        outcome: Outcome,
        *,
        progress: float,
        learning_rate: float,
        seconds: float,
        elapsed_seconds: float,
        seconds_left: float,
    ) -> None:
        """Log a step and show progress."""
        self._write(
            step=step,
            progress=progress,
            learning_rate=learning_rate,
            loss=outcome.loss,
            correct=outcome.correct,
            gradient_norm=outcome.gradient_norm,
            learned_tokens=outcome.learned_tokens,
            tokens=outcome.tokens,
            seconds=round(seconds, 3),
            elapsed_seconds=round(elapsed_seconds, 3),
        )
        self._show(
            f"step {step + 1}  {progress:.1%}  loss {outcome.loss:.4f}  "
            f"{outcome.correct:.1%} right  {outcome.tokens / seconds:,.0f} tokens/s  "
            f"{_clock(seconds_left)} left"
        )

    def validation(self, step: int, outcome: Outcome) -> None:
        """Log the result of a validation and show it."""
        self._write(
            step=step,
            validation_loss=outcome.loss,
            validation_correct=outcome.correct,
            validation_learned_tokens=outcome.learned_tokens,
        )
        self.say(
            f"after {step} steps: held-out loss {outcome.loss:.4f}, {outcome.correct:.1%} of "
            f"{outcome.learned_tokens:,} tokens right"
        )

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if self._screen.isatty():
            self._screen.write("\r\x1b[K")
        self._screen.write(text + "\n")
        self._screen.flush()

    def _write(self, **values: float) -> None:
        self._file.write(json.dumps(values) + "\n")
        self._file.flush()

    def _show(self, text: str) -> None:
        if self._screen.isatty():
            self._screen.write("\r\x1b[K" + text)
            self._screen.flush()
        elif time.monotonic() - self._shown_at >= PLAIN_SECONDS:
            self.say(text)
            self._shown_at = time.monotonic()


def open_log(path: Path, end_step: int) -> TextIO:
    """Open a log to append lines, without those of steps from `end_step` on."""
    lines = path.read_text().splitlines() if end_step and path.exists() else []
    kept = [line for line in lines if _step_of(line) < end_step]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in kept))
    return path.open("a")


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except ValueError:  # A line truncated when the process ended.
        return float("inf")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
