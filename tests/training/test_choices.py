"""Folds of families."""

from __future__ import annotations

from training.choices import folds
from training.kinds import SEEN
from training.kinds.composed import OPERATIONS, THINGS


def test_folds_leave_out_each_family_noun_and_operation_once() -> None:
    pairs = folds(SEEN, 6, 1)
    for all_, of in ((SEEN, "kinds"), (THINGS, "things"), (OPERATIONS, "operations")):
        left_out = [one for _, source in pairs for one in getattr(source, of)]
        assert sorted(map(str, left_out)) == sorted(map(str, all_))
        for trained, source in pairs:
            assert not set(getattr(trained, of)) & set(getattr(source, of))
            assert {*getattr(trained, of), *getattr(source, of)} == set(all_)
