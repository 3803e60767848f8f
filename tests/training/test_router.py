"""The router: what it reads, its integer scores, and its gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("gguf", reason="needs training/requirements.txt")

import numpy as np

from precompiles.language_model import ClauseWords, ToolWords
from pyevm_agents.models.decoding.fixed_point import SCALE
from pyevm_agents.models.decoding.router import (
    FEATURES,
    HARD_FEATURES,
    SOFT_FEATURES,
    UNIT,
    WEIGHT_UNIT,
    WIDTH,
    WordTokens,
)
from pyevm_agents.models.decoding.router import Router as ChainRouter
from training.choices import Source, measured_choices, training_choices
from training.kinds import SEEN
from training.router import (
    NO_TOOL,
    Reader,
    Router,
    Training,
    _Matched,
    choose,
    fit,
    integer_scores,
    overlap,
    quantise,
    read_clause,
    read_tool,
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
        ("send 20 USDC to bob", ("send", "to"), (1, 1, 0)),
        ("pay two hundred to 0x" + "ab" * 20, ("pay", "to"), (1, 1, 0)),
        ('rename car 7 to "the 3 bears"', ("rename", "car", "to"), (1, 0, 1)),
        ("pay eve 1,000 now", ("pay", "eve", "now"), (1, 0, 0)),
    ],
)
def test_numbers_addresses_and_texts_are_counted(
    text: str, words: tuple[str, ...], counts: tuple[int, int, int]
) -> None:
    read = read_clause(text, frozenset({"USDC", "bob"}), ())
    assert (read.words, read.counts) == (words, counts)


def test_none_wins_ties_and_then_the_first_tool() -> None:
    scores = np.array([[0, 0, NO_TOOL], [1, 3, 3], [-2, -1, -1]])
    assert choose(scores, allow_none=True).tolist() == [-1, 1, -1]
    assert choose(scores, allow_none=False).tolist() == [0, 1, 1]


def test_integer_scores_are_those_of_the_chain(batch: Batch, embedding: Floats) -> None:
    weights = quantise(Router.start(embedding), embedding)
    chain = ChainRouter(weights, WordTokens(tokenize))
    choices = training_choices(SOURCE, 60, 1)
    found = integer_scores(weights, batch)
    assert len(found) == len(choices)
    for row, choice in zip(found.tolist(), choices, strict=True):
        clause = read_clause(choice.clause, choice.names, choice.tools)
        expected = [chain.score(clause, read_tool(tool)) for tool in choice.tools]
        assert row == expected + [NO_TOOL] * (len(row) - len(expected))


def test_rounded_weights_score_almost_as_the_floats_do(batch: Batch, embedding: Floats) -> None:
    router = fit(batch, embedding, Training(steps=5, batch=16))
    weights = quantise(router, embedding)
    assert weights.rows.shape == (TOKENS, WIDTH)
    assert weights.gates.min() >= 1
    assert len(weights.weights) == FEATURES == SOFT_FEATURES + HARD_FEATURES
    assert weights.bias == round(router.bias * WEIGHT_UNIT * UNIT)
    exact, rounded = router.scores(batch, embedding), integer_scores(weights, batch)
    difference = rounded[batch.is_tool] / SCALE - exact[batch.is_tool]
    assert np.abs(difference).max() < 0.3


def test_none_wins_a_score_of_0_on_the_chain(batch: Batch, embedding: Floats) -> None:
    router = Router.start(embedding)
    router.weights[:] = 0
    router.bias = 0.0
    weights = quantise(router, embedding)
    none = (0, 0, 0)
    chain = ChainRouter(weights, WordTokens(tokenize))
    assert chain.score(ClauseWords((), none), ToolWords((), (), (), none)) == 0
    scores = integer_scores(weights, batch)
    assert set(choose(scores, allow_none=True).tolist()) == {-1}
    assert set(choose(scores, allow_none=False).tolist()) == {0}


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
