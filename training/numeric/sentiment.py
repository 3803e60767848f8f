"""Train and measure the sentiment model; write it as ONNX in floats and in integers.

A text's score is `s / sqrt(s * s + scale)`: `s` sums the valences of its words. A booster before a
word strengthens it, a dampener weakens it, and a negator among the three words before it turns it,
as in VADER (Hutto and Gilbert, 2014). The valences start at the lexicons' and are fitted to
people's ratings; ridge regression keeps those of rare words.

    python -m training.numeric.sentiment DATA --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from training.numeric import metrics, packages, texts
from training.numeric.sentiment_graphs import SentimentWeights, float_graph, integer_graph, score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SEED = 24
STEPS, BATCH, RATE = 800, 512, 0.01
RIDGE = 0.01
"""Penalty of a squared change of a valence; 0.03 had less correlation on `validation`."""

TWEET_WEIGHT = 4.0
"""Weight of a tweet: the others are reviews and editorials, which are less like posts."""

RATING_RANGE = 4.0
ROLES = ("negators", "boosters", "dampeners")
VADER_NEUTRAL = 0.05
"""VADER's own bound of the compound score between neutral and the other classes."""

CALIBRATION_TEXTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Texts as values, with targets from -1 to 1."""

    features: NDArray[np.int64]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    texts: list[packages.RatedText]

    @property
    def classes(self) -> NDArray[np.int64]:
        """Classes of the targets."""
        return texts.classes(self.targets * RATING_RANGE)


def make_rows(rated: Sequence[packages.RatedText], part: str) -> Rows:
    """Return the rows of one part of the texts."""
    chosen = [row for row in rated if texts.split_of(row.text) == part]
    return Rows(
        features=texts.feature_rows([row.text for row in chosen]),
        targets=np.array([row.rating / RATING_RANGE for row in chosen]),
        weights=np.array([TWEET_WEIGHT if row.part == "tweets" else 1.0 for row in chosen]),
        texts=chosen,
    )


def fit(
    rows: Rows, start: SentimentWeights, fixed: NDArray[np.float64], ridge: float
) -> SentimentWeights:
    """Fit the valences, but for the fixed ones, and the factors to the ratings."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    prior, free = torch.tensor(start.valences), 1 - torch.tensor(fixed)
    masks = {name: torch.tensor(mask) for name, mask in start.masks.items()}
    change = torch.zeros_like(prior, requires_grad=True)
    scale = torch.tensor([1.0, 0.75, 0.3, 0.3], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([change, scale], lr=RATE)
    order = torch.Generator().manual_seed(SEED)
    features = torch.tensor(start.vocabulary.numbers(rows.features))
    targets = torch.tensor(rows.targets)
    weights = torch.tensor(rows.weights)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / STEPS)
        index = torch.randint(len(targets), (BATCH,), generator=order)
        optimizer.zero_grad()
        guess = _forward(features[index], prior + change * free, masks, scale)
        loss = (weights[index] * (guess - targets[index]) ** 2).mean() + ridge * (
            change**2
        ).sum() / 100
        loss.backward()
        optimizer.step()
    valences = (prior + change * free).detach().numpy()
    scales = scale.detach().numpy()
    return replace(
        start,
        valences=np.clip(valences, -RATING_RANGE, RATING_RANGE),
        spread=float(scales[0] ** 2 * 15),
        negation=float(scales[1]),
        booster=float(scales[2]),
        dampener=float(scales[3]),
    )


def _forward(
    features: torch.Tensor,
    valences: torch.Tensor,
    masks: dict[str, torch.Tensor],
    scale: torch.Tensor,
) -> torch.Tensor:
    def before(mask: torch.Tensor, distance: int) -> torch.Tensor:
        flags = mask[features]
        return torch.nn.functional.pad(flags, (distance, 0))[:, : features.shape[1]]

    negated = torch.stack([before(masks["negators"], i) for i in (1, 2, 3)]).amax(0)
    factor = 1 + scale[2] * before(masks["boosters"], 1) - scale[3] * before(masks["dampeners"], 1)
    total = (valences[features] * factor * (1 - (1 + scale[1]) * negated)).sum(1)
    return total / torch.sqrt(total**2 + scale[0] ** 2 * 15)


def choose_bounds(rows: Rows, weights: SentimentWeights) -> SentimentWeights:
    """Choose the scores from which a text is positive or negative: the best macro F1."""
    scores, truth = score(weights, rows.features), rows.classes
    grid = [i / 200 for i in range(2, 60)]
    best = max(
        (
            (metrics.macro_f1(truth, classify(scores, high, low)), high, low)
            for high in grid
            for low in grid
        ),
    )
    return weights.with_bounds(positive=best[1], negative=best[2])


