"""How far a training run is, and what its learning rate is there."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Decay: TypeAlias = Literal["linear", "cosine"]


class Plan(Protocol):
    """When a run ends."""

    def progress(self, step: int, elapsed_seconds: float) -> float:
        """Return how much of the run lies behind, before a step (from 0): from 1 on, it is over."""

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Return an estimate, from how long it took to get to `step`."""


@dataclass(frozen=True, slots=True)
class Steps:
    """So many steps, whatever time they take. Reproducible."""

    total: int

    def progress(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return the share of the steps that are done."""
        return step / self.total

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Return what the other steps take at the speed so far."""
        return elapsed_seconds / max(step, 1) * (self.total - step)


@dataclass(frozen=True, slots=True)
class Minutes:
    """As many steps as end in time. The log has each one's progress: see `Replay`."""

    total: float

    def progress(self, step: int, elapsed_seconds: float) -> float:
        """Return the share of the time that is gone, with one more step's time reserved."""
        reserved = elapsed_seconds / step if step else 0.0
        return elapsed_seconds / max(self.total * 60 - reserved, 1e-9)

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return the rest of the time."""
        return max(self.total * 60 - elapsed_seconds, 0.0)


@dataclass(frozen=True, slots=True)
class Replay:
    """The steps of an earlier run, at the learning rates they had.

    So a run of so many minutes is reproducible.
    """

    steps: tuple[float, ...]
    """The progress before each."""

    def progress(self, step: int, elapsed_seconds: float) -> float:  # noqa: ARG002 - see Plan
        """Return what the earlier run had."""
        return self.steps[step] if step < len(self.steps) else 1.0

    def seconds_left(self, step: int, elapsed_seconds: float) -> float:
        """Return what the other steps take at the speed so far."""
        return elapsed_seconds / max(step, 1) * (len(self.steps) - step)


def read_replay(log: Path) -> Replay:
    """Read the log of an earlier run.

    Raises:
        ValueError: it has no steps, or they are not all there.
        OSError: it can't be read.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "progress" in line]
    if not steps or [line["step"] for line in steps] != list(range(len(steps))):
        raise ValueError(f"The log {log} has not every step of a run from 0 on; name another")
    return Replay(tuple(line["progress"] for line in steps))


def learning_rate_factor(step: int, progress: float, *, warmup_steps: int, decay: Decay) -> float:
    """Return what share of the full learning rate a step has: up in the beginning, then to zero."""
    warmth = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    left = max(0.0, 1.0 - progress)
    if decay == "cosine":
        left = (1 - math.cos(math.pi * left)) / 2
    return warmth * left
