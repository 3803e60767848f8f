"""Roles of tools: whether a tool writes, and purposes and units of the parameters.

A parameter has a role, by type, marker, name and description. A value fills a parameter of the same
role alone: a recipient is no token, and 5 USDC are no 5 DAI.

    "to" (address): who is paid                                    recipient
    "asset" (address): the token to deposit                        token
    "amount" (positive integer): USDC to send, 6 decimals          an amount of USDC
    "value" (positive integer): in wei                             an amount of the native currency
    "days" (positive integer): number of days                      a number of days
    "seat" (positive integer)                                      a plain integer

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.abi_types import Kind
from precompiles.short_format.english import (
    ACTIONS,
    AUXILIARIES,
    DETERMINERS,
    INWARD,
    JOINTS,
    LOOK_STARTS,
    LOOKED,
    OUTWARD,
    PARTICLES,
    PREPOSITIONS,
    QUESTION_WORDS,
    READ_STARTS,
    SUBJECTS,
    TOOL_VERBS,
    VERBS,
)
from precompiles.short_format.phrases import stem
from precompiles.spec import MAX_CHOSEN_NUMBERS
from precompiles.stated_values import read_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ParamDescription
    from precompiles.abi_types import AbiType
    from precompiles.address_handles import AddressBook
    from precompiles.tool_metadata import Tool

_FLAGS = re.ASCII | re.IGNORECASE


class ValueRole(Enum):
    """The purpose of a parameter, or of a leaf of a typed text."""

    AMOUNT = auto()
    """Of a token or of the native currency, in base units."""

    COUNT = auto()
    """A plain integer."""

    PERCENT = auto()
    TIME = auto()
    """A number of seconds, hours, days, …"""

    HOUR = auto()
    """An hour of the day."""

    RECIPIENT = auto()
    SOURCE = auto()
    PARTY = auto()
    """An account: a recipient or a source."""

    TOKEN = auto()
    CONTRACT = auto()
    TRUTH = auto()
    TEXT = auto()
    CHOICE = auto()
    """One of a closed set of texts."""

    DATA = auto()
    """Hexadecimal digits."""


ADDRESSES = frozenset(
    (ValueRole.RECIPIENT, ValueRole.SOURCE, ValueRole.PARTY, ValueRole.TOKEN, ValueRole.CONTRACT)
)
NUMBERS = frozenset(
    (ValueRole.AMOUNT, ValueRole.COUNT, ValueRole.PERCENT, ValueRole.TIME, ValueRole.HOUR)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """The unit of a parameter, or of a number in a text."""

    name: str = ""
    """Of an amount: the token's symbol in lower case, `native`, or empty if it is unknown. Of a
    time: `day`, …"""

    decimals: int = 0
    """Base units of an amount, as a power of ten."""

    aliases: tuple[str, ...] = ()
    """Words of the token's name that stand for it, in lower case: `points`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSlot:
    """A parameter, or a leaf of a typed text, that a value fills."""

    role: ValueRole
    kind: ParamType
    name: str
    is_list: bool = False
    unit: Unit = field(default_factory=Unit)
    names: frozenset[str] = frozenset()
    """Stems of the words of its name."""

    labels: frozenset[str] = frozenset()
    """Stems of the nouns by which a request may name it: `seat 9`."""

    limits: range | None = None
    """Integers that it admits; None: those of its type."""

    stated: tuple[str, ...] | None = None
    """Texts that it admits, in JSON."""

    is_chosen: bool = False
    """Whether a model may choose its value where the request says none."""

    abi_type: AbiType | None = None
    percent_factor: int = 0
    """Its units in one per cent; 0 if it takes no percentages."""

    options: tuple[str, ...] = ()
    """Words that its description lists for a text: `its name: porch, hall or cellar`."""

    is_id: bool = False
    """Whether it tells which one, and not how many."""

    named: tuple[tuple[str, int], ...] = ()
    """Stems of words that its description gives for integers: `0 = against, 1 = for`."""

    places: int | None = None
    """Of a decimal number in a text: how many digits may follow its point. `limits` are in the last
    of them."""

    default: str = ""
    """The value of a search's limit where the request has none, in JSON: that which the description
    calls the default, else the end of a stated range. Empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """A parameter with slots: one, or those of a typed text's leaves."""

    name: str
    slots: tuple[ParameterSlot, ...]
    is_list: bool
    text_type: AbiType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRoles:
    """The roles that a tool states."""

    index: int
    name: str
    parameters: tuple[ToolParameter, ...]
    words: frozenset[str]
    """Stems of all its texts."""

    name_words: frozenset[str]
    """Stems of its name, and of the first word of its description."""

    heads: frozenset[str]
    """Stems of the first words of its name and its description."""

    verbs: frozenset[str]
    """Names of the meanings in `VERBS` that its own verbs have."""

    handles: frozenset[str]
    """Handles that its texts name: its token, its target."""

    is_read: bool
    """Whether it changes nothing."""

    is_agent: bool = False
    """Whether it is an agent, whose prompt is a whole order."""

    particle: str = ""
    """The particle of its name: `checkOut`."""

    examples: frozenset[str] = frozenset()
    """Stems of texts that its descriptions give as examples: `such as "librarian"`."""

    said: frozenset[str] = frozenset()
    """Its words as they are written, in lower case."""

    inward: frozenset[str] = frozenset()
    """Stems of the nouns into which it moves something: `into the pool`."""

    outward: frozenset[str] = frozenset()

    @property
    def slots(self) -> tuple[ParameterSlot, ...]:
        """The slots of all parameters."""
        return tuple(slot for parameter in self.parameters for slot in parameter.slots)

    @property
    def is_search(self) -> bool:
        """Whether the tool reads, and takes a question or a query; it may have limits besides."""
        slots = [slot for slot in self.slots if not slot.default]
        if not self.is_read or self.is_agent or len(slots) != 1:
            return False
        (slot,) = slots
        is_text = slot.role is ValueRole.TEXT and not slot.options and not slot.is_list
        return is_text and slot.abi_type is None and self._is_query(slot)

    def _is_query(self, slot: ParameterSlot) -> bool:
        """Return whether a text is what a search looks for."""
        if not slot.names.isdisjoint(_QUERIES) or not slot.labels.isdisjoint(_QUESTIONS):
            return True
        return slot.labels <= _UNSAID and not self.name_words.isdisjoint(_SEARCHING)

    @property
    def moves(self) -> bool:
        """Whether the tool moves an amount, a token, or something to a person."""
        strict = {ValueRole.AMOUNT, ValueRole.RECIPIENT, ValueRole.TOKEN, ValueRole.SOURCE}
        return not self.is_read and any(slot.role in strict for slot in self.slots)


