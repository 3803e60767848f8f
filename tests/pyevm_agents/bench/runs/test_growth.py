from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.measurement.results import QUANTITIES, Growth, GrowthPoint
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.runs.growth import AXES, GrowthAxis, get_axis, measure_growth
from pyevm_agents.bench.runs.growth_chain import GrowthChain
from pyevm_agents.models import LlamaModel
from tests.pyevm_agents.bench.tiny_model import SilentObserver, tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    with LlamaModel(tiny_model(tmp_path_factory.mktemp("tiny")), threads=1) as model:
        yield model


@pytest.fixture(scope="module")
def found(tiny: LlamaModel) -> tuple[Growth, ...]:
    setting = BenchSettings(model=tiny, observer=SilentObserver(), is_quick=True)
    axes = (
        get_axis("steps", (1, 2, 3)),
        get_axis("tools", (1, 2, 8)),
        get_axis("levels", (1, 2, 5)),
    )
    return measure_growth(setting, axes=axes, rounds=2)


def points_of(found: tuple[Growth, ...], axis: str) -> dict[int, GrowthPoint]:
    grown = next(one for one in found if one.axis == axis)
    return {point.x: point for point in grown.points}


@pytest.mark.slow
def test_runs_have_as_many_steps_tools_and_levels(found: tuple[Growth, ...]) -> None:
    steps, tools, levels = (points_of(found, axis.name) for axis in AXES)
    assert {x: point.usage.calls for x, point in steps.items()} == {1: 1, 2: 2, 3: 3}
    assert {x: point.usage.tools for x, point in tools.items()} == {1: 1, 2: 2, 8: 8}
    assert {x: point.usage.parameters for x, point in tools.items()} == {1: 2, 2: 4, 8: 16}
    assert {x: point.usage.calls for x, point in levels.items()} == {1: 2, 2: 4, 5: 10}


@pytest.mark.slow
def test_a_run_of_more_steps_pays_for_its_prompt_once(found: tuple[Growth, ...]) -> None:
    steps = points_of(found, "steps")
    assert steps[1].usage.warm_tokens == 0
    assert steps[3].usage.warm_tokens > 2 * steps[2].usage.warm_tokens
    assert steps[3].usage.cold_tokens < 2 * steps[1].usage.cold_tokens + 400


@pytest.mark.slow
def test_only_the_four_innermost_of_five_levels_are_warm_again(found: tuple[Growth, ...]) -> None:
    levels = points_of(found, "levels")
    assert levels[2].usage.warm_tokens == 2 * levels[1].usage.warm_tokens
    assert levels[5].usage.warm_tokens == 4 * levels[1].usage.warm_tokens


def test_gas_is_what_the_default_schedule_asks(found: tuple[Growth, ...], tiny: LlamaModel) -> None:
    stage = GrowthChain(tiny)
    for grown in found:
        for point in grown.points:
            usage = point.usage
            executor = (
                3_000 * usage.calls
                + 16 * usage.input_bytes
                + 5_000 * usage.tools
                + 2_000 * usage.parameters
                + 6_000 * usage.cold_tokens
                + 100 * usage.warm_tokens
                + 10_000 * usage.output_tokens
            )
            assert point.gas == usage.evm_gas + executor
            assert usage.evm_gas > 21_000
    assert stage.profile.output_token_gas == 10_000


def test_short_runs_are_timed_more_often(found: tuple[Growth, ...]) -> None:
    assert [len(p.seconds) for p in points_of(found, "tools").values()] == [2, 1, 1]
    assert [len(p.seconds) for p in points_of(found, "steps").values()] == [1, 1, 1]


@pytest.mark.slow
def test_quick_mode_takes_a_few_steps_alone(tiny: LlamaModel) -> None:
    observer = SilentObserver()
    [grown] = measure_growth(BenchSettings(model=tiny, observer=observer, is_quick=True))
    assert (grown.axis, [point.x for point in grown.points]) == ("steps", [1, 2, 4])
    assert dict(grown.exponents).keys() == set(QUANTITIES)
    assert observer.parts == [("How runs grow", 3)]
    assert observer.steps == ["1 steps", "2 steps", "4 steps"]


def test_axes_with_other_places() -> None:
    axis = get_axis("levels", (1, 2, 16))
    assert isinstance(axis, GrowthAxis)
    assert (axis.places, axis.short, axis.steps(9)) == ((1, 2, 16), (1, 2), 2)
