"""Plots of scale match their captions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyevm_agents.bench.measurement.results import Growth, GrowthPoint
from pyevm_agents.bench.measurement.usage import Usage
from pyevm_agents.bench.runs.growth import fit_exponents
from tests.pyevm_agents.bench import made_up

pytest.importorskip("matplotlib")


def test_the_tokens_that_are_drawn_are_those_of_the_exponent() -> None:
    """Warm tokens grow as the square of steps, and are in neither."""
    from pyevm_agents.bench.report.plots.axes import WIDE  # noqa: PLC0415 - matplotlib is an extra
    from pyevm_agents.bench.report.plots.scale import draw_growth  # noqa: PLC0415

    points = tuple(
        GrowthPoint(
            x=x,
            usage=Usage(cold_tokens=90 * x, warm_tokens=50 * x * x, output_tokens=10 * x),
            gas=1_000 * x,
            seconds=(x / 10,),
        )
        for x in (1, 2, 4, 8)
    )
    grown = Growth(axis="steps", points=points, exponents=fit_exponents(points))
    figure = draw_growth(replace(made_up.report(), growth=(grown,)), WIDE)
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in figure.axes[0].get_lines()}
    assert lines["tokens"] == pytest.approx([1 / 8, 1 / 4, 1 / 2, 1])
    assert dict(grown.exponents)["tokens"].middle == pytest.approx(1.0)