_QUERIES = frozenset(
    map(stem, "query question search searched term terms keyword keywords topic".split())  # noqa: SIM905
)
"""Words of the name of a search's text."""

_QUESTIONS = frozenset(map(stem, ("query", "question", "keyword", "keywords", "topic")))
"""Words of its description."""

_SEARCHING = frozenset(map(stem, "search find lookup look retrieve query ask consult".split()))  # noqa: SIM905
"""Words of a search's name, or the first one of its description."""

_UNSAID = frozenset(
    map(stem, "word words term terms phrase find look search input plain english".split())  # noqa: SIM905
)
"""Words of a description that says no more than that it is a text."""

MARKER = re.compile(r" ?\[call:(?P<mode>reads|writes)(?P<targets>(?: 0x[0-9a-fA-F]{40})*)\]\Z")
"""What an `AbiTool` says at the end of its description: whether it writes, and what it calls."""

_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]+s\\b")
_PLAIN = re.compile("[A-Za-z]+(?:'[a-z]+)?")
_DECIMALS = re.compile(
    r"(?P<symbol>[^\s,;()]+)?(?: \((?P<name>[^()]{1,64})\))?(?: to \w+)?(?:,|;| with| in)? *"
    r"(?P<decimals>\d{1,2}) decimals",
    _FLAGS,
)
_POWER = re.compile(r"(?<![\w.])(?:10 ?(?:\^|\*\*) ?|1e)(\d{1,2})(?!\d)", _FLAGS)
_SUB_UNIT = re.compile(
    r"(?<![a-z])in (?P<unit>wei|gwei|cents?|hundredths?|thousandths?|millionths?|satoshis?|"
    r"base units|smallest units?)(?: of (?:the )?(?P<symbol>\S+))?(?![a-z])",
    _FLAGS,
)
_WHOLE = re.compile(r"(?<![a-z])in whole (?P<symbol>[0-9A-Za-z]+)", re.ASCII)
_SUB_DECIMALS = {
    "wei": 18,
    "gwei": 9,
    "cent": 2,
    "hundredth": 2,
    "thousandth": 3,
    "millionth": 6,
    "satoshi": 8,
}
_EACH = re.compile(r"(?<![a-z])a (hundred|thousand|million|billion) each", _FLAGS)
_EACH_DECIMALS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9}
_MAX_DECIMALS = 77
_TIME = re.compile(r"(?<![a-z])(second|minute|hour|day|week|month|year)s?(?![a-z])", _FLAGS)
_CLOCK_HOUR = re.compile(
    r"hour of (?:the )?day|o'?clock|(?:at|from|until) (?:what|which) hour", _FLAGS
)
_HOURS_OF_DAY = re.compile("(?:0|1) to 2[34]")
_HOUR_NAMES = frozenset("time from to start end begin until till at open close when".split())  # noqa: SIM905
_PERCENT = re.compile(
    "percent|per cent|%|slippage|basis points?|bps|"
    "(?<![a-z])(?:royalty|commission|interest|quorum|margin|discount)(?![a-z])",
    _FLAGS,
)
BASIS_POINTS = re.compile("basis points?|bps", _FLAGS)
_RECIPIENT = frozenset(
    "to recipient recipients receiver receivers beneficiary payee payees "  # noqa: SIM905
    "destination dest dst heir winner receives gets".split()
)
_SOURCE = frozenset("from sender source payer spends".split())  # noqa: SIM905
_TOKENS = frozenset("token tokens asset assets currency coin coins collateral".split())  # noqa: SIM905
_CONTRACTS = frozenset("spender operator contract pool vault target market".split())  # noqa: SIM905
_PEOPLE = frozenset("who whom whose person people user member account owner holder friend".split())  # noqa: SIM905
_EMPTY = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "to",
        "in",
        "on",
        "for",
        "by",
        "and",
        "or",
        "with",
        "that",
        "which",
        "who",
        "it",
        "its",
        "is",
        "are",
        "be",
        "how",
        "many",
        "much",
        "number",
        "amount",
        "this",
        "from",
        "as",
        "at",
        "what",
        "whom",
        "whose",
        "one",
        "any",
        "no",
        "not",
        "each",
        "per",
        "if",
        "their",
        "his",
        "her",
        "they",
        "whether",
        "value",
        "values",
        "id",
        "ids",
        "text",
        "list",
    ]
)
"""Words of descriptions that tell nothing."""


