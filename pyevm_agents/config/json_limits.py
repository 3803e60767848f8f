"""A depth limit for JSON files: py-evm lifts Python's recursion limit, so nesting could crash."""

from __future__ import annotations

import re

MAX_DEPTH = 64
"""Upper bound of nested objects and lists in a file: some ten times what any needs."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")


def is_too_deep(text: str) -> bool:
    """Whether a JSON text nests more than `MAX_DEPTH` objects and lists."""
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False
