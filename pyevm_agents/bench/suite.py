"""Run all parts of the benchmark in order: EVM, terms, runs, attacks, numeric, growth, sizes.

Each part is imported on its turn. Finished parts are kept, and reported by a run that ends early,
by Ctrl-C or a fault.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyevm_agents.bench.extras import require_package
from pyevm_agents.bench.measurement.results import FORM, OWN_VM, REFERENCES, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyevm_agents.bench.evm.runner import EvmBench
    from pyevm_agents.bench.measurement.results import (
        Attack,
        Growth,
        ModelSize,
        NumericResults,
        Price,
        Probe,
        Run,
        ScheduleAudit,
        Term,
        Yardstick,
    )
    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.bench.pricing.schedules import NamedSchedule

PARTS = ("evm", "terms", "runs", "attacks", "numeric", "growth", "sizes")
"""Parts that can be measured, in this order."""

NOT_ASKED = "not asked for"
"""Reason of the parts that `--only` leaves out."""

FULL_ALONE = {"growth": "a full run measures it", "sizes": "a full run measures them"}
"""Parts that a quick run leaves out unless `--only` names them, and the reason."""

NO_ANVIL = "no program of that name on the PATH"


def get_skip_reasons(*, only: Collection[str], is_quick: bool) -> dict[str, str]:
    """Return each part's reason to be skipped; an empty text for parts to measure."""
    if only:
        return {part: "" if part in only else NOT_ASKED for part in PARTS}
    return {part: FULL_ALONE.get(part, "") if is_quick else "" for part in PARTS}


def require_extras(reasons: Mapping[str, str]) -> None:
    """Check that the optional packages of the parts to measure are installed.

    Raises: ConfigError: a package is missing.
    """
    if not reasons["sizes"]:
        others = " ".join(f"--only {part}" for part in PARTS if part != "sizes")
        require_package(
            "gguf", use="models of other sizes", alternative=f"leave them out with {others}"
        )


