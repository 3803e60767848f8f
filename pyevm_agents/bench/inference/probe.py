"""Probe cases before timing, and the recorder of samples."""

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
    """A workload that is timed repeatedly."""

    term: str
    sample: Callable[[], ProbeSample]
    """Run the workload once; return its seconds and its usage."""

    detail: str = ""


class ProbeRecorder:
    """Probe cases and their samples."""

    def __init__(self, setting: BenchSettings) -> None:
        """Record with the settings of a benchmark."""
        self._setting = setting
        self._cases: dict[str, ProbeCase] = {}
        self._usages: dict[str, Usage] = {}
        self._seconds: dict[str, tuple[float, ...]] = {}

    def run_round(self, cases: Mapping[str, ProbeCase]) -> None:
        """Time each case once."""
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
        """Return all samples, in the order of the cases."""
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
