"""A router: integer scores of (clause, tool) on a model's own tokens, and 0 for using no tool.

Each token of the vocabulary has a row of `WIDTH` signed bytes and a weight. A token of the clause
matches the most similar token of the tool's name, description and parameters, and the reverse. The
score of a tool is linear in the weighted means of these matches, in the overlap of words, and in
the counts of numbers, addresses and texts less those of the parameters. All sums and floor
divisions are of integers: every machine computes the same scores.

The weights come with the adapter (`llama/router_file.py`); `training/router.py` trains the weights.
Source: docs/architecture.md#router.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyevm_agents.models.decoding.fixed_point import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from precompiles.language_model import ClauseWords, ToolWords

    Integers: TypeAlias = npt.NDArray[np.int64]

WIDTH = 48
"""Numbers of a token's row."""

CLAUSE_TOKENS, NAME_TOKENS, DESCRIPTION_TOKENS, PARAMETER_TOKENS = 36, 10, 20, 20
"""Tokens read of a text; later ones are ignored."""

FIELDS = (
    slice(0, NAME_TOKENS),
    slice(NAME_TOKENS, NAME_TOKENS + DESCRIPTION_TOKENS),
    slice(NAME_TOKENS + DESCRIPTION_TOKENS, NAME_TOKENS + DESCRIPTION_TOKENS + PARAMETER_TOKENS),
)
"""Places of a tool's name, description and parameters among its tokens."""

STEM = 5
"""Letters of a word that are compared."""

SOFT_FEATURES = 7
"""Clause in name, in description, in parameters, in any of the first two; and name, description
and parameters in the clause."""

HARD_FEATURES = 12
"""Overlap of stems (4), an excess and a lack of numbers, addresses and texts (6), a view asked for
by a question, and by an order."""

FEATURES = SOFT_FEATURES + HARD_FEATURES
UNIT = 127 * 127
"""Fixed-point one of a feature: the product of two normalised rows."""

WEIGHT_UNIT = 1 << 12
"""Fixed-point one of a feature's weight."""

MAX_DIFFERENCE = 2
"""Upper bound of the counted excess or lack of values."""

CACHED_WORDS = 4_096
"""Words whose tokens are cached: those of a few dozen agents."""

# fmt: off
_LOOKS = frozenset(
    (
        "what", "who", "whose", "how", "is", "has", "are", "does", "do", "which", "where",
        "when", "check", "look", "find", "tell", "show",
    )
)
_VIEWS = frozenset(
    (
        "get", "is", "has", "of", "check", "read", "returns", "whether", "how", "what",
        "status", "balance", "number", "tells", "which",
    )
)
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterWeights:
    """The numbers of a router."""

    rows: npt.NDArray[np.int8]
    """Rows of the whole vocabulary, tokens x `WIDTH`, each of length 127 or so."""

    gates: npt.NDArray[np.int8]
    """Weights of tokens, 1 to 127."""

    weights: tuple[int, ...]
    """Weights of the `FEATURES`, in units of `WEIGHT_UNIT`."""

    bias: int
    """In units of `WEIGHT_UNIT` times `UNIT`."""


class WordTokens:
    """Tokens of words, with a cache."""

    def __init__(self, tokenize: Callable[[str], Sequence[int]]) -> None:
        """Create a cache for a function that tokenizes a text."""
        self._tokenize = lru_cache(CACHED_WORDS)(lambda word: tuple(tokenize(f" {word}")))

    def read(self, words: Sequence[str], count: int) -> list[int]:
        """Return the first `count` tokens of words, each as after a space."""
        tokens: list[int] = []
        for word in words:
            if len(tokens) >= count:
                break
            tokens += self._tokenize(word)
        return tokens[:count]


class Router:
    """Scores tools for clauses."""

    def __init__(self, weights: RouterWeights, tokens: WordTokens) -> None:
        """Create a router for a vocabulary."""
        self._weights = weights
        self._tokens = tokens

    def score(self, clause: ClauseWords, tool: ToolWords) -> int:
        """Return a tool's score for a clause, in units of 2^-16 nats."""
        clause_tokens = self._tokens.read(clause.words or ("?",), CLAUSE_TOKENS)
        fields = (tool.name or ("?",), tool.description, tool.parameters)
        tool_tokens = [
            self._tokens.read(words, field.stop - field.start)
            for words, field in zip(fields, FIELDS, strict=True)
        ]
        soft = compute_soft_features(self._weights, clause_tokens, tool_tokens)
        return combine_features(self._weights, [*soft, *compute_hard_features(clause, tool)])


def combine_features(weights: RouterWeights, features: Sequence[int]) -> int:
    """Return the score of a tool's features, in units of 2^-16 nats, rounded down."""
    total = sum(f * w for f, w in zip(features, weights.weights, strict=True)) + weights.bias
    return total * (SCALE // WEIGHT_UNIT) // UNIT


def compute_soft_features(
    weights: RouterWeights, clause: Sequence[int], tool: Sequence[Sequence[int]]
) -> list[int]:
    """Return the weighted means of the tokens' matches, in units of `UNIT`.

    Two tokens match by the product of their rows. A mean is the sum of matches times the tokens'
    weights, divided by the sum of the weights and rounded down; 0 without tokens.

    Input:  tokens of the clause (at least one), and of the tool's name, description, parameters.
    """
    rows, gates = (part[list(clause)].astype(np.int64) for part in (weights.rows, weights.gates))
    forward: list[Integers] = []
    backward: list[int] = []
    for tokens in tool:
        alike = rows @ weights.rows[list(tokens)].astype(np.int64).T
        forward.append(alike.max(axis=1, initial=-UNIT))
        own = weights.gates[list(tokens)].astype(np.int64)
        matched = alike.max(axis=0, initial=-UNIT)
        backward.append(int(matched @ own) // int(own.sum()) if len(tokens) else 0)
    forward.append(np.maximum(forward[0], forward[1]))
    total = int(gates.sum())
    return [*(int(matches @ gates) // total for matches in forward), *backward]


def compute_hard_features(clause: ClauseWords, tool: ToolWords) -> list[int]:
    """Return the features of words and counts, in units of `UNIT`."""
    said, of_name, of_all = (
        {word[:STEM] for word in words}
        for words in (clause.words, tool.name, [*tool.name, *tool.description])
    )
    both, both_name = len(said & of_all), len(said & of_name)
    pairs = list(zip(clause.counts, tool.counts, strict=True))
    excess = [min(max(have - need, 0), MAX_DIFFERENCE) for have, need in pairs]
    lack = [min(max(need - have, 0), MAX_DIFFERENCE) for have, need in pairs]
    is_look = bool(_LOOKS & set(clause.words[:3]))
    is_view = bool(_VIEWS & {*tool.name, *tool.description[:3]})
    return [
        both * UNIT // max(len(said), 1),
        both_name * UNIT // max(len(of_name), 1),
        both * UNIT // max(len(of_all), 1),
        UNIT * min(both_name, 2),
        *(UNIT * one for one in excess),
        *(UNIT * one for one in lack),
        UNIT * (is_look and is_view),
        UNIT * (is_look and not is_view),
    ]
