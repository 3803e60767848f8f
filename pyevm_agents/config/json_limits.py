"""JSON that would fill up the stack before it is read: py-evm lifts the limit that Python has."""

from __future__ import annotations

import re

MAX_DEPTH = 64
"""Objects and lists in each other that a file of ours may have: some ten times what one needs."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")


def is_too_deep(text: str) -> bool:
    """Whether more than `MAX_DEPTH` objects and lists of a JSON text are in each other."""
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False
