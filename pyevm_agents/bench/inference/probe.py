"""A probe before it is timed: what it is made to show, and how it is done once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.bench.measurement.results import Probe
from pyevm_agents.bench.measurement.rounds import time_in_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.bench.measurement.usage import Usage

    ProbeSample: TypeAlias = "tuple[float, Usage]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCase:
    """Something to be timed again and again."""

    term: str
    sample: Callable[[], ProbeSample]
    """Does it once; returns its seconds and what it used."""

    detail: str = ""


class ProbeRecorder:
    """Cases, and what was measured of them so far."""

    def __init__(self, setting: BenchSettings) -> None:
        """Measure in a setting."""
        self._setting = setting
        self._cases: dict[str, ProbeCase] = {}
        self._usages: dict[str, Usage] = {}
        self._seconds: dict[str, tuple[float, ...]] = {}

    def run_round(self, cases: Mapping[str, ProbeCase]) -> None:
        """Time each case once more."""
        self._cases.update(cases)
        times = time_in_rounds(
            self._setting, {name: self._make_timer(name) for name in cases}, rounds=1
        )
        for name, seconds in times.items():
            self._seconds[name] = (*self._seconds.get(name, ()), *seconds)

    def _make_timer(self, name: str) -> Callable[[], float]:
        def time_case() -> float:
            seconds, self._usages[name] = self._cases[name].sample()
            return seconds

        return time_case

    def build_probes(self) -> tuple[Probe, ...]:
        """Return all that was measured, in the order of the cases."""
        return tuple(
            Probe(
                term=case.term,
                detail=case.detail,
                usage=self._usages[name],
                prompt_tokens=self._usages[name].cold_tokens + self._usages[name].warm_tokens,
                seconds=self._seconds[name],
            )
            for name, case in self._cases.items()
        )
