"""Texts as values of the feature map, their labels, and the words that have a part of their own."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.text_features import text_features, text_to_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from training.numeric.packages import RatedText

WORDS = 48
SLOTS = 8_192
"""Words that the model can know. Two bytes each fit a contract's code, which has at most 24,576."""

BUCKETS = SLOTS * 256
"""Values that a word is hashed to: a slot, and a byte that tells its word from others."""

LEAST_COUNT = 10
"""A word without a valence in the lexicons is learned if it occurs this often."""

NEUTRAL_RATING = 0.5
"""A text is positive from this mean rating on and negative from its negative on."""

FOLDER = Path(__file__).parent
CLASS_NAMES = {"negative": -1, "neutral": 0, "positive": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words with a valence from -4 to 4, and words with a role."""

    valences: dict[str, float]
    negators: frozenset[str]
    boosters: frozenset[str]
    dampeners: frozenset[str]

    @property
    def roles(self) -> frozenset[str]:
        """Words of every role."""
        return self.negators | self.boosters | self.dampeners


def read_market_lexicon(path: Path = FOLDER / "lexicon.toml") -> Lexicon:
    """Read the words of market posts. Neutral words have valence 0."""
    tables = tomllib.loads(path.read_text())
    valences = dict.fromkeys(tables["neutral"]["words"].split(), 0.0)
    for valence, words in tables["valences"].items():
        valences.update(dict.fromkeys(words.split(), float(valence)))
    roles = {name: frozenset(words.split()) for name, words in tables["roles"].items()}
    return Lexicon(valences=valences, **roles)


def read_market_posts(path: Path = FOLDER / "market_posts.tsv") -> list[tuple[int, str]]:
    """Read the written posts: a class and a text of each."""
    lines = (line.split("\t", 1) for line in path.read_text().splitlines())
    return [(CLASS_NAMES[name], text) for name, text in lines]


def split_of(text: str) -> str:
    """Return a text's part by its digest: 70 % `train`, 10 % `validation`, 20 % `test`."""
    tenth = hashlib.sha256(text.encode()).digest()[0] * 10 // 256
    return "train" if tenth < 7 else "validation" if tenth == 7 else "test"


def classes(ratings: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each mean rating: -1, 0 or 1."""
    positive, negative = ratings >= NEUTRAL_RATING, ratings <= -NEUTRAL_RATING
    return positive.astype(np.int64) - negative.astype(np.int64)


def feature_rows(texts: Iterable[str]) -> NDArray[np.int64]:
    """Return a row of `WORDS` values for each text."""
    return np.array([text_features(text, WORDS, BUCKETS) for text in texts], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The word of each slot, with its value of the feature map; 0 for a slot without a word."""

    words: list[str]
    values: NDArray[np.int64]

    def numbers(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slot of each known word plus 1, and 0 for the others."""
        slots = features % SLOTS
        return np.where((features > 0) & (self.values[slots] == features), slots + 1, 0)

    def mask(self, words: Iterable[str]) -> NDArray[np.float64]:
        """Return 1 for each number whose word is among some words."""
        chosen = frozenset(words)
        return np.array([0.0, *(float(word in chosen) for word in self.words)])


def make_vocabulary(counts: Counter[str], known: dict[str, float], market: Lexicon) -> Vocabulary:
    """Give slots to words: those of the market lexicon, then the general one's, then others.

    A word's slot follows from its hash. Among words of one slot, the most frequent one has it.
    """
    learned = {word for word, count in counts.items() if count >= LEAST_COUNT and word not in known}
    valued = {word for word, valence in known.items() if valence != 0}
    first = {*market.valences, *market.roles} & (valued | market.roles)

    def rank(word: str) -> tuple[bool, bool, int, str]:
        return word not in first, word in learned or not counts[word], -counts[word], word

    words, values = [""] * SLOTS, np.zeros(SLOTS, dtype=np.int64)
    for word in sorted(first | valued | learned, key=rank):
        [value] = text_features(word, 1, BUCKETS)
        if not words[value % SLOTS]:
            words[value % SLOTS], values[value % SLOTS] = word, value
    return Vocabulary(words=words, values=values)


def count_words(texts: Iterable[RatedText]) -> Counter[str]:
    """Count the words of texts."""
    return Counter(word for row in texts for word in text_to_words(row.text))


def known_valences(general: dict[str, float], market: Lexicon) -> dict[str, float]:
    """Return the valences of single words. The market lexicon's go before the general one's."""
    words = {word: value for word, value in general.items() if text_to_words(word) == [word]}
    return {**words, **market.valences, **dict.fromkeys(market.roles, 0.0)}
