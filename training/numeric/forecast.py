"""Train and measure the forecast of the next return, and write it as ONNX in floats.

python -m training.numeric.forecast DATA --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np
from onnxmltools.convert import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

from training.numeric import metrics, packages, series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from training.numeric.series import Integers, Windows

SEED = 24
CORRELATION = 0.1
"""Of the made-up sentiment with the next return in units of volatility."""

SHARE = 0.5
"""Share of rows that have a sentiment."""

TRAIN_END, TEST_START, TEST_END = "2010-01-01", "2015-01-01", "2023-01-01"
"""Rows between the first two choose the number of trees."""

INPUTS = 8
SENTIMENT = INPUTS - 1
SCALES = np.array([series.SCALE] * SENTIMENT + [series.SENTIMENT_SCALE], dtype=np.float64)
PARAMETERS: dict[str, Any] = {
    "objective": "regression",
    "learning_rate": 0.05,
    "num_leaves": 8,
    "max_depth": 4,
    "min_data_in_leaf": 500,
    "lambda_l2": 10.0,
    "monotone_constraints": [0] * SENTIMENT + [1],
    "seed": SEED,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
MOST_TREES, PATIENCE = 80, 15
COPIES = (0.25, 1.0, 4.0)
"""Factors of the returns in copies of the training rows: assets differ in volatility."""

CALIBRATION_ROWS = 512


def features(rows: Windows, sentiment: Integers) -> NDArray[np.float64]:
    """Return the inputs as fractions."""
    return np.asarray(series.forecast_inputs(rows, sentiment) / SCALES)


def train(rows: Windows, choosing: Windows, *, with_sentiment: bool) -> lightgbm.Booster:
    """Fit trees to the next returns, each weighted by its volatility."""

    def dataset(part: Windows, seed: int, copies: tuple[float, ...]) -> lightgbm.Dataset:
        sentiment = series.synthetic_sentiment(part, CORRELATION, SHARE * with_sentiment, seed)
        inputs, targets = features(part, sentiment), part.nexts / series.SCALE
        scaled = np.ones((len(copies), INPUTS)) * np.array(copies)[:, None]
        scaled[:, SENTIMENT] = 1
        spread = np.maximum(part.volatility, 100) / series.SCALE
        limit = 5 * spread
        return lightgbm.Dataset(
            np.concatenate([inputs * factors for factors in scaled]),
            np.concatenate([np.clip(targets, -limit, limit) * factor for factor in copies]),
            weight=np.concatenate([1 / (spread * factor) ** 2 for factor in copies]),
        )

    fitting = dataset(rows, SEED, COPIES)
    chosen = dataset(choosing, SEED + 1, (1.0,))
    return lightgbm.train(
        PARAMETERS,
        fitting,
        MOST_TREES,
        valid_sets=[chosen],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )


def figures(rows: Windows, guess: NDArray[np.float64]) -> dict[str, Any]:
    """Return the errors of forecasts, in basis points, and how often the sign is right.

    `skill` is the share of the squared error of "no change" that a forecast saves, each row in
    units of its volatility.
    """
    truth = rows.nexts / series.SCALE
    spread = np.maximum(rows.volatility, 100) / series.SCALE
    left, right = ((truth - guess) / spread) ** 2, (truth / spread) ** 2

    def skill(index: Integers) -> float:
        return float(1 - left[index].sum() / right[index].sum())

    every = np.arange(len(truth))
    hits = metrics.hit_rate(truth, guess)
    by_day = metrics.day_interval(
        rows.dates, lambda i: metrics.hit_rate(truth[i], guess[i])["share"], SEED
    )
    return {
        "rows": len(truth),
        "mae_bp": round(float(np.abs(truth - guess).mean() * 1e4), 3),
        "rmse_bp": round(float(np.sqrt(((truth - guess) ** 2).mean()) * 1e4), 3),
        "skill": round(skill(every), 5),
        "skill_95": [round(x, 5) for x in metrics.day_interval(rows.dates, skill, SEED)],
        "hit_rate": round(hits["share"], 4),
        "hit_rate_95_by_day": [round(x, 4) for x in by_day],
        "signs": hits["tries"],
    }


def measure(test: Windows, trained: Windows, models: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of the models and baselines on rows."""
    sentiment = series.synthetic_sentiment(test, CORRELATION, 1.0, SEED + 2)
    none = np.zeros_like(sentiment)
    mean = float((trained.nexts / series.SCALE).mean())
    ones = np.ones(len(none))
    own = models["with sentiment"]
    table = {
        "no change": 0 * ones,
        "mean of training": mean * ones,
        "repeat the last return": test.returns[:, -1] / series.SCALE,
        "trees without sentiment": models["without"].predict(features(test, none)),
        "forecast, no post": own.predict(features(test, none)),
        "forecast, made-up post": own.predict(features(test, sentiment)),
    }
    return {name: figures(test, np.asarray(guess)) for name, guess in table.items()}


def float_model(booster: lightgbm.Booster) -> bytes:
    """Return the trees as ONNX."""
    shape = [("input", FloatTensorType([1, INPUTS]))]
    converted = convert_lightgbm(booster, "forecast", initial_types=shape, target_opset=15)
    return bytes(converted.SerializeToString())


def read_windows(folder: Path) -> Windows:
    """Return the rows of all stocks."""
    return series.join([series.windows(prices) for prices in packages.read_stocks(folder)])


def main() -> None:
    """Train the model and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the packages of data.txt")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    options = parser.parse_args()
    print(json.dumps(run(options.data, options.out), indent=1))  # noqa: T201


def run(folder: Path, out: Path) -> dict[str, Any]:
    """Train, write the model and its calibration rows, and return the figures."""
    rows = read_windows(folder)
    fitting, choosing = rows.between("0", TRAIN_END), rows.between(TRAIN_END, TEST_START)
    models = {
        "with sentiment": train(fitting, choosing, with_sentiment=True),
        "without": train(fitting, choosing, with_sentiment=False),
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "forecast.onnx").write_bytes(float_model(models["with sentiment"]))
    index = np.linspace(0, len(fitting.nexts) - 1, CALIBRATION_ROWS).astype(np.int64)
    sentiment = series.synthetic_sentiment(fitting, CORRELATION, SHARE, SEED)
    sample = features(fitting, sentiment)[index]
    np.savetxt(out / "forecast_calibration.csv", sample, fmt="%.6f", delimiter=",")
    result = {
        "trees": models["with sentiment"].best_iteration,
        "trees without sentiment": models["without"].best_iteration,
        "rows of training": len(fitting.nexts),
        "stocks": measure(rows.between(TEST_START, TEST_END), fitting, models),
    }
    for name, member in (("days", packages.BITCOIN_DAYS), ("hours", packages.BITCOIN_HOURS)):
        bitcoin = series.windows(packages.read_bitcoin(folder, member))
        result[f"bitcoin {name}"] = measure(bitcoin, fitting, models)
    return result


if __name__ == "__main__":
    main()
