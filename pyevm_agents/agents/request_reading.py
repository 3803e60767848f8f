"""Amounts and accounts in a request's text, for a comparison with the effects of its run.

    names, units = {"Bob": bob, "USDC": usdc}, {"USDC": AmountUnit(token=usdc, base_units=10**6)}
    reading = read_request("Send 5 USDC to Bob", names, units)
    reading.quantities      # 5 USDC
    reading.names           # Bob

The reading is for people reviewing a run. The executor reads requests by other rules. An uncertain
word is an unknown unit or an unknown name, which agrees with nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

from precompiles.escaping import ADDRESS
from precompiles.quantities import NUMBER_WORDS, find_number_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth_typing import Address

SUB_UNITS = {
    "wei": 1,
    "kwei": 10**3,
    "mwei": 10**6,
    "gwei": 10**9,
    "szabo": 10**12,
    "finney": 10**15,
    "milliether": 10**15,
    "ether": 10**18,
}
"""Units of the native currency, and their wei. Source: ethers' `parseUnits`, web3.py's `to_wei`."""

PERCENT = frozenset({"%", "percent"})
_TIMES = "second seconds minute minutes hour hours day days week weeks month months year years"
_REST = "am pm cent cents satoshi satoshis dollar dollars euro euros pound pounds bps"
OTHER_UNITS = frozenset({*PERCENT, *_TIMES.split(), *_REST.split()})
"""Words after a number that make it another thing than a number of tokens."""

OWN_THINGS = "account|address|wallet"
"""`Bob's wallet` is Bob."""

_SMALL_WORDS = "a an and for from i into my of or please the then to with"
SMALL_WORDS = frozenset(_SMALL_WORDS.split())
"""Words that are no part of a name, also where all words have a capital."""

TO_SOMEBODY = "to|into|for|from|with|pay|give|send|tip|lend|transfer"
"""Words before the name of a party. A capitalised word elsewhere can be anything: a day, a city."""

DOUBTS = (
    ("not", r"\b(?:not|never|cannot)\b|n't\b"),
    ("without", r"\bwithout\b"),
    ("instead", r"\binstead\b"),
    ("except", r"\b(?:except|unless)\b"),
    ("if", r"\b(?:if|whether)\b"),
)
"""Words with which a sentence can be another thing than an order."""

PARTS = (
    (Fraction(1), r"\b(?:all|everything|entire|max(?:imum)?|rest|remaining|remainder)\b"),
    (Fraction(1, 2), r"\bhalf\b"),
    (Fraction(1, 3), r"\bthird\b"),
    (Fraction(1, 4), r"\bquarter\b"),
)
"""Words for a part of a balance."""

HUNDRED = 100

_EARLIER = re.compile(
    r"\b(?:it|them|that|those|these|same|back|again|results?|proceeds|rest|everything|all|what)\b",
    re.IGNORECASE,
)
_ASKER = re.compile(
    r"\b(?:me|myself|my (?:own )?(?:account|address|wallet)|the owner)\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"(?:^|[.!?]\s+)(?:what|how|why|when|where|who|whom|whose|which|should|shall|is|are|am|was|were"
    r"|do|does|did|has|have|had)\b[^.!?]*\?",
    re.IGNORECASE,
)
_ODD_NUMERAL = re.compile(
    # An exponent, digits grouped by `_` or an apostrophe, a fraction, decimals alone; the rest.
    r"(?<![\w.])(?:(?P<exponent>\d+(?:\.\d+)?e\+?\d{1,2})"
    r"|(?P<grouped>\d{1,3}(?:[_']\d{3})+(?:\.\d+)?)"
    r"|(?P<fraction>\d{1,9}/[1-9]\d{0,8})"
    r"|(?P<decimals>\.\d{1,78}))(?![\w/])"
    r"|(?P<half>½)|(?<![A-Za-z0-9_])(?P<rest>\d[\d.,:_'/]*)",
    re.IGNORECASE | re.ASCII,
)
_UNREAD = re.compile(r"\d[:_'/]|\.\d+[.,]\d")
"""In digits that are a time, a date, or grouped in another way: 10:30, 1.000,50."""

_UNIT_AFTER = re.compile(
    r"\s*(?:(?P<percent>%)"
    r"|(?:whole |more |units? of |tokens? of |of )?(?:(?:my|the|your) )?(?P<word>[A-Za-z][\w.\-]*))"
)
_BASE_UNITS = re.compile(r"\s*(?:base|smallest|raw) units?\b", re.IGNORECASE)
_OF = re.compile(r"\s+of(?: my| the)?\s+(?P<word>[A-Za-z][\w.\-]*)")
_UNIT_BEFORE = re.compile(r"(?P<sign>[$€£¥])$|(?P<word>[A-Za-z][\w.\-]*):?\s$")
_WORD = re.compile(r"[A-Za-z][\w\-]*")
_CODE = re.compile(r"[a-z]*[A-Z][A-Z0-9]+|[A-Za-z]*[A-Z]{2,}[A-Za-z0-9]*")
"""A word that looks like a symbol: LUSD, mETH."""

_FOREIGN = re.compile(r"(?<![\w@.])(?:@\w+|[\w\-]+\.[a-z]{2,}(?!\w))")
"""Names of other systems: bob.eth, @bob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountUnit:
    """A unit of amounts: of a token, or of the native currency."""

    token: Address | None
    """The token's contract; None for the native currency."""

    base_units: int
    """Base units of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedQuantity:
    """A number of a request."""

    start: int
    text: str
    """As it stands there, with its unit."""

    value: Fraction
    unit: AmountUnit | None = None
    """None for a number without a unit, and for one with an unknown unit."""

    other_unit: str = ""
    """A unit that is none of a token's amounts: `days`, or an unknown symbol."""

    is_base_units: bool = False
    """Whether it counts base units of any token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAccount:
    """An account that a request names."""

    start: int
    text: str
    """As it stands there."""

    address: Address | None
    """None for a name that is not known."""

    is_party: bool = True
    """Whether it can be a recipient: a token's symbol is one only after `to`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReading:
    """The amounts and accounts of a request, in the order of the text."""

    quantities: tuple[StatedQuantity, ...]
    names: tuple[NamedAccount, ...]
    parts: tuple[Fraction, ...] = ()
    """Parts of a balance: 1 for `all of it`, 1/2 for `half`."""

    is_relative: bool = False
    """Whether an amount can be that of an earlier result: `then deposit it`."""

    names_asker: bool = False
    """Whether it names who asks: `to me`."""

    doubts: tuple[str, ...] = ()
    """What makes it doubtful as an order: `not`, `if`, `a question`."""


