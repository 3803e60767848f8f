"""`RunOutcome`: the twin of `precompiles/outcome.py`, and reverts of runs that are not done."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector as selector
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.outcome import NOT_DONE, is_done
from tests.contracts.plain_evm import Contract, plain_evm, reverts
from tests.run_answers import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Callable

SELECTOR = selector("NotDone(string)")
SAID = "I can't do that: pay Carol"
OFFSET = (32).to_bytes(32)


@cache
def library() -> Contract:
    return plain_evm().deploy("OutcomeCalls")


def near(start: str) -> st.SearchStrategy[str]:
    """Return texts that begin with a part of a beginning, or with all of it."""
    cut = st.integers(0, len(start)).map(lambda size: start[:size])
    return st.tuples(cut, st.text(max_size=40)).map("".join)


texts = st.one_of(st.text(max_size=80), *map(near, NOT_DONE))


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_the_table_of_answers(answer: str, *, expected: bool) -> None:
    assert library()("isDone", answer) is expected
    if expected:
        library()("requireDone", answer)
        return
    with reverts("NotDone", answer):
        library()("requireDone", answer)


@given(texts)
@settings(max_examples=300, deadline=None)
def test_both_twins_say_the_same(answer: str) -> None:
    assert library()("isDone", answer) is is_done(answer)


@given(texts, st.binary(max_size=40))
@settings(max_examples=100, deadline=None)
def test_revert_data_have_an_answer_if_it_is_not_done(answer: str, after: bytes) -> None:
    data = SELECTOR + encode(["string"], [answer]) + after
    found, said = library()("readNotDone", data)
    assert found is not is_done(answer)
    assert said == answer


@pytest.mark.parametrize(
    "data",
    [
        b"",
        SELECTOR,
        SELECTOR + OFFSET,
        selector("Undone(string)") + encode(["string"], [SAID]),
        selector("Error(string)") + encode(["string"], [SAID]),
        SELECTOR + encode(["string"], [SAID])[: 64 + len(SAID) - 1],
        SELECTOR + (64).to_bytes(32) + encode(["string"], [SAID])[32:],
        SELECTOR + OFFSET + b"\xff" * 32 + SAID.encode(),
        SELECTOR + OFFSET + (2**255).to_bytes(32) + SAID.encode(),
    ],
)
def test_other_data_have_none(data: bytes) -> None:
    assert library()("readNotDone", data) == (False, "")


def test_the_text_may_end_without_padding() -> None:
    text: Callable[[int], bytes] = lambda size: encode(["string"], [SAID])[:size]  # noqa: E731
    assert library()("readNotDone", SELECTOR + text(64 + len(SAID))) == (True, SAID)
