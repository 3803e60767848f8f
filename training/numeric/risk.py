"""Train and measure the risk model, the next return's volatility; write it as ONNX in floats.

A convolution without biases: returns that are twice as large give exactly twice the volatility, so
that one model fits assets and steps of any scale.

    python -m training.numeric.risk DATA --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from training.numeric import metrics, packages, series
from training.numeric.forecast import TEST_END, TEST_START, TRAIN_END, read_windows
from training.numeric.risk_graph import RiskWeights, float_graph, volatility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from training.numeric.series import Windows

    Floats = NDArray[np.float64]

SEED = 24
STEPS, BATCH, RATE = 3_000, 1_024, 0.003
CHANNELS, KERNEL, STRIDE, HIDDEN = 8, 4, 2, 16
POSITIONS = (series.WINDOW - KERNEL) // STRIDE + 1
CHOOSE_EVERY = 250
"""Steps between measurements on the rows that choose the best weights."""

SMOOTHING = 0.94
"""RiskMetrics' factor of an exponentially weighted variance of daily returns."""

NORMAL_MEAN = float(np.sqrt(2 / np.pi))
"""Mean absolute value of a standard normal variable."""

LEAST = 1e-4
"""Volatility under which a forecast is not scored: one basis point."""

CALIBRATION_ROWS = 512


def start() -> dict[str, Any]:
    """Return random weights before training."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    shapes = {
        "kernel": (CHANNELS, 1, KERNEL),
        "hidden": (HIDDEN, CHANNELS * POSITIONS),
        "output": (1, HIDDEN),
    }
    made = {}
    for name, shape in shapes.items():
        fan = float(np.prod(shape[1:]))
        made[name] = torch.nn.Parameter(torch.randn(shape, dtype=torch.float64) / fan**0.5)
    return made


def forward(weights: dict[str, Any], inputs: torch.Tensor) -> torch.Tensor:
    """Return the volatilities of windows. The output's weights are squares, so none is negative."""
    layer = torch.relu(
        torch.nn.functional.conv1d(inputs[:, None], weights["kernel"], stride=STRIDE)
    )
    layer = torch.relu(layer.flatten(1) @ weights["hidden"].T)
    return (layer @ (weights["output"] ** 2).T)[:, 0]


def qlike(truth: torch.Tensor, guess: torch.Tensor) -> torch.Tensor:
    """Return the loss of a volatility: the Gaussian's, up to a constant."""
    return 2 * guess.log() + (truth / guess) ** 2


def units(rows: Windows) -> tuple[Floats, Floats]:
    """Return windows and next returns in units of each window's mean absolute return."""
    spread = np.maximum(np.abs(rows.returns).mean(1), 100)
    return rows.returns / spread[:, None], rows.nexts / spread


def train(rows: Windows, choosing: Windows) -> RiskWeights:
    """Fit the network; keep the weights that are best on the choosing rows."""
    weights = start()
    optimizer = torch.optim.Adam(list(weights.values()), lr=RATE)
    order = torch.Generator().manual_seed(SEED)
    inputs, nexts = (torch.tensor(part) for part in units(rows))
    other, later = (torch.tensor(part) for part in units(choosing))
    best, kept = float("inf"), None
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / (STEPS + 1))
        index = torch.randint(len(nexts), (BATCH,), generator=order)
        optimizer.zero_grad()
        guess = forward(weights, inputs[index]) + 0.01
        loss = qlike(nexts[index].clamp(-8, 8), guess).mean()
        loss.backward()
        optimizer.step()
        if step % CHOOSE_EVERY == 0:
            with torch.no_grad():
                value = float(qlike(later, forward(weights, other) + 0.01).mean())
            if value < best:
                best, kept = value, {k: v.detach().clone() for k, v in weights.items()}
    if kept is None:
        raise ValueError("risk: must improve at least once on the choosing rows")
    return RiskWeights(
        kernel=kept["kernel"].numpy()[:, 0],
        hidden=kept["hidden"].numpy(),
        output=(kept["output"] ** 2).numpy()[0],
        stride=STRIDE,
    )


