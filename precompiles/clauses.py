"""Clauses of a question, and what a clause names: quotations, numbers and addresses.

The short format copies from here: a thought is a clause of the question, and an argument is a value
that a clause, the base prompt or a tool result names. Quoted texts are values, never orders: a
clause shows the first as `"…"`, the second as `"…2"`, and nothing inside one is a clause, a number or
a name.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.spec import MAX_CLAUSE_PARTS, MAX_PARTS, MAX_THOUGHT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HIDDEN = re.compile('"…[0-9]*"')
"""What a clause shows in place of a quoted text."""

_QUOTATION = re.compile(
    r'"(?P<straight>[^"]*)(?:"|$)|“(?P<curly>[^”]*)(?:”|$)|«(?P<angle>[^»]*)(?:»|$)'
)
_SEPARATOR = re.compile(
    r"\s*(?:(?:[.!?;:,]+(?=\s|$)|\\n|[()])\s*)+(?:(?:and|then|but|after that,?)\s+)*"
    r"|\s+(?:(?:and|then|but)\s+)+",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(
    r"(?P<sign>(?:(?<![^\s(\[{])-)|(?<![A-Za-z])minus\s+)?"
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?P<fraction>\.\d+)?(?!\.?\d)"
    r"(?![xX][0-9A-Fa-f])(?P<suffix>(?:bn|[kKmMB])(?![A-Za-z]))?",
    re.IGNORECASE,
)
_UNIT = re.compile(r" *(?:%|per ?cent(?![A-Za-z])|(?P<word>[A-Za-z]+))", re.IGNORECASE)
_SCALE = re.compile(
    r" (?P<word>dozen|hundred|thousand|million|billion|trillion)(?![A-Za-z])", re.IGNORECASE
)
_SUFFIXES = {"k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9}
_UNITS_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL = {word: value for value, word in enumerate(_UNITS_TO_NINETEEN.split())}
_SMALL |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}

NUMBER_WORDS = frozenset((*_SMALL, *_SCALES))
"""Words that can be part of a number."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a question: a possible thought."""

    text: str
    """The part, with quoted texts masked; at most `MAX_THOUGHT_CHARACTERS`."""

    quotations: tuple[str, ...] = ()
    """The quoted texts, in order; of all places where the question has this text."""

    parts: frozenset[int] = frozenset()
    """Indices of the question's parts that it consists of; of all places as well."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text."""

    value: Fraction
    unit: str
    """The word after it in lower case; `percent` for `%`; empty if none follows."""


