"""Measuring in rounds: everything once, then everything again, with a metronome in between.

What a machine does beside a benchmark comes and goes over minutes. Samples of one case that are
spread over all of the run are slowed by it alike, so that their ratios hold.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from pyevm_agents.bench.measurement.results import Noise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyevm_agents.models import LlamaModel

T = TypeVar("T")

QUICK_ROUNDS, FULL_ROUNDS = 3, 7
BEAT_BYTES = 2_000_000
"""What a beat hashes: a few milliseconds, long enough to be interrupted as other work is."""


class Observer(Protocol):
    """Who is told how far a benchmark is."""

    def begin_part(self, title: str, steps: int) -> None:
        """Begin a part of so many steps."""

    def finish_step(self, detail: str) -> None:
        """End a step of the part; `detail` says in a few words what was found."""


class Metronome:
    """The same small piece of work again and again: how evenly does this machine do it?"""

    def __init__(self) -> None:
        """Begin, and note how busy the machine is."""
        self._load = os.getloadavg()[0]
        self._data = bytes(BEAT_BYTES)
        self.beats_s: list[float] = []

    def beat(self) -> None:
        """Time the work once."""
        started = time.perf_counter()
        hashlib.sha256(self._data).digest()
        self.beats_s.append(time.perf_counter() - started)

    def compute_noise(self) -> Noise:
        """Return what the beats say.

        Raises: ValueError: there were none.
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
    """What every part of a benchmark is given."""

    model: LlamaModel
    observer: Observer
    is_quick: bool
    """Under two minutes in all: few rounds, few points, short runs."""

    metronome: Metronome = field(default_factory=Metronome)
    anvil: Path | None = None
    """A program to measure beside ours; None where there is none."""

    @property
    def rounds(self) -> int:
        """How often each case is timed."""
        return QUICK_ROUNDS if self.is_quick else FULL_ROUNDS


def time_work(work: Callable[[], object]) -> float:
    """Do some work once; return its seconds."""
    return time_with_result(work)[0]


def time_with_result(work: Callable[[], T]) -> tuple[float, T]:
    """Do some work once; return its seconds and what it gave."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def time_in_rounds(
    setting: BenchSettings, cases: Mapping[str, Callable[[], float]], *, rounds: int | None = None
) -> dict[str, tuple[float, ...]]:
    """Time each case once a round, the metronome between them; tell the observer of each.

    Input:
        cases: by name, what does a case once and returns its seconds. It does what is not to be
            timed, too.
        rounds: how many; None for the setting's.

    Output: each case's seconds, in the order of the rounds.
    """
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(setting.rounds if rounds is None else rounds):
        for name, case in cases.items():
            setting.metronome.beat()
            samples[name].append(case())
            setting.observer.finish_step(name)
    return {name: tuple(seconds) for name, seconds in samples.items()}


def spread_rounds(count: int, rounds: int) -> set[int]:
    """Return so many of the rounds, as far apart as can be."""
    return {index * (rounds - 1) // max(1, count - 1) for index in range(count)}
