"""A grammar and a scoring as one text for the store: the scoring is the grammar's last comment.

The rows of older stores thus keep the same keys.
"""

from __future__ import annotations

from precompiles.language_model import Scoring

MARK = "\n// scoring: "
"""Start of the comment."""


def join_scoring(grammar: str, scoring: Scoring | None) -> str:
    """Return a grammar with a scoring; without one, the grammar itself."""
    return grammar if scoring is None else f"{grammar}{MARK}{scoring.value}"


def split_scoring(joined: str) -> tuple[str, Scoring | None]:
    """Return the grammar and the scoring of a text of `join_scoring`."""
    grammar, mark, scoring = joined.rpartition(MARK)
    return (grammar, Scoring(scoring)) if mark else (joined, None)
