"""The tokens of a request or a result: words, numbers, quotations, and unreadable text.

    Send 5.5 USDC to Bob's wallet: "thanks"      send 5.5 usdc to bob 's wallet : "…"

One pass from left to right gives each character but blanks to one token. A number is read in full
or not at all: `1/2`, `5-6`, `1.000,50`, `1 000` and `10:30` are no numbers. Quoted texts are
values.

The rules are of ASCII, and other characters are letters: tables of Unicode differ between versions
of CPython. All searches take linear time. Source: docs/architecture.md#short-format,
#names-are-ascii.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.quantities import find_number_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

LETTER = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2070-\u218f\u2c00-\U0010ffff"
"""The inside of a character class of letters: of ASCII, and all characters but signs of Latin-1,
punctuation, arrows and symbols."""


class TokenShape(Enum):
    """Kinds of tokens."""

    WORD = auto()
    """Letters, with digits, `_`, `.`, `-`, `@` and apostrophes between them."""

    NUMBER = auto()
    UNREAD = auto()
    """Digits or signs that are no number: `1/2`, `5-6`, `½`."""

    QUOTATION = auto()
    HEXADECIMAL = auto()
    """A word that begins with `0x`; an address in it has got a handle before."""

    CLOCK = auto()
    """A time of day, in minutes after midnight: `10:30`, `9 pm`."""

    ORDINAL = auto()
    """`3rd`; the value is the number."""

    SIGN = auto()
    """Punctuation, one sign each; a run of line breaks is one newline."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token with positions."""

    kind: TokenShape
    start: int
    end: int
    text: str
    """As it is written; of a quotation, what is quoted."""

    word: str = ""
    """In lower case of ASCII, with straight apostrophes; of a number, what is glued to it."""

    value: Fraction = Fraction(0)
    """Of a number, an ordinal, a clock."""

    is_spelled: bool = False
    """Whether a number is written as words alone."""

    is_spaced: bool = True
    """Whether a blank or the beginning is before it."""


_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ\u2019\u2018", "abcdefghijklmnopqrstuvwxyz''")


def fold_case(text: str) -> str:
    """Return a text with ASCII letters in lower case and straight apostrophes."""
    return text.translate(_LOWER)


# -- quotations -- #

_QUOTED = re.compile(
    r'"(?P<straight>[^"]*)(?:"|\Z)|\u201c(?P<curly>[^\u201d\u201c"]*)(?:[\u201d\u201c"]|\Z)'
    r"|\u00ab(?P<angle>[^\u00bb]*)(?:\u00bb|\Z)|`(?P<back>[^`\n]*)`"
    rf"|(?<![{LETTER}0-9])'(?P<single>[^'\n ](?:[^'\n]|'(?=[{LETTER}0-9]))*)'(?![{LETTER}0-9])"
    rf"|(?<![{LETTER}0-9])\u2018(?P<raised>[^\u2018\u2019\n ](?:[^\u2018\u2019\n]"
    rf"|\u2019(?=[{LETTER}0-9]))*)\u2019(?![{LETTER}0-9])"
)
"""A straight, curly or angled mark that is not closed quotes the rest of the text."""


