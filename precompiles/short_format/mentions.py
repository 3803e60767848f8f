"""The mentions of a request: values for parameters, and words that take an order back.

    Send 5 USDC to Bob's wallet, but not before Friday
         ^^^^^^    ^^^^^^^^^^^^      ^^^ ^^^^^^ ^^^^^^
         quantity  name             blocks

Each token belongs to one mention, or is a plain word. A mention that can't be read with certainty
is unread: an unknown name, a number in an odd notation, an unknown unit. An unread mention fills
nothing.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.phrases import PAST, PhraseTable, Speller, is_past, stem
from precompiles.short_format.roles import NUMBERS, ValueRole
from precompiles.short_format.tokens import TokenShape, fold_case, read_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.short_format.roles import ToolRoles
    from precompiles.short_format.tokens import Token


class MentionKind(Enum):
    """Kinds of mentions."""

    QUANTITY = auto()
    NAME = auto()
    """A handle."""

    QUOTATION = auto()
    CLOCK = auto()
    ORDINAL = auto()
    DATA = auto()
    """A hexadecimal word."""

    ALL = auto()
    """`all of it`, `everything`."""

    SAME = auto()
    """`the same amount`, `what came out`."""

    IT = auto()
    HIM = auto()
    PLACE = auto()
    """`that account`."""

    EACH = auto()
    PART = auto()
    """`half`, `twice`, `a few`: an amount that would have to be computed."""

    # What fills nothing.
    STRANGER = auto()
    """An unknown name."""

    SELF = auto()
    SOMEBODY = auto()
    """`my brother`, `everyone`."""

    UNREAD = auto()
    """A number that can't be read, a malformed address."""

    NEGATION = auto()
    EXCEPTION = auto()
    CONDITION = auto()
    ALTERNATIVE = auto()
    CORRECTION = auto()
    INEXACT = auto()
    DOUBT = auto()
    REPEAT = auto()
    LATER = auto()
    EARLIER = auto()

    # What says nothing.
    COURTESY = auto()
    SEQUENCE = auto()
    REASON = auto()
    """`because`, up to the end of its part."""


BLOCKS = frozenset(
    (
        MentionKind.NEGATION,
        MentionKind.EXCEPTION,
        MentionKind.CONDITION,
        MentionKind.ALTERNATIVE,
        MentionKind.CORRECTION,
        MentionKind.INEXACT,
        MentionKind.DOUBT,
        MentionKind.REPEAT,
        MentionKind.LATER,
        MentionKind.EARLIER,
    )
)
UNKNOWN = frozenset(
    (MentionKind.STRANGER, MentionKind.SELF, MentionKind.SOMEBODY, MentionKind.UNREAD)
)
VALUES = frozenset(
    (
        MentionKind.QUANTITY,
        MentionKind.NAME,
        MentionKind.QUOTATION,
        MentionKind.CLOCK,
        MentionKind.ORDINAL,
        MentionKind.DATA,
        MentionKind.ALL,
        MentionKind.SAME,
        MentionKind.IT,
        MentionKind.HIM,
        MentionKind.PLACE,
        MentionKind.PART,
    )
)


class UnitKind(Enum):
    """Kinds of units of a number in a text."""

    NONE = auto()
    TOKEN = auto()
    """A token or the native currency, by its symbol or `native`."""

    PERCENT = auto()
    TIME = auto()
    NOUN = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention, and the tokens of the mention."""

    kind: MentionKind
    first: int
    end: int
    value: Fraction = Fraction(0)
    text: str = ""
    """Of a name, the handle; of a quotation, the text; of a unit's noun, the word; of a sub-unit of
    a token, its name: `gwei`, `cent`, `base unit`."""

    unit: UnitKind = UnitKind.NONE
    unit_name: str = ""
    labels: tuple[str, ...] = ()
    """Stems of the nouns right before a number: `week 4`."""

    token_handle: str = ""
    """The handle that a quantity's unit names; empty for none."""


_ENGLISH = Speller(english.ALL_WORDS | PAST)


class KnownWords:
    """The names and words that an agent knows."""

    def __init__(
        self,
        handles: Sequence[str],
        tools: Sequence[ToolRoles],
        native: str,
        prose: Mapping[str, str],
    ) -> None:
        """Index the handles, and the words of the tools.

        Input:  the handles; the tools; the native currency's symbol; words of the base prompt that
                stand for a handle without a name, by the word in lower case.
        """
        self.handles = tuple(handles)
        self.native = native.lower()
        slots = [slot for tool in tools for slot in tool.slots]
        self.symbols = frozenset(
            slot.unit.name for slot in slots if slot.role is ValueRole.AMOUNT and slot.unit.name
        ) - {"native"}
        aliases = [
            (_fold_name(alias), slot.unit.name)
            for slot in slots
            if slot.role is ValueRole.AMOUNT
            for alias in slot.unit.aliases
        ]
        counted: dict[str, set[str]] = {}
        for alias, symbol in aliases:
            counted.setdefault(alias, set()).add(symbol)
        self._aliases = {
            alias: next(iter(of)) for alias, of in sorted(counted.items()) if len(of) == 1
        }
        self._handles = {_fold_name(handle): handle for handle in reversed(handles)}
        self._prose = dict(prose)
        self._longest = max((len(_fold_name(handle).split(" ")) for handle in handles), default=0)
        has_token = any(slot.role is ValueRole.TOKEN for slot in slots)
        has_party = any(
            slot.role in {ValueRole.PARTY, ValueRole.RECIPIENT, ValueRole.SOURCE} for slot in slots
        )
        named = frozenset(handle for tool in tools for handle in tool.handles)
        self.tokens = frozenset(
            handle
            for handle in handles
            if handle.lower() in self.symbols
            or (has_token and (not has_party or _looks_like_symbol(handle)))
            or (handle in named and _looks_like_symbol(handle))
        )
        self._token_words = {handle.lower(): handle for handle in self.tokens}
        self.words = frozenset(word for tool in tools for word in tool.words)
        self.verbs = frozenset(word for tool in tools for word in tool.heads)
        self.number_labels = frozenset(
            label for slot in slots if slot.role in NUMBERS for label in slot.labels
        )
        self.meanings = frozenset(meaning for tool in tools for meaning in tool.verbs)
        said = frozenset(word for tool in tools for word in tool.said)
        self.said = said
        self.speller = Speller(said, _ENGLISH)
        self.verb_speller = Speller(
            verb for meaning in sorted(self.meanings) for verb in english.VERBS[meaning]
        )
        self.slots = tuple(slots)
        self.slot_names = frozenset(name for slot in slots for name in slot.names)
        self.labels = frozenset(label for slot in slots for label in slot.labels)

    def find_name(self, tokens: Sequence[Token], at: int) -> tuple[int, str] | None:
        """Return the end and the handle of the longest name that begins at a token."""
        for size in range(min(self._longest, len(tokens) - at), 0, -1):
            piece = tokens[at : at + size]
            if any(one.kind not in {TokenShape.WORD, TokenShape.NUMBER} for one in piece):
                continue
            if any(not one.is_spaced for one in piece[1:]):
                continue
            if piece[0].kind is not TokenShape.WORD:
                continue
            handle = self._handles.get(_fold_name(" ".join(one.text for one in piece)))
            if handle is not None:
                return at + size, handle
        if tokens[at].kind is not TokenShape.WORD:
            return None
        word = tokens[at].word
        if word in self._prose:
            return at + 1, self._prose[word]
        for each in (word, word.removesuffix("s")):
            handle = self._token_words.get(self._aliases.get(each, ""))
            if handle is not None:
                return at + 1, handle
        return None

    def find_unit(self, word: str) -> tuple[str, str] | None:
        """Return the name of the unit and the handle of a word after a number, or None.

        Input:  a word in lower case.
        """
        for each in (word, word.removesuffix("s"), word.removesuffix("es")):
            if each in self._aliases:
                symbol = self._aliases[each]
                return symbol, self._token_words.get(symbol, "")
            if each == self.native or each in _NATIVE_WORDS.get(self.native, ()):
                return "native", self._token_words.get(each, "")
            if each in self.symbols:
                return each, self._token_words.get(each, "")
            if each in self._token_words:
                return each, self._token_words[each]
        return None


