"""A grammar and a scoring as one text for the store: the scoring is the grammar's last comment.

The rows of older stores thus keep the same keys.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyevm_agents.models.engine_messages import decode_scoring, encode_scoring

if TYPE_CHECKING:
    from precompiles.language_model import Scoring

MARK = "\n// scoring: "
"""Start of the comment; JSON has no line break, so its last occurrence is the comment's."""


def join_scoring(grammar: str, scoring: Scoring | None) -> str:
    """Return a grammar with a scoring; without one, the grammar itself."""
    if scoring is None:
        return grammar
    form = json.dumps(encode_scoring(scoring), sort_keys=True, separators=(",", ":"))
    return f"{grammar}{MARK}{form}"


def split_scoring(joined: str) -> tuple[str, Scoring | None]:
    """Return the grammar and the scoring of a text of `join_scoring`."""
    grammar, mark, form = joined.rpartition(MARK)
    return (grammar, decode_scoring(json.loads(form))) if mark else (joined, None)