_EXAMPLE = re.compile('"[^"]*"')
"""A text that a description gives as an example, whose words are a value's."""

_GENERIC = frozenset(
    map(stem, ("make", "give", "put", "set", "take", "let", "get", "change", "do", "have", "calls"))
)
"""First words of descriptions that say too little of what a tool does."""

_FUNCTION = PREPOSITIONS | AUXILIARIES | SUBJECTS | JOINTS | QUESTION_WORDS


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; a name in camel case has several."""
    return tuple(match[0].lower() for match in _WORD.finditer(text))


def read_mode(tool: Tool) -> tuple[str, bool | None, frozenset[bytes]]:
    """Return a tool's description without marker, whether the tool reads, and the called functions.

    None in place of a truth value if the description does not state whether the tool reads.
    """
    found = MARKER.search(tool.description)
    if found is None:
        return tool.description, None, frozenset()
    targets = (bytes.fromhex(each[2:]) for each in found["targets"].split())
    return tool.description[: found.start()], found["mode"] == "reads", frozenset(targets)


def read_tool(index: int, tool: Tool, book: AddressBook, native: str) -> ToolRoles:
    """Read the roles that a tool states.

    Input:  the tool's place in the call; the metadata; the handles; the native currency's symbol.
    """
    description, is_read, _ = read_mode(tool)
    shown = book.intern(description)
    handles = [handle for handle, _ in book.handles]
    parameters = tuple(_read_parameter(each, book, native) for each in tool.parameters)
    named = split_words(tool.name)
    described = [word.lower() for word in _PLAIN.findall(shown)]
    about = [
        word
        for each in tool.parameters
        for word in (
            *split_words(each.name),
            *split_words(_EXAMPLE.sub(" ", each.plain_description)),
        )
    ]
    words = frozenset(
        stem(word)
        for word in (*named, *described, *split_words(shown), *about)
        if word not in _EMPTY
    )
    quoted = " ".join(
        text for each in tool.parameters for text in _EXAMPLE.findall(each.plain_description)
    )
    examples = frozenset(map(stem, split_words(quoted))) - words
    first = described[:1]
    if is_read is None:
        is_read = _reads(named, described)
    own = [word for word in first if stem(word) not in _GENERIC]
    name_words = frozenset(stem(word) for word in (*named, *own) if word not in _FUNCTION)
    texts = f"{tool.name} {shown} " + " ".join(
        book.intern(each.plain_description) for each in tool.parameters
    )
    return ToolRoles(
        index=index,
        name=tool.name,
        parameters=parameters,
        words=words | examples,
        examples=examples,
        name_words=name_words,
        heads=frozenset(stem(word) for word in (*named[:1], *own) if word not in _FUNCTION),
        verbs=_find_verbs(named, described),
        handles=_find_handles(texts, handles),
        is_read=is_read,
        is_agent=_is_agent(tool),
        particle=next((word for word in named[1:2] if word in PARTICLES), ""),
        said=frozenset((*named, *described, *about)),
        inward=_find_nouns_after(described, INWARD),
        outward=_find_nouns_after(described, OUTWARD),
    )


def _reads(named: Sequence[str], described: Sequence[str]) -> bool:
    """Return whether a tool without a marker states that it only reads; if in doubt, false."""
    is_named_so = (
        named[:1] != [] and named[0] in {"search", "find", "lookup"} and described[:1] == ["finds"]
    )
    is_looking = (
        is_named_so
        or described[:2] == ["adds", "up"]
        or (
            described[:1] != []
            and described[0] in LOOK_STARTS
            and described[1:2] != []
            and described[1] in LOOKED
        )
    )
    if not described or not (described[0] in READ_STARTS or is_looking):
        return False
    is_given_back = described[0] == "returns" and not {"to", "back"}.isdisjoint(described[1:])
    acts = {verb for verbs in TOOL_VERBS.values() for verb in verbs} - {
        "find",
        "search",
        "look up",
        "score",
        "rate",
        "title",
        "name",
    }
    is_noun = tuple(named[1:2]) == ("of",)
    return not is_given_back and (is_noun or not (named[:1] and named[0] in acts))


def _find_nouns_after(described: Sequence[str], prepositions: frozenset[str]) -> frozenset[str]:
    found = set()
    for place, word in enumerate(described):
        if word not in prepositions:
            continue
        nouns: list[str] = []
        for each in described[place + 1 : place + 6]:
            if (each in DETERMINERS or each == "of") and not nouns:
                continue
            if each in DETERMINERS:
                break
            if each in _FUNCTION:
                break
            nouns.append(stem(each))
        found.update(nouns[-1:])
    return frozenset(found)


def _is_agent(tool: Tool) -> bool:
    """Return whether a tool has the one parameter of an `IERCAgent`."""
    if len(tool.parameters) != 1:
        return False
    (only,) = tool.parameters
    return only.name == "prompt" and only.param_type is ParamType.STRING and only.abi_type is None


def _find_verbs(named: Sequence[str], described: Sequence[str]) -> frozenset[str]:
    """Return the meanings of a tool's verbs: of the name's first word, and of the description."""
    own = {stem(word) for word in described[:1] if stem(word) not in _GENERIC}
    first = {stem(word) for word in named[:1] if len(named) == 1 or stem(word) not in _GENERIC}
    if named[1:2] and named[1] in PARTICLES:
        first.add(f"{stem(named[0])} {named[1]}")
    acts = {ACTIONS[word] for word in named[1:] if word in ACTIONS} if first & _LIGHT else set()
    made = {of for of, verbs in _TOOL_STEMS.items() if not verbs.isdisjoint(map(stem, acts))}
    # The name says more than the description, and a function's usual verb more than another.
    for firsts, table in (
        (first, _TOOL_STEMS),
        (own, _TOOL_STEMS),
        (first, _VERB_STEMS),
        (own, _VERB_STEMS),
    ):
        found = {meaning for meaning, verbs in table.items() if not verbs.isdisjoint(firsts)}
        if found:
            return frozenset(found | made | (own & {"wrap", "unwrap"}))
    return frozenset(made)


_LIGHT = frozenset(
    map(stem, ("add", "create", "place", "issue", "post", "write", "record", "file", "submit"))
)
"""First words of names whose noun is what the tool does: `add_note`, `placeBid`."""


def _stem_first(phrase: str) -> str:
    verb, _, particle = phrase.partition(" ")
    return f"{stem(verb)} {particle}".strip()


_TOOL_STEMS = {of: frozenset(map(_stem_first, verbs)) for of, verbs in TOOL_VERBS.items()}
_VERB_STEMS = {of: frozenset(map(_stem_first, verbs)) for of, verbs in VERBS.items()}


def _find_handles(text: str, handles: Sequence[str]) -> frozenset[str]:
    lowered = {handle.lower(): handle for handle in handles}
    return frozenset(
        lowered[piece.lower()]
        for piece in re.findall(r"[0-9A-Za-z_](?:[0-9A-Za-z_.\-]*[0-9A-Za-z_])?", text)
        if piece.lower() in lowered
    )


# -- parameters -- #


def _read_parameter(parameter: ParamDescription, book: AddressBook, native: str) -> ToolParameter:
    is_list, of = parameter.param_type >= ParamType.STRING_ARRAY, parameter.text_type
    if of is None:
        slot = _read_slot(parameter, parameter.kind, book, native, is_list=is_list)
        return ToolParameter(name=parameter.name, slots=(slot,), is_list=is_list)
    lists = _find_lists(of, is_list=is_list)
    slots = tuple(
        _read_slot(parameter, kind, book, native, is_list=in_list, leaf=leaf)
        for kind, leaf, in_list in zip(parameter.leaf_kinds, of.leaves, lists, strict=True)
    )
    return ToolParameter(name=parameter.name, slots=slots, is_list=is_list, text_type=of)


def _find_lists(of: AbiType, *, is_list: bool) -> tuple[bool, ...]:
    """Return whether each leaf of a type is in a list."""
    if not of.parts:
        return (is_list,)
    is_list = is_list or of.kind is not Kind.TUPLE
    return tuple(one for part in of.parts for one in _find_lists(part, is_list=is_list))


def _read_slot(  # noqa: PLR0913 - a parameter and its leaf
    parameter: ParamDescription,
    kind: ParamType,
    book: AddressBook,
    native: str,
    *,
    is_list: bool,
    leaf: AbiType | None = None,
) -> ParameterSlot:
    description = book.intern(parameter.plain_description)
    named = split_words(parameter.name)
    limits = parameter.limits if leaf is None else leaf.numbers
    places = None
    decimal = _DECIMAL.search(description) if kind is ParamType.STRING and leaf is None else None
    if decimal is not None:
        places, limits = _read_decimal(decimal["least"], decimal["most"])
        description = description[: decimal.start()]
    labels = frozenset(
        stem(word) for word in (*named, *split_words(description)) if word not in _EMPTY
    )
    if decimal is not None:
        role, unit = ValueRole.COUNT, Unit()
    elif leaf is not None and leaf.kind in {Kind.BYTES, Kind.FIXED_BYTES}:
        role, unit = ValueRole.DATA, Unit()
    else:
        role, unit = _find_role(kind, named, description, parameter, native)
    stated = read_texts(parameter.plain_description) if role is ValueRole.CHOICE else None
    percent = 0
    if role is ValueRole.PERCENT:
        percent = 100 if BASIS_POINTS.search(f"{' '.join(named)} {description}") else 1
    return ParameterSlot(
        role=role,
        kind=kind,
        name=parameter.name,
        is_list=is_list,
        unit=unit,
        names=frozenset(stem(word) for word in named if word not in _EMPTY),
        labels=labels,
        limits=limits if isinstance(limits, range) else None,
        stated=stated,
        is_chosen=leaf is None and not is_list and _can_be_chosen(parameter),
        abi_type=leaf,
        percent_factor=percent,
        is_id=role is ValueRole.COUNT
        and _ID.search(f"{' '.join(named)} {description}") is not None,
        options=_find_options(description) if kind is ParamType.STRING and places is None else (),
        places=places,
        named=_find_named(description)
        if kind in {ParamType.INT, ParamType.UINT}
        else _find_truths(description)
        if role is ValueRole.TRUTH
        else (),
        default=_find_default(description, parameter, limits)
        if role is ValueRole.COUNT and places is None
        else "",
    )


_DECIMAL = re.compile(
    r" ?\(a decimal, (?P<least>-?\d{1,76}(?:\.\d{1,76})?)"
    r" to (?P<most>-?\d{1,76}(?:\.\d{1,76})?)\)\Z",
    re.ASCII,
)
"""What a `ModelTool` says of a decimal: `(a decimal, 0.0 to 60.0)`."""


def _read_decimal(least: str, most: str) -> tuple[int, range]:
    """Return how many digits follow the point, and the numbers in the last of them."""
    places = max(len(text.partition(".")[2]) for text in (least, most))
    first, last = (int(Fraction(text) * 10**places) for text in (least, most))
    return places, range(first, last + 1)


_DEFAULT = re.compile(
    r"(?<![a-z])(?:defaults?(?: to| is|:| =)? (?P<number>\d{1,6})(?![\w.])|"
    r"(?P<before>\d{1,6}) (?:by default|is the default)(?![a-z]))",
    _FLAGS,
)


def _find_default(
    description: str, parameter: ParamDescription, limits: range | tuple[str, ...] | None
) -> str:
    """Return the number that a count has where nothing is said: `1 to 8, default 3`."""
    if parameter.param_type >= ParamType.STRING_ARRAY:
        return ""
    found = _DEFAULT.search(description)
    if found is not None:
        number = int(found["number"] or found["before"])
        return str(number) if not isinstance(limits, range) or number in limits else ""
    stated = parameter.values
    return str(stated[-1]) if isinstance(stated, range) and _can_be_chosen(parameter) else ""


_NAMED = re.compile(
    r"(?<![\w.])(?P<number>\d{1,3}) ?(?:=|is|means|:|for|stands for|turns it) (?:the )?"
    r"(?P<word>[A-Za-z][A-Za-z-]+(?: [A-Za-z]+){0,2})",
    _FLAGS,
)


_ID = re.compile(
    r"(?<![a-z])(?:id|index|number of (?:the|its)|(?:its|the)(?: [a-z]+)?'s number|[a-z]'s number)"
    r"(?![a-z])",
    _FLAGS,
)


_OPTIONS = re.compile(
    r"(?::|such as|e\.g\.|like) (?P<list>[\w-]+(?:, [\w-]+)*,? (?:or|and) [\w-]+)", _FLAGS
)


def _find_options(description: str) -> tuple[str, ...]:
    found = _OPTIONS.search(description)
    return () if found is None else tuple(re.split(r",? (?:or|and) |, ", found["list"]))


def _find_named(description: str) -> tuple[tuple[str, int], ...]:
    """Return the words that a description gives for at least two integers."""
    found = {
        " ".join(map(stem, match["word"].lower().split())): int(match["number"])
        for match in _NAMED.finditer(description)
    }
    days = [stem(day) for day in _DAYS]
    known = [(days.index(word), number) for word, number in found.items() if word in days]
    if len(known) > 1:
        shifts = {number - place for place, number in known} | {
            number - place + 7 for place, number in known if number < place
        }
        if len(shifts) == 1:
            shift = shifts.pop()
            found.update({day: place + shift for place, day in enumerate(days)})
    is_enough = len(found) > 1 or not _NOTHING.isdisjoint(found)
    return tuple(found.items()) if is_enough else ()


_TRUTHS = re.compile(
    r"(?<![a-z])(?P<truth>true|false) (?:for|means|if|is|=|to) (?:the |a |it's )?"
    r"(?P<word>[a-z]{2,30})",
    _FLAGS,
)


def _find_truths(description: str) -> tuple[tuple[str, int], ...]:
    """Return the words that a description gives for true and false: `true for the early shift`."""
    found = {
        stem(match["word"].lower()): int(match["truth"].lower() == "true")
        for match in _TRUTHS.finditer(description)
    }
    return tuple(found.items()) if len(found) > 1 else ()


_NOTHING = frozenset(("off", "none", "never"))
"""Words for which one integer stands alone: `0 turns it off`."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _find_role(
    kind: ParamType,
    named: tuple[str, ...],
    description: str,
    parameter: ParamDescription,
    native: str,
) -> tuple[ValueRole, Unit]:
    if kind is ParamType.BOOL:
        return ValueRole.TRUTH, Unit()
    if kind is ParamType.STRING:
        return (
            ValueRole.CHOICE
            if parameter.abi_type is None and read_texts(description)
            else ValueRole.TEXT
        ), Unit()
    if kind is ParamType.ADDRESS:
        return _find_address_role(named, description), Unit()
    return _find_number_role(named, description, native)