_NATIVE_WORDS = {"eth": ("ether", "ethers")}


def _fold_name(text: str) -> str:
    return re.sub(r"[-_. ]+", " ", text.lower()).strip()


def _looks_like_symbol(handle: str) -> bool:
    letters = [character for character in handle if character.isalpha()]
    return sum(character.isupper() for character in letters) * 2 > len(letters)


# -- units -- #

SUB_UNITS = {
    "wei": 18, "kwei": 15, "mwei": 12, "gwei": 9, "shannon": 9, "szabo": 6, "microether": 6,
    "finney": 3, "milliether": 3, "gwe": 9,
}  # fmt: skip
"""Sub-units of ether, as powers of ten. Source: Solidity and web3.js, units."""

_HUNDREDTHS = frozenset(("cent", "cents"))
_PERCENT_WORDS = frozenset(("percent", "%", "pct", "percents"))
_TIMES = {
    "s": "second", "sec": "second", "secs": "second", "second": "second", "min": "minute",
    "mins": "minute", "minute": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "hour": "hour",
    "day": "day", "d": "day", "week": "week", "wk": "week", "wks": "week", "month": "month",
    "year": "year", "yr": "year", "yrs": "year",
}  # fmt: skip
_BETWEEN = frozenset(
    "more whole of my our your the these those extra additional full new fresh free".split()  # noqa: SIM905
)
_MAX_LINES = 100
"""A number from this one on counts no lines of a list."""

_BASE_UNITS = (("base", "units"), ("base", "unit"), ("smallest", "units"), ("atomic", "units"))
_SIGNS = frozenset("$\u20ac\u00a3\u00a5")
_GROUP = re.compile(r"[0-9]{3}(?![0-9])")
"""Three digits after a blank may be a group of a number: `1 000`."""

# -- the scan -- #

_TABLE: PhraseTable[MentionKind] = PhraseTable(
    {
        MentionKind.SEQUENCE: english.SEQUENCES,
        MentionKind.COURTESY: english.COURTESY,
        MentionKind.CORRECTION: english.CORRECTIONS,
        MentionKind.EXCEPTION: english.EXCEPTIONS,
        MentionKind.NEGATION: english.NEGATIONS | english.NEEDLESS,
        MentionKind.CONDITION: english.CONDITIONS,
        MentionKind.ALTERNATIVE: english.ALTERNATIVES,
        MentionKind.REPEAT: english.REPEATS,
        MentionKind.EARLIER: english.EARLIER,
        MentionKind.LATER: english.LATER | english.WEEKDAYS | english.MONTHS,
        MentionKind.DOUBT: english.DOUBTS,
        MentionKind.REASON: english.REASONS,
        MentionKind.SAME: english.SAME,
        MentionKind.PLACE: english.SAME_PLACE,
        MentionKind.ALL: english.ALL,
        MentionKind.EACH: english.EACH,
        MentionKind.PART: english.PARTS,
        MentionKind.SELF: english.SELF,
    }
)
_INEXACT: PhraseTable[bool] = PhraseTable({True: english.INEXACT})
_INEXACT_AFTER: PhraseTable[bool] = PhraseTable({True: english.INEXACT_AFTER})
NUMBER_MARKS = frozenset(("no.", "number", "numbers", "nr", "nr.", "num", "#", "id", "n\u00b0"))


@dataclass(frozen=True, slots=True)
class Scan:
    """The tokens and the mentions of a text."""

    text: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    """In order; they do not overlap."""

    owners: tuple[int, ...]
    """Of each token, the index of its mention; -1 for none."""

    def show(self, first: int, end: int) -> str:
        """Return the text of some tokens."""
        if first >= end:
            return ""
        return self.text[self.tokens[first].start : self.tokens[end - 1].end]


def scan(text: str, vocabulary: KnownWords, *, is_result: bool = False) -> Scan:
    """Return the mentions of a request, or of a tool's result.

    Input:  a text with handles in place of addresses.
    """
    tokens = read_tokens(text)
    if not is_result:
        tokens = _correct(tokens, vocabulary)
    scanner = _Scanner(text, tokens, vocabulary, is_result=is_result)
    return scanner.scan()


_MINUS = frozenset(("-", "\u2212", "\u2013", "\u2014"))

AFTER_IS = (
    english.AUXILIARIES
    | english.ARTICLES
    | english.PREPOSITIONS
    | {
        *(
            "had",
            "got",
            "not",
            "ill",
            "sick",
            "late",
            "away",
            "gone",
            "here",
            "done",
            "right",
            "also",
        )
    }
)
"""What follows `'s` where it stands for `is` or `has`."""

_ORDINALS = {"first": 1, "second": 2, "third": 3}
"""Words that are ordinals before the name of a parameter: `third grade`."""

_POLITE = frozenset("please pls plz thanks thx now asap".split())  # noqa: SIM905
_RANKING = frozenset("came come comes finished placed ended was is be".split())  # noqa: SIM905
"""Verbs before `first` and `second` that tell a place: `Kai came first`."""

_IN_TITLES = frozenset("of at the in on under over".split())  # noqa: SIM905
"""Small words within a title."""

_NAMING = frozenset("to from for by with of at @ is named called".split())  # noqa: SIM905
"""Words before a name, which is not corrected."""


def _correct(tokens: tuple[Token, ...], known: KnownWords) -> tuple[Token, ...]:
    """Return tokens whose typing errors are mended, where no name can stand."""
    found: list[Token] = []
    for place, token in enumerate(tokens):
        is_start = place == 0 or tokens[place - 1].kind is TokenShape.SIGN
        is_plain = token.kind is TokenShape.WORD and (token.text.islower() or is_start)
        before = tokens[place - 1].word if place else ""
        if is_plain and before not in _NAMING and known.find_name(tokens, place) is None:
            is_head = is_start or before in {"please", "pls", "plz"}
            word = known.speller.correct(token.word)
            if is_head and word == token.word:
                word = known.verb_speller.turn(word)
            if word != token.word and known.find_unit(token.word) is None:
                found.append(replace(token, word=word))
                continue
        found.append(token)
    return tuple(found)