def find_quotations(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and content of each quoted text, in order."""
    return tuple(
        (match.start(), match.end(), next(each for each in match.groups() if each is not None))
        for match in _QUOTED.finditer(text)
    )


# -- tokens -- #

_WORD = rf"[{LETTER}@_][{LETTER}0-9@_.\-'\u2019]*"
_NUMERIC = r"[-+\u2212\u2013]?[$\u20ac\u00a3\u00a5]?[-+\u2212\u2013]?\.?[0-9][^\s;!?()\[\]{}\"]*"
_TOKEN = re.compile(
    r"(?P<newline>[ \t]*\n\s*)|(?P<arrow>[-=]{1,2}>)|(?P<mark>#|(?i:\bn[ro]\.?)(?= ?#?[0-9]))"
    r"|(?P<hexadecimal>0[xX][0-9A-Za-z]*)"
    rf"|(?P<numeric>{_NUMERIC})|(?P<word>{_WORD})|(?P<sign>\S)"
)
_TRAILING = re.compile(r"[.,:\-'\u2019\u2013]+\Z")
_NUMERAL = re.compile(
    r"(?P<sign>[-+\u2212\u2013])?(?P<currency>[$\u20ac\u00a3\u00a5])?"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3}){1,25}|[0-9]{1,78}|(?=\.))(?P<fraction>\.[0-9]{1,78})?"
    r"(?:[eE]\+?(?P<exponent>[0-9]{1,2}))?"
    rf"(?P<suffix>[{LETTER}%\u00b0$\u20ac\u00a3_]*)"
)
_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,2})(?:[:h](?P<minute>[0-9]{2}))?(?P<half>am|pm|a\.m\.?|p\.m\.?)?",
    re.IGNORECASE,
)
_HALF_DAY = re.compile(r"[ ]?(?P<half>am|pm|a\.m\.?|p\.m\.?)(?![0-9A-Za-z])", re.IGNORECASE)
_O_CLOCK = re.compile("[ ]o['\u2019]?clock(?![0-9A-Za-z])", re.IGNORECASE)
_ORDINAL = re.compile(r"(?P<digits>[0-9]{1,9})(?:st|nd|rd|th)", re.IGNORECASE)
_LIST = re.compile(r"[0-9]{1,78}(?:,[0-9]{1,78}){2,}")
_MANY = {"k": 10**3, "m": 10**6, "b": 10**9, "bn": 10**9}
_LAST_HOUR = 24
_MORNING, _NOON = 8, 12
_HOUR_MINUTES = 60
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{2}0")
"""`2.500`: two and a half, or two thousand five hundred."""


def read_tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, in order.

    Input:  a text with handles in place of addresses, with line breaks.
    """
    return tuple(_Reader(text).read())


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._quotations = find_quotations(text)
        masked = text
        for start, end, _ in self._quotations:
            masked = masked[:start] + " " * (end - start) + masked[end:]
        self._masked = masked
        self._spans = {start: (end, value) for start, end, value in find_number_spans(masked)}

    def read(self) -> list[Token]:
        found: list[Token] = []
        quotations = iter((*self._quotations, (len(self._text) + 1, 0, "")))
        start, end, quoted = next(quotations)
        at = 0
        text = self._masked
        while True:
            match = _TOKEN.search(text, at)
            place = len(text) if match is None else match.start()
            while start <= place and start <= len(text):
                found.append(Token(TokenShape.QUOTATION, start, end, quoted, is_spaced=True))
                start, end, quoted = next(quotations)
            if match is None:
                return found
            tokens = [*self._read_match(match)]
            found += tokens
            at = max(tokens[-1].end, match.start() + 1) if tokens else match.end()

    def _read_match(self, match: re.Match[str]) -> Iterator[Token]:
        text, start = self._masked, match.start()
        is_spaced = start == 0 or text[start - 1] in " \t\n"
        if match["newline"]:
            yield Token(TokenShape.SIGN, start, match.end(), "\n", "\n")
            return
        if match["arrow"]:
            yield Token(TokenShape.SIGN, start, match.end(), "\u2192", "\u2192")
            return
        if match["mark"]:
            # `no 5` may be a number's mark, or take back what is before it.
            said = "no" if match["mark"].lower() == "no" else "#"
            yield Token(TokenShape.SIGN, start, match.end(), "#", said, is_spaced=is_spaced)
            return
        if match["sign"]:
            kind = TokenShape.UNREAD if _is_odd(match[0]) else TokenShape.SIGN
            yield Token(kind, start, match.end(), match[0], match[0], is_spaced=is_spaced)
            return
        if match["hexadecimal"]:
            end = match.end()
            yield Token(TokenShape.HEXADECIMAL, start, end, match[0], fold_case(match[0]))
            return
        piece = match[0]
        if match["numeric"] and piece.endswith(("'s", "\u2019s")):
            # `vault 4's temperature`
            piece = piece[:-2]
            yield from self._read_numeric(piece, start, is_spaced=is_spaced)
            cut = start + len(piece)
            yield Token(TokenShape.SIGN, cut, cut + 2, "'s", "'s", is_spaced=False)
            return
        trailing = _TRAILING.search(piece)
        if trailing and trailing.start() > 0:
            piece = piece[: trailing.start()]
        if match["numeric"]:
            yield from self._read_numeric(piece, start, is_spaced=is_spaced)
            return
        span = self._spans.get(start)
        if span is not None:
            yield self._make_number(start, span, is_spelled=True, is_spaced=is_spaced)
            return
        yield from self._read_word(piece, start, is_spaced=is_spaced)

    def _read_word(self, piece: str, start: int, *, is_spaced: bool) -> Iterator[Token]:
        word = fold_case(piece)
        word = _CONTRACTIONS.get(word, word)
        end = start + len(piece)
        if word.endswith("'s") and len(word) > len("'s"):
            cut = end - len("'s") if piece[-2:-1] in "'\u2019" else end - 1
            yield Token(
                TokenShape.WORD, start, cut, piece[: cut - start], word[:-2], is_spaced=is_spaced
            )
            yield Token(TokenShape.SIGN, cut, end, "'s", "'s", is_spaced=False)
            return
        yield Token(TokenShape.WORD, start, end, piece, word, is_spaced=is_spaced)

    def _make_number(
        self, start: int, span: tuple[int, Fraction], *, is_spelled: bool, is_spaced: bool
    ) -> Token:
        end, value = span
        said = self._text[start:end]
        return Token(
            TokenShape.NUMBER,
            start,
            end,
            said,
            "",
            value,
            is_spelled=is_spelled,
            is_spaced=is_spaced,
        )

    def _read_numeric(self, piece: str, start: int, *, is_spaced: bool) -> Iterator[Token]:
        """Read from a digit up to the next blank or bracket."""
        end = start + len(piece)
        if _LIST.fullmatch(piece) and not _NUMERAL.fullmatch(piece):
            at = start
            for index, digits in enumerate(piece.split(",")):
                if index:
                    yield Token(TokenShape.SIGN, at - 1, at, ",", ",", is_spaced=False)
                value = Fraction(int(digits))
                last = at + len(digits)
                yield Token(TokenShape.NUMBER, at, last, digits, "", value, is_spaced=not index)
                at = last + 1
            return
        # "3,seat" and "5,Bob": a comma that only lacks its blank.
        comma = re.search(rf",(?=[{LETTER}])", piece)
        if comma is not None:
            piece, end = piece[: comma.start()], start + comma.start()
        slash = re.fullmatch(r"(?P<number>[^/]+)/(?P<word>[A-Za-z]+)", piece)
        ordinal, clock = _ORDINAL.fullmatch(piece), _CLOCK.fullmatch(piece)
        if ordinal is not None:
            value = Fraction(int(ordinal["digits"]))
            yield Token(TokenShape.ORDINAL, start, end, piece, "", value, is_spaced=is_spaced)
            return
        if clock is not None:
            found = self._read_clock(clock, start, end)
            if found is not None:
                yield found
                return
        numeral = _NUMERAL.fullmatch(piece)
        if numeral is None or slash is not None or not (numeral["digits"] or numeral["fraction"]):
            yield Token(TokenShape.UNREAD, start, end, piece, fold_case(piece), is_spaced=is_spaced)
            return
        bare = piece[
            numeral.start("digits") : numeral.end("fraction")
            if numeral["fraction"]
            else numeral.end("digits")
        ]
        if _THOUSANDS.fullmatch(bare) or numeral["sign"] == "+":
            yield Token(TokenShape.UNREAD, start, end, piece, fold_case(piece), is_spaced=is_spaced)
            return
        suffix = fold_case(numeral["suffix"])
        decimals = (numeral["fraction"] or ".")[1:]
        digits = (numeral["digits"] or "0").replace(",", "")
        value = Fraction(int(digits + decimals), 10 ** len(decimals))
        if numeral["exponent"]:
            value *= 10 ** int(numeral["exponent"])
        if suffix in _MANY:
            value, suffix = value * _MANY[suffix], ""
        span = self._spans.get(start)
        if span is not None and span[0] > end and not suffix:
            # "5 million", "2 and a half": the words after it belong to it.
            end, value = span
        elif numeral["sign"]:
            value = -value
        unit = numeral["currency"] or suffix
        if numeral["currency"] and suffix:
            yield Token(TokenShape.UNREAD, start, end, piece, fold_case(piece), is_spaced=is_spaced)
            return
        said = self._text[start:end]
        yield Token(TokenShape.NUMBER, start, end, said, unit, value, is_spaced=is_spaced)

    def _read_clock(self, clock: re.Match[str], start: int, end: int) -> Token | None:
        """Return a time of day; None for a number alone."""
        half = clock["half"]
        if half is None:
            after = _HALF_DAY.match(self._masked, end)
            if after is not None and int(clock["hour"]) <= _NOON:
                half, end = after["half"], after.end()
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        told = _O_CLOCK.match(self._masked, end) if half is None else None
        if told is not None and _MORNING <= hour <= _LAST_HOUR:
            # `6 o'clock` may be in the evening.
            end = told.end()
        elif half is None and clock["minute"] is None:
            return None
        if half is not None:
            if not 1 <= hour <= _NOON:
                return None
            hour = hour % _NOON + (_NOON if half[0].lower() == "p" else 0)
        said = self._text[start:end]
        if hour > _LAST_HOUR or minute >= _HOUR_MINUTES:
            return Token(TokenShape.UNREAD, start, end, said, fold_case(said))
        return Token(
            TokenShape.CLOCK, start, end, said, "", Fraction(hour * _HOUR_MINUTES + minute)
        )


_CONTRACTIONS = {
    "whats": "what's", "thats": "that's", "theres": "there's", "hows": "how's", "wheres": "where's",
    "whos": "who's", "im": "i'm", "ive": "i've", "dont": "don't", "doesnt": "doesn't",
    "didnt": "didn't", "cant": "can't", "wont": "won't", "isnt": "isn't", "arent": "aren't",
    "shouldnt": "shouldn't", "wouldnt": "wouldn't", "couldnt": "couldn't", "youre": "you're",
    "theyre": "they're", "theyve": "they've", "weve": "we've", "youve": "you've", "itll": "it'll",
    "hes": "he's", "shes": "she's", "thatll": "that'll",
    "hasnt": "hasn't", "havent": "haven't", "wasnt": "wasn't",
}  # fmt: skip
"""Contractions without their apostrophe."""

_ODD = frozenset("\u00bc\u00bd\u00be\u2153\u2154\u215b\u215c\u215d\u215e\u00b2\u00b3\u00b9")


def _is_odd(sign: str) -> bool:
    """Return whether a sign is a part of a number that is not read."""
    return sign in _ODD
