"""Strict JSON: a text has one meaning for every reader, and no nesting crashes one.

py-evm lifts Python's recursion limit, so a deep text could exhaust the stack.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Never

from pyevm_agents.display import truncate
from pyevm_agents.errors import ConfigError

MAX_DEPTH = 64
"""Upper bound of nested objects and lists in a file: some ten times what any needs."""

MAX_DIGITS = 1_000
"""Upper bound of the digits of an integer: Python does not convert more than 4,300."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(r"[\[\]{}]")


def parse_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a JSON text.

    Raises: ConfigError: not JSON, nested deeper than `MAX_DEPTH`, a member that stands twice in an
            object, or a number that JSON or 64 bits lack.
    """
    if _is_too_deep(text):
        raise ConfigError(f"must nest at most {MAX_DEPTH} objects and lists")
    try:
        return json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_constant=_reject_constant,
            parse_float=_parse_float,
            parse_int=_parse_integer,
        )
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error


def _is_too_deep(text: str) -> bool:
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object. Readers differ in which of two equal members counts."""
    built = dict(pairs)
    if len(built) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"member {twice!r:.80}: must stand once in an object; remove one")
    return built


def _reject_constant(name: str) -> Never:
    raise ConfigError(f"{name}: not a JSON number")


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ConfigError(f"{truncate(text)}: not a JSON number of 64 bits")
    return value


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ConfigError(f"{digits[:20]}…: must have at most {MAX_DIGITS:,} digits")
    return int(digits)