def ewma(returns: Floats, factor: float = SMOOTHING) -> Floats:
    """Return the exponentially weighted volatility of each window."""
    ages = np.arange(returns.shape[1])[::-1]
    shares = factor**ages
    return np.asarray(np.sqrt((returns**2 * shares).sum(1) / shares.sum()))


def garch(prices: packages.Prices) -> dict[str, float]:
    """Return GARCH(1,1)'s volatility of each date, fitted before TRAIN_END and then filtered."""
    from arch import arch_model  # noqa: PLC0415

    returns = np.diff(prices.closes) / np.array(prices.closes[:-1]) * 100
    dates = np.array(prices.dates[1:])
    fitted = arch_model(returns[dates < TRAIN_END], mean="Zero", rescale=False).fit(disp="off")
    omega, alpha, beta = (float(x) for x in fitted.params)
    variance, found = float(returns.var()), {}
    for date, value in zip(dates, returns, strict=True):
        found[str(date)] = variance**0.5 / 100
        variance = omega + alpha * float(value) ** 2 + beta * variance
    return found


def figures(rows: Windows, guess: Floats) -> dict[str, Any]:
    """Return the errors of volatilities.

    `error_bp` is the root mean square of the difference between the absolute return and the one
    that the volatility makes expect, in basis points.
    """
    truth = np.abs(rows.nexts) / series.SCALE
    guess = np.maximum(guess, LEAST)
    loss = qlike_numpy(truth, guess)
    interval = metrics.day_interval(rows.dates, lambda i: float(loss[i].mean()), SEED)
    return {
        "rows": len(truth),
        "qlike": round(float(loss.mean()), 4),
        "qlike_95": [round(x, 4) for x in interval],
        "error_bp": round(float(np.sqrt(((truth - NORMAL_MEAN * guess) ** 2).mean()) * 1e4), 2),
        "correlation": round(metrics.correlation(truth, guess), 4),
    }


def qlike_numpy(truth: Floats, guess: Floats) -> Floats:
    """Return the loss of each row."""
    return np.asarray(2 * np.log(guess) + (truth / guess) ** 2)


def measure(
    rows: Windows, weights: RiskWeights, more: dict[str, Floats] | None = None
) -> dict[str, Any]:
    """Return the figures of the model and the baselines."""
    returns = rows.returns / series.SCALE
    table = {
        "last absolute return": np.abs(returns[:, -1]) / NORMAL_MEAN,
        "standard deviation of 20": np.sqrt((returns**2).mean(1)),
        "EWMA 0.94 of 20": ewma(returns),
        **(more or {}),
        "risk": volatility(weights, returns),
    }
    return {name: figures(rows, guess) for name, guess in table.items()}


def run(folder: Path, out: Path) -> dict[str, Any]:
    """Train, write the model and its calibration rows, and return the figures."""
    rows = read_windows(folder)
    fitting = rows.between("0", TRAIN_END)
    weights = train(fitting, rows.between(TRAIN_END, TEST_START))
    out.mkdir(parents=True, exist_ok=True)
    (out / "risk.onnx").write_bytes(float_graph(weights))
    index = np.linspace(0, len(fitting.nexts) - 1, CALIBRATION_ROWS).astype(np.int64)
    sample = fitting.returns[index] / series.SCALE
    np.savetxt(out / "risk_calibration.csv", sample, fmt="%.6f", delimiter=",")
    test = rows.between(TEST_START, TEST_END)
    filtered = {prices.name: garch(prices) for prices in packages.read_stocks(folder)}
    pairs = zip(test.names, test.dates, strict=True)
    known = np.array([filtered[str(name)][str(date)] for name, date in pairs])
    result = {
        "rows of training": len(fitting.nexts),
        "stocks": measure(test, weights, {"GARCH(1,1), all history": known}),
    }
    for name, member in (("days", packages.BITCOIN_DAYS), ("hours", packages.BITCOIN_HOURS)):
        bitcoin = series.windows(packages.read_bitcoin(folder, member))
        result[f"bitcoin {name}"] = measure(bitcoin, weights)
    return result


def main() -> None:
    """Train the model and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the packages of data.txt")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    options = parser.parse_args()
    print(json.dumps(run(options.data, options.out), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