def _can_be_chosen(parameter: ParamDescription) -> bool:
    """Return whether a parameter states few enough numbers for a model to choose one."""
    values = parameter.values
    return isinstance(values, range) and values.stop - values.start <= MAX_CHOSEN_NUMBERS


def _find_address_role(named: tuple[str, ...], description: str) -> ValueRole:
    words = [*named, *split_words(description)]
    own = set(named)
    if own & _TOKENS:
        return ValueRole.TOKEN
    if own & _RECIPIENT and not own & _SOURCE:
        return ValueRole.RECIPIENT
    if own & _SOURCE:
        return ValueRole.SOURCE
    if own & _CONTRACTS:
        return ValueRole.CONTRACT if not set(words) & _PEOPLE else ValueRole.PARTY
    if set(words) & _TOKENS and not set(words) & _PEOPLE:
        return ValueRole.TOKEN
    if set(words) & _RECIPIENT - {"to"}:
        return ValueRole.RECIPIENT
    return ValueRole.PARTY


def _find_number_role(
    named: tuple[str, ...], description: str, native: str
) -> tuple[ValueRole, Unit]:
    text = f"{' '.join(named)} {description}"
    decimals = _DECIMALS.search(description)
    if decimals is not None and int(decimals["decimals"]) <= _MAX_DECIMALS:
        name = _name_unit(decimals["symbol"] or "", native)
        aliases = _find_aliases(decimals["name"] or "")
        return ValueRole.AMOUNT, Unit(
            name=name, decimals=int(decimals["decimals"]), aliases=aliases
        )
    whole = _WHOLE.search(description)
    if whole is not None and _name_unit(whole["symbol"], native):
        return ValueRole.AMOUNT, Unit(name=_name_unit(whole["symbol"], native))
    power = _POWER.search(description)
    if power is not None and int(power[1]) <= _MAX_DECIMALS:
        return ValueRole.AMOUNT, Unit(decimals=int(power[1]))
    each = _EACH.search(description)
    if each is not None:
        return ValueRole.AMOUNT, Unit(decimals=_EACH_DECIMALS[each[1].lower()])
    sub = _SUB_UNIT.search(description)
    if sub is not None:
        word = sub["unit"].lower().rstrip("s") if sub["unit"].lower() != "base units" else ""
        symbol = _name_unit(sub["symbol"] or "", native)
        if word in {"wei", "gwei"} and not symbol:
            symbol = "native"
        return ValueRole.AMOUNT, Unit(name=symbol, decimals=_SUB_DECIMALS.get(word, 0))
    if _PERCENT.search(text):
        return ValueRole.PERCENT, Unit()
    is_of_day = _HOURS_OF_DAY.search(text) and not _HOUR_NAMES.isdisjoint(named)
    if _CLOCK_HOUR.search(text) or "hour" in named or is_of_day:
        return ValueRole.HOUR, Unit(name="hour")
    times = {match[1].lower() for match in _TIME.finditer(text)}
    if len(times) == 1:
        return ValueRole.TIME, Unit(name=next(iter(times)))
    return ValueRole.COUNT, Unit()


def _find_aliases(name: str) -> tuple[str, ...]:
    """Return the words that a token's name gives for units: the last one in the singular."""
    words = [word for word in re.findall("[A-Za-z]+", name.lower()) if word not in _COMMON_NAMES]
    return (words[-1].removesuffix("s"),) if words else ()


_COMMON_NAMES = frozenset(
    "token tokens coin coins stablecoin usd dollar dollars euro euros "  # noqa: SIM905
    "ether wrapped share shares unit units".split()
)
"""Last words of tokens' names that say too little: `USD Coin` is no coin."""


def _name_unit(symbol: str, native: str) -> str:
    """Return the name of the unit that a description's symbol is; empty for a plain word."""
    bare = symbol.strip("()[]{}'\".,")
    if not bare or not any(character.isupper() for character in bare):
        return ""
    return "native" if bare.lower() == native.lower() else bare.lower()
