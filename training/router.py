"""A router: scores of (clause, tool) on a model's own embedding table, with a "none of these".

Each token has a row: a projected, normalised embedding of `WIDTH` numbers, and a weight. Vectors
of words from WordNet may extend the embedding. A token of
the clause is matched with the most similar token of the tool's name, description and parameters,
and the reverse. The score of a tool is linear in the weighted means of these matches, in the
overlap of words, and in the counts of numbers, addresses and texts less those of the parameters.
None scores 0.

`Router` has float weights, `fit` trains them, and `quantise` rounds them for the chain's integer
router, `pyevm_agents.models.decoding.router`, which shares the reading of texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import gguf
import numpy as np
from eth_typing import Address

from precompiles.address_handles import AddressBook
from precompiles.short_format.base_prompt import DEFAULT_NATIVE
from precompiles.short_format.mentions import KnownWords, scan
from precompiles.short_format.roles import read_tool as read_roles
from precompiles.short_format.tool_words import read_clause_words, read_tool_words
from precompiles.tool_metadata import Tool
from pyevm_agents.models.decoding.router import (
    CLAUSE_TOKENS,
    FEATURES,
    FIELDS,
    HARD_FEATURES,
    SOFT_FEATURES,
    UNIT,
    WEIGHT_UNIT,
    WIDTH,
    RouterWeights,
    WordTokens,
    combine_features,
    compute_hard_features,
    compute_soft_features,
)
from training.wordnet import read_wordnet, word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from precompiles.language_model import ClauseWords, ToolWords
    from training.choices import Choice
    from training.tasks import TaskTool

    Floats: TypeAlias = npt.NDArray[np.floating[Any]]
    Integers: TypeAlias = npt.NDArray[np.int64]

EMBEDDING, TOKENS = "token_embd.weight", "tokenizer.ggml.tokens"
TOOL_TOKENS = FIELDS[-1].stop

WORD_WIDTH = 128
"""Numbers of a word's vector from WordNet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Choices as arrays; padding is -1."""

    clauses: Integers
    """Tokens, choices x `CLAUSE_TOKENS`."""

    tools: Integers
    """Tokens, choices x tools x `TOOL_TOKENS`."""

    hard: Integers
    """Features of words and counts in units of `UNIT`, choices x tools x `HARD_FEATURES`."""

    right: Integers
    """Index of the right tool; -1 for none."""

    def take(self, index: Any) -> Batch:  # noqa: ANN401 - whatever NumPy indexes with
        """Return some of the choices."""
        return Batch(
            clauses=self.clauses[index],
            tools=self.tools[index],
            hard=self.hard[index],
            right=self.right[index],
        )

    @property
    def is_tool(self) -> npt.NDArray[np.bool_]:
        """Whether a place has a tool: each has a name."""
        return self.tools[:, :, 0] >= 0


class Reader:
    """Reader of choices, with a cache of words' tokens."""

    def __init__(self, tokenize: Callable[[str], Sequence[int]]) -> None:
        self._tokens = WordTokens(tokenize)

    def read(self, choices: Sequence[Choice]) -> Batch:
        """Convert choices to arrays."""
        count, most = len(choices), max(len(one.tools) for one in choices)
        clauses = np.full((count, CLAUSE_TOKENS), -1, np.int64)
        tools = np.full((count, most, TOOL_TOKENS), -1, np.int64)
        hard = np.zeros((count, most, HARD_FEATURES), np.int64)
        for row, one in enumerate(choices):
            clause = read_clause(one.clause, one.names, one.tools)
            self._put(clauses[row], clause.words or ("?",))
            for place, task_tool in enumerate(one.tools):
                tool = read_tool(task_tool)
                for field, words in zip(
                    FIELDS, (tool.name or ("?",), tool.description, tool.parameters), strict=True
                ):
                    self._put(tools[row, place, field], words)
                hard[row, place] = compute_hard_features(clause, tool)
        right = np.array([-1 if one.right is None else one.right for one in choices], np.int64)
        return Batch(clauses=clauses, tools=tools, hard=hard, right=right)

    def _put(self, row: Integers, words: Sequence[str]) -> None:
        tokens = self._tokens.read(words, len(row))
        row[: len(tokens)] = tokens


