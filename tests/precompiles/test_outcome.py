"""Whether a run is done: the beginnings that say it is not, and texts that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.outcome import NOT_DONE, UNSURE, is_done
from tests.run_answers import ANSWERS


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_an_answer_is_done_unless_it_says_so_at_its_beginning(
    answer: str, *, expected: bool
) -> None:
    assert is_done(answer) is expected


@given(st.sampled_from([*NOT_DONE]), st.text())
def test_whatever_follows_a_beginning_changes_nothing(start: str, rest: str) -> None:
    assert not is_done(start + rest)
    assert is_done(" " + start + rest)


def test_every_beginning_has_a_reason() -> None:
    assert UNSURE in NOT_DONE
    assert all(reason for reason in NOT_DONE.values())
    # None begins with another one: each is needed.
    starts = [*NOT_DONE]
    assert not [a for a in starts for b in starts if a != b and a.startswith(b)]
