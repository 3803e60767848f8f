"""Scores: those of Python's integers, near those of floats, and the same alone or in a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.chooser import (
    MAX_CALL_TOKENS,
    MAX_INPUT_TOKENS,
    MAX_SENTENCE_TOKENS,
    ChooserLimitError,
)
from precompiles.language_model import NAT
from pyevm_agents.models.chooser import sentence_chooser
from pyevm_agents.models.chooser.chooser_file import open_chooser
from pyevm_agents.models.chooser.sentence_chooser import split_batches
from tests.pyevm_agents.models.chooser.oracles import FloatOracle, IntegerOracle, Reader
from tests.tiny_chooser import write_tiny_chooser

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike

    from precompiles.chooser import Chooser
    from pyevm_agents.models.chooser.sentence_chooser import SentenceChooser

SENTENCES = ("pay alice 7", "Don't stop!", "the alice, the 7. pay", "@")
CALLS = ("pay: pays somebody", "stop")
PAIRS = [(sentence, call) for sentence in SENTENCES for call in CALLS]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_chooser(tmp_path_factory.mktemp("chooser") / "tiny.gguf")


@pytest.fixture
def chooser(path: Path) -> SentenceChooser:
    return open_chooser(path)


@pytest.mark.parametrize("dtype", [object, np.int64])
@pytest.mark.parametrize(("seed", "strength"), [(1, 1), (2, 1), (3, 25)])
def test_scores_are_those_of_integers(
    tmp_path: Path, seed: int, strength: int, dtype: DTypeLike
) -> None:
    path = write_tiny_chooser(tmp_path / "chooser.gguf", seed, strength)
    chooser, integers = open_chooser(path), Reader(IntegerOracle(path, dtype))
    moods, calls = chooser.score_moods(SENTENCES), chooser.score_calls(PAIRS)
    assert moods == tuple(integers.score_mood(sentence) for sentence in SENTENCES)
    assert calls == tuple(integers.score_call(*pair) for pair in PAIRS)
    assert max(calls) - min(calls) > NAT


def test_scores_are_near_those_of_floats(path: Path, chooser: SentenceChooser) -> None:
    floats = Reader(FloatOracle(path))
    assert [x / NAT for x in chooser.score_moods(SENTENCES)] == pytest.approx(
        [floats.score_mood(sentence) for sentence in SENTENCES], abs=0.005
    )
    assert [x / NAT for x in chooser.score_calls(PAIRS)] == pytest.approx(
        [floats.score_call(*pair) for pair in PAIRS], abs=0.02
    )


TEXTS = st.lists(st.sampled_from(["pay", "alice", "7", ".", "the", "中"]), min_size=1, max_size=30)


@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_a_score_is_the_same_alone_and_in_every_batch(
    path: Path, pairs: list[tuple[list[str], list[str]]]
) -> None:
    texts = [(" ".join(sentence), " ".join(call)) for sentence, call in pairs]
    together, alone = open_chooser(path), open_chooser(path)
    calls = together.score_calls(texts)
    assert calls == tuple(alone.score_calls([pair])[0] for pair in texts)
    moods = together.score_moods([sentence for sentence, _ in texts])
    assert moods == tuple(alone.score_moods([sentence])[0] for sentence, _ in texts)
    assert together.score_calls(texts[::-1]) == calls[::-1]


def test_no_input_has_no_score(chooser: SentenceChooser) -> None:
    port: Chooser = chooser
    assert port.score_moods([]) == port.score_calls([]) == ()


def test_tokens_are_counted_with_the_special_ones(chooser: SentenceChooser) -> None:
    assert chooser.count_mood_tokens("pay alice 7.") == 2 + 4
    assert chooser.count_call_tokens("pay alice 7.", "paying") == 3 + 4 + 2


def test_texts_at_their_limits_are_scored(chooser: SentenceChooser) -> None:
    sentence, call = "pay " * MAX_SENTENCE_TOKENS, "stop " * MAX_CALL_TOKENS
    assert chooser.count_call_tokens(sentence, call) == MAX_INPUT_TOKENS == 227
    assert len(chooser.score_calls([(sentence, call)])) == 1
    assert len(chooser.score_moods([sentence])) == 1


@pytest.mark.parametrize(
    ("sentence", "call", "message"),
    [
        ("pay " * 97, "stop", "sentence of 97 tokens: must have 1 to 96; shorten or split it"),
        (" ", "stop", "sentence of 0 tokens: must have 1 to 96"),
        ("pay", "stop " * 129, "call of 129 tokens: must have 1 to 128"),
        ("pay", "\t", "call of 0 tokens: must have 1 to 128"),
        ("pay", "中 " * 5000, "call of 5,000 tokens: must have"),
    ],
)
def test_a_text_beyond_its_limits_is_refused_and_never_cut(
    chooser: SentenceChooser, sentence: str, call: str, message: str
) -> None:
    with pytest.raises(ChooserLimitError, match=message):
        chooser.count_call_tokens(sentence, call)
    with pytest.raises(ChooserLimitError, match=message):
        chooser.score_calls([("pay", "stop"), (sentence, call)])
    if message.startswith("sentence"):
        with pytest.raises(ChooserLimitError, match=message):
            chooser.score_moods([sentence])
        with pytest.raises(ChooserLimitError, match=message):
            chooser.count_mood_tokens(sentence)


def test_equal_inputs_are_evaluated_once_and_the_last_are_kept(
    chooser: SentenceChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_chooser, "CACHED_SCORES", 2)
    evaluated: list[int] = []
    evaluate = chooser._evaluate  # noqa: SLF001 - counts

    def count(inputs: Sequence[tuple[tuple[int, ...], ...]]) -> list[int]:
        evaluated.append(len(inputs))
        return evaluate(inputs)

    monkeypatch.setattr(chooser, "_evaluate", count)
    first = chooser.score_moods(["pay", "stop", "PAY "])
    assert first[0] == first[2]
    assert evaluated == [2]
    assert chooser.score_moods(["stop", "alice", "pay"]) == (first[1], *chooser.score_moods(["alice"]), first[0])  # noqa: E501  # fmt: skip
    assert evaluated == [2, 1]
    chooser.score_moods(["stop"])
    assert evaluated == [2, 1, 1]


def test_batches_are_bounded_and_keep_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_chooser, "BATCH_TOKENS", 5)
    inputs = [((1,) * size,) for size in (2, 3, 1, 9, 4, 1)]
    sizes = [[len(each[0]) for each in batch] for batch in split_batches(inputs)]
    assert sizes == [[2, 3], [1], [9], [4, 1]]
    assert split_batches([]) == []
