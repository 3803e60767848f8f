"""Examples in tokens, and the batches of a training run: a function of the seed and the step."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from precompiles.chooser import MAX_CALL_TOKENS, MAX_SENTENCE_TOKENS
from precompiles.short_format.call_text import hide_quotations
from training.chooser.network import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.models.chooser.wordpiece import WordPiece

SORTED_BATCHES = 64
"""Batches within which examples are sorted by length."""


class DataError(Exception):
    """A file of data can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Inputs of one kind, and their labels."""

    tokens: tuple[tuple[int, ...], ...]
    """Special ones included."""

    sentences: tuple[int, ...]
    """Tokens of the sentences, without special ones."""

    labels: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each input."""
        return tuple(len(one) for one in self.tokens)

    def batch(self, places: Sequence[int]) -> Batch:
        """Return some of the inputs, padded to the longest."""
        some = [self.tokens[place] for place in places]
        lengths = torch.tensor([len(one) for one in some])
        tokens = np.zeros((len(some), int(lengths.max())), np.int64)
        for row, one in zip(tokens, some, strict=True):
            row[: len(one)] = one
        sentences = torch.tensor([self.sentences[place] for place in places])
        return Batch(tokens=torch.from_numpy(tokens), lengths=lengths, sentences=sentences)

    def label(self, places: Sequence[int]) -> torch.Tensor:
        """Return the labels of some inputs as numbers."""
        return torch.tensor([float(self.labels[place]) for place in places])


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Choices of a call for a sentence: one of some pairs with the same sentence, or none."""

    pairs: Examples
    starts: tuple[int, ...]
    """Place of each choice's first pair, and the number of all pairs at the end."""

    rights: tuple[int | None, ...]
    """Number of the right pair within each choice; None if none is."""

    def __len__(self) -> int:
        return len(self.rights)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each choice's longest pair."""
        return tuple(
            max(len(one) for one in self.pairs.tokens[start:end])
            for start, end in pairwise(self.starts)
        )

    def batch(self, places: Sequence[int]) -> Batch:
        """Return the pairs of some choices, one choice after another."""
        return self.pairs.batch(
            [pair for place in places for pair in range(*self.starts[place : place + 2])]
        )

    def tabulate(self, scores: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
        """Return the scores of a batch: a row for each choice, none's score of 0 last."""
        counts = [self.starts[place + 1] - self.starts[place] for place in places]
        rows = pad_sequence(scores.split(counts), batch_first=True, padding_value=-torch.inf)
        return torch.cat([rows, torch.zeros(len(places), 1)], 1)

    def label(self, places: Sequence[int], none: int) -> torch.Tensor:
        """Return the right column of some choices, where `none` is that of none."""
        rights = [self.rights[place] for place in places]
        return torch.tensor([none if right is None else right for right in rights])


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Pairs, the sentences among them whose mood is said, and choices of a call."""

    calls: Examples
    moods: Examples
    choices: Choices
    skipped: int
    """Pairs and choices that are too long."""

    sha256: str


def read_training_data(path: Path, pieces: WordPiece) -> TrainingData:
    """Read pairs and choices to train on.

    Raises: DataError: the file can't be read, or has no pair, no mood or no choice.
    """
    calls: list[tuple[list[int], int, bool]] = []
    moods: list[tuple[list[int], int, bool]] = []
    choices: list[tuple[list[tuple[list[int], int, bool]], int | None]] = []
    skipped = 0
    for row in read_rows(path):
        try:
            if "calls" in row:
                some = [join_pair(pieces, row["clause"], call) for call in row["calls"]]
                kept = [(*one, False) for one in some if one is not None]
                if len(kept) == len(some):
                    choices.append((kept, row["right"]))
                else:
                    skipped += 1
                continue
            sentence, accepts, orders = row["sentence"], row["accepts"], row["orders"]
            pair = join_pair(pieces, sentence, row["call"])
        except KeyError as error:
            raise DataError(f"data {path}: a row lacks {error}; write it anew") from error
        if pair is None:
            skipped += 1
            continue
        calls.append((*pair, accepts))
        mood = join_mood(pieces, sentence)
        if orders is not None and mood is not None:
            moods.append((*mood, orders))
    if not calls or not moods or not choices:
        raise DataError(
            f"data {path}: {len(calls)} pairs, {len(moods)} moods and {len(choices)} choices; must "
            "be at least one of each; write it anew"
        )
    return TrainingData(
        calls=_collect(calls),
        moods=_collect(moods),
        choices=Choices(
            pairs=_collect([pair for some, _ in choices for pair in some]),
            starts=(0, *accumulate(len(some) for some, _ in choices)),
            rights=tuple(right for _, right in choices),
        ),
        skipped=skipped,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read the rows of a file of `training.chooser.dataset`.

    Raises: DataError: it can't be read.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"data {path} can't be read: {error}; write it with training.chooser.dataset"
        ) from error


def join_pair(pieces: WordPiece, sentence: str, call: str) -> tuple[list[int], int] | None:
    """Return the tokens of `[CLS] sentence [SEP] call [SEP]`, and the count of the sentence's.

    None if a text has no token, or more than its bound.
    """
    one, other = pieces.tokenize(sentence), pieces.tokenize(call)
    if not 0 < len(one) <= MAX_SENTENCE_TOKENS or not 0 < len(other) <= MAX_CALL_TOKENS:
        return None
    return [pieces.beginning, *one, pieces.end, *other, pieces.end], len(one)


def join_mood(pieces: WordPiece, sentence: str) -> tuple[list[int], int] | None:
    """Return the tokens of `[CLS] sentence [SEP]`, and the count of the sentence's, or None.

    Quotations are hidden, as the judge hides them.
    """
    one = pieces.tokenize(hide_quotations(sentence))
    if not 0 < len(one) <= MAX_SENTENCE_TOKENS:
        return None
    return [pieces.beginning, *one, pieces.end], len(one)


class Order:
    """The batches of examples: shuffled anew in each epoch, and sorted by length in a window."""

    def __init__(self, lengths: Sequence[int], *, batch: int, seed: int, name: str) -> None:
        """Keep the examples' lengths, the size of a batch, and what the order depends on."""
        self._lengths = np.array(lengths)
        self._batch = batch
        self._seed = [seed % 2**64, *name.encode()]
        self._epoch = lru_cache(maxsize=1)(self._plan)

    @property
    def batches(self) -> int:
        """Batches of an epoch; the last one may be smaller."""
        return -(-len(self._lengths) // self._batch)

    def batch(self, step: int) -> list[int]:
        """Return the places of a step's examples (from 0)."""
        epoch, place = divmod(step, self.batches)
        return [int(one) for one in self._epoch(epoch)[place]]

    def _plan(self, epoch: int) -> list[Any]:
        generator = np.random.default_rng((*self._seed, epoch))
        shuffled = generator.permutation(len(self._lengths))
        window = self._batch * SORTED_BATCHES
        found = []
        for start in range(0, len(shuffled), window):
            part = shuffled[start : start + window]
            part = part[np.argsort(self._lengths[part], kind="stable")]
            found += [
                part[first : first + self._batch] for first in range(0, len(part), self._batch)
            ]
        return [found[place] for place in generator.permutation(len(found))]


def _collect(rows: Sequence[tuple[list[int], int, bool]]) -> Examples:
    return Examples(
        tokens=tuple(tuple(tokens) for tokens, _, _ in rows),
        sentences=tuple(count for _, count, _ in rows),
        labels=tuple(label for _, _, label in rows),
    )
