"""Strict JSON: a text has one meaning for every reader, and no nesting crashes one.

json's C code recurses once a level, up to Python's recursion limit. py-evm raises that limit, so
that a deep text could exhaust the stack and end the process. `except RecursionError` is no guard
then. So every text that is not this program's own is read here, or by orjson, which stops at 1,024
levels; `tests/test_strict_json.py` finds another `json.loads`.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from itertools import accumulate
from typing import Any, Never

from pyevm_agents.display import truncate
from pyevm_agents.errors import ConfigError

MAX_DEPTH = 64
"""Upper bound of nested objects and lists in a file: some ten times what any needs."""

MAX_DIGITS = 1_000
"""Upper bound of the digits of an integer: Python does not convert more than 4,300."""

_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A string, one that does not end included, so that each character is looked at once."""

_BRACKETS = b"[{]}"
_STEPS = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")
"""What a bracket adds to the depth, as a signed byte."""

_OTHERS = bytes(set(range(256)) - set(_BRACKETS))


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a JSON text. Input: the text, or its bytes in UTF-8.

    Raises: ConfigError: not JSON, nested deeper than `MAX_DEPTH`, a member that stands twice in an
            object, or a number that JSON or 64 bits lack.
    """
    checked = require_shallow(text)
    try:
        return json.loads(
            checked,
            object_pairs_hook=_build_object,
            parse_constant=_reject_constant,
            parse_float=_parse_float,
            parse_int=_parse_integer,
        )
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error


def require_shallow(text: str | bytes) -> str:
    """Return a text that any JSON parser can read without harm, whether or not it is JSON.

    Input:  the text, or its bytes. JSON has no encoding but UTF-8, and no null character.
    Raises: ConfigError: nested deeper than `MAX_DEPTH`, or not in UTF-8.
    Source: RFC 8259, section 8.1; Python's json would guess UTF-16 and UTF-32 by null bytes.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"not JSON: byte {error.start}: must be UTF-8") from error
    if "\0" in text:
        raise ConfigError(f"not JSON: character {text.index(chr(0))}: must not be null")
    if _is_too_deep(text):
        raise ConfigError(f"must nest at most {MAX_DEPTH} objects and lists")
    return text


def replace_surrogates(text: str) -> str:
    """Return a text that UTF-8 can encode: JSON may have half a surrogate pair, which becomes �."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_encodable(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether UTF-8 can encode a JSON value."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_stored_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse JSON that this program wrote, into texts that UTF-8 can encode."""
    value = json.loads(text)
    if "\\ud" not in text:  # Python writes others as they are, or in ASCII.
        return value
    return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    outside = _STRINGS.sub("", text).encode("utf-8", "surrogatepass")
    steps = array("b", outside.translate(_STEPS, _OTHERS))
    # A bracket that closes nothing ends the parser, whatever follows.
    return max(accumulate(steps), default=0) > MAX_DEPTH


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object. Readers differ in which of two equal members counts."""
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
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
