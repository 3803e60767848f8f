"""Progress of a training run, and its learning rate."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Decay: TypeAlias = Literal["linear", "cosine"]


class Plan(Protocol):
    """Determines when a run ends."""

    def progress(self, step: int, elapsed_seconds: float) -> float:
        """Return the progress before a step (from 0), from 0 to 1; at 1 the run is over."""

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Estimate the remaining seconds from the time needed so far."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A fixed number of steps. Reproducible."""

    total: int

    def progress(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return the share of completed steps."""
        return step / self.total

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Return the time of the remaining steps at the speed so far."""
        return elapsed_seconds / max(step, 1) * (self.total - step)


@dataclass(frozen=True, slots=True)
class Minutes:
    """A fixed duration. The log contains the progress of each step; see `Replay`."""

    total: float

    def progress(self, step: int, elapsed_seconds: float) -> float:
        """Return the share of elapsed time, with the time of one more step reserved."""
        reserved = elapsed_seconds / step if step else 0.0
        return elapsed_seconds / max(self.total * 60 - reserved, 1e-9)

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return the remaining time."""
        return max(self.total * 60 - elapsed_seconds, 0.0)


@dataclass(frozen=True, slots=True)
class Replay:
    """The steps of an earlier run, with the same learning rates.

    Makes a run of a fixed duration reproducible.
    """

    steps: tuple[float, ...]
    """Progress before each step."""

    def progress(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return the earlier run's progress."""
        return self.steps[step] if step < len(self.steps) else 1.0

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Return the time of the remaining steps at the speed so far."""
        return elapsed_seconds / max(step, 1) * (len(self.steps) - step)


def read_replay(log: Path) -> Replay:
    """Read the log of an earlier run.

    Raises:
        ValueError: steps are missing.
        OSError: it can't be read.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "progress" in line]
    if not steps or [line["step"] for line in steps] != list(range(len(steps))):
        raise ValueError(f"log {log} does not contain every step from 0; pass another")
    return Replay(tuple(line["progress"] for line in steps))


def learning_rate_factor(step: int, progress: float, *, warmup_steps: int, decay: Decay) -> float:
    """Return a step's factor of the learning rate: rising during warm-up, then decaying to zero."""
    warmth = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    left = max(0.0, 1.0 - progress)
    if decay == "cosine":
        left = (1 - math.cos(math.pi * left)) / 2
    return warmth * left
