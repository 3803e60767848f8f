"""The values that a parameter's description states: a range of integers, or a closed set.

    "a score from 0 to 100", "between 1 and 5 stars", "from -1,000 to 1,000"      integers
    "one of buy, sell or hold", "one of: low, medium, high"                       texts

A range includes both bounds, which are numbers as `quantities.py` reads them, and is in the
parameter's own unit: the range counts only if the description states no factor (`6 decimals`), no
other unit (`from 1 to 30 days, in seconds`), and excludes no bound. The first range counts. A set
ends at `.`, `;` or a parenthesis, and has at least two texts. Each item of a list is one of the
values. A range ends at the bounds of the type in the description's marker; a typed text states no
set.

With the rule `stated_values` of `decoding_rules.py` an argument is one of them. Source:
docs/architecture.md#stated-values.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.escaping import CONTROL_CLASS
from precompiles.quantities import find_number_spans
from precompiles.spec import MAX_COPIES, MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from precompiles.abi import ParamDescription
    from precompiles.tool_metadata import Tool

_FLAGS = re.ASCII | re.IGNORECASE
_SET = re.compile(r"one of:? ([^.;()]+)")
_SET_COMMA = re.compile(", ?(?:or )?| or ")
_BLANK = re.compile(r"\s+", re.ASCII)
_NOT_FREE = re.compile(f"0[xX]|[{CONTROL_CLASS}]")
_START = re.compile(r"(?<![a-z])(?P<word>from|between) $", _FLAGS)
_JOINT = re.compile(r"(?: ?(?P<unit>%|[a-z]+))? (?P<word>to|and) ", _FLAGS)
_END = re.compile(r"(?: ?(?P<unit>%|[a-z]+))?(?! ?[\^*/+]| ?- ?\d|[\w%])", _FLAGS)
_JOINTS = {"from": "to", "between": "and"}
_OTHER_UNIT = re.compile(r"(?<![a-z])in (?P<unit>[a-z]+s)(?![a-z])", _FLAGS)
_UNCLEAR = re.compile(
    r"\d decimals|10 ?(?:\^|\*\*)|1e\d|(?<![a-z])(?:each|g?wei|exclu[a-z]+)(?![a-z])", _FLAGS
)
_PERCENT = re.compile("%|per ?cent", _FLAGS)
BASIS_POINTS = re.compile("basis points?|bps", _FLAGS)
_NUMBERS = {
    ParamType.UINT: range(2**256),
    ParamType.INT: range(-(2**255), 2**255),
}


def limit_tools(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return tools whose parameters have the values that their descriptions state."""
    return tuple(
        replace(tool, parameters=tuple(map(_limit_parameter, tool.parameters))) for tool in tools
    )


def _limit_parameter(parameter: ParamDescription) -> ParamDescription:
    values: range | tuple[str, ...] | None = None
    kind, of = parameter.kind, parameter.abi_type
    if kind in _NUMBERS:
        limits = of.numbers if of is not None else None
        values = read_range(parameter.plain_description, limits or _NUMBERS[kind])
    elif kind is ParamType.STRING and of is None:
        texts = read_texts(parameter.description) or ()
        values = texts if len(texts) > 1 else None
    return replace(parameter, values=values)


def read_range(description: str, limits: range) -> range | None:
    """Return the numbers of the range that a description states, within limits.

    None without a range, or for a range without a number within the limits.
    """
    spans = find_number_spans(description)
    for (start, end, low), (next_start, next_end, high) in pairwise(spans):
        first = _START.search(description, max(0, start - len("between ")), start)
        joint = _JOINT.fullmatch(description, end, next_start)
        last = _END.match(description, next_end)
        if first and joint and last and joint["word"].lower() == _JOINTS[first["word"].lower()]:
            if (
                _is_unclear(description, joint, last)
                or not low.denominator == high.denominator == 1
            ):
                return None
            bounds = max(int(low), limits.start), min(int(high) + 1, limits.stop)
            return range(*bounds) if bounds[0] < bounds[1] else None
    return None


def _is_unclear(description: str, joint: re.Match[str], last: re.Match[str]) -> bool:
    """Return whether the range may be in another unit than the parameter, or without a bound."""
    unit, other = (last["unit"] or "").lower(), _OTHER_UNIT.search(description)
    is_other = bool(unit) and other is not None and other["unit"].lower() != unit
    is_mixed = bool(joint["unit"]) and joint["unit"].lower().rstrip("s") != unit.rstrip("s")
    is_percent = _PERCENT.fullmatch(unit) is not None
    is_mixed = is_mixed or (is_percent and BASIS_POINTS.search(description) is not None)
    return is_other or is_mixed or _UNCLEAR.search(description) is not None


def read_texts(description: str) -> tuple[str, ...] | None:
    """Return the first `MAX_COPIES` texts of the set that a description states, in JSON.

    None without a set. Texts that a generated argument can't have are left out.
    """
    stated = _SET.search(description)
    if stated is None:
        return None
    found = _SET_COMMA.split(_BLANK.sub(" ", stated[1]).strip(" "))
    return keep_free(item.strip("\"'") for item in found)


def keep_free(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first `MAX_COPIES` texts, in JSON, that a generated argument can have."""
    free = (text for text in texts if is_free(text))
    return tuple(map(to_json, islice(free, MAX_COPIES)))


def is_free(text: str) -> bool:
    """Return whether a generated argument can have a text."""
    return 0 < len(text) <= MAX_TEXT_CHARACTERS and not _NOT_FREE.search(text)


def to_json(value: object) -> str:
    """Return a value in JSON, with text unchanged."""
    return json.dumps(value, ensure_ascii=False)