class _Scanner:
    def __init__(
        self, text: str, tokens: tuple[Token, ...], vocabulary: KnownWords, *, is_result: bool
    ) -> None:
        self._text = text
        self._tokens = tokens
        self._known = vocabulary
        self._is_result = is_result
        words = [
            one.text
            for place, one in enumerate(tokens)
            if one.kind is TokenShape.WORD
            and len(one.text) > 1
            and vocabulary.find_name(tokens, place) is None
            and vocabulary.find_unit(one.word) is None
        ]
        capitals = sum(word[0].isupper() for word in words)
        # In a text of capitals, or a title, capitals say nothing.
        self._has_case = len(words) < 3 or capitals * 4 <= len(words) * 3  # noqa: PLR2004
        self._owners = [-1] * len(tokens)
        self._found: list[Mention] = []

    def scan(self) -> Scan:
        at = 0
        while at < len(self._tokens):
            at = self._read(at)
        return Scan(self._text, self._tokens, tuple(self._found), tuple(self._owners))

    def _add(self, mention: Mention) -> int:
        for place in range(mention.first, mention.end):
            self._owners[place] = len(self._found)
        self._found.append(mention)
        return mention.end

    def _free(self, at: int) -> None:
        """Make the mention of a token meaningless."""
        owner = self._owners[at]
        if owner >= 0:
            self._found[owner] = replace(self._found[owner], kind=MentionKind.COURTESY)

    def _read(self, at: int) -> int:
        """Read the mention that begins at a token, if any; return where to go on."""
        token = self._tokens[at]
        match token.kind:
            case TokenShape.QUOTATION:
                return self._add(Mention(MentionKind.QUOTATION, at, at + 1, text=token.text))
            case TokenShape.UNREAD:
                return self._add(Mention(MentionKind.UNREAD, at, at + 1, text=token.text))
            case TokenShape.HEXADECIMAL:
                return self._add(Mention(MentionKind.DATA, at, at + 1, text=token.text))
            case TokenShape.CLOCK:
                return self._add(
                    Mention(
                        MentionKind.CLOCK, at, at + 1, token.value, labels=self._find_labels(at)
                    )
                )
            case TokenShape.ORDINAL:
                return self._add(
                    Mention(
                        MentionKind.ORDINAL,
                        at,
                        at + 1,
                        token.value,
                        labels=self._find_nouns(at + 1),
                    )
                )
            case TokenShape.NUMBER:
                return self._read_number(at)
            case TokenShape.SIGN:
                return self._read_sign(at)
        return self._read_word(at)

    # -- numbers -- #

    def _read_number(self, at: int) -> int:
        tokens = self._tokens
        token = tokens[at]
        if self._is_enumerator(at):
            return self._add(Mention(MentionKind.COURTESY, at, at + 2))
        is_times = token.word == "x" or (at and tokens[at - 1].text.lower() in {"x", "\u00d7"})
        if is_times:
            # `2x`, `3 x 100 kg`
            return self._add(Mention(MentionKind.UNREAD, at, at + 1, text=self._show(at, at + 1)))
        chain = [one.word for one in tokens[max(at - 3, 0) : at]]
        is_chain = chain[:1] == ["to"] == chain[2:] and at > 3  # noqa: PLR2004
        if is_chain and {tokens[at - 2].kind, tokens[at - 4].kind} == {TokenShape.NUMBER}:
            # `2 to 5 to 10`
            return self._add(
                Mention(MentionKind.UNREAD, at, at + 1, text=self._show(at - 4, at + 1))
            )
        is_no = at > 1 and tokens[at - 1].word == "no"
        if (
            is_no
            and self._found
            and self._found[-1].kind is MentionKind.QUANTITY
            and tokens[at - 2].kind is not TokenShape.WORD
            and tokens[self._found[-1].first - 1].word != "no"
        ):
            # `Stake 20, no 25`
            return self._add(
                Mention(MentionKind.UNREAD, at, at + 1, text=self._show(at - 1, at + 1))
            )
        before = [one.text.lower() for one in tokens[max(at - 2, 0) : at]]
        if before[1:] and before[1] in _MINUS and before[0] in english.PREPOSITIONS | {"is"}:
            # `to - 3 degrees`: a sign, or a dash?
            return self._add(
                Mention(MentionKind.UNREAD, at, at + 1, text=self._show(at - 1, at + 1))
            )
        if at + 1 < len(tokens) and self._is_split(at):
            end = at + 1
            while end < len(tokens) and self._is_split(end - 1):
                end += 1
            return self._add(Mention(MentionKind.UNREAD, at, end, text=self._show(at, end)))
        if at and tokens[at - 1].word in {"another", "extra"}:
            self._free(at - 1)
        if [one.word for one in tokens[at + 1 : at + 3]] in (["of", "each"], ["of", "both"]):
            # `5 of each`: of what is told elsewhere.
            return self._add(Mention(MentionKind.UNREAD, at, at + 3, text=self._show(at, at + 3)))
        if token.is_spelled and token.value == 1 and not self._is_counting(at):
            return at + 1
        following = [one.kind for one in tokens[at + 2 : at + 3]]
        if token.is_spelled and token.value == 1 and following == [TokenShape.NUMBER]:
            # `another one of 41 FEED`
            return self._add(Mention(MentionKind.COURTESY, at, at + 2))
        unit, name, handle, end, noun = self._read_unit(at)
        labels = self._find_labels(at, inherits=unit is UnitKind.NONE)
        if unit is UnitKind.PERCENT and name == "percent":
            share = self._read_share(at, end, token.value / 100)
            if share is not None:
                return share
        of = end + (end < len(tokens) and tokens[end].word == "more")
        if unit is UnitKind.NONE and [one.word for one in tokens[of : of + 1]] == ["of"]:
            unit, name, handle, end = self._read_unit_of_it(of)
            noun = name if unit is UnitKind.NOUN else noun
        if unit is UnitKind.NOUN and "number" in labels and stem(noun) not in self._known.labels:
            unit, name, end, noun = UnitKind.NONE, "", at + 1, ""
        if (
            unit is UnitKind.NOUN
            and not self._known.labels.isdisjoint(labels)
            and stem(noun) not in self._known.words
            and not self._is_verb_before(at)
        ):
            # `room 4 now`: what follows a number that has a name is no unit.
            unit, name, end, noun = UnitKind.NONE, "", at + 1, ""
        value = token.value
        words = [fold_case(one.text) for one in tokens[end : end + 2]]
        if words in (["below", "zero"], ["below", "freezing"], ["under", "zero"]):
            value, end = -value, end + 2
        if unit is UnitKind.NOUN and noun in english.TASKS and noun not in self._known.said:
            return self._add(Mention(MentionKind.COURTESY, at, end))
        end = self._skip_inexact(end)
        if end < 0:
            return self._add(Mention(MentionKind.INEXACT, at, -end, text=self._show(at, -end)))
        return self._add(
            Mention(
                MentionKind.QUANTITY,
                at,
                end,
                value,
                text=noun,
                unit=unit,
                unit_name=name,
                labels=labels,
                token_handle=handle,
            )
        )

    def _read_unit_of_it(self, at: int) -> tuple[UnitKind, str, str, int]:
        """Return the unit of `2 of it`: the only one before."""
        if at + 1 >= len(self._tokens) or self._tokens[at + 1].word not in {
            "it",
            "them",
            "that",
            "those",
            "these",
        }:
            return UnitKind.NONE, "", "", at
        if self._is_determiner(at + 1):
            return UnitKind.NONE, "", "", at
        units = {
            (one.unit_name, one.token_handle)
            if one.kind is MentionKind.QUANTITY
            else (one.text.lower(), one.text)
            for one in self._found
            if (one.kind is MentionKind.QUANTITY and one.unit is UnitKind.TOKEN)
            or (one.kind is MentionKind.NAME and one.text in self._known.tokens)
        }
        if not units:
            return UnitKind.NOUN, "piece", "", at
        if len(units) > 1:
            return UnitKind.UNKNOWN, "it", "", at + 2
        name, handle = units.pop()
        return UnitKind.TOKEN, name, handle, at + 2

    def _is_enumerator(self, at: int) -> bool:
        """Return whether a number counts the lines of a list: `1. `, `2) `."""
        tokens = self._tokens
        if at > 0 and tokens[at - 1].text not in {"\n", ":", "("}:
            return False
        if (
            at + 2 >= len(tokens)
            or tokens[at + 1].text not in {".", ")"}
            or tokens[at + 1].is_spaced
        ):
            return False
        value = tokens[at].value
        return (
            value.denominator == 1
            and value < _MAX_LINES
            and tokens[at + 2].kind is not TokenShape.NUMBER
        )

    def _is_split(self, at: int) -> bool:
        """Return whether a number is followed by another one after a blank: `1 000`."""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if after is None or after.kind is not TokenShape.NUMBER or after.text[:1] in "-+\u2212":
            return False
        token = self._tokens[at]
        is_labelled = not self._known.labels.isdisjoint(self._find_labels(at)) and not _GROUP.match(
            after.text
        )
        return not token.word and after.start > token.end and not is_labelled

    def _is_counting(self, at: int) -> bool:
        """Return whether the word `one` is a number, not a pronoun or an article."""
        before = self._tokens[at - 1] if at else None
        if before is not None and (
            before.word in NUMBER_MARKS
            or before.text == "#"
            or stem(before.word) in self._known.number_labels
        ):
            return True
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if after is None or after.kind is not TokenShape.WORD:
            return False
        if after.word == "of":
            return True
        is_shared = after.word in {"for", "to"} and any(
            one.kind is MentionKind.QUANTITY and one.unit is UnitKind.NOUN for one in self._found
        )
        if is_shared:
            # `two bags for Ann and one for Ben`
            return True
        return (
            self._known.find_unit(after.word) is not None or stem(after.word) in self._known.labels
        )

    def _skip_inexact(self, end: int) -> int:
        """Return the end of a quantity, negative if made inexact by the words after."""
        if end < len(self._tokens):
            found = _INEXACT_AFTER.match(self._tokens, end)
            after = self._tokens[found[0]].word if found and found[0] < len(self._tokens) else ""
            is_verb = (
                found is not None
                and self._tokens[found[0] - 1].word == "change"
                and after in english.DETERMINERS
            )
            if found is not None and not is_verb:
                return -found[0]
        return end

    def _read_unit(self, at: int) -> tuple[UnitKind, str, str, int, str]:
        """Return kind, name, handle, end and noun of the unit of a number."""
        tokens, token = self._tokens, self._tokens[at]
        end = at + 1
        if token.word:
            return self._classify_unit(token.word, token.word, end)
        if end < len(tokens) and tokens[end].text in {"%", "\u00b0", *_SIGNS}:
            return self._classify_unit(tokens[end].text, tokens[end].text, end + 1)
        place = end
        while place < len(tokens) and tokens[place].word in _BETWEEN and place - end < 3:  # noqa: PLR2004
            place += 1
        if place < len(tokens) and tokens[place].kind is TokenShape.WORD:
            word = tokens[place]
            for base in _BASE_UNITS:
                if tuple(one.word for one in tokens[place : place + 2]) == base:
                    return self._read_of(UnitKind.TOKEN, "base unit", place + 2, "base unit")
            if (
                place + 1 < len(tokens)
                and word.word == "basis"
                and tokens[place + 1].word.startswith("point")
            ):
                return UnitKind.PERCENT, "basis point", "", place + 2, ""
            if word.word in {"units", "tokens", "coins", "pieces", "unit", "token", "coin"}:
                found = self._read_of(UnitKind.NOUN, word.word, place + 1, word.word)
                if found[0] is UnitKind.TOKEN:
                    return found
            if self._is_act(place) and place == end:
                # `visit 33 cancel please`
                return UnitKind.NONE, "", "", end, ""
            kind = self._classify_unit(word.word, word.text, place + 1)
            after = tokens[kind[3]] if kind[3] < len(tokens) else None
            if kind[0] is UnitKind.NOUN and after is not None and after.kind is TokenShape.NUMBER:
                # `row 3 seat 9`: the word belongs to the number after it.
                return UnitKind.NONE, "", "", end, ""
            if kind[0] is not UnitKind.NONE and not (kind[0] is UnitKind.NOUN and place > end):
                return kind
        before = self._find_unit_before(at)
        if before is not None:
            return UnitKind.TOKEN, before[0], before[1], end, ""
        return UnitKind.NONE, "", "", end, ""

    def _is_act(self, at: int) -> bool:
        """Return whether a word after a number is a verb at the end, or means a tool's noun."""
        word, after = self._tokens[at].word, self._tokens[at + 1 : at + 2]
        is_end = not after or after[0].kind is TokenShape.SIGN or after[0].word in _POLITE
        is_verb = stem(word) in (self._known.verbs | _VERB_STEMS) - self._known.labels
        is_verb = is_verb and not word.endswith("s")
        return (is_verb and is_end) or word in english.READ_NOUNS

    def _classify_unit(self, word: str, said: str, end: int) -> tuple[UnitKind, str, str, int, str]:
        known = self._known
        if word in {"\u00b0", "\u00b0c", "degrees", "degree", "deg"}:
            if end < len(self._tokens) and self._tokens[end].word in {"c", "celsius", "centigrade"}:
                end += 1
            elif end < len(self._tokens) and self._tokens[end].word in {
                "f",
                "fahrenheit",
                "kelvin",
            }:
                other = self._tokens[end].text
                return UnitKind.UNKNOWN, other, "", end + 1, other
            return UnitKind.NOUN, "degree", "", end, "degree"
        if word in english.ALL_WORDS and (word in _FINITE_WORDS or word in english.ADVERBS):
            return UnitKind.NONE, "", "", end - 1, ""
        found = known.find_unit(word)
        if found is not None:
            return UnitKind.TOKEN, found[0], found[1], end, ""
        singular = word.removesuffix("s")
        if singular in SUB_UNITS:
            return self._read_of(UnitKind.TOKEN, singular, end, singular)
        if word in _HUNDREDTHS:
            return self._read_of(UnitKind.TOKEN, "cent", end, "cent")
        if word in _PERCENT_WORDS:
            return UnitKind.PERCENT, "percent", "", end, ""
        if word in {"bps", "bp"}:
            return UnitKind.PERCENT, "basis point", "", end, ""
        if word == "per" and end < len(self._tokens) and self._tokens[end].word == "cent":
            return UnitKind.PERCENT, "percent", "", end + 1, ""
        if word in _TIMES or singular in _TIMES:
            return UnitKind.TIME, _TIMES.get(word) or _TIMES[singular], "", end, ""
        if word in english.FIAT or said in _SIGNS or singular in english.FIAT:
            return UnitKind.UNKNOWN, said, "", end, said
        if re.search("[A-Z]", said) and _looks_like_symbol(said) and stem(word) not in known.words:
            return UnitKind.UNKNOWN, said, "", end, said
        if re.search(r"[a-z][A-Z]", said) and stem(word) not in known.words:
            return UnitKind.UNKNOWN, said, "", end, said
        measure = english.MEASURES.get(word)
        if measure is not None:
            return UnitKind.NOUN, word, "", end, measure[0]
        is_noun = (
            word not in _FUNCTION_WORDS
            and word not in {"due", "left"}
            and not is_past(word)
            and known.find_name(self._tokens, end - 1) is None
        )
        if is_noun and not (
            _TABLE.match(self._tokens, end - 1) if self._tokens[end - 1].word == word else None
        ):
            return UnitKind.NOUN, word, "", end, word
        return UnitKind.NONE, "", "", end, ""

    def _read_of(
        self, kind: UnitKind, name: str, end: int, noun: str
    ) -> tuple[UnitKind, str, str, int, str]:
        """Return a sub-unit with the token of the `of X` that follows."""
        tokens = self._tokens
        place = end
        while place < len(tokens) and tokens[place].word in _BETWEEN and place - end < 3:  # noqa: PLR2004
            place += 1
        found = None
        if place > end and place < len(tokens) and tokens[place].kind is TokenShape.WORD:
            found = self._known.find_unit(tokens[place].word)
        if kind is UnitKind.NOUN:
            if found is not None:
                return UnitKind.TOKEN, found[0], found[1], place + 1, ""
            return kind, name, "", end, noun
        symbol, handle, last = ("", "", end) if found is None else (*found, place + 1)
        return kind, symbol, handle, last, name

    def _find_unit_before(self, at: int) -> tuple[str, str] | None:
        """Return the token that is named right before a number: `USDC 5`, `USDC: 5`."""
        place = at - 1
        if place >= 0 and self._tokens[place].text in {":", "="}:
            place -= 1
        if place < 0 or self._tokens[place].kind is not TokenShape.WORD:
            return None
        if place > 0 and self._tokens[place - 1].word in english.PREPOSITIONS:
            return None
        owner = self._owners[place]
        if owner >= 0 and self._found[owner].kind is not MentionKind.NAME:
            return None
        found = self._known.find_unit(self._tokens[place].word)
        if found is None:
            return None
        if owner >= 0:
            # The name becomes a part of the quantity.
            self._found[owner] = Mention(MentionKind.COURTESY, place, place + 1)
        return found

    def _find_labels(self, at: int, *, inherits: bool = True) -> tuple[str, ...]:
        """Return the stems of the nouns right before a number: `week 4`, `proposal no. 7`."""
        found: list[str] = []
        is_marked = is_told = False
        if self._is_verb_before(at) and self._counts_more(at):
            return self._inherit_labels(at) if inherits else ()
        place = at - 1
        while place >= 0 and len(found) < 3:  # noqa: PLR2004
            token = self._tokens[place]
            if token.word in NUMBER_MARKS or token.text in {"#", ".", ":", "="}:
                is_marked = is_marked or token.word in NUMBER_MARKS or token.text == "#"
                is_told = is_told or token.text == ":"
                place -= 1
                continue
            if token.kind is not TokenShape.WORD or token.word in _FUNCTION_WORDS:
                break
            label = stem(token.word)
            kind = self._found[self._owners[place]].kind if self._owners[place] >= 0 else None
            # `invoices 1 and 7` names what the contract `Invoices` counts.
            is_noun = (
                kind is MentionKind.NAME and token.text.islower() and (label in self._known.labels)
            )
            if not is_noun and kind not in {
                None, MentionKind.COURTESY, MentionKind.PART, MentionKind.LATER,
            }:  # fmt: skip
                break
            if label in _VERB_STEMS and not self._is_noun(place):
                break
            if (
                (found or is_marked or is_told)
                and label not in self._known.words
                and label not in self._known.labels
            ):
                break
            found.append(label)
            place -= 1
        if is_marked:
            found.append("number")
        return tuple(found) or (self._inherit_labels(at) if inherits else ())

    def _is_noun(self, at: int) -> bool:
        """Return whether a word that may be a verb is a noun: after an article or a verb."""
        before = self._tokens[at - 1].word if at else ""
        return bool(before) and (
            before in english.DETERMINERS
            or before in english.PREPOSITIONS
            or before in english.HIM
            or stem(before) in _VERB_STEMS
            or stem(self._tokens[at].word) in self._known.slot_names
        )

    def _inherit_labels(self, at: int) -> tuple[str, ...]:
        """Return the nouns of the number before `and` or a comma: `seats 5 and 6`."""
        place = at - 1
        while place >= 0 and self._tokens[place].word in {"and", "&", ",", "n"}:
            place -= 1
        if place == at - 1 or place < 0 or self._owners[place] < 0:
            return ()
        before = self._found[self._owners[place]]
        after = self._tokens[at + 1].word if at + 1 < len(self._tokens) else ""
        label = self._tokens[max(before.first - 1, 0)].word
        if after == "of" or (after in english.PREPOSITIONS and not label.endswith("s")):
            # `trip 4 and 30 to 5`: the number begins something else.
            return ()
        before = self._found[self._owners[place]]
        is_bare = (
            before.kind is MentionKind.QUANTITY
            and before.unit is UnitKind.NONE
            and before.end == place + 1
        )
        return before.labels if is_bare else ()

    def _find_nouns(self, at: int) -> tuple[str, ...]:
        """Return the stem of the noun right after an ordinal: `the 3rd week`."""
        if at < len(self._tokens) and self._tokens[at].kind is TokenShape.WORD:
            word = self._tokens[at].word
            if word not in _FUNCTION_WORDS:
                return (stem(word),)
        return self._find_labels(at - 1)

    # -- words -- #

    def _read_sign(self, at: int) -> int:
        token = self._tokens[at]
        if token.text in {"~", "\u2248", "\u00b1", "<", ">", "\u2264", "\u2265"}:
            return self._add(Mention(MentionKind.INEXACT, at, at + 1, text=token.text))
        if token.text in {"/", "\\", "*", "^", "\u00d7", "\u00f7"} and not token.is_spaced:
            return self._add(Mention(MentionKind.UNREAD, at, at + 1, text=token.text))
        return at + 1

    def _read_word(self, at: int) -> int:
        tokens, token = self._tokens, self._tokens[at]
        whole = self._read_whole(at)
        if whole is None:
            whole = self._read_part(at)
        if whole is not None:
            return whole
        name = self._known.find_name(tokens, at)
        if name is not None and not self._is_ordinary(at, name[1]):
            return self._read_name(at, *name)
        is_dotted = re.search(r"[a-z0-9]\.[a-z]", token.word) is not None
        if ("@" in token.text or is_dotted) and token.word not in _ABBREVIATIONS:
            return self._add(Mention(MentionKind.STRANGER, at, at + 1, text=token.text))
        inexact = _INEXACT.match(tokens, at)
        is_reached = token.word == "up" and bool(self._found) and self._found[-1].end == at
        if is_reached and self._found[-1].kind in {MentionKind.QUANTITY, MentionKind.IT}:
            # `tank 1 up to 21 degrees` says what is reached.
            inexact = None
        if (
            inexact is not None
            and inexact[0] < len(tokens)
            and self._is_counted(inexact[0])
            and not self._is_label(at, inexact[0])
        ):
            return self._add(
                Mention(MentionKind.INEXACT, at, inexact[0], text=self._show(at, inexact[0]))
            )
        period = self._read_period(at)
        if period is not None:
            return period
        found = _TABLE.match(tokens, at)
        if found is not None:
            return self._read_phrase(at, *found)
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        is_thing = (
            after is not None
            and after.kind is TokenShape.WORD
            and (
                stem(after.word) in self._known.labels
                or stem(after.word) in self._known.words - self._known.verbs
            )
        )
        if token.word in {"that", "this", "these", "those"} and is_thing:
            return self._add(Mention(MentionKind.IT, at, at + 2, text=self._show(at, at + 2)))
        if self._is_relative(at):
            return self._read_clause(at)
        if token.word in english.IT:
            if not self._is_pronoun(at):
                return at + 1
            return self._add(Mention(MentionKind.IT, at, at + 1, text=token.word))
        if token.word in english.HIM or token.word == "his":
            is_owner = (
                token.word in {"her", "his"} and after is not None and after.kind is TokenShape.WORD
            )
            if (
                is_owner
                and after is not None
                and after.word not in _FUNCTION_WORDS
                and stem(after.word) not in self._known.words
            ):
                return at + 1
            return self._add(Mention(MentionKind.HIM, at, at + 1, text=token.text))
        if token.word in english.UNKNOWN_PEOPLE and stem(token.word) not in self._known.words:
            return self._add(Mention(MentionKind.SOMEBODY, at, at + 1, text=token.text))
        if (
            token.word == "its"
            and after is not None
            and stem(after.word) in self._known.labels | self._known.words
        ):
            return self._add(Mention(MentionKind.IT, at, at + 1, text=token.text))
        if self._is_stranger(at):
            end = at + 1
            while (
                end < len(tokens) and tokens[end].kind is TokenShape.WORD and self._is_capital(end)
            ):
                if self._known.find_name(tokens, end) is not None:
                    break
                end += 1
            end = self._read_title(end)
            return self._add(Mention(MentionKind.STRANGER, at, end, text=self._show(at, end)))
        return at + 1

    def _is_verb_before(self, at: int) -> bool:
        """Return whether a verb of a tool begins a part before a number: `then order 50 sacks`."""
        if not at or stem(self._tokens[at - 1].word) not in self._known.verbs:
            return False
        before = self._tokens[at - 2].word if at > 1 else ""
        owner = self._owners[at - 2] if at > 1 else -1
        is_said = owner >= 0 and self._found[owner].kind in {
            MentionKind.SEQUENCE,
            MentionKind.COURTESY,
        }
        return at == 1 or is_said or before in {"and", "then", "please", ",", ".", "to"}

    def _counts_more(self, at: int) -> bool:
        """Return whether two nouns follow a number, neither a parameter's: `50 salt licks`."""
        nouns = self._tokens[at + 1 : at + 3]
        return len(nouns) == 2 and all(  # noqa: PLR2004
            one.kind is TokenShape.WORD
            and one.word not in _FUNCTION_WORDS
            and stem(one.word) not in self._known.labels
            for one in nouns
        )

    def _read_title(self, end: int) -> int:
        """Return the end of a title whose first words end at a token: `Tide at Dusk`."""
        tokens, place = self._tokens, end
        while place < len(tokens) and place - end < 2 and tokens[place].word in _IN_TITLES:  # noqa: PLR2004
            place += 1
        is_title = end < place < len(tokens) and tokens[place].kind is TokenShape.WORD
        if not is_title or not self._is_stranger(place) or _TABLE.match(tokens, place) is not None:
            return end
        while (
            place < len(tokens)
            and tokens[place].kind is TokenShape.WORD
            and self._is_capital(place)
            and self._known.find_name(tokens, place) is None
        ):
            place += 1
        return place

    def _read_whole(self, at: int) -> int | None:
        """Read `half an ether` and `a week`: a number that an article stands for."""
        tokens = self._tokens
        words = [one.word for one in tokens[at : at + 4]]
        value, place = Fraction(1), at + 1
        for start, share in (
            (("a", "quarter", "of", "an"), Fraction(1, 4)),
            (("quarter", "of", "an"), Fraction(1, 4)),
        ):
            after = at + len(start)
            if (
                tuple(words[: len(start)]) == start
                and after < len(tokens)
                and tokens[after].word == "hour"
            ):
                return self._add(
                    Mention(
                        MentionKind.QUANTITY,
                        at,
                        after + 1,
                        share,
                        unit=UnitKind.TIME,
                        unit_name="hour",
                    )
                )
        if words[:1] == ["half"] and words[1:2] and words[1] in {"a", "an"}:
            value, place = Fraction(1, 2), at + 2
        elif not words or words[0] not in {"a", "an"}:
            return None
        if place >= len(tokens) or tokens[place].kind is not TokenShape.WORD:
            return None
        word = tokens[place].word
        if word in _TIMES and len(word) > 3:  # noqa: PLR2004
            before = self._found[-1] if self._found else None
            if before is not None and before.end == at and before.kind is MentionKind.QUANTITY:
                return self._add(
                    Mention(MentionKind.REPEAT, at, place + 1, text=self._show(at, place + 1))
                )
            end = place + 1
            if value == 1 and [one.word for one in tokens[end : end + 3]] == ["and", "a", "half"]:
                value, end = Fraction(3, 2), end + 3
            return self._add(
                Mention(
                    MentionKind.QUANTITY, at, end, value, unit=UnitKind.TIME, unit_name=_TIMES[word]
                )
            )
        if value == 1:
            return None
        unit = self._known.find_unit(word)
        if unit is None:
            return None
        return self._add(
            Mention(
                MentionKind.QUANTITY,
                at,
                place + 1,
                value,
                unit=UnitKind.TOKEN,
                unit_name=unit[0],
                token_handle=unit[1],
            )
        )

    def _is_counted(self, at: int) -> bool:
        """Return whether a quantity begins at a token: `5`, `half an hour`, `a week`."""
        words = [one.word for one in self._tokens[at : at + 3]]
        if self._tokens[at].kind is TokenShape.NUMBER or words[0] in {"half", "quarter"}:
            return True
        noun = words[1] if len(words) > 1 else ""
        is_unit = noun in _TIMES or self._known.find_unit(noun) is not None
        return words[0] in {"a", "an"} and (is_unit or noun in {"half", "quarter", "couple"})

    def _read_period(self, at: int) -> int | None:
        """Read `the last of the month`: a time to come."""
        tokens = self._tokens
        if tokens[at].word not in english.PERIOD_ENDS or at + 2 >= len(tokens):
            return None
        place = at + 1
        if tokens[place].word != "of":
            return None
        place += 1
        while place < len(tokens) and tokens[place].word in english.DETERMINERS | {"next", "each"}:
            place += 1
        if place >= len(tokens) or tokens[place].word not in english.PERIODS:
            return None
        return self._add(Mention(MentionKind.LATER, at, place + 1, text=self._show(at, place + 1)))

    def _read_part(self, at: int) -> int | None:
        """Read `half of it`, `a tenth of our MILK`, `all my USDC`: a share of something named."""
        tokens = self._tokens
        place = at + (tokens[at].word in {"a", "one"} and at + 1 < len(tokens))
        divisor = english.FRACTIONS.get(tokens[place].word)
        if divisor is None:
            return None
        share = self._read_share(at, place + 1, Fraction(1, divisor))
        is_part = place + 1 < len(tokens) and tokens[place + 1].word == "of"
        if share is None and is_part:
            # `a third of 30 USDC`
            return self._add(Mention(MentionKind.PART, at, place + 2, text=tokens[place].text))
        return share

    def _read_share(self, first: int, at: int, share: Fraction) -> int | None:
        """Read the whole of a share: `of it`, `of my USDC`, `our balance`; None if absent."""
        words = [one.word for one in self._tokens[at : at + 4]]
        has_of = words[:1] == ["of"]
        words = words[has_of:]
        if has_of and words[:1] and words[0] in {"it", "that", "this", "them"}:
            end = at + 2
            if self._is_determiner(end - 1):
                return None
            return self._add(
                Mention(MentionKind.SAME, first, end, share, text=self._show(first, end))
            )
        if (
            not words
            or words[0] not in {"my", "our", "the"}
            or at + has_of + 1 >= len(self._tokens)
        ):
            return None
        place = at + has_of + 1
        unit = self._known.find_unit(self._tokens[place].word)
        if unit is None:
            return None
        end = place + 1
        if end < len(self._tokens) and self._tokens[end].word in {"balance", "tokens", "holdings"}:
            end += 1
        return self._add(
            Mention(
                MentionKind.ALL,
                first,
                end,
                share,
                self._show(first, end),
                UnitKind.TOKEN,
                unit[0],
                token_handle=unit[1],
            )
        )

    def _is_determiner(self, at: int) -> bool:
        """Return whether `that` and `this` belong to a noun that follows."""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        is_noun = (
            after is not None
            and after.kind is TokenShape.WORD
            and after.word not in _FUNCTION_WORDS
        )
        return self._tokens[at].word in {"that", "this"} and is_noun

    def _is_label(self, at: int, number: int) -> bool:
        """Return whether a word before a number is a word of the tools: `limit`, `max`."""
        return number == at + 1 and stem(self._tokens[at].word) in self._known.labels

    def _read_contrast(self, at: int, end: int) -> int | None:
        """Read `, not Ann` or `instead of Ann` at the end of a part: a person who is not meant."""
        tokens = self._tokens
        is_not = tokens[at].word == "not" and at > 0 and tokens[at - 1].text == ","
        is_instead = tokens[at].word == "instead" and end < len(tokens)
        start = end + 1 if is_instead and tokens[end].word == "of" else end
        if not (is_not or (is_instead and start > end)) or start >= len(tokens):
            return None
        found = self._known.find_name(tokens, start)
        if found is None:
            return None
        last = found[0]
        is_end = last >= len(tokens) or tokens[last].text in _ENDS
        name = self._show(start, last).lower()
        is_other = not any(
            one.kind is MentionKind.NAME and self._show(one.first, one.end).lower() == name
            for one in self._found
        )
        return self._add(Mention(MentionKind.COURTESY, at, last)) if is_end and is_other else None

    def _is_period(self, at: int, end: int) -> bool:
        """Return whether a quarter is three months: `the profit of the quarter`."""
        tokens = self._tokens
        before = [token.word for token in tokens[max(at - 2, 0) : at]]
        after = tokens[end].word if end < len(tokens) else ""
        is_noun = before[-1:] in (["the"], ["this"]) and before[:1] in (["of"], ["for"])
        return tokens[at].word == "quarter" and is_noun and after != "of"

    def _read_phrase(self, at: int, end: int, kind: MentionKind) -> int:
        tokens = self._tokens
        said = [token.word for token in tokens[at:end]]
        before = tokens[at - 1].word if at else ""
        if said == ["make", "it"] and (before.endswith("n't") or before in {"cant", "to", "not"}):
            # `I can't make it to the film`
            return end
        if kind in {MentionKind.NEGATION, MentionKind.EXCEPTION}:
            contrast = self._read_contrast(at, end)
            if contrast is not None:
                return contrast
        if kind is MentionKind.PART and at and tokens[at - 1].word == "how":
            return end
        is_counted = at > 0 and tokens[at - 1].kind is TokenShape.NUMBER and end == at + 1
        is_numbered = end < len(tokens) and tokens[end].kind is TokenShape.NUMBER
        is_counted |= is_numbered and said[0] in {"part", "share", "portion", "quarter"}
        if kind is MentionKind.PART and is_counted and stem(said[0]) in self._known.labels:
            return end
        if kind is MentionKind.PART and self._is_period(at, end):
            return self._add(Mention(MentionKind.COURTESY, at, end))
        if kind is MentionKind.SEQUENCE and end == at + 1 and said[0] in _ORDINALS:
            nouns = self._find_nouns(end)
            if nouns and nouns[0] in self._known.slot_names:
                value = Fraction(_ORDINALS[said[0]])
                return self._add(Mention(MentionKind.ORDINAL, at, end, value, labels=nouns))
        if (
            kind is MentionKind.SEQUENCE
            and at
            and tokens[at - 1].word in (english.DETERMINERS | _RANKING | english.QUESTION_OPENERS)
        ):
            return end
        if kind is MentionKind.SEQUENCE and end == at + 1 and self._is_named_so(at):
            return end
        if kind is MentionKind.SEQUENCE and end < len(tokens) and tokens[end].word == "of":
            # `at the end of the quarter`
            period = self._read_period(end - 1)
            if period is not None:
                return period
        is_noun = at > 0 and tokens[at - 1].word in english.ARTICLES | english.POSSESSIVES | {"'s"}
        is_noun = is_noun or (at > 0 and tokens[at - 1].word.endswith("'s"))
        if (
            kind is MentionKind.CONDITION
            and tokens[at].word in {"until", "till"}
            and (is_noun or self._has_value_after(end))
        ):
            # `the till of shop 4`
            return end
        after = tokens[end] if end < len(tokens) else None
        is_feast = tokens[at].word in {"christmas", "easter"} and after is not None
        if (
            kind is MentionKind.LATER
            and is_feast
            and after is not None
            and (after.kind is TokenShape.WORD and after.word not in _FUNCTION_WORDS)
        ):
            # `the tips from the christmas market`
            return end
        if (
            kind is MentionKind.CONDITION
            and end < len(tokens)
            and tokens[end].word in english.QUESTION_WORDS
        ):
            return end
        if kind is MentionKind.LATER and tokens[at].text in {"may", "march"}:
            return end
        if (
            kind is MentionKind.CONDITION
            and tokens[at].word == "before"
            and self._is_deadline(at, end)
        ):
            return self._read_clause(at)
        if kind is MentionKind.EACH and tokens[at].word == "every":
            kind = MentionKind.REPEAT
        is_day = end == at + 1 and tokens[at].word in english.WEEKDAYS | english.MONTHS
        if kind is MentionKind.LATER and is_day and self._is_attribute(at):
            return self._add(Mention(MentionKind.COURTESY, at, end))
        if (
            kind is MentionKind.ALL
            and end < len(tokens)
            and tokens[end - 1].word in {"my", "our", "the", "entire", "whole", "full"}
        ):
            unit = self._known.find_unit(tokens[end].word)
            if unit is not None:
                last = (
                    end
                    + 1
                    + (
                        end + 1 < len(tokens)
                        and tokens[end + 1].word in {"balance", "tokens", "holdings"}
                    )
                )
                return self._add(
                    Mention(
                        kind,
                        at,
                        last,
                        text=self._show(at, last),
                        unit=UnitKind.TOKEN,
                        unit_name=unit[0],
                        token_handle=unit[1],
                    )
                )
        if kind is MentionKind.ALL and end < len(tokens) and tokens[end].word == "in":
            return self._add(Mention(MentionKind.COURTESY, at, end))
        if kind is MentionKind.COURTESY and tokens[end - 1].word in _CLOSINGS:
            end = self._read_signature(end)
            return self._add(Mention(kind, at, end))
        if kind is MentionKind.REASON and self._is_start(at):
            return at + 1
        if (
            kind is MentionKind.REASON
            and end < len(tokens)
            and tokens[end].kind is TokenShape.QUOTATION
        ):
            return self._add(Mention(MentionKind.COURTESY, at, end))
        if kind is MentionKind.REASON:
            # Up to the end of the part: it says why.
            while end < len(tokens) and tokens[end].text not in _ENDS | {":"}:
                end += 1
            return self._add(Mention(kind, at, end, text=self._show(at, end)))
        if (
            kind is MentionKind.SAME
            and end + 1 < len(tokens)
            and tokens[end].word == "of"
            and (tokens[end + 1].kind is TokenShape.NUMBER or tokens[end + 1].text == "$")
        ):
            return self._add(Mention(MentionKind.COURTESY, at, end + 1))
        if (
            kind is MentionKind.EXCEPTION
            and tokens[at].word == "instead"
            and (end == len(tokens) or tokens[end].word != "of")
        ):
            return self._add(Mention(MentionKind.COURTESY, at, end))
        if (
            kind is MentionKind.ALL
            and end == at + 1
            and end < len(tokens)
            and tokens[end].word in {"good", "done", "right", "set"}
        ):
            return end
        return self._add(Mention(kind, at, end, text=self._show(at, end)))

    def _is_deadline(self, at: int, end: int) -> bool:
        """Return whether `before` gives a time that acting now keeps: `before the party`."""
        if any(token.word in english.NEGATIONS for token in self._tokens[max(at - 3, 0) : at]):
            return False
        subject = self._tokens[end].word if end < len(self._tokens) else ""
        if subject in {"he", "she", "they", "it", "you"} or (
            end < len(self._tokens) and self._known.find_name(self._tokens, end) is not None
        ):
            # What somebody else does, nobody here can know.
            return False
        for token in self._tokens[end:]:
            if token.text in _ENDS or token.word == "and":
                break
            if (
                token.kind is not TokenShape.WORD
                or token.word.endswith("ing")
                or stem(token.word) in self._known.verbs
            ):
                return False
        return at > 0

    def _is_named_so(self, at: int) -> bool:
        """Return whether `last` or the like belongs to a parameter's name: `last season 13`."""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        return (
            after is not None
            and stem(self._tokens[at].word) in self._known.labels
            and stem(after.word) in self._known.labels
        )

    def _has_value_after(self, at: int) -> bool:
        """Return whether a number follows, maybe with a noun: `until season 14`."""
        for token in self._tokens[at : at + 3]:
            if token.kind in {TokenShape.NUMBER, TokenShape.CLOCK, TokenShape.ORDINAL}:
                return True
            if token.kind is not TokenShape.WORD:
                return False
            if token.word not in english.DETERMINERS and stem(token.word) not in self._known.labels:
                return False
        return False

    def _is_attribute(self, at: int) -> bool:
        """Return whether a day or a month is an attribute: `the March payroll`, `for May`."""
        before = self._tokens[at - 1].word if at else ""
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if before in {
            "on",
            "by",
            "next",
            "until",
            "till",
            "before",
            "after",
            "every",
            "starting",
            "from",
            "in",
            "this",
            "since",
            "each",
        }:
            return False
        if after is not None and after.text == "'s":
            return True
        is_noun = (
            after is not None
            and after.kind is TokenShape.WORD
            and after.word not in _FUNCTION_WORDS
        )
        return (
            is_noun and (after is None or _TABLE.match(self._tokens, at + 1) is None)
        ) or before in {"for", "of"}

    def _read_signature(self, end: int) -> int:
        """Return the end of a closing with the name below, at the end of the text."""
        tokens, place = self._tokens, end
        while place < len(tokens) and tokens[place].kind is TokenShape.SIGN:
            place += 1
        names = place
        while (
            names < len(tokens)
            and tokens[names].kind is TokenShape.WORD
            and self._is_capital(names)
        ):
            names += 1
        rest = names
        while rest < len(tokens) and tokens[rest].kind is TokenShape.SIGN:
            rest += 1
        return rest if rest == len(tokens) and place > end and 1 <= names - place <= 2 else end  # noqa: PLR2004

    def _is_relative(self, at: int) -> bool:
        """Return whether a pronoun begins a relative clause: `the 5 USDC he lent me`."""
        if self._tokens[at].word not in {"he", "she", "they", "i", "we", "you"} or not at:
            return False
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        owner = self._owners[at - 1]
        is_value = owner >= 0 and self._found[owner].kind in {
            MentionKind.QUANTITY,
            MentionKind.NAME,
            MentionKind.QUOTATION,
        }
        return (
            is_value
            and after is not None
            and after.kind is TokenShape.WORD
            and self._tokens[at].is_spaced
        )

    def _read_clause(self, at: int) -> int:
        """Read up to the next sign or `and`: a clause of reason, or a relative one."""
        end = at + 1
        while (
            end < len(self._tokens)
            and self._tokens[end].text not in _ENDS | {":"}
            and self._tokens[end].word not in {"and", "then", "&"}
        ):
            end += 1
        return self._add(Mention(MentionKind.REASON, at, end, text=self._show(at, end)))

    def _is_pronoun(self, at: int) -> bool:
        """Return whether a word like `that` is a pronoun, and begins no clause."""
        word = self._tokens[at].word
        if word in {"it", "them", "they"}:
            return True
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if after is None or after.kind is TokenShape.SIGN:
            return True
        return after.word in english.PREPOSITIONS or after.word in english.JOINTS

    def _read_name(self, at: int, end: int, handle: str) -> int:
        tokens = self._tokens
        if end < len(tokens) and tokens[end].text == "'s":
            after = end + 1
            noun = tokens[after].word if after < len(tokens) else ""
            if noun.endswith("ing") or noun in AFTER_IS or is_past(noun):
                # `Priya's had a rough spring`
                return self._add(Mention(MentionKind.NAME, at, end, text=handle))
            if noun in {"new", "own", "next", "current", "old"}:
                # `Bruno's new role`
                noun = tokens[after + 1].word if after + 1 < len(tokens) else ""
            if noun in {"name", "behalf"} and at and tokens[at - 1].word in {"in", "on"}:
                # `book seat 4 in Ann's name`
                return self._add(Mention(MentionKind.NAME, at, after + 1, text=handle))
            if noun in {"wallet", "account", "address"} and noun == tokens[after].word:
                return self._add(Mention(MentionKind.NAME, at, after + 1, text=handle))
            if stem(noun) in self._known.words and noun:
                return self._add(Mention(MentionKind.NAME, at, end + 1, text=handle))
            is_word = after < len(tokens) and tokens[after].kind is TokenShape.WORD
            last = after + 1 if is_word else after
            return self._add(Mention(MentionKind.STRANGER, at, last, text=self._show(at, last)))
        if (
            end < len(tokens)
            and self._has_case
            and tokens[end].kind is TokenShape.WORD
            and self._is_capital(end)
            and self._known.find_name(tokens, end) is None
            and handle not in self._known.tokens
            and stem(tokens[end].word) not in self._known.words
        ):
            return self._add(
                Mention(MentionKind.STRANGER, at, end + 1, text=self._show(at, end + 1))
            )
        return self._add(Mention(MentionKind.NAME, at, end, text=handle))

    def _is_ordinary(self, at: int, handle: str) -> bool:
        """Return whether a name is meant as an ordinary word."""
        token = self._tokens[at]
        if token.text == handle or token.word not in _ORDINARY:
            return False
        return at == 0 or self._tokens[at - 1].word not in english.DETERMINERS

    def _is_capital(self, at: int) -> bool:
        text = self._tokens[at].text
        return text[:1].isupper() and text != "I" and not text.startswith(("I'", "I\u2019"))

    def _is_stranger(self, at: int) -> bool:
        token = self._tokens[at]
        if not self._has_case or not self._is_capital(at) or self._is_start(at) or self._is_result:
            return False
        if token.word in _FUNCTION_WORDS or stem(token.word) in self._known.words:
            return False
        return self._known.find_unit(token.word) is None

    def _is_start(self, at: int) -> bool:
        """Return whether a token begins a sentence or a line."""
        if at == 0:
            return True
        before = self._tokens[at - 1]
        return before.text in {
            ".",
            "!",
            "?",
            ":",
            ";",
            "\n",
            "-",
            "\u2013",
            "\u2014",
            "\u2022",
            "*",
            "(",
            ")",
        }

    def _show(self, first: int, end: int) -> str:
        return self._text[self._tokens[first].start : self._tokens[end - 1].end]


