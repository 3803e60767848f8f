"""The router: what it reads, its integer scores, and its gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("gguf", reason="needs training/requirements.txt")

import numpy as np

from training.choices import Source, measured_choices, training_choices
from training.kinds import SEEN
from training.router import (
    FEATURES,
    FIELDS,
    NO_TOOL,
    SOFT_FEATURES,
    UNIT,
    IntegerRouter,
    Reader,
    Router,
    Training,
    _Matched,
    choose,
    fit,
    overlap,
    read_clause,
    split_name,
)

if TYPE_CHECKING:
    from training.router import Batch, Floats

SOURCE = Source(kinds=SEEN[:3])
TOKENS = 500


def tokenize(text: str) -> list[int]:
    return [1 + sum(text.encode()) % (TOKENS - 1)]


@pytest.fixture(scope="module")
def batch() -> Batch:
    return Reader(tokenize).read(training_choices(SOURCE, 60, 1))


@pytest.fixture(scope="module")
def embedding() -> Floats:
    return np.random.default_rng(1).normal(size=(TOKENS, 64)).astype(np.float32)


@pytest.mark.parametrize(
    ("text", "words", "counts"),
    [
        ("send 20 USDC to bob", ("send", "to"), (1, 2, 0)),
        ("pay two hundred to 0x" + "ab" * 20, ("pay", "to"), (1, 1, 0)),
        ('rename car 7 to "the 3 bears"', ("rename", "car", "to"), (1, 0, 1)),
        ("pay eve 1,000 now", ("pay", "eve", "now"), (1, 0, 0)),
    ],
)
def test_numbers_addresses_and_texts_are_counted(
    text: str, words: tuple[str, ...], counts: tuple[int, int, int]
) -> None:
    read = read_clause(text, frozenset({"USDC", "bob"}))
    assert (read.words, read.counts) == (words, counts)


@pytest.mark.parametrize("name", ["balanceOf", "balance_of", "BalanceOf"])
def test_a_name_is_split_into_words(name: str) -> None:
    assert split_name(name) == ["balance", "of"]


def test_none_wins_ties_and_then_the_first_tool() -> None:
    scores = np.array([[0, 0, NO_TOOL], [1, 3, 3], [-2, -1, -1]])
    assert choose(scores, allow_none=True).tolist() == [-1, 1, -1]
    assert choose(scores, allow_none=False).tolist() == [0, 1, 1]


def test_integer_scores_are_those_of_plain_python(batch: Batch, embedding: Floats) -> None:
    router = IntegerRouter.quantise(Router.start(embedding), embedding)
    scores = router.scores(batch)
    for row in range(20):
        for place in range(batch.tools.shape[1]):
            if not batch.is_tool[row, place]:
                assert scores[row, place] == NO_TOOL
                continue
            assert scores[row, place] == _plain_score(router, batch, row, place)


def _plain_score(router: IntegerRouter, batch: Batch, row: int, place: int) -> int:
    rows = [[int(x) for x in one] for one in router.rows]
    gates = [int(one) for one in router.gates]
    clause = [int(t) for t in batch.clauses[row] if t >= 0]
    fields = [[int(t) for t in batch.tools[row, place, field] if t >= 0] for field in FIELDS]

    def match(a: int, b: int) -> int:
        return sum(x * y for x, y in zip(rows[a], rows[b], strict=True))

    def mean(values: list[int], tokens: list[int]) -> int:
        weights = [gates[t] for t in tokens]
        return sum(v * w for v, w in zip(values, weights, strict=True)) // sum(weights)

    best = [[max([-UNIT, *(match(a, b) for b in of)]) for a in clause] for of in fields]
    best.append([max(pair) for pair in zip(best[0], best[1], strict=True)])
    features = [mean(of, clause) for of in best]
    for of in fields:
        matched = [max(-UNIT, *(match(a, b) for a in clause)) for b in of]
        features.append(mean(matched, of) if of else 0)
    features += [int(one) for one in batch.hard[row, place]]
    weights = [int(one) for one in router.weights]
    return sum(w * f for w, f in zip(weights, features, strict=True)) + router.bias


def test_the_gradient_is_that_of_finite_differences(batch: Batch, embedding: Floats) -> None:
    some, wide = batch.take(slice(0, 12)), embedding.astype(np.float64)
    router = Router.start(wide)
    rng = np.random.default_rng(2)
    router.gate = np.asarray(rng.normal(scale=0.05, size=wide.shape[1]))
    to_soft = rng.normal(size=(*some.tools.shape[:2], SOFT_FEATURES)) * some.is_tool[..., None]

    def value() -> float:
        return float((_Matched(some, wide, router).soft * to_soft).sum())

    to_projection, to_gate = _Matched(some, wide, router).gradient(to_soft)
    router.projection = router.projection.astype(np.float64)
    for weights, gradient in ((router.projection, to_projection), (router.gate, to_gate)):
        for place in rng.integers(0, weights.size, 4):
            before = weights.ravel()[place]
            weights.ravel()[place] = before + 1e-5
            above = value()
            weights.ravel()[place] = before - 1e-5
            slope = (above - value()) / 2e-5
            weights.ravel()[place] = before
            assert slope == pytest.approx(float(gradient.ravel()[place]), rel=1e-2, abs=1e-2)


def test_training_lowers_the_loss_and_repeats_to_the_bit(batch: Batch, embedding: Floats) -> None:
    losses: list[float] = []
    settings = Training(steps=12, batch=32, learning_rate=0.1)
    first = fit(batch, embedding, settings, lambda _, loss, __: losses.append(loss))
    again = fit(batch, embedding, settings)
    other = fit(batch, embedding, replace(settings, seed=2))
    assert sum(losses[-4:]) < sum(losses[:4])
    assert first.weights.shape == (FEATURES,)
    assert np.array_equal(first.weights, again.weights)
    assert np.array_equal(first.projection, again.projection)
    assert not np.array_equal(first.weights, other.weights)


def test_the_baseline_counts_words_in_common() -> None:
    choices = measured_choices(SOURCE, 5, 1, is_whole=False)
    read = Reader(tokenize).read(choices)
    scores = overlap(read)
    assert scores[~read.is_tool].tolist() == [NO_TOOL] * int((~read.is_tool).sum())
    assert 0 <= scores[read.is_tool].min() <= scores[read.is_tool].max() <= UNIT