def mask_quotations(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with its quoted texts masked, `"…"`, `"…2"`, and the quoted texts.

    A quotation mark that is not closed quotes the rest of the text.
    """
    quotations: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quotations.append(next(group for group in match.groups() if group is not None))
        return f'"…{len(quotations)}"' if len(quotations) > 1 else '"…"'

    return _QUOTATION.sub(hide, text), tuple(quotations)


def split_clauses(question: str) -> tuple[Clause, ...]:
    """Return the clauses of a question, in order of their starts, then of their lengths.

    A question's parts are what stands between punctuation, line breaks and the words `and`, `then`
    and `but`: at most `MAX_PARTS`, the last of which has the rest. A clause is one to
    `MAX_CLAUSE_PARTS` neighbouring parts with what stands between them. It begins with a part that
    has a letter. A text that occurs twice is one clause.

    Input:  the question as the prompt shows it: escaped, with handles in place of addresses.
    """
    masked, quotations = mask_quotations(question)
    parts = _find_parts(masked)
    clauses: dict[str, Clause] = {}
    for first, (start, end) in enumerate(parts):
        if not _LETTER.search(masked, start, end):
            continue
        for last, (_, stop) in enumerate(parts[first : first + MAX_CLAUSE_PARTS], start=first):
            text = masked[start:stop]
            if len(text) > MAX_THOUGHT_CHARACTERS:
                if stop != end:
                    break
                text = text[:MAX_THOUGHT_CHARACTERS].rpartition(" ")[0].rstrip() or text[:1]
            if "0x" in text.lower():
                continue
            before = len(HIDDEN.findall(masked, 0, start))
            own = quotations[before : before + len(HIDDEN.findall(text))]
            known = clauses.get(text, Clause(text))
            covered = known.parts.union(range(first, last + 1))
            clauses[text] = Clause(text, (*known.quotations, *own), covered)
    return tuple(clauses.values())


def _find_parts(masked: str) -> list[tuple[int, int]]:
    """Return start and end of each part."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _SEPARATOR.finditer(masked):
        if len(found) == MAX_PARTS - 1:
            break
        if match.start() > start:
            found.append((start, match.start()))
        start = match.end()
    end = len(masked.rstrip(" .!?;:,()"))
    start += len(masked[start:]) - len(masked[start:].lstrip())
    if end > start:
        found.append((start, end))
    return [(first, last) for first, last in found if masked[first:last].strip()]


def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text in order: digits, and English number words.

    `2,500`, `2.5k`, `-3`, `minus 3`, `5 million`, `two hundred and fifty`, `a dozen`. Digits inside
    a word or a hexadecimal number are none, as in `addr1`.
    """
    masked, _ = mask_quotations(text)
    found = sorted([*_find_numerals(masked), *_find_number_words(masked)], key=lambda one: one[0])
    kept: list[Quantity] = []
    reached = 0
    for start, end, value in found:
        if start >= reached:
            reached = end
            kept.append(Quantity(value, _read_unit(masked, end)))
    return tuple(kept)


def _read_unit(text: str, end: int) -> str:
    match = _UNIT.match(text, end)
    if match is None:
        return ""
    return match["word"].lower() if match["word"] else "percent"


def _find_numerals(text: str) -> Iterator[tuple[int, int, Fraction]]:
    for match in _NUMBER.finditer(text):
        value = Fraction(match["digits"].replace(",", "") + (match["fraction"] or ""))
        value *= _SUFFIXES.get((match["suffix"] or "").lower(), 1)
        end = match.end()
        scale = _SCALE.match(text, end)
        if scale:
            value *= _SCALES[scale["word"].lower()]
            end = scale.end()
        yield match.start(), end, -value if match["sign"] else value


def _find_number_words(text: str) -> Iterator[tuple[int, int, Fraction]]:
    words = [(m.start(), m.end(), m[0].lower()) for m in re.finditer(r"[A-Za-z]+", text)]
    index = 0
    while index < len(words):
        length, value = _read_number_words(text, words[index:])
        if length:
            start, end = words[index][0], words[index + length - 1][1]
            is_negative = index > 0 and words[index - 1][2] == "minus"
            yield start, end, Fraction(-value if is_negative else value)
        index += length or 1


def _read_number_words(text: str, words: Sequence[tuple[int, int, str]]) -> tuple[int, int]:
    """Return how many words from the first one are a number, and its value; (0, 0) if none."""
    total = current = 0
    length = 0
    last = ""
    for position, (start, _, word) in enumerate(words):
        if position and text[words[position - 1][1] : start] not in {" ", "-"}:
            break
        if word in _SMALL:
            is_joined = last in {"", "hundred", "thousand", "million", "billion", "trillion"}
            is_ones = 0 < _SMALL[word] < 10 and last in _SMALL and _SMALL[last] >= 20
            if not (is_joined or is_ones):
                break
            current += _SMALL[word]
        elif word in _SCALES and (last in _SMALL or (word != "hundred" and last in _SCALES)):
            current *= _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0
        elif word in {"a", "an"} and not last and _follows(words, position, _SCALES):
            current = 1
            last = "one"
            continue
        elif word == "and" and last in _SCALES and _follows(words, position, _SMALL):
            continue
        else:
            break
        last, length = word, position + 1
    return (length, total + current) if length else (0, 0)


def _follows(words: Sequence[tuple[int, int, str]], position: int, wanted: Iterable[str]) -> bool:
    return position + 1 < len(words) and words[position + 1][2] in wanted


def find_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the occurrences of names in a text, in order; a name may occur more than once.

    Of the quoted texts, only one that is exactly a name counts.
    """
    found = tuple(name for _, _, name in find_name_spans(text, names))
    return (*found, *(one for one in mask_quotations(text)[1] if one in names))


def find_name_spans(text: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return start, end and name of each occurrence outside of quoted texts, in order.

    Case does not matter, and `-`, `_`, `.` and a space are the same, unless a name of the text
    fits exactly. Of two names at one place, the longer one occurs. Positions are those in the text
    with its quotations masked.
    """
    masked, _ = mask_quotations(text)
    found: list[tuple[int, int, str]] = []
    for name in sorted(names, key=len, reverse=True):
        pattern = "[-_. ]".join(map(re.escape, re.split("[-_.]", name)))
        bounded = rf"(?<![0-9A-Za-z]){pattern}(?![0-9A-Za-z])"
        for match in re.finditer(bounded, masked, re.IGNORECASE):
            start, end = match.span()
            others = [one for one in found if one[0] < end and start < one[1]]
            is_taken = any(masked[a:b] == other or b - a > end - start for a, b, other in others)
            if is_taken or (others and match[0] != name):
                continue
            found = [*(one for one in found if one not in others), (start, end, name)]
    return sorted(found)
