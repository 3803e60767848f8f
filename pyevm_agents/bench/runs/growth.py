"""Measure growth: runs of 1 to 32 steps, with 1 to 64 tools, 1 to 8 levels deep.

Each run is a transaction, mined on a chain with the model, whose memory is empty before. The
exponent p of a + b x^p is fitted to tokens (cold and output), seconds and gas; a is the fixed cost
of a run, such as the instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.exponents import fit_exponent
from pyevm_agents.bench.measurement.results import QUANTITIES, Growth, GrowthPoint
from pyevm_agents.bench.measurement.rounds import time_in_rounds, time_with_result
from pyevm_agents.bench.runs.growth_chain import GrowthChain, GrowthSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.reports.number_format import Interval

STEPS = (1, 2, 4, 8, 16, 32)
TOOLS = (1, 2, 4, 8, 16, 32, 64)
LEVELS = (1, 2, 3, 4, 6, 8)
QUICK_STEPS = (1, 2, 4)

QUICK_ROUNDS, FULL_ROUNDS = 1, 3
"""Samples of short runs. Long runs are timed once: noise evens out within them, and a round of them
takes two minutes.
"""

SHORT_SHARE = 8
"""A short run is at most this part of an axis's longest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthAxis:
    """A quantity that runs grow with."""

    name: str
    places: tuple[int, ...]
    deploy: Callable[[GrowthChain, int], Address]
    steps: Callable[[int], int]
    """Steps of each agent of a run."""

    @property
    def short(self) -> tuple[int, ...]:
        """The places of short runs."""
        return tuple(x for x in self.places if x * SHORT_SHARE <= max(self.places))


AXES = (
    GrowthAxis(
        name="steps", places=STEPS, deploy=lambda stage, _: stage.deploy_counting_agent(), steps=int
    ),
    GrowthAxis(
        name="tools", places=TOOLS, deploy=GrowthChain.deploy_equipped_agent, steps=lambda _: 1
    ),
    GrowthAxis(
        name="levels", places=LEVELS, deploy=GrowthChain.deploy_nested_agents, steps=lambda _: 2
    ),
)


def measure_growth(
    setting: BenchSettings, *, axes: tuple[GrowthAxis, ...] | None = None, rounds: int | None = None
) -> tuple[Growth, ...]:
    """Measure how runs grow.

    Input:
        axes: axes of growth; None for all of `AXES`, in quick mode for a few steps alone.
        rounds: samples of short runs; None for `QUICK_ROUNDS` or `FULL_ROUNDS`.

    Raises: VMError: a run failed, for instance as the context is too small. EngineFault: the model
        failed.
    """
    if axes is None:
        axes = (get_axis("steps", QUICK_STEPS),) if setting.is_quick else AXES
    if rounds is None:
        rounds = QUICK_ROUNDS if setting.is_quick else FULL_ROUNDS
    stage = GrowthChain(setting.model)
    measured = [_AxisRuns(stage, axis) for axis in axes]
    every = {
        name: case for runs in measured for name, case in runs.build_cases(runs.axis.places).items()
    }
    short = {
        name: case for runs in measured for name, case in runs.build_cases(runs.axis.short).items()
    }
    setting.observer.begin_part("How runs grow", len(every) + (rounds - 1) * len(short))
    next(iter(every.values()))()  # The first run of all makes the engine's tables.
    once = time_in_rounds(setting, every, rounds=1)
    again = time_in_rounds(setting, short, rounds=rounds - 1)
    seconds = {name: (*first, *again.get(name, ())) for name, first in once.items()}
    return tuple(runs.build_growth(seconds) for runs in measured)


def get_axis(name: str, places: tuple[int, ...]) -> GrowthAxis:
    """Return an axis with other places.

    Raises: StopIteration: unknown axis.
    """
    axis = next(entry for entry in AXES if entry.name == name)
    return GrowthAxis(name=name, places=places, deploy=axis.deploy, steps=axis.steps)


def fit_exponents(points: tuple[GrowthPoint, ...]) -> tuple[tuple[str, Interval], ...]:
    """Return the fitted exponents of the points along an axis."""
    xs = [point.x for point in points]
    samples: dict[str, list[Sequence[float]]] = {
        "tokens": [[point.tokens] for point in points],
        "seconds": [point.seconds for point in points],
        "gas": [[point.gas] for point in points],
    }
    return tuple((name, fit_exponent(xs, samples[name])) for name in QUANTITIES)


class _AxisRuns:
    """The runs along an axis, ready to be mined, and their usage."""

    def __init__(self, stage: GrowthChain, axis: GrowthAxis) -> None:
        self._stage = stage
        self.axis = axis
        self._agents = {x: axis.deploy(stage, x) for x in axis.places}
        self._samples: dict[int, GrowthSample] = {}

    def build_cases(self, places: Iterable[int]) -> dict[str, Callable[[], float]]:
        """Return functions that mine each of these runs once and return the seconds."""
        return {self._name_case(x): partial(self._mine, x) for x in places}

    def build_growth(self, seconds: Mapping[str, tuple[float, ...]]) -> Growth:
        """Return the measured growth, with exponents."""
        points = tuple(
            GrowthPoint(
                x=x,
                usage=self._samples[x].usage,
                gas=self._samples[x].gas,
                seconds=seconds[self._name_case(x)],
            )
            for x in self.axis.places
        )
        return Growth(axis=self.axis.name, points=points, exponents=fit_exponents(points))

    def _name_case(self, x: int) -> str:
        return f"{x} {self.axis.name}"

    def _mine(self, x: int) -> float:
        stage = self._stage
        stage.director.steps = self.axis.steps(x)
        transaction = stage.build_transaction(self._agents[x])
        stage.model.forget()
        took, mined = time_with_result(lambda: stage.mine(transaction))
        self._samples[x] = stage.build_sample(mined)
        return took