def classify(scores: NDArray[np.float64], positive: float, negative: float) -> NDArray[np.int64]:
    """Return the classes of scores."""
    return (scores >= positive).astype(np.int64) - (scores <= -negative).astype(np.int64)


def figures(
    truth: NDArray[np.int64], guess: NDArray[np.int64], targets: Floats | Integers, scores: Floats
) -> dict[str, float]:
    """Return accuracy, macro F1 and correlation."""
    return {
        "texts": len(truth),
        "accuracy": round(metrics.accuracy(truth, guess), 4),
        "macro_f1": round(metrics.macro_f1(truth, guess), 4),
        "correlation": round(metrics.correlation(np.asarray(targets), np.asarray(scores)), 4),
    }


def compare(
    rows: list[str],
    truth: NDArray[np.int64],
    targets: Floats | Integers,
    models: dict[str, SentimentWeights],
) -> dict[str, dict[str, float]]:
    """Measure the models and the baselines on texts."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # noqa: PLC0415

    analyzer = SentimentIntensityAnalyzer()
    vader = np.array([analyzer.polarity_scores(text)["compound"] for text in rows])
    table = {
        "always neutral": figures(truth, np.zeros_like(truth), targets, np.zeros(len(rows))),
        "VADER": figures(truth, classify(vader, VADER_NEUTRAL, VADER_NEUTRAL), targets, vader),
    }
    features = texts.feature_rows(rows)
    for name, weights in models.items():
        scores = score(weights, features)
        guess = classify(scores, weights.positive, weights.negative)
        table[name] = figures(truth, guess, targets, scores)
    return table


def start_weights(folder: Path, rated: Sequence[packages.RatedText]) -> SentimentWeights:
    """Return the weights before training: the lexicons' valences and VADER's factors."""
    market = texts.read_market_lexicon()
    known = texts.known_valences(packages.read_lexicon(folder), market)
    vocabulary = texts.make_vocabulary(texts.count_words(rated), known, market)
    roles = {name: vocabulary.mask(getattr(market, name)) for name in ROLES}
    return SentimentWeights(
        vocabulary=vocabulary,
        valences=np.array([0.0, *(known.get(word, 0.0) for word in vocabulary.words)]),
        masks=roles,
        spread=15.0,
        negation=0.74,
        booster=0.2,
        dampener=0.2,
        positive=0.0,
        negative=0.0,
    )


def train(
    folder: Path, ridge: float = RIDGE
) -> tuple[dict[str, SentimentWeights], list[packages.RatedText]]:
    """Return the fitted model and the lexicon-only one, and the texts."""
    rated = packages.read_rated_texts(folder)
    fitting, bounds = make_rows(rated, "train"), make_rows(rated, "validation")
    lexicon = start_weights(folder, fitting.texts)
    market = texts.read_market_lexicon()
    fixed = lexicon.vocabulary.mask([*market.valences, *market.roles, ""])
    fixed[0] = 1
    models = {"lexicons alone": lexicon, "sentiment": fit(fitting, lexicon, fixed, ridge)}
    return {name: choose_bounds(bounds, weights) for name, weights in models.items()}, rated


def measure(
    rated: list[packages.RatedText], models: dict[str, SentimentWeights], part: str = "test"
) -> dict[str, Any]:
    """Measure the models on a part of the rated texts, by kind, and on the written posts."""
    result: dict[str, Any] = {}
    for name in packages.RATED_TEXTS:
        chosen = [row for row in rated if row.part == name and texts.split_of(row.text) == part]
        ratings = np.array([row.rating for row in chosen])
        result[name] = compare(
            [row.text for row in chosen], texts.classes(ratings), ratings, models
        )
    if part == "test":
        posts = texts.read_market_posts()
        truth = np.array([label for label, _ in posts])
        result["market posts"] = compare([text for _, text in posts], truth, truth, models)
    return result


def run(folder: Path, out: Path) -> dict[str, Any]:
    """Train, write the models and calibration rows, and return the figures."""
    models, rated = train(folder)
    weights = models["sentiment"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "sentiment.onnx").write_bytes(float_graph(weights))
    (out / "sentiment_integer.onnx").write_bytes(integer_graph(weights))
    sample = [row.text for row in rated if texts.split_of(row.text) == "test"]
    step = len(sample) // CALIBRATION_TEXTS
    chosen = texts.feature_rows(sample[::step][:CALIBRATION_TEXTS])
    np.savetxt(out / "sentiment_calibration.csv", chosen, fmt="%d", delimiter=",")
    names = ("spread", "negation", "booster", "dampener", "positive", "negative")
    return {
        "words": sum(map(bool, weights.vocabulary.words)),
        "factors": {name: round(getattr(weights, name), 4) for name in names},
        **measure(rated, models),
    }


def main() -> None:
    """Train the model and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the packages of data.txt")
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    options = parser.parse_args()
    print(json.dumps(run(options.data, options.out), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