def read_request(
    text: str, names: Mapping[str, Address], units: Mapping[str, AmountUnit]
) -> RequestReading:
    """Read the amounts and accounts of a request.

    Input:
        text: the request.
        names: the addresses of the names that the agent knows. Case does not count.
        units: the units by symbol, the native currency's included.
    """
    return _Reader(text, names, units).read()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundUnit:
    end: int
    """Where the quantity ends."""

    unit: AmountUnit | None = None
    other: str = ""
    is_base_units: bool = False

    @property
    def is_there(self) -> bool:
        return self.unit is not None or bool(self.other) or self.is_base_units


class _Reader:
    """One reading. The text keeps the length: read parts are replaced by blanks."""

    def __init__(
        self, text: str, names: Mapping[str, Address], units: Mapping[str, AmountUnit]
    ) -> None:
        self._text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        self._names = {_fold(name): address for name, address in names.items()}
        self._units = {_fold(symbol): unit for symbol, unit in units.items()}
        for word, base_units in SUB_UNITS.items():
            self._units.setdefault(word, AmountUnit(token=None, base_units=base_units))

    def read(self) -> RequestReading:
        text = self._text
        found = [*self._take_addresses()]
        quantities = sorted(self._take_quantities(), key=lambda each: each.start)
        parts = [part for part, words in PARTS if re.search(words, self._text, re.IGNORECASE)]
        parts += [each.value / HUNDRED for each in quantities if each.other_unit in PERCENT]
        found += self._find_names()
        doubts = [word for word, words in DOUBTS if re.search(words, text, re.IGNORECASE)]
        if _QUESTION.search(text):
            doubts.append("a question")
        return RequestReading(
            quantities=tuple(quantities),
            names=tuple(sorted(found, key=lambda name: name.start)),
            parts=tuple(parts),
            is_relative=_EARLIER.search(text) is not None,
            names_asker=_ASKER.search(text) is not None,
            doubts=tuple(doubts),
        )

    def _take(self, start: int, end: int) -> None:
        self._text = _blank(self._text, start, end)

    def _take_addresses(self) -> Iterator[NamedAccount]:
        for match in [*ADDRESS.finditer(self._text)]:
            yield NamedAccount(
                start=match.start(), text=match[0], address=to_canonical_address(match[0])
            )
            self._take(match.start(), match.end())

    # -- quantities -- #

    def _take_quantities(self) -> Iterator[StatedQuantity]:
        for start, end, value in [*self._find_numbers()]:
            yield self._read_quantity(start, end, value)

    def _find_numbers(self) -> Iterator[tuple[int, int, Fraction | None]]:
        """Yield start, end and value of each number; None for the value of an unread one."""
        text = self._text
        for match in self._match_names(text):
            if any(each.isdigit() for each in match[0]):
                text = _blank(text, match.start(), match.end())
        for match in [*_ODD_NUMERAL.finditer(text)]:
            if match["rest"] is None:
                yield match.start(), match.end(), _evaluate(match)
            elif _UNREAD.search(match[0]):
                yield match.start(), match.start() + len(match[0].rstrip(".,:_'/")), None
            else:
                continue
            text = _blank(text, match.start(), match.end())
        yield from find_number_spans(text)

    def _read_quantity(self, start: int, end: int, value: Fraction | None) -> StatedQuantity:
        begin, found = start, self._read_unit_after(end)
        if not found.is_there:
            begin, found = self._read_unit_before(start, end)
        text = self._text[begin : found.end].strip()
        self._take(begin, found.end)
        other = found.other if value is not None else found.other or text
        return StatedQuantity(
            start=start,
            text=text,
            value=value or Fraction(0),
            unit=None if other else found.unit,
            other_unit=other,
            is_base_units=found.is_base_units,
        )

    def _read_unit_after(self, end: int) -> _FoundUnit:
        base = _BASE_UNITS.match(self._text, end)
        if base is not None:
            of = self._match_of(base.end())
            if of is None or of[0].token is None:
                return _FoundUnit(end=base.end(), is_base_units=True)
            return _FoundUnit(end=of[1], unit=replace(of[0], base_units=1))
        match = _UNIT_AFTER.match(self._text, end)
        if match is None:
            return _FoundUnit(end=end)
        if match["percent"]:
            return _FoundUnit(end=match.end(), other="%")
        word = match["word"].rstrip(".-")
        return self._read_unit_word(word, end, match.start("word") + len(word))

    def _read_unit_word(self, word: str, start: int, end: int) -> _FoundUnit:
        """Return the unit that a word is. Input: the word; the ends of the number and the word."""
        unit = self._find_unit(word)
        if unit is None:
            is_code = _CODE.fullmatch(word) is not None and _fold(word) not in self._names
            if word.lower() in OTHER_UNITS or is_code:
                return _FoundUnit(end=end, other=word.lower())
            return _FoundUnit(end=start)
        of = self._match_of(end) if unit.token is None else None
        if of is None or of[0].token is None:
            return _FoundUnit(end=end, unit=unit)
        # `wei of USDC` is USDC's base unit; other sub-units of a token are not read.
        if unit.base_units == 1:
            return _FoundUnit(end=of[1], unit=replace(of[0], base_units=1))
        return _FoundUnit(end=of[1], other=self._text[end - len(word) : of[1]])

    def _match_of(self, start: int) -> tuple[AmountUnit, int] | None:
        """Return the unit after `of`, and the end; None if none is there."""
        match = _OF.match(self._text, start)
        unit = None if match is None else self._find_unit(match["word"])
        return None if match is None or unit is None else (unit, match.end())

    def _read_unit_before(self, start: int, end: int) -> tuple[int, _FoundUnit]:
        """Return the unit before a number, and the start."""
        match = _UNIT_BEFORE.search(self._text[:start])
        if match is None:
            return start, _FoundUnit(end=end)
        if match["sign"]:
            return match.start(), _FoundUnit(end=end, other=match["sign"])
        unit = self._find_unit(match["word"])
        return (start if unit is None else match.start()), _FoundUnit(end=end, unit=unit)

    def _find_unit(self, word: str) -> AmountUnit | None:
        folded = _fold(word)
        for each in (folded, folded.removesuffix("s"), folded.removesuffix("es")):
            if each in self._units:
                return self._units[each]
        return None

    # -- names -- #

    def _find_names(self) -> Iterator[NamedAccount]:
        for match in self._match_names(self._text):
            name = self._read_name(match)
            self._take(name.start, name.start + len(name.text))
            yield name
        yield from self._find_strangers()

    def _match_names(self, text: str) -> list[re.Match[str]]:
        if not self._names:
            return []
        # The longest first, so that `Bob_2` is not Bob. A blank may stand for `_` and `-`.
        known = sorted(self._names, key=lambda name: (-len(name), name))
        pattern = "|".join("[ _.-]".join(map(re.escape, name.split(" "))) for name in known)
        return [*re.finditer(rf"(?<![\w@.])(?:{pattern})(?!\w)", text, re.IGNORECASE)]

    def _read_name(self, match: re.Match[str]) -> NamedAccount:
        """Return the name at a match; an unknown one where the words around change the name."""
        folded = _fold(match[0])
        rest = self._text[match.end() :]
        longer = re.match(rf"'s (?!(?:{OWN_THINGS})\b)\w+|\.[A-Za-z]\w*|-\w+|@", rest)
        if longer is None:
            surname = re.match(r" ([A-Z][a-z]\w*)", rest)
            if surname is not None and not self._is_known(surname[1]):
                longer = surname
        before = self._text[: match.start()]
        title = re.search(r"\w[ ,]+([A-Z][a-z]\w*) $", before)
        has_title = title is not None and not self._is_known(title[1])
        address = self._names[folded] if longer is None and not has_title else None
        start = match.start() if title is None or not has_title else title.start(1)
        text = self._text[start : match.end()] + (longer[0] if longer else "")
        is_token = folded in self._units
        to_it = re.search(r"\b(?:to|into)(?: the)? $", before) is not None
        return NamedAccount(start=start, text=text, address=address, is_party=to_it or not is_token)

    def _find_strangers(self) -> Iterator[NamedAccount]:
        """Yield the names that the agent does not know."""
        for match in _FOREIGN.finditer(self._text):
            yield NamedAccount(start=match.start(), text=match[0], address=None)
        pattern = rf"\b(?i:{TO_SOMEBODY}) ([A-Z][\w\-]*)"
        for match in re.finditer(pattern, self._text):
            if not self._is_known(match[1]):
                yield NamedAccount(start=match.start(1), text=match[1], address=None)

    def _is_known(self, word: str) -> bool:
        folded = _fold(word)
        return (
            folded in self._names
            or self._find_unit(word) is not None
            or folded in NUMBER_WORDS
            or folded in SMALL_WORDS
        )


def _fold(name: str) -> str:
    """Return a name without spellings that vary between people."""
    return re.sub("[ _.-]+", " ", name).strip().casefold()


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _evaluate(match: re.Match[str]) -> Fraction:
    if match["half"]:
        return Fraction(1, 2)
    text = match[0].lower()
    if match["exponent"]:
        digits, _, exponent = text.partition("e")
        scale: int = 10 ** int(exponent)
        return Fraction(digits) * scale
    return Fraction(re.sub("[_']", "", text))
