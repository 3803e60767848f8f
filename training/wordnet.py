"""Vectors of words from WordNet: words of like meaning have like vectors.

A word's senses, the senses related to them, and the words of their definitions are the columns of
a sparse matrix with a row for each word. Its singular vectors are the words' vectors.

Reads WordNet's database files `data.*` and `index.*` of any release (wndb(5WN), wninput(5WN)).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.floating[Any]]

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
"""Files and letters of the parts of speech."""

RELATIONS = {
    "@": 0.6,  # hypernym
    "~": 0.4,  # hyponym, troponym
    "+": 0.7,  # derivationally related form
    "$": 0.7,  # verb group
    "&": 0.7,  # similar adjective
    "*": 0.5,  # entailment
    ">": 0.5,  # cause
    "^": 0.3,  # also see
}
"""Weights of the senses related to a word's own, by pointer symbol. Others are not read."""

GLOSS_WEIGHT = 0.3
"""Weight of a word of a definition."""

ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("es", "e"), ("s", ""), ("ed", ""), ("ed", "e"),
    ("ing", ""), ("ing", "e"),
)  # fmt: skip
"""Endings of inflected words, and those of their base forms."""

OVERSAMPLED, ITERATIONS = 16, 4
"""Extra vectors and iterations of the randomised decomposition.

Source: Halko, Martinsson and Tropp 2011, algorithm 4.4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synset:
    """A sense: its related senses and the words of its definition."""

    related: tuple[tuple[str, str], ...]
    """Pointer symbols and keys of senses."""

    gloss: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordNet:
    """Senses by key, and the keys of words' senses, the commonest first, by part of speech."""

    synsets: dict[str, Synset]
    senses: dict[str, list[list[str]]]

    def bases(self, word: str) -> list[str]:
        """Return a word, if it is in WordNet, and the base forms that it may be inflected of."""
        return [base for base in dict.fromkeys(_base_forms(word)) if base in self.senses]

    def columns(self, word: str) -> dict[str, float]:
        """Return the row of a word: senses and words of definitions, with their weights.

        A sense's columns weigh 1 over its rank.
        """
        row: defaultdict[str, float] = defaultdict(float)
        for base in self.bases(word):
            for ranked in self.senses[base]:
                for rank, key in enumerate(ranked, start=1):
                    for column, weight in self._sense_columns(key):
                        row[column] += weight / rank
        return row

    def _sense_columns(self, key: str) -> Iterator[tuple[str, float]]:
        yield key, 1.0
        synset = self.synsets[key]
        counts = Counter(symbol for symbol, _ in synset.related)
        for symbol, other in synset.related:
            yield other, RELATIONS[symbol] / counts[symbol] ** 0.5
        for word in synset.gloss:
            yield word, GLOSS_WEIGHT


def read_wordnet(folder: Path) -> WordNet:
    """Read the folder of WordNet's database files.

    Raises: FileNotFoundError if one of them is missing.
    """
    synsets: dict[str, Synset] = {}
    senses: dict[str, list[list[str]]] = {}
    for part, letter in PARTS.items():
        for line in _lines(folder / f"data.{part}"):
            synsets[letter + line[:8]] = _read_synset(line)
        for line in _lines(folder / f"index.{part}"):
            fields = line.split()
            count = int(fields[2])
            keys = [letter + offset for offset in fields[-count:]]
            senses.setdefault(fields[0], []).append(keys)
    return WordNet(synsets=synsets, senses=senses)


def word_vectors(wordnet: WordNet, words: Sequence[str], width: int, seed: int) -> Floats:
    """Return vectors of length 1, words x width; a word that is not in WordNet has zeros."""
    rows: list[int] = []
    names: list[str] = []
    values: list[float] = []
    for number, word in enumerate(words):
        for name, value in wordnet.columns(word).items():
            rows.append(number)
            names.append(name)
            values.append(value)
    matrix = _Sparse(rows, names, values, len(words))
    vectors = matrix.left_vectors(width, np.random.default_rng(seed))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = vectors / np.where(lengths > 0, lengths, 1)
    return scaled


class _Sparse:
    """A sparse matrix: columns weighted by how few rows have them, rows of length 1."""

    def __init__(
        self, rows: Sequence[int], names: Sequence[str], values: Sequence[float], height: int
    ) -> None:
        self._rows = np.asarray(rows, np.int64)
        columns, self._columns = np.unique(np.asarray(names), return_inverse=True)
        self._height, self._width = height, len(columns)
        rarity = np.log(height / np.bincount(self._columns))
        weighted = np.asarray(values) * rarity[self._columns]
        lengths = np.sqrt(np.bincount(self._rows, weighted**2, height))
        self._values = weighted / (lengths[self._rows] + 1e-9)

    def left_vectors(self, width: int, rng: np.random.Generator) -> Floats:
        """Return the first left singular vectors times the roots of their singular values."""
        basis = rng.normal(size=(self._width, min(width + OVERSAMPLED, self._width)))
        for _ in range(ITERATIONS):
            left, _ = np.linalg.qr(self._times(basis))
            basis, _ = np.linalg.qr(self._transposed_times(left))
        left, sizes, _ = np.linalg.svd(self._times(basis), full_matrices=False)
        found: Floats = (left * np.sqrt(sizes))[:, :width].astype(np.float32)
        return found

    def _times(self, right: Floats) -> Floats:
        return _gather(self._rows, self._columns, self._values, right, self._height)

    def _transposed_times(self, right: Floats) -> Floats:
        return _gather(self._columns, self._rows, self._values, right, self._width)


def _gather(to: Any, of: Any, values: Floats, right: Floats, height: int) -> Floats:  # noqa: ANN401 - arrays of indices
    columns = [np.bincount(to, values * column[of], height) for column in right.T]
    return np.stack(columns, axis=1)


def _read_synset(line: str) -> Synset:
    fields, _, gloss = line.partition(" | ")
    parts = fields.split()
    at = 4 + 2 * int(parts[3], 16)
    related = []
    for start in range(at + 1, at + 1 + 4 * int(parts[at]), 4):
        symbol, offset, part = parts[start : start + 3]
        if symbol in RELATIONS:
            related.append((symbol, part + offset))
    definition = re.sub(r'"[^"]*"?', "", gloss)
    words = {word for word in re.findall("[a-z]+", definition.lower()) if len(word) > 2}
    return Synset(related=tuple(related), gloss=tuple(sorted(words)))


def _lines(path: Path) -> Iterator[str]:
    """Read the lines of a file without the licence, whose lines begin with a space."""
    with path.open(encoding="latin-1") as file:
        yield from (line for line in file if not line.startswith(" "))


def _base_forms(word: str) -> Iterator[str]:
    yield word
    for ending, base in ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word.removesuffix(ending)
            yield stem + base
            if ending in {"ed", "ing"} and stem[-1] == stem[-2]:
                yield stem[:-1]