@dataclass(slots=True, kw_only=True)
class BenchmarkSuite:
    """A run of the selected parts, and the results."""

    setting: BenchSettings
    command: str
    reasons: Mapping[str, str]
    """Reasons of skipped parts, from `get_skip_reasons`."""

    finished_parts: list[str] = field(default_factory=list)
    """The finished parts."""

    evm: EvmBench | None = None
    yardsticks: tuple[Yardstick, ...] = ()
    probes: tuple[Probe, ...] = ()
    terms: tuple[Term, ...] = ()
    prices: tuple[Price, ...] = ()
    published: tuple[ScheduleAudit, ...] = ()
    runs: tuple[Run, ...] = ()
    attacks: tuple[Attack, ...] = ()
    numeric: NumericResults | None = None
    growth: tuple[Growth, ...] = ()
    sizes: tuple[ModelSize, ...] = ()
    left_out: list[tuple[str, str]] = field(default_factory=list)
    started_s: float = field(default_factory=time.monotonic)

    def measure(self) -> None:
        """Measure each selected part.

        Raises: AgentsError: the engine or the chain failed; KeyboardInterrupt. Results of finished
            parts are kept.
        """
        work: dict[str, Callable[[], None]] = {
            "evm": self._measure_evm,
            "terms": self._measure_terms,
            "runs": self._measure_runs,
            "attacks": self._measure_attacks,
            "numeric": self._measure_numeric,
            "growth": self._measure_growth,
            "sizes": self._measure_sizes,
        }
        for part in PARTS:
            if not self.reasons[part]:
                self.setting.metronome.beat()
                work[part]()
                self.finished_parts.append(part)

    def build_report(self, *, why_ended: str = "") -> Report:
        """Return a report of the results.

        Input: the reason why the run ended early, for the parts that were not reached.
        """
        from pyevm_agents.bench.measurement.machine import describe_machine, describe_model  # noqa: PLC0415 - when needed

        left_out = [(part, why) for part, why in self.reasons.items() if why]
        parts = [part for part, why in self.reasons.items() if not why]
        left_out += [
            (part, why_ended) for part in parts if part not in self.finished_parts and why_ended
        ]
        if not self.setting.metronome.beats_s:
            self.setting.metronome.beat()
        return Report(
            form=FORM,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            command=self.command,
            mode="quick" if self.setting.is_quick else "full",
            seconds=time.monotonic() - self.started_s,
            machine=describe_machine(),
            noise=self.setting.metronome.compute_noise(),
            model=describe_model(self.setting.model),
            yardsticks=self.yardsticks,
            left_out=(*left_out, *self.left_out, *self.setting.budget.list_skipped()),
            probes=self.probes,
            terms=self.terms,
            prices=self.prices,
            schedules=self._describe_schedules(),
            published=self.published,
            runs=self.runs,
            attacks=self.attacks,
            growth=self.growth,
            sizes=self.sizes,
            numeric=self.numeric,
        )

    def _measure_evm(self) -> None:
        from pyevm_agents.bench.evm import anvil  # noqa: PLC0415 - when its turn comes
        from pyevm_agents.bench.evm import runner as evm  # noqa: PLC0415 - as above
        from pyevm_agents.devnet.node_process import AnvilError  # noqa: PLC0415 - as above

        self.evm = evm.EvmBench(self.setting)
        self.evm.measure()
        self.yardsticks = self.evm.build_yardsticks()
        if self.setting.anvil is None:
            self.left_out.append(("anvil", NO_ANVIL))
            return
        try:
            self.yardsticks += anvil.measure_yardsticks(self.setting)
        except AnvilError as error:
            self.left_out.append(("anvil", str(error)))

    def _measure_terms(self) -> None:
        from pyevm_agents.bench.inference import fits  # noqa: PLC0415 - as above
        from pyevm_agents.bench.inference import runner as inference  # noqa: PLC0415 - as above
        from pyevm_agents.bench.measurement.machine import describe_model  # noqa: PLC0415 - when needed
        from pyevm_agents.bench.pricing import parity  # noqa: PLC0415 - as above
        from pyevm_agents.bench.pricing import schedules as published  # noqa: PLC0415 - as above

        self.probes = inference.measure_probes(self.setting, beside=self._make_reference_timers())
        self.terms = fits.fit_terms(self.probes)
        self._renew_yardsticks()
        self.published = published.audit_published_schedules(
            self.terms, describe_model(self.setting.model)
        )
        if self.yardsticks:
            self.prices = parity.compute_prices(self.terms, self.yardsticks)

    def _renew_yardsticks(self) -> None:
        """Count the samples of references that another part has taken beside its own."""
        if self.evm is not None:
            others = [yardstick for yardstick in self.yardsticks if yardstick.vm != OWN_VM]
            self.yardsticks = (*self.evm.build_yardsticks(), *others)

    def _make_reference_timers(self) -> dict[str, Callable[[], float]]:
        """Return timers of the EVM cases that are references of parity."""
        from pyevm_agents.bench.pricing import parity  # noqa: PLC0415 - when needed

        if self.evm is None:
            return {}
        yardsticks = (parity.find_reference(self.yardsticks, name) for name in REFERENCES)
        return self.evm.make_timers(
            dict.fromkeys(yardstick.name for yardstick in yardsticks if yardstick is not None)
        )

    def _measure_runs(self) -> None:
        from pyevm_agents.bench.measurement.machine import describe_model  # noqa: PLC0415 - as above
        from pyevm_agents.bench.pricing import schedules as published  # noqa: PLC0415 - when its turn comes
        from pyevm_agents.bench.runs.runner import measure_runs  # noqa: PLC0415 - as above

        model = describe_model(self.setting.model)
        self.runs = tuple(
            replace(
                run,
                costs=run.costs + published.compute_published_costs(run.usage, model),
                predicted_seconds=self._predict_seconds(run),
            )
            for run in measure_runs(self.setting, self.build_schedules())
        )

    def _predict_seconds(self, run: Run) -> float | None:
        """Return the predicted seconds of a run: the measured EVM part and the fitted inference."""
        from pyevm_agents.bench.inference.fits import predict_seconds  # noqa: PLC0415 - when needed

        if not self.terms:
            return None
        return run.evm_seconds.middle + predict_seconds(run.usage, self.terms)

    def _measure_attacks(self) -> None:
        from pyevm_agents.bench.attacks.runner import measure_attacks  # noqa: PLC0415 - when its turn comes

        self.attacks = measure_attacks(self.setting, self.build_schedules())

    def _measure_numeric(self) -> None:
        if self.setting.budget.is_spent():
            self.setting.budget.skipped.append("the numeric models")
            return
        from pyevm_agents.bench.numeric import runner as numeric  # noqa: PLC0415 - when its turn comes

        timed = numeric.measure_numeric_models(self.setting, beside=self._make_reference_timers())
        self._renew_yardsticks()
        self.numeric = numeric.build_numeric_results(timed, self.yardsticks)

    def _measure_growth(self) -> None:
        from pyevm_agents.bench.runs.growth import measure_growth  # noqa: PLC0415 - when its turn comes

        self.growth = measure_growth(self.setting)

    def _measure_sizes(self) -> None:
        from pyevm_agents.bench.runs.model_sizes import measure_sizes  # noqa: PLC0415 - when its turn comes

        self.sizes = measure_sizes(self.setting, self.yardsticks)

    def build_schedules(self) -> tuple[NamedSchedule, ...]:
        """Return the schedules that price runs and attacks: default and at parity."""
        from pyevm_agents.bench.measurement.machine import describe_model  # noqa: PLC0415 - when needed
        from pyevm_agents.bench.pricing.schedules import build_own_schedules  # noqa: PLC0415 - as above

        model = self.setting.model
        return build_own_schedules(
            model.profile_facts, describe_model(model), self.terms, self.yardsticks
        )

    def _describe_schedules(self) -> tuple[tuple[str, str], ...]:
        from pyevm_agents.bench.pricing.schedules import describe_schedule  # noqa: PLC0415 - when needed

        if not self.runs and not self.attacks:
            return ()
        own = tuple(
            (schedule.name, describe_schedule(schedule)) for schedule in self.build_schedules()
        )
        return own + tuple((audit.name, audit.formula) for audit in self.published)
