"""Time cases in rounds: every case once, then every case again, with a metronome in between.

The load of other processes changes over minutes. Samples of one case spread over the whole run are
all slowed alike, which preserves their ratios.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from pyevm_agents.bench.measurement.budget import LEAST_ROUNDS, TimeBudget
from pyevm_agents.bench.measurement.results import Noise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyevm_agents.models import LlamaModel

T = TypeVar("T")

QUICK_ROUNDS, FULL_ROUNDS = 3, 7
BEAT_BYTES = 2_000_000
"""Bytes hashed in a beat: a few milliseconds, long enough to be interrupted as other work is."""


class Observer(Protocol):
    """Receives the progress of a benchmark."""

    def begin_part(self, title: str, steps: int) -> None:
        """Begin a part with a number of steps."""

    def finish_step(self, detail: str) -> None:
        """End a step of the part; `detail` is the result in a few words."""


class Metronome:
    """Time the same small piece of work repeatedly, to measure how steady the machine is."""

    def __init__(self) -> None:
        """Record the load average."""
        self._load = os.getloadavg()[0]
        self._data = bytes(BEAT_BYTES)
        self.beats_s: list[float] = []

    def beat(self) -> None:
        """Time the work once."""
        started = time.perf_counter()
        hashlib.sha256(self._data).digest()
        self.beats_s.append(time.perf_counter() - started)

    def compute_noise(self) -> Noise:
        """Return the noise of the beats.

        Raises: ValueError: there are no beats.
        """
        if not self.beats_s:
            raise ValueError("no beat was timed: measure something first")
        low, middle, high = np.percentile(self.beats_s, (25, 50, 75))
        return Noise(
            beats_s=tuple(self.beats_s),
            spread=float((high - low) / middle),
            load_average=self._load,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """The settings of every part of a benchmark."""

    model: LlamaModel
    observer: Observer
    is_quick: bool
    """Whether to use few rounds, few points and short runs."""

    metronome: Metronome = field(default_factory=Metronome)
    anvil: Path | None = None
    """Program of anvil to measure as well; None to leave it out."""

    budget: TimeBudget = field(default_factory=TimeBudget)

    @property
    def rounds(self) -> int:
        """Number of samples of each case."""
        return QUICK_ROUNDS if self.is_quick else FULL_ROUNDS


def time_work(work: Callable[[], object]) -> float:
    """Run some work once; return the seconds."""
    return time_with_result(work)[0]


def time_with_result(work: Callable[[], T]) -> tuple[float, T]:
    """Run some work once; return the seconds and the result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def time_in_rounds(
    setting: BenchSettings,
    cases: Mapping[str, Callable[[], float]],
    *,
    rounds: int | None = None,
    budget_share: float = 1.0,
) -> dict[str, tuple[float, ...]]:
    """Time each case once a round, with the metronome between cases; report each to the observer.

    Input:
        cases: by name, functions that do any untimed preparation, run a case once, and return the
            seconds of the run.
        rounds: number of rounds; None for the settings' number.
        budget_share: share of the time budget after which rounds beyond two are skipped.

    Output: each case's seconds, in the order of the rounds.
    """
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for index in range(setting.rounds if rounds is None else rounds):
        if index >= LEAST_ROUNDS and setting.budget.is_spent(budget_share):
            break
        for name, case in cases.items():
            setting.metronome.beat()
            samples[name].append(case())
            setting.observer.finish_step(name)
    return {name: tuple(seconds) for name, seconds in samples.items()}


def spread_rounds(count: int, rounds: int) -> set[int]:
    """Return `count` of the rounds, as far apart as possible."""
    return {index * (rounds - 1) // max(1, count - 1) for index in range(count)}