def read_clause(text: str, names: frozenset[str], tools: Sequence[TaskTool]) -> ClauseWords:
    """Read a clause with whole addresses as the chain does, which shows handles instead.

    Input:  the clause; names that the base prompt defines; the agent's tools, whose texts tell the
            symbols of tokens.
    """
    book = AddressBook(_define(names), [text])
    return read_clause_words(scan(book.intern(text), _read_vocabulary(tools, book)))


def _read_vocabulary(tools: Sequence[TaskTool], book: AddressBook) -> KnownWords:
    handles = [handle for handle, _ in book.handles]
    roles = [
        read_roles(index, _build_tool(tool), book, DEFAULT_NATIVE)
        for index, tool in enumerate(tools)
    ]
    return KnownWords(handles, roles, DEFAULT_NATIVE, {})


def _define(names: frozenset[str]) -> str:
    """Return a base prompt that gives each name an address."""
    return "\n".join(f"{name} = 0x{number:040x}" for number, name in enumerate(sorted(names), 1))


def read_tool(tool: TaskTool) -> ToolWords:
    """Read a tool of a task."""
    return read_tool_words(_build_tool(tool))


def _build_tool(tool: TaskTool) -> Tool:
    return Tool(
        address=Address(bytes(20)),
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
    )


def read_embedding(path: Path) -> Floats:
    """Read the embedding table of a GGUF file, tokens x width, without the mean of its rows."""
    found = next(t for t in gguf.GGUFReader(path).tensors if t.name == EMBEDDING)
    table: Floats = gguf.quants.dequantize(found.data, found.tensor_type).astype(np.float32)
    centred: Floats = table - table.mean(axis=0)
    return centred


def read_word_tokens(path: Path) -> dict[str, int]:
    """Read the tokens of a GGUF file that are a space and a word in lower case."""
    tokens = gguf.GGUFReader(path).fields[TOKENS].contents()
    found = (re.fullmatch("Ġ([a-z]{2,})", token) for token in tokens)
    return {word[1]: number for number, word in enumerate(found) if word}


def read_table(path: Path, wordnet: Path | None) -> Floats:
    """Read the embedding table, with columns of the words' vectors if there is a WordNet folder.

    Those columns have the embedding's mean length. Tokens that are no word of WordNet have zeros.
    """
    embedding = read_embedding(path)
    if wordnet is None:
        return embedding
    tokens = read_word_tokens(path)
    columns = np.zeros((len(embedding), WORD_WIDTH), np.float32)
    vectors = word_vectors(read_wordnet(wordnet), tuple(tokens), WORD_WIDTH, seed=1)
    columns[list(tokens.values())] = vectors
    length = np.linalg.norm(embedding, axis=1).mean()
    return np.concatenate([embedding, columns * length], axis=1)


@dataclass(slots=True, kw_only=True)
class Router:
    """Float weights: a projection of embeddings, tokens' weights, and weights of the features."""

    projection: Floats
    gate: Floats
    """Weights of a token's embedding in the logarithm of the token's weight."""

    weights: Floats
    bias: float

    @classmethod
    def start(cls, embedding: Floats) -> Router:
        """Create an untrained router: the embedding's principal axes."""
        _, axes = np.linalg.eigh(embedding.T @ embedding)
        weights = np.zeros(FEATURES, np.float32)
        weights[:SOFT_FEATURES] = 3
        return cls(
            projection=axes[:, ::-1][:, :WIDTH].astype(np.float32),
            gate=np.zeros(embedding.shape[1], np.float32),
            weights=weights,
            bias=-4.0,
        )

    def rows(self, embedding: Floats) -> tuple[Floats, Floats]:
        """Return normalised rows and weights of tokens."""
        rows = embedding @ self.projection
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6
        return rows, np.exp(np.clip(embedding @ self.gate, -3, 3)).astype(np.float32)

    def scores(self, batch: Batch, embedding: Floats) -> Floats:
        """Return the tools' scores, choices x tools; padding has -inf."""
        found = []
        for start in range(0, len(batch.right), 256):
            part = batch.take(slice(start, start + 256))
            matched = _Matched(part, embedding, self)
            score = matched.features @ self.weights + self.bias
            found.append(np.where(part.is_tool, score, -np.inf))
        return np.concatenate(found)