_VERB_STEMS = frozenset(
    stem(verb) for verbs in english.VERBS.values() for verb in verbs if " " not in verb
)
_FINITE_WORDS = frozenset("goes go gets get is are was has have should must will please".split())  # noqa: SIM905
_ENDS = frozenset((",", ".", ";", "!", "?", "\n", "(", ")", "\u2014", "\u2013"))
_CLOSINGS = frozenset(
    "thanks thank you thx cheers regards wishes sincerely yours ty best advance".split()  # noqa: SIM905
)
_ABBREVIATIONS = frozenset(("e.g", "i.e", "a.m", "p.m", "u.s", "p.s", "a.s.a.p", "o.k"))
_ORDINARY = frozenset(
    "will may mark bill rob sue pat art grant chase hope joy can till board vault bank safe".split()  # noqa: SIM905
)
_FUNCTION_WORDS = frozenset(
    english.DETERMINERS
    | english.PREPOSITIONS
    | english.AUXILIARIES
    | english.SUBJECTS
    | english.QUESTION_WORDS
    | english.JOINTS
    | english.SELF
    | english.HIM
    | english.IT
    | {
        "or",
        "either",
        "if",
        "because",
        "not",
        "no",
        "than",
        "too",
        "also",
        "just",
        "please",
        "each",
        "both",
        "all",
    }
)
