"""Clauses of a question, and the names in a text.

The short format copies from here: a thought is a clause of the question, and an argument is a value
that a clause, the base prompt or a tool result names. Quoted texts are values, never orders: a
clause shows the first as `"…"`, the second as `"…2"`, and nothing inside one is a clause, a number
or a name.

The rules are of ASCII, and other characters are letters: tables of Unicode differ between versions
of CPython. All searches take linear time.

Source: docs/architecture.md#short-format, #names-are-ascii.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.quantities import find_number_spans
from precompiles.spec import MAX_CLAUSE_PARTS, MAX_COPIES, MAX_PARTS, MAX_THOUGHT_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HIDDEN = re.compile('"…[0-9]*"')
"""A masked quotation."""

LETTER = "A-Za-z\u00c0-\u1fff\u2070-\U0010ffff"
"""The inside of a character class of letters: of ASCII, and all characters but the signs of Latin-1
and general punctuation."""

_QUOTATION = re.compile(
    r'"(?P<straight>[^"]*)(?:"|\Z)|“(?P<curly>[^”]*)(?:”|\Z)|«(?P<angle>[^»]*)(?:»|\Z)'
)
_FLAGS = re.ASCII | re.IGNORECASE
_ENDS = " .!?;:,()"
_END = rf"[{_ENDS}]|\\[nr]"
_RUN = re.compile(f"(?:{_END})+")
_BREAK = re.compile(
    rf"(?:{_END})*(?:[()]|\\[nr]|[.!?;:,](?= |\Z)) *(?:(?:and|then|but|after that,?) +)*", _FLAGS
)
_CONJUNCTIONS = re.compile(" +(?:(?:and|then|but) +)+", _FLAGS)
_LETTER = re.compile(f"[{LETTER}]")
_SAID = re.compile(rf"[{LETTER}]|(?<![…0-9])[0-9]")
"""A letter or a digit outside of a masked quotation."""

_CUT_WORD = re.compile(r'[0-9A-Za-z_.\-"…]*\Z')
_NO_NUMBER = (1 << 62, 1 << 62, Fraction(0))
"""A number behind the end of every text."""

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_FOLD = _LOWER | str.maketrans("-_.", "   ")


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a question: a possible thought."""

    text: str
    """The part, with quoted texts masked; at most `MAX_THOUGHT_CHARACTERS`."""

    quotations: tuple[str, ...] = ()
    """The quoted texts, in order, at most `MAX_COPIES`; of all places where the question has this
    text."""

    parts: frozenset[int] = frozenset()
    """Indices of the question's parts that it consists of; of all places as well."""


def fold_case(text: str) -> str:
    """Return a text with ASCII letters in lower case, and all other characters unchanged."""
    return text.translate(_LOWER)


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
    and `but`, except inside a number: at most `MAX_PARTS`, the last of which has the rest. A clause
    is one to `MAX_CLAUSE_PARTS` neighbouring parts with what stands between them. A part of
    it has a letter, its first one a letter or a digit, and it has no `0x`. A text that occurs twice
    is one clause.

    Input:  the question as the prompt shows it: escaped, with handles in place of addresses, and
            without tabs.
    """
    masked, quotations = mask_quotations(question)
    marks = [match.start() for match in HIDDEN.finditer(masked)]
    parts = _find_parts(masked)
    clauses: dict[str, Clause] = {}
    for first, (start, end) in enumerate(parts):
        if not _SAID.search(masked, start, end):
            continue
        has_letter = False
        for last, (begin, stop) in enumerate(parts[first : first + MAX_CLAUSE_PARTS], start=first):
            has_letter |= _LETTER.search(masked, begin, stop) is not None
            if stop - start > MAX_THOUGHT_CHARACTERS and last > first:
                break
            text = _shorten(masked[start:stop])
            if not has_letter or not text or "0x" in text.lower():
                continue
            own = slice(bisect_left(marks, start), bisect_left(marks, start + len(text)))
            known = clauses.get(text, Clause(text))
            clauses[text] = Clause(
                text,
                (*known.quotations, *quotations[own][:MAX_COPIES])[:MAX_COPIES],
                known.parts.union(range(first, last + 1)),
            )
    return tuple(clauses.values())


def _shorten(text: str) -> str:
    """Return a text, or its beginning up to a word if it is too long; empty if it is one word."""
    if len(text) <= MAX_THOUGHT_CHARACTERS:
        return text
    return _CUT_WORD.sub("", text[:MAX_THOUGHT_CHARACTERS]).rstrip(" ")


def _find_parts(masked: str) -> list[tuple[int, int]]:
    """Return start and end of each part."""
    found: list[tuple[int, int]] = []
    start = len(masked) - len(masked.lstrip(" "))
    for begin, end in _find_separators(masked):
        if len(found) == MAX_PARTS - 1:
            break
        if begin > start:
            found.append((start, begin))
        start = end
    end = len(masked.rstrip(_ENDS))
    if end > start:
        found.append((start, end))
    return found


def _find_separators(masked: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the text between two parts."""
    numbers = find_number_spans(masked)
    number_start, number_end, _ = next(numbers, _NO_NUMBER)
    reached = 0
    # Only where a run begins: a search from each of its characters would take quadratic time.
    for run in _RUN.finditer(masked):
        start = run.start()
        while number_end <= start:
            number_start, number_end, _ = next(numbers, _NO_NUMBER)
        if start < reached or number_start <= start:
            continue
        match = _BREAK.match(masked, start) or _CONJUNCTIONS.match(masked, start)
        if match:
            reached = match.end()
            yield start, reached


class NameIndex:
    """Names to find in texts.

    Case does not matter, and `-`, `_`, `.` and a space are the same. Of names that differ in these
    alone, the one spelled as in the text occurs, else the first. Of names that begin at one place,
    the longest occurs.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Index names: ASCII letters and digits, and `-`, `_` and `.` between them."""
        self._names = frozenset(names)
        self._spellings: dict[str, list[str]] = {}
        for name in names:
            self._spellings.setdefault(name.translate(_FOLD), []).append(name)
        longest_first = sorted(self._spellings, key=len, reverse=True)
        # An empty group never matches.
        either = "|".join(map(re.escape, longest_first)) or "(?!)"
        self._pattern = re.compile(f"(?<![0-9a-z])(?:{either})(?![0-9a-z])")

    def find_spans(self, masked: str) -> list[tuple[int, int, str]]:
        """Return start, end and name of each occurrence, in order.

        Input:  a text whose quotations are masked.
        """
        found: list[tuple[int, int, str]] = []
        for match in self._pattern.finditer(masked.translate(_FOLD)):
            start, end = match.span()
            spellings = self._spellings[match[0]]
            said = masked[start:end]
            found.append((start, end, said if said in spellings else spellings[0]))
        return found

    def find(self, text: str) -> tuple[str, ...]:
        """Return the occurrences in a text, in order; a name may occur more than once.

        Of the quoted texts, only one that is exactly a name counts.
        """
        masked, quotations = mask_quotations(text)
        return (*(name for _, _, name in self.find_spans(masked)), *self.select(quotations))

    def select(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts that are exactly a name."""
        return tuple(text for text in texts if text in self._names)
