"""Texts of the sentiment model: labels, split, the table of words, and its two graphs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnxruntime
import pytest

from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.text_features import text_features, text_to_words
from training.numeric import packages, texts
from training.numeric.sentiment_graphs import SentimentWeights, float_graph, integer_graph, score

POSTS = [
    "good token",
    "not good",
    "very good token",
    "slightly bad",
    "unknown words",
    "",
    "bad" * 9,
]


@pytest.fixture(scope="module")
def market() -> texts.Lexicon:
    return texts.read_market_lexicon()


@pytest.fixture(scope="module")
def weights(market: texts.Lexicon) -> SentimentWeights:
    known = texts.known_valences({"good": 2.0, "bad": -2.5, "good bye": 1.0}, market)
    vocabulary = texts.make_vocabulary(Counter({"good": 3, "the": 50}), known, market)
    return SentimentWeights(
        vocabulary=vocabulary,
        valences=np.array([0.0, *(known.get(word, 0.0) for word in vocabulary.words)]),
        masks={
            name: vocabulary.mask(getattr(market, name))
            for name in ("negators", "boosters", "dampeners")
        },
        spread=15.0,
        negation=0.7,
        booster=0.3,
        dampener=0.4,
        positive=0.1,
        negative=0.1,
    )


def test_market_posts_are_balanced_and_distinct() -> None:
    posts = texts.read_market_posts()
    assert Counter(label for label, _ in posts) == {-1: 20, 0: 20, 1: 20}
    assert len({text for _, text in posts}) == len(posts)


def test_market_words_are_words_of_the_feature_map_with_one_valence(market: texts.Lexicon) -> None:
    for word in [*market.valences, *market.roles]:
        assert text_to_words(word) == [word]
    assert max(map(abs, market.valences.values())) <= 4
    assert not market.negators & market.boosters
    assert not market.dampeners & (market.negators | market.boosters)


def test_the_split_is_by_text_and_near_its_shares() -> None:
    parts = Counter(texts.split_of(f"text {number}") for number in range(5_000))
    assert parts["train"] / 5_000 == pytest.approx(0.7, abs=0.03)
    assert parts["validation"] / 5_000 == pytest.approx(0.1, abs=0.03)
    assert texts.split_of("text 1") == texts.split_of("text 1")


def test_classes_of_ratings() -> None:
    ratings = np.array([-4, -0.5, -0.49, 0, 0.49, 0.5, 4])
    assert list(texts.classes(ratings)) == [-1, -1, 0, 0, 0, 1, 1]


def test_a_known_word_has_its_own_number_and_others_have_none(weights: SentimentWeights) -> None:
    [row] = weights.vocabulary.numbers(texts.feature_rows(["good nonsenseword"]))
    assert weights.vocabulary.words[row[0] - 1] == "good"
    assert list(row[1:]) == [0] * (texts.WORDS - 1)


def test_the_more_frequent_word_has_a_shared_slot(market: texts.Lexicon) -> None:
    def slot(word: str) -> int:
        return text_features(word, 1, texts.BUCKETS)[0] % texts.SLOTS

    words = [f"word{number}" for number in range(300)]
    first, second = next(
        (one, two) for one in words for two in words if one < two and slot(one) == slot(two)
    )
    known = texts.known_valences({first: 1.0, second: 1.0}, market)
    for counts, winner in ((Counter({first: 2, second: 1}), first), ({second: 2}, second)):
        vocabulary = texts.make_vocabulary(Counter(counts), known, market)
        assert vocabulary.words[slot(first)] == winner


def test_rules_of_the_score(weights: SentimentWeights) -> None:
    good, negated, boosted, weak, unknown, empty, _ = score(weights, texts.feature_rows(POSTS))
    assert negated < 0 < good < boosted
    assert weak < 0
    assert unknown == empty == 0


def test_both_graphs_compute_the_score(weights: SentimentWeights) -> None:
    session = onnxruntime.InferenceSession(float_graph(weights))
    file = NumericFile(integer_graph(weights))
    rows = texts.feature_rows([*POSTS, *(text for _, text in texts.read_market_posts())])
    for row, expected in zip(rows, score(weights, rows), strict=True):
        [floats] = session.run(None, {"word": row})
        assert floats[0] == pytest.approx(expected, abs=1e-5)
        number, label = file.run([int(value) for value in row])
        assert number / 10_000 == pytest.approx(expected, abs=0.02)
        assert label == (number >= 1_000) - (number <= -1_000)


def test_rated_texts_and_bitcoin_files_are_parsed() -> None:
    rows = packages.parse_rated_texts("tweets", "1\t2.5\tGood\tday\n\n2\t-1\tBad\n")
    assert rows == [("tweets", "Good\tday", 2.5), ("tweets", "Bad", -1.0)]
    prices = packages.parse_bitcoin("btc", "source\ndate,close\n2020-01-02,11\n2020-01-01,10\n")
    assert prices == ("btc", ["2020-01-01", "2020-01-02"], [10.0, 11.0])
