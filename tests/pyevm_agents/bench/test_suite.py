"""The parts of a run, put together: synthetic results replace those that take minutes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.attacks import runner as attacks
from pyevm_agents.bench.evm import runner as evm
from pyevm_agents.bench.inference import fits
from pyevm_agents.bench.inference import runner as inference
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.numeric import runner as numeric
from pyevm_agents.bench.runs import growth, model_sizes
from pyevm_agents.bench.runs import runner as runs
from pyevm_agents.bench.suite import (
    NO_ANVIL,
    PARTS,
    BenchmarkSuite,
    get_skip_reasons,
    require_extras,
)
from pyevm_agents.errors import ConfigError, EngineFault
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyevm_agents.bench.measurement.results import Run, Yardstick
    from pyevm_agents.bench.pricing.schedules import NamedSchedule
    from pyevm_agents.models import LlamaModel

FULL = made_up.report()
OWN = ("default", "parity-ecrecover", "parity-erc20", "parity-worst")


class Silent:
    """An observer that prints nothing."""

    def begin_part(self, title: str, steps: int) -> None:
        """Begin a part."""

    def finish_step(self, detail: str) -> None:
        """End a step."""


@pytest.fixture(scope="module")
def setting(reduced_llama: LlamaModel) -> BenchSettings:
    return BenchSettings(model=reduced_llama, observer=Silent(), is_quick=True)


class MadeUpEvm:
    """Yardsticks that are made up, and slower from the second look on."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked
        self._looks = 0

    def measure(self) -> None:
        self._asked.append("evm")

    def make_timers(self, names: Iterable[str]) -> dict[str, Callable[[], float]]:
        return {name: lambda: 1.0 for name in names}

    def build_yardsticks(self) -> tuple[Yardstick, ...]:
        self._looks += 1
        own = (one for one in FULL.yardsticks if one.vm == made_up.OURS)
        return tuple(replace(one, seconds=(float(self._looks),)) for one in own)


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every part return synthetic results; return the order of the calls."""
    asked: list[str] = []

    def priced(_: BenchSettings, prices: Sequence[NamedSchedule]) -> tuple[Run, ...]:
        asked.append("runs")
        return tuple(
            replace(run, costs=tuple(one.compute_cost(run.usage) for one in prices))
            for run in FULL.runs
        )

    def part(name: str, result: object) -> Callable[..., object]:
        def told(*_: object, beside: Mapping[str, object] | None = None) -> object:
            asked.extend([name, *(beside or ())])
            return result

        return told

    monkeypatch.setattr(evm, "EvmBench", lambda _: MadeUpEvm(asked))
    monkeypatch.setattr(inference, "measure_probes", part("probes", FULL.probes))
    monkeypatch.setattr(fits, "fit_terms", part("terms", FULL.terms))
    monkeypatch.setattr(runs, "measure_runs", priced)
    monkeypatch.setattr(attacks, "measure_attacks", part("attacks", FULL.attacks))
    monkeypatch.setattr(numeric, "measure_numeric_models", part("numeric", ()))
    monkeypatch.setattr(numeric, "build_numeric_results", lambda *_: FULL.numeric)
    monkeypatch.setattr(growth, "measure_growth", part("growth", FULL.growth))
    monkeypatch.setattr(model_sizes, "measure_sizes", part("sizes", FULL.sizes))
    return asked


def whole_of(setting: BenchSettings, *only: str) -> BenchmarkSuite:
    """Return a run of some parts."""
    return BenchmarkSuite(
        setting=setting,
        command="bench",
        reasons=get_skip_reasons(only=only, is_quick=setting.is_quick),
    )


@pytest.mark.slow
def test_parts_come_in_order_and_fit_together(setting: BenchSettings, order: list[str]) -> None:
    whole = whole_of(setting, *PARTS)
    whole.measure()
    references = ["ecrecover", "erc20", "pairing"]
    assert order == [
        *("evm", "probes", *references, "terms", "runs", "attacks"),
        *("numeric", *references, "growth", "sizes"),
    ]
    assert whole.finished_parts == [*PARTS]
    report = whole.build_report()
    assert {one.seconds for one in report.yardsticks} == {(3.0,)}
    assert report.numeric == FULL.numeric
    assert report.left_out == (("anvil", NO_ANVIL),)
    assert {one.term for one in report.prices} == {one.term for one in FULL.prices}
    published = tuple(one.name for one in report.published)
    assert len(published) == 4
    assert tuple(cost.schedule for cost in report.runs[0].costs) == OWN + published
    assert tuple(name for name, _ in report.schedules) == OWN + published
    assert dict(report.schedules)["default"].startswith(
        "6,000 a cold token, 100 a warm one, 10,000"
    )
    predicted = report.runs[0].predicted_seconds
    assert predicted is not None
    assert predicted > report.runs[0].evm_seconds.middle
    assert report.model.digest == setting.model.profile_facts.digest.hex()
    assert report.noise.beats_s


def test_runs_alone_have_the_default_price(setting: BenchSettings, order: list[str]) -> None:
    whole = whole_of(setting, "runs")
    whole.measure()
    assert order == ["runs"]
    report = whole.build_report()
    assert report.runs[0].costs[0].schedule == "default"
    assert not any(cost.schedule.startswith("parity") for cost in report.runs[0].costs)
    assert report.runs[0].predicted_seconds is None
    assert report.left_out == tuple((part, "not asked for") for part in PARTS if part != "runs")


@pytest.mark.slow
def test_an_end_keeps_what_was_finished(
    setting: BenchSettings, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise EngineFault("the model died")

    monkeypatch.setattr(runs, "measure_runs", fault)
    whole = whole_of(setting)
    with pytest.raises(EngineFault, match="the model died"):
        whole.measure()
    assert order == ["evm", "probes", "ecrecover", "erc20", "pairing", "terms"]
    report = whole.build_report(why_ended="the model died")
    assert report.terms == FULL.terms
    assert report.runs == ()
    assert dict(report.left_out) == {
        "runs": "the model died",
        "attacks": "the model died",
        "numeric": "the model died",
        "growth": "a full run measures it",
        "sizes": "a full run measures them",
        "anvil": NO_ANVIL,
    }


def test_sizes_need_gguf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyevm_agents.bench.extras.find_spec", lambda _: None)
    require_extras(get_skip_reasons(only=(), is_quick=True))
    with pytest.raises(ConfigError, match=r"pip install 'gguf[^']+', or leave .* --only evm"):
        require_extras(get_skip_reasons(only=(), is_quick=False))