class _Matched:
    """Matches of a batch's tokens, and the gradient through them."""

    def __init__(self, batch: Batch, embedding: Floats, router: Router) -> None:
        tokens, places = np.unique(
            np.concatenate([batch.clauses.ravel(), batch.tools.ravel()]), return_inverse=True
        )
        size = batch.clauses.size
        clause = places[:size].reshape(batch.clauses.shape)
        tool = places[size:].reshape(batch.tools.shape)
        self.inputs = embedding[tokens]  # The row of padding, -1, is masked.
        self.raw = self.inputs @ router.projection
        self.norms = np.linalg.norm(self.raw, axis=1, keepdims=True) + 1e-6
        self.rows = self.raw / self.norms
        self.logits = self.inputs @ router.gate
        gate = np.exp(np.clip(self.logits, -3, 3))
        gate[tokens < 0] = 0
        self.gate = gate
        alike = self.rows @ self.rows.T
        self._padding = tokens < 0
        alike[self._padding] = -1
        alike[:, self._padding] = -1
        count = len(tokens)
        flat = clause[:, None, :, None] * count + tool[:, :, None, :]
        values = alike.ravel()[flat]
        sums: list[tuple[Any, Any, Any, Any]] = []  # Value, weight, total, flat index of matches.
        weights = gate[clause][:, None, :]
        clause_total = weights.sum(-1)
        best: list[tuple[Any, Any]] = []
        for field in FIELDS:
            part, index = values[..., field], flat[..., field]
            at = part.argmax(-1)[..., None]
            best.append((np.take_along_axis(part, at, -1)[..., 0],
                         np.take_along_axis(index, at, -1)[..., 0]))  # fmt: skip
        is_name = best[0][0] >= best[1][0]
        best.append(tuple(np.where(is_name, a, b) for a, b in zip(*best[:2], strict=True)))
        sums += [(value, weights, clause_total, index) for value, index in best]
        for field in FIELDS:
            part, index = values[..., field], flat[..., field]
            at = part.argmax(2)[:, :, None, :]
            own = gate[tool[..., field]]
            sums.append((np.take_along_axis(part, at, 2)[:, :, 0], own, own.sum(-1),
                         np.take_along_axis(index, at, 2)[:, :, 0]))  # fmt: skip
        self._sums, self._count, self._clause, self._tool = sums, count, clause, tool
        soft = [(value * weight).sum(-1) / (total + 1e-6) for value, weight, total, _ in sums]
        self.soft = np.stack(soft, -1)
        self.features = np.concatenate([self.soft, batch.hard / UNIT], -1).astype(np.float32)

    def gradient(self, to_soft: Floats) -> tuple[Floats, Floats]:
        """Return the gradients of projection and gate from those of the soft features."""
        places, values = [], []
        to_gate = np.zeros(self._count)
        for number, (value, weight, total, index) in enumerate(self._sums):
            to = (to_soft[..., number] / (total + 1e-6))[..., None]
            places.append(index.ravel())
            values.append(np.broadcast_to(to * weight, value.shape).ravel())
            to_weight = to * (value - self.soft[..., number][..., None])
            if number < len(FIELDS) + 1:
                to_gate += np.bincount(self._clause.ravel(), to_weight.sum(1).ravel(), self._count)
            else:
                of = self._tool[..., FIELDS[number - len(FIELDS) - 1]]
                to_gate += np.bincount(of.ravel(), to_weight.ravel(), self._count)
        pairs = np.bincount(np.concatenate(places), np.concatenate(values), self._count**2)
        pairs = pairs.reshape(self._count, self._count).astype(self.rows.dtype)
        pairs[self._padding] = 0
        pairs[:, self._padding] = 0
        to_rows = (pairs + pairs.T) @ self.rows
        to_raw = (to_rows - self.rows * (to_rows * self.rows).sum(1, keepdims=True)) / self.norms
        to_logits = to_gate * self.gate * (np.abs(self.logits) < 3)
        return self.inputs.T @ to_raw, self.inputs.T @ to_logits.astype(self.rows.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Settings of a training run."""

    steps: int = 200
    batch: int = 192
    learning_rate: float = 0.1
    projection_rate: float = 0.003
    """Learning rate of projection and tokens' weights."""

    dropout: float = 0.1
    """Share of the features' values set to zero."""

    seed: int = 1


def fit(
    batch: Batch,
    embedding: Floats,
    training: Training,
    progress: Callable[[int, float, float], None] = lambda *_: None,
) -> Router:
    """Train a router on choices with Adam; `progress` gets steps done, loss and share right."""
    router = Router.start(embedding)
    rng = np.random.default_rng(training.seed)
    bias = np.full(1, router.bias, np.float32)
    parts = [router.projection, router.gate, router.weights, bias]
    rates = [training.projection_rate, training.projection_rate] + [training.learning_rate] * 2
    first, second = ([np.zeros_like(part) for part in parts] for _ in range(2))
    for step in range(training.steps):
        some = batch.take(rng.integers(0, len(batch.right), training.batch))
        matched = _Matched(some, embedding, router)
        kept = rng.random(matched.features.shape, np.float32) >= training.dropout
        features = matched.features * kept / (1 - training.dropout)
        scores = np.where(some.is_tool, features @ router.weights + bias[0], -np.inf)
        logits = np.concatenate([np.zeros((len(scores), 1)), scores], 1)
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        own = np.arange(len(scores)), some.right + 1
        loss = float(-np.log(chances[own] + 1e-9).mean())
        right = float((logits.argmax(1) == some.right + 1).mean())
        chances[own] -= 1
        to_scores = (chances[:, 1:] / len(scores)).astype(np.float32)
        to_features = to_scores[..., None] * router.weights * kept / (1 - training.dropout)
        to_projection, to_gate = matched.gradient(to_features[..., :SOFT_FEATURES])
        gradients = [
            to_projection,
            to_gate,
            np.einsum("bt,btf->f", to_scores, features),
            to_scores.sum(keepdims=True)[0],
        ]
        shrink = 1 - step / training.steps
        for index, (part, gradient) in enumerate(zip(parts, gradients, strict=True)):
            first[index] += 0.1 * (gradient - first[index])
            second[index] += 0.01 * (gradient**2 - second[index])
            size = first[index] / (1 - 0.9 ** (step + 1))
            spread = np.sqrt(second[index] / (1 - 0.99 ** (step + 1)))
            np.subtract(part, rates[index] * shrink * size / (spread + 1e-8), out=part)
        router.bias = float(bias[0])
        progress(step + 1, loss, right)
    return router


def quantise(router: Router, embedding: Floats) -> RouterWeights:
    """Round a router's weights."""
    rows, gates = router.rows(embedding)
    return RouterWeights(
        rows=np.rint(127 * rows).astype(np.int8),
        gates=np.clip(np.rint(gates * (127 / gates.max())), 1, 127).astype(np.int8),
        weights=tuple(round(float(weight) * WEIGHT_UNIT) for weight in router.weights),
        bias=round(router.bias * WEIGHT_UNIT * UNIT),
    )


def integer_scores(weights: RouterWeights, batch: Batch) -> Integers:
    """Return the scores that the chain computes, choices x tools, in 2^-16 nats; padding `NO_TOOL`.

    The function of the chain, `decoding.router.Router.score`, on arrays.
    """
    found = np.full(batch.tools.shape[:2], NO_TOOL)
    for row, clause in enumerate(batch.clauses):
        for place in np.flatnonzero(batch.is_tool[row]):
            fields = [batch.tools[row, place, field] for field in FIELDS]
            soft = compute_soft_features(
                weights,
                clause[clause >= 0].tolist(),
                [tokens[tokens >= 0].tolist() for tokens in fields],
            )
            features = [*soft, *batch.hard[row, place].tolist()]
            found[row, place] = combine_features(weights, features)
    return found


NO_TOOL = np.iinfo(np.int64).min
"""Score of a place without a tool."""


def choose(scores: Floats | Integers, *, allow_none: bool) -> Integers:
    """Return the index of the best tool, or -1 for none, which scores 0 and wins ties.

    Of tools that tie, the first wins.
    """
    best: Integers = scores.argmax(axis=1)
    if not allow_none:
        return best
    chosen: Integers = np.where(scores.max(axis=1) > 0, best, -1)
    return chosen


def overlap(batch: Batch) -> Integers:
    """Score tools by the share of the clause's words in name and description, the baseline."""
    return np.where(batch.is_tool, batch.hard[:, :, 0], NO_TOOL)
