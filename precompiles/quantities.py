"""The numbers in a text: digits, and English number words.

`2,500`, `2.5k`, `-3`, `minus 3`, `5 million`, `two hundred and fifty`, `half a million` and
`a dozen` are numbers. `1/2`, `1e18`, `1_000`, `1.2.3` and digits inside a word or a hexadecimal
number are not: a number is read in full or not at all. All searches take linear time.

Source: docs/architecture.md#short-format, #names-are-ascii.
"""

from __future__ import annotations

import re
from fractions import Fraction
from heapq import merge
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FLAGS = re.ASCII | re.IGNORECASE
_SUFFIXES = {"k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9}
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * value for value, word in enumerate(_TENS_WORDS.split(), start=2)}
_SMALL = {word: value for value, word in enumerate(_SMALL_WORDS.split())} | _TENS
_DIGITS = tuple(_SMALL)[:10]

NUMBER_WORDS = frozenset((*_SMALL, *_SCALES))
"""Words that can be part of a number."""


def _one_of(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(words)})(?![A-Za-z])"


_SIGN = r"(?<![\w)\]])[-\u2212\u2013]|(?<![A-Za-z])(?:minus|negative) +"
_NUMERAL = re.compile(
    # Most characters fail at the first lookahead.
    rf"(?=[-\u2212\u2013\dmn])(?P<sign>{_SIGN})?(?<![\w.])(?<!\d/)"
    # 2^256 has 78 digits. CPython converts no more than 4,300.
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,25}(?!,?\d)|\d{1,78})(?P<fraction>\.\d{1,78})?"
    r"(?!\.?\d|_|/\d|e[-+]?\d|x[0-9a-f])(?P<suffix>(?:bn|[kmb])(?![a-z]))?",
    _FLAGS,
)
_BELOW_HUNDRED = f"(?>{_one_of(_TENS)}(?:[ -]{_one_of(_DIGITS[1:])})?|{_one_of(_SMALL)})"
_PART = "".join(f"(?<!{part} of )" for part in ("half", "third", "quarter", "percent", "cent", "%"))
"""Not after a word for a part: `a third of a million` is not a million."""

_FIRST = f"(?:{_BELOW_HUNDRED}|{_PART}an?(?= {_one_of(_SCALES)}))"
_WORDS = re.compile(
    rf"(?=[aefhmnostz])(?<![A-Za-z])(?P<sign>(?:minus|negative) +)?(?P<half>half (?=an? ))?"
    rf"(?={_FIRST})",
    _FLAGS,
)
_GROUP = re.compile(
    rf"(?P<start>{_FIRST})(?:(?P<hundred> hundred)(?![A-Za-z])"
    rf"(?: (?:and )?(?P<rest>{_BELOW_HUNDRED})(?! hundred))?)?",
    _FLAGS,
)
_SCALE = re.compile(f" (?P<word>{_one_of(_SCALES)})", _FLAGS)
_HALF = re.compile(" and a half(?![A-Za-z])", _FLAGS)
_POINT = re.compile(f" point(?P<digits>(?: {_one_of(_DIGITS)}){{1,78}})", _FLAGS)
_JOINT = re.compile(" (?P<and>and )?", _FLAGS)


def find_number_spans(text: str) -> Iterator[tuple[int, int, Fraction]]:
    """Yield start, end and value of each number of a text, in order."""
    reached = 0
    for start, end, value in merge(_find_numerals(text), _find_number_words(text)):
        if start >= reached:
            reached = end
            yield start, end, value


def _find_numerals(text: str) -> Iterator[tuple[int, int, Fraction]]:
    for match in _NUMERAL.finditer(text):
        decimals = (match["fraction"] or ".")[1:]
        digits = match["digits"].replace(",", "")
        value = Fraction(int(digits + decimals), 10 ** len(decimals))
        end = match.end()
        if match["suffix"]:
            value *= _SUFFIXES[match["suffix"].lower()]
        else:
            value, _, end = _read_rest(text, end, value)
        yield match.start(), end, -value if match["sign"] else value


def _find_number_words(text: str) -> Iterator[tuple[int, int, Fraction]]:
    reached = 0
    for match in _WORDS.finditer(text):
        if match.start() < reached:
            continue
        value, reached = _read_number_words(text, match.end())
        if match["half"]:
            value /= 2
        yield match.start(), reached, -value if match["sign"] else value


def _read_number_words(text: str, start: int) -> tuple[Fraction, int]:
    """Return value and end of the number that starts here: groups with falling scales.

    `and` joins only a last group without a scale: "one hundred and two hundred" is two numbers.
    """
    total, scale, end = _read_group(text, start) or (Fraction(0), 1, start)
    while scale > _SCALES["dozen"]:
        joint = _JOINT.match(text, end)
        group = joint and _read_group(text, joint.end())
        if joint is None or group is None or group[1] >= (2 if joint["and"] else scale):
            break
        total, scale, end = total + group[0], group[1], group[2]
    return total, end


def _read_group(text: str, start: int) -> tuple[Fraction, int, int] | None:
    """Return value, scale and end of a number below a thousand with a scale."""
    match = _GROUP.match(text, start)
    if match is None:
        return None
    value = _read_below_hundred(match["start"])
    if match["hundred"]:
        value = 100 * value + _read_below_hundred(match["rest"] or "zero")
    return _read_rest(text, match.end(), Fraction(value))


def _read_below_hundred(words: str) -> int:
    return sum(_SMALL.get(word, 1) for word in re.split("[ -]", words.lower()))


def _read_rest(text: str, end: int, value: Fraction) -> tuple[Fraction, int, int]:
    """Return value, scale and end of a number with the decimals and the scales that follow.

    Scales rise: "two hundred thousand million". A number without a scale has scale 1.
    """
    half, point = _HALF.match(text, end), _POINT.match(text, end)
    if half and value.denominator == 1:
        value, end = value + Fraction(1, 2), half.end()
    elif point:
        digits = [_SMALL[word] for word in point["digits"].lower().split()]
        decimals = Fraction(int("".join(map(str, digits))), 10 ** len(digits))
        value, end = value + decimals, point.end()
    scale = 1
    while (match := _SCALE.match(text, end)) and _SCALES[match["word"].lower()] > scale:
        scale = _SCALES[match["word"].lower()]
        value, end = value * scale, match.end()
    return value, scale, end
