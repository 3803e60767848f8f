"""The three shipped models: layouts, agreement with their floats, and figures of the cards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.text_features import text_features
from tests.checkout import ROOT
from training.numeric import build, metrics, texts

if TYPE_CHECKING:
    from collections.abc import Mapping

FIGURES: Mapping[str, Any] = json.loads(build.FIGURES.read_text())
CARDS = (ROOT / "training/numeric/CARDS.md").read_text()
LAYOUTS = {
    "sentiment": ((0,) * 48, (4, 0)),
    "forecast": ((6,) * 7 + (4,), (6,)),
    "risk": ((6,) * 20, (6,)),
}


def read(name: str) -> NumericFile:
    return NumericFile((build.FILES / f"{name}.onnx").read_bytes())


@pytest.mark.parametrize("name", build.NAMES)
def test_layout(name: str) -> None:
    file = read(name)
    assert (file.input_decimals, file.output_decimals) == LAYOUTS[name]
    least, most = file.input_ranges[0]
    assert (least, most) == ((0, texts.BUCKETS) if name == "sentiment" else (-(10**6), 10**6))


@pytest.mark.parametrize("name", build.OPTIONS)
def test_the_converter_makes_the_committed_file(name: str) -> None:
    assert build.convert_model(name) == (build.FILES / f"{name}.onnx").read_bytes()


@pytest.mark.parametrize("name", build.NAMES)
def test_differences_from_the_float_model_are_those_of_the_figures(name: str) -> None:
    found, stated = build.compare(name), FIGURES["conversion"][name]
    assert found == pytest.approx(stated, abs=0.01)


def test_the_forecast_never_falls_when_the_sentiment_rises() -> None:
    file = read("forecast")
    for row in build.integer_rows("forecast")[:40]:
        prices = [int(value) for value in row[:-1]]
        forecasts = [file.run([*prices, score])[0] for score in range(-10_000, 10_001, 2_500)]
        assert forecasts == sorted(forecasts)


def test_the_volatility_scales_with_the_returns() -> None:
    file = read("risk")
    for row in build.integer_rows("risk")[:40]:
        [once] = file.run([int(value) for value in row])
        [twice] = file.run([2 * int(value) for value in row])
        assert twice == pytest.approx(2 * once, abs=4)


def test_market_posts_have_the_accuracy_of_the_figures() -> None:
    file, posts = read("sentiment"), texts.read_market_posts()
    guess = [file.run(text_features(text, texts.WORDS, texts.BUCKETS))[1] for _, text in posts]
    truth = np.array([label for label, _ in posts])
    found = metrics.accuracy(truth, np.array(guess))
    assert found == pytest.approx(FIGURES["sentiment"]["market posts"]["sentiment"]["accuracy"])


@pytest.mark.parametrize("name", build.NAMES)
def test_the_cards_state_the_figures(name: str) -> None:
    made = FIGURES["conversion"][name]
    assert f"| {made['bytes']:,} |" in CARDS
    if name == "sentiment":
        for part, models in FIGURES[name].items():
            if part not in {"words", "factors"}:
                assert f"({models['sentiment']['texts']:,})" in CARDS
    else:
        for table in ("stocks", "bitcoin days", "bitcoin hours"):
            keys = ("mae_bp",) if name == "forecast" else ("error_bp",)
            rows = (
                ("forecast, no post", "forecast, made-up post") if name == "forecast" else (name,)
            )
            for row in rows:
                for key in keys:
                    value = FIGURES[name][table][row][key]
                    digits = 2 if name == "forecast" else 1
                    assert f"{value:.{digits}f}" in CARDS, (table, row)
