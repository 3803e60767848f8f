"""The router: scores equal those of plain Python, and no weight overflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType
from precompiles.language_model import ClauseWords, ToolWords
from precompiles.short_format.mentions import KnownWords, scan
from precompiles.short_format.tool_words import read_clause_words, read_tool_words
from precompiles.tool_metadata import Tool
from pyevm_agents.models.decoding.fixed_point import SCALE
from pyevm_agents.models.decoding.router import (
    CACHED_WORDS,
    CLAUSE_TOKENS,
    DESCRIPTION_TOKENS,
    FEATURES,
    HARD_FEATURES,
    NAME_TOKENS,
    PARAMETER_TOKENS,
    SOFT_FEATURES,
    STEM,
    UNIT,
    WEIGHT_UNIT,
    WIDTH,
    Router,
    RouterWeights,
    WordTokens,
    combine_features,
    compute_hard_features,
    compute_soft_features,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKENS = 200
WORDS = ("pay", "send", "money", "account", "balance", "check", "what", "get", "deposit")
LIMITS = CLAUSE_TOKENS, NAME_TOKENS, DESCRIPTION_TOKENS, PARAMETER_TOKENS

some_words = st.lists(st.sampled_from(WORDS) | st.text("abcdeé", min_size=1), max_size=50).map(
    tuple
)
some_counts = st.tuples(*[st.integers(0, 5)] * 3)
clauses = st.builds(ClauseWords, some_words, some_counts)
tools = st.builds(ToolWords, some_words, some_words, some_words, some_counts)


def tokenize(text: str) -> list[int]:
    """Return a token for each two letters."""
    return [sum(text[at : at + 2].encode()) * (1 + at) % TOKENS for at in range(0, len(text), 2)]


def make_weights(seed: int = 1, *, largest: int = 1 << 14) -> RouterWeights:
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(TOKENS, WIDTH))
    rows *= 127 / np.linalg.norm(rows, axis=1, keepdims=True)
    return RouterWeights(
        rows=np.rint(rows).astype(np.int8),
        gates=chance.integers(1, 128, TOKENS).astype(np.int8),
        weights=tuple(chance.integers(-largest, largest, FEATURES).tolist()),
        bias=-3 * WEIGHT_UNIT * UNIT,
    )


def plain_score(weights: RouterWeights, clause: ClauseWords, tool: ToolWords) -> int:
    """Return the score by the formulas, without NumPy."""
    rows, gates = weights.rows.tolist(), weights.gates.tolist()
    texts = clause.words or ("?",), tool.name or ("?",), tool.description, tool.parameters
    said, *fields = (
        [token for word in words for token in tokenize(f" {word}")][:limit]
        for words, limit in zip(texts, LIMITS, strict=True)
    )

    def match(one: int, other: int) -> int:
        return sum(a * b for a, b in zip(rows[one], rows[other], strict=True))

    def mean(values: Sequence[int], tokens: Sequence[int]) -> int:
        total = sum(value * gates[t] for value, t in zip(values, tokens, strict=True))
        return total // sum(gates[t] for t in tokens) if tokens else 0

    best = [[max([-UNIT, *(match(a, b) for b in field)]) for a in said] for field in fields]
    best.append([max(pair) for pair in zip(best[0], best[1], strict=True)])
    features = [mean(one, said) for one in best]
    features += [
        mean([max(-UNIT, *(match(a, b) for a in said), -UNIT) for b in field], field)
        for field in fields
    ]
    features += compute_hard_features(clause, tool)
    total = sum(w * f for w, f in zip(weights.weights, features, strict=True)) + weights.bias
    return total * SCALE // (WEIGHT_UNIT * UNIT)


@given(st.integers(0, 3), clauses, tools)
def test_a_score_is_that_of_plain_python(seed: int, clause: ClauseWords, tool: ToolWords) -> None:
    weights = make_weights(seed)
    found = Router(weights, WordTokens(tokenize)).score(clause, tool)
    assert isinstance(found, int)
    assert found == plain_score(weights, clause, tool)


@given(clauses, tools)
def test_hard_features_are_within_bounds(clause: ClauseWords, tool: ToolWords) -> None:
    features = compute_hard_features(clause, tool)
    assert len(features) == HARD_FEATURES
    assert all(isinstance(one, int) and 0 <= one <= 2 * UNIT for one in features)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_of_a_file_overflow_nothing(sign: int) -> None:
    largest = sign * (2**63 - 1)
    weights = RouterWeights(
        rows=np.full((TOKENS, WIDTH), -128, np.int8),
        gates=np.full(TOKENS, 127, np.int8),
        weights=(largest,) * FEATURES,
        bias=largest,
    )
    words = WORDS * 10
    clause, tool = ClauseWords(words, (5, 5, 5)), ToolWords(words, words, words, (0, 0, 0))
    match = WIDTH * 128 * 128
    tokens = [WordTokens(tokenize).read(words, limit) for limit in LIMITS]
    soft = compute_soft_features(weights, tokens[0], tokens[1:])
    assert soft == [match] * SOFT_FEATURES
    features = [*soft, *compute_hard_features(clause, tool)]
    expected = (largest * (sum(features) + 1)) * (SCALE // WEIGHT_UNIT) // UNIT
    assert Router(weights, WordTokens(tokenize)).score(clause, tool) == expected
    assert abs(expected) > 2**63


def test_a_score_is_rounded_down_and_in_units_of_a_nat() -> None:
    weights = RouterWeights(
        rows=np.zeros((TOKENS, WIDTH), np.int8),
        gates=np.ones(TOKENS, np.int8),
        weights=(WEIGHT_UNIT,) * FEATURES,
        bias=0,
    )
    assert combine_features(weights, [UNIT] + [0] * (FEATURES - 1)) == SCALE
    assert combine_features(weights, [-1] + [0] * (FEATURES - 1)) == -(SCALE // UNIT) - 1


def test_means_are_rounded_down_and_empty_fields_are_0_backward() -> None:
    weights = make_weights()
    soft = compute_soft_features(weights, [1, 2], [[3], [], []])
    assert soft[1] == soft[2] == -UNIT
    assert soft[5] == soft[6] == 0
    best = [max(-UNIT, int(weights.rows[t].astype(int) @ weights.rows[3].astype(int)))
            for t in (1, 2)]  # fmt: skip
    gates = weights.gates[[1, 2]].tolist()
    total = sum(a * b for a, b in zip(best, gates, strict=True))
    assert soft[0] == soft[3] == total // sum(gates)
    assert soft[4] == max(best)


def test_counts_that_a_tool_takes_are_compared() -> None:
    clause, tool = ClauseWords(("pay",), (3, 1, 0)), ToolWords(("pay",), (), (), (1, 1, 4))
    assert compute_hard_features(clause, tool)[4:10] == [2 * UNIT, 0, 0, 0, 0, 2 * UNIT]


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        (("what", "is", "it"), ("get", "it"), [UNIT, 0]),
        (("what", "is", "it"), ("pay", "it"), [0, UNIT]),
        (("please", "pay", "bob", "what"), ("get",), [0, 0]),
    ],
)
def test_a_question_asks_for_a_view(
    words: tuple[str, ...], name: tuple[str, ...], expected: list[int]
) -> None:
    none = (0, 0, 0)
    features = compute_hard_features(ClauseWords(words, none), ToolWords(name, (), (), none))
    assert features[10:] == expected


def test_words_are_compared_by_their_stems() -> None:
    none = (0, 0, 0)
    clause = ClauseWords(("depositing", "deposits"), none)
    assert {word[:STEM] for word in clause.words} == {"depos"}
    features = compute_hard_features(clause, ToolWords(("deposit",), (), (), none))
    assert features[:4] == [UNIT, UNIT, UNIT, UNIT]


def test_later_tokens_are_not_read() -> None:
    weights = make_weights()
    router = Router(weights, WordTokens(tokenize))
    none = (0, 0, 0)
    short = ToolWords(("pay",) * NAME_TOKENS, (), (), none)
    longer = ToolWords((*short.name, "pay", "pay"), (), (), none)
    clause = ClauseWords(("pay",), none)
    assert router.score(clause, short) == router.score(clause, longer)


def test_a_word_is_tokenized_once_and_the_cache_is_bounded() -> None:
    read: list[str] = []

    def count(text: str) -> list[int]:
        read.append(text)
        return [len(text)]

    tokens = WordTokens(count)
    assert tokens.read(("pay", "pay", "all"), 3) == [4, 4, 4]
    assert read == [" pay", " all"]
    tokens.read([f"word{number}" for number in range(CACHED_WORDS + 1)], CACHED_WORDS + 1)
    read.clear()
    tokens.read(("pay",), 1)
    assert read == [" pay"]


def test_numbers_addresses_and_quoted_texts_are_counted_and_not_read() -> None:
    known = KnownWords(("alice", "bob"), (), "ETH", {})
    clause = read_clause_words(scan('pay alice "7 now" and 5 to bob', known))
    assert clause == ClauseWords(("pay", "and", "to"), (1, 2, 1))
    tool = Tool(
        address=bytes(20),  # type: ignore[arg-type]
        name="payERC20_now",
        description="Pays!",
        parameters=(
            ParamDescription(param_type=ParamType.UINT, name="amountWei", description="How much"),
        ),
    )
    assert read_tool_words(tool) == ToolWords(
        ("pay", "erc", "now"), ("pays",), ("amount", "wei", "how", "much"), (1, 0, 0)
    )
