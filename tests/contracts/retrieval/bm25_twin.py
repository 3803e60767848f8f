"""The exact integers of `Bm25.sol` in Python, and the same formula in floats by bm25s."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import bm25s

from benchmarks.retrieval import K1, B, split_words

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_COUNT = 255
DIGITS = 64
MILLIONTHS = 10**6

SAME = 1e-9
"""Scores of floats that differ by less are a tie: sums of 16 doubles below 20 are within 1e-13."""


def log2_of(x: int) -> int:
    """Return the logarithm to base 2 of an integer, times 2**64, as `Bm25.log2` computes it."""
    highest = x.bit_length() - 1
    mantissa, result = x << (127 - highest), highest << DIGITS
    for position in reversed(range(DIGITS)):
        mantissa = mantissa * mantissa >> 127
        if mantissa >> 128:
            mantissa >>= 1
            result |= 1 << position
    return result


@cache
def idf_of(passages: int, frequency: int) -> int:
    """Return a term's weight, times 2**64."""
    return log2_of(2 * passages + 2) - log2_of(2 * frequency + 1)


class Twin:
    """The passages of a base by id, which ranks them with integers of any size."""

    def __init__(self, texts: Mapping[int, str], *, k1: int = K1, b: int = B) -> None:
        self.words = {one: split_words(text) for one, text in texts.items()}
        self.k1, self.b = k1, b
        self.counts = {one: Counter(words) for one, words in self.words.items()}
        self.frequencies = Counter(word for counts in self.counts.values() for word in counts)
        self.total = sum(map(len, self.words.values()))

    def score(self, terms: list[str], one: int) -> int:
        """Return a passage's score for some words."""
        passages, total = len(self.words), self.total
        length = self.k1 * ((1000 - self.b) * total + self.b * len(self.words[one]) * passages)
        result = 0
        for term in terms:
            if count := min(self.counts[one][term], MAX_COUNT):
                unit = count * total * MILLIONTHS
                result += idf_of(passages, self.frequencies[term]) * unit // (unit + length)
        return result

    def search(self, query: str, count: int) -> list[tuple[int, int]]:
        """Return ids and scores as `KnowledgeBase.search` does."""
        terms = list(dict.fromkeys(split_words(query)))
        having = (one for one, has in self.counts.items() if any(term in has for term in terms))
        scores = [(one, self.score(terms, one)) for one in having]
        return sorted(scores, key=lambda found: (-found[1], found[0]))[:count]


class Oracle:
    """bm25s: Lucene's formula in double floats."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.ids = list(texts)
        self._ranker = bm25s.BM25(k1=K1 / 1000, b=B / 1000, method="lucene", dtype="float64")
        self._ranker.index([split_words(text) for text in texts.values()], show_progress=False)

    def scores(self, query: str) -> dict[int, float]:
        """Return the scores of passages that have a word of the query."""
        terms = list(dict.fromkeys(split_words(query)))
        known = [term for term in terms if term in self._ranker.vocab_dict]
        if not known:
            return {}
        scores = self._ranker.get_scores(known)
        return {one: float(s) for one, s in zip(self.ids, scores, strict=True) if s > 0}


def compare_ranks(found: list[int], scores: Mapping[int, float], count: int) -> bool:
    """Check a ranking against scores in floats; return whether floats tie at some rank.

    Where they don't, the passage of each rank is the oracle's. Where scores are within `SAME`,
    floats can't tell the order: then the passage's score is that of the oracle's at this rank.
    """
    expected = sorted(scores, key=lambda one: (-scores[one], one))
    assert len(found) == len(set(found)) == min(count, len(scores))
    has_tie = False
    for rank, one in enumerate(found):
        near = expected[max(rank - 1, 0) : rank] + expected[rank + 1 : rank + 2]
        if any(abs(scores[other] - scores[expected[rank]]) < SAME for other in near):
            has_tie = True
            assert abs(scores[one] - scores[expected[rank]]) < SAME
        else:
            assert one == expected[rank]
    return has_tie
