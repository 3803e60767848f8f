"""Which value of a parameter a mention gives, if any: exact, in the parameter's own unit.

    amount of USDC, 6 decimals      5 USDC > 5000000        5 cents of USDC > 50000     5 DAI: none
    in seconds                      36 hours > 129600       5 USDC: none
    a recipient                     Bob                     USDC, the tool's target: none

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.short_format.call_text import show_number
from precompiles.short_format.english import ALL_WORDS, MEASURES, MONEY_NOUNS, OF_RESULTS
from precompiles.short_format.mentions import SUB_UNITS, Mention, MentionKind, UnitKind
from precompiles.short_format.phrases import stem
from precompiles.short_format.roles import (
    ADDRESSES,
    NUMBERS,
    ParameterSlot,
    ValueRole,
    split_words,
)
from precompiles.stated_values import is_free, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.short_format.mentions import KnownWords
    from precompiles.short_format.roles import ToolRoles


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something can't be."""

    reason: str
    """A key of `reasons.TEXTS`."""

    text: str = ""
    """The words that it is about."""

    progress: int = 0
    """How far the tool got: the most useful reason is that of the tool that got furthest."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a slot: one in JSON, or some among which the model chooses."""

    texts: tuple[str, ...] = ()
    numbers: range | None = None
    """A range that the description states, from which the model chooses."""

    reference: str = ""
    """What stands for an amount of a result that is not known yet; empty for a value."""

    @property
    def is_known(self) -> bool:
        """Whether there is exactly one value."""
        return len(self.texts) == 1 and self.numbers is None and not self.reference


@dataclass(frozen=True, slots=True)
class Item:
    """A mention of an order that may fill a slot."""

    mention: Mention
    preposition: str = ""
    inherited_unit: str = ""
    """The unit of the quantity before it, of a number without one: `6 DAI to Ann and 7 to Ben`."""

    is_told: bool = False
    """Whether a sentence before the order has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The possible meanings of an order's values."""

    known: KnownWords
    first: int = 0
    """The first token of the order."""

    siblings: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Of each tool by its index, stems of the other tools of the same contract."""

    acts: frozenset[str] = frozenset()
    """Stems of the names of all tools that write."""

    is_lenient: bool = False
    """Whether an order's verb may be one that no list has."""

    forbidden: frozenset[str] = frozenset()
    """Handles of tokens and targets, which are no recipients."""

    unit_names: frozenset[str] = frozenset()
    """Units of the amounts of all tools that write."""

    has_bare_amount: bool = False
    """Whether a tool that writes has an amount without a unit."""

    stranger: str = ""
    """Who was named before the order, and is unknown."""

    people: tuple[str, ...] = ()
    """Handles that were named before the order, each once."""

    quantities: tuple[Mention, ...] = ()
    """All quantities of the request, in order."""

    prior: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Of each call of the order before: names of plain parameters with their values."""

    prior_tokens: tuple[str, ...] = ()
    """The tokens of the calls of the order before, in JSON, each once."""

    antecedents: tuple[tuple[Item, ...], ...] = ()
    """The values of the parts before the order, the nearest first."""

    until: int = 0
    """The end of the order's sentence, or the next order's first token."""

    before: int = -1
    """The first token of the sentence before the order; -1 for none."""

    told_spans: tuple[tuple[int, int], ...] = ()
    """First token and end of each part of it."""

    told: tuple[str, ...] = ()
    """The texts that the sentence before tells the order."""

    is_after_read: bool = False
    """Whether the step before the order reads."""

    is_changed: bool = False
    """Whether the sentence before says by how much something changed."""

    is_converted: bool = False
    """Whether the order before changes an amount into another."""

    has_result: bool = False
    """Whether a step before the order has a result that may hold an amount."""

    results: tuple[Mention, ...] | None = None
    """The mentions of the results since the last write; None while they are not known."""


_MONEY = frozenset(map(stem, MONEY_NOUNS))
_PAYS = frozenset(map(stem, ("pay", "pays", "settle", "reimburse", "repay")))
SUMS = frozenset(map(stem, ("amount", "price", "deposit", "payment", "value", "bid", "reward")))
"""Nouns of an amount that a sentence gives."""

UNCLEAR = "?"
"""The unit of a number after one in a sub-unit."""

ALL_STEMS = frozenset(map(stem, ALL_WORDS))
_GENERAL = frozenset(
    map(
        stem,
        (  # noqa: SIM905
            "amount quantity value number count total size sum volume how many much new which what "
            "who long"
        ).split(),
    )
)
"""Words of a parameter that do not tell what it counts."""

_GIVEN = frozenset(map(stem, ("give", "in", "from", "sell", "pay", "source", "input", "spend")))
_GOT = frozenset(map(stem, ("get", "out", "to", "buy", "receive", "target", "output", "want")))
TIME_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_UINT = range(2**256)
_INT = range(-(2**255), 2**255)
HOUR_MINUTES = 60
_NOON, _MIDNIGHT = 12, 24
_BYTE = 255
_SPANS = frozenset(map(stem, ("night", "season", "month", "year", "day", "week", "hour")))
_NEAR = 3
"""Tokens from one end of a span of hours to the other."""

_MORNING = 8
"""Hours from this one on are read as of 24; `at 6` may be in the evening."""


def fit(slot: ParameterSlot, item: Item, context: Context, tool: ToolRoles) -> Value | Obstacle:
    """Return the value of a slot that an item gives."""
    mention = item.mention
    if slot.role in NUMBERS:
        return _fit_number(slot, item, context, tool)
    if slot.role in ADDRESSES:
        return _fit_address(slot, item, context, tool)
    if slot.role is ValueRole.TEXT and mention.kind is MentionKind.QUOTATION:
        return (
            Value((to_json(mention.text),))
            if is_free(mention.text)
            else Obstacle("text", mention.text)
        )
    if slot.role is ValueRole.CHOICE and mention.kind is MentionKind.QUOTATION:
        said = to_json(mention.text)
        return Value((said,)) if said in (slot.stated or ()) else Obstacle("choice", mention.text)
    if slot.role is ValueRole.DATA:
        return _fit_data(slot, item)
    return Obstacle("role")


def _fit_data(slot: ParameterSlot, item: Item) -> Value | Obstacle:
    mention = item.mention
    if mention.kind not in {MentionKind.DATA, MentionKind.QUOTATION}:
        return Obstacle("role")
    digits = mention.text.lower().removeprefix("0x")
    size = slot.abi_type.size if slot.abi_type is not None else 0
    is_right = (
        len(digits) % 2 == 0 and all(digit in "0123456789abcdef" for digit in digits) and digits
    )
    if not is_right or (size and len(digits) != 2 * size):
        return Obstacle("data", mention.text)
    return Value((digits,))


def _fit_address(
    slot: ParameterSlot, item: Item, context: Context, tool: ToolRoles
) -> Value | Obstacle:
    mention = item.mention
    if slot.role is ValueRole.TOKEN:
        if mention.kind is MentionKind.NAME and mention.text in context.known.tokens:
            is_got = item.preposition in {"for", "into", "to", "as"}
            if (is_got and is_given(slot)) or (item.preposition == "from" and is_got_token(slot)):
                return Obstacle("direction", mention.text)
            return Value((to_json(mention.text),))
        return Obstacle("role")
    if mention.kind in {MentionKind.HIM, MentionKind.PLACE}:
        if len(context.people) == 1:
            return Value((to_json(context.people[0]),))
        if not context.people and context.stranger:
            return Obstacle("person", context.stranger)
        return Obstacle("reference", mention.text)
    if mention.kind is not MentionKind.NAME:
        return Obstacle("role")
    if slot.role is not ValueRole.CONTRACT and mention.text in context.forbidden:
        return Obstacle("not a recipient", mention.text)
    if slot.role is ValueRole.PARTY and not tool.is_read:
        removes = not tool.verbs.isdisjoint({"remove", "release", "cancel"})
        adds = not tool.verbs.isdisjoint({"lend", "append", "pay", "assign"})
        if (item.preposition == "to" and removes and not adds) or (
            item.preposition == "from" and adds and not removes
        ):
            return Obstacle("direction", mention.text)
    if slot.role is ValueRole.RECIPIENT and item.preposition == "from":
        return Obstacle("direction", mention.text)
    if slot.role is ValueRole.SOURCE and item.preposition in {"to", "for", "into"}:
        return Obstacle("direction", mention.text)
    return Value((to_json(mention.text),))


def is_given(slot: ParameterSlot) -> bool:
    """Return whether a token is the one that an exchange takes."""
    return not slot.names.isdisjoint(_GIVEN) and slot.names.isdisjoint(_GOT)


def is_got_token(slot: ParameterSlot) -> bool:
    """Return whether a token is the one that an exchange gives."""
    return not slot.names.isdisjoint(_GOT) and slot.names.isdisjoint(_GIVEN)


def _fit_number(
    slot: ParameterSlot, item: Item, context: Context, tool: ToolRoles
) -> Value | Obstacle:
    mention = item.mention
    if mention.kind in {MentionKind.ALL, MentionKind.SAME, MentionKind.IT}:
        return _refer(slot, mention, context, tool)
    if mention.kind is MentionKind.CLOCK:
        is_hour = slot.role is ValueRole.HOUR or (
            # `opensAt` of a byte counts no seconds.
            slot.role is ValueRole.COUNT
            and split_words(slot.name)[-1:] == ("at",)
            and slot.limits is not None
            and slot.limits[-1] <= _BYTE
        )
        if not is_hour or mention.value % HOUR_MINUTES:
            return Obstacle("unit", "")
        return _as_number(slot, mention.value / HOUR_MINUTES)
    if mention.kind is MentionKind.ORDINAL:
        is_free_label = not mention.labels or mention.labels[0] not in context.known.slot_names
        is_date = slot.names.isdisjoint({"num", "number"})
        is_day = is_free_label and is_date and not slot.labels.isdisjoint({"day", "date"})
        is_named = not slot.labels.isdisjoint(mention.labels) or is_day
        is_plain = slot.role in {ValueRole.COUNT, ValueRole.TIME}
        return _as_number(slot, mention.value) if is_named and is_plain else Obstacle("unit")
    if mention.kind is not MentionKind.QUANTITY:
        return Obstacle("role")
    value = convert(
        slot,
        mention,
        context,
        tool,
        is_inherited=item.inherited_unit,
        item_preposition=item.preposition,
    )
    return value if isinstance(value, Obstacle) else _as_number(slot, value)


def convert(  # noqa: PLR0913 - a number and what tells its unit
    slot: ParameterSlot,
    mention: Mention,
    context: Context,
    tool: ToolRoles,
    *,
    is_inherited: str = "",
    item_preposition: str = "",
) -> Fraction | Obstacle:
    """Return a quantity in a slot's unit, exactly."""
    value, unit = mention.value, mention.unit
    name = mention.unit_name
    if unit is UnitKind.NONE and is_inherited == UNCLEAR and slot.role is ValueRole.AMOUNT:
        return Obstacle("no unit")
    if unit is UnitKind.NONE and is_inherited and slot.role is ValueRole.AMOUNT:
        unit, name = UnitKind.TOKEN, is_inherited
    is_named = not slot.labels.isdisjoint(mention.labels)
    if (
        slot.role is ValueRole.AMOUNT
        and mention.unit is UnitKind.NONE
        and not set(mention.labels[:1]) <= slot.labels | _MONEY | slot.names
        and mention.labels[0] in context.known.labels
    ):
        # `Omar's invoice 5` is no 5 USDC.
        return Obstacle("unit", mention.text)
    if slot.role is ValueRole.AMOUNT:
        return _convert_amount(slot, mention, unit, name, context)
    if slot.role is ValueRole.PERCENT and "number" in mention.labels:
        return Obstacle("unit", mention.text)
    if slot.role is ValueRole.PERCENT:
        if unit is UnitKind.PERCENT:
            points = value if name == "percent" else value / 100
            return points * slot.percent_factor
        return (
            value
            if unit is UnitKind.NONE and slot.percent_factor == 1
            else Obstacle("unit", mention.text)
        )
    if slot.role is ValueRole.TIME:
        if unit is UnitKind.TIME:
            if name == slot.unit.name:
                return value
            if name in TIME_SECONDS and slot.unit.name in TIME_SECONDS:
                return value * TIME_SECONDS[name] / TIME_SECONDS[slot.unit.name]
            return Obstacle("unit", name)
        is_same = is_inherited == slot.unit.name
        is_clear = is_named or is_same
        return value if unit is UnitKind.NONE and is_clear else Obstacle("unit", mention.text)
    if slot.role is ValueRole.HOUR:
        is_clear = is_named or (
            item_preposition in {"at", "to", "until", "from"}
            and (value >= _MORNING or _has_full_clock(mention, context))
        )
        return value if unit is UnitKind.NONE and is_clear else Obstacle("unit", mention.text)
    is_payment = not tool.heads.isdisjoint(_PAYS) and slot.is_id and not mention.labels
    if (
        unit is UnitKind.NONE
        and is_payment
        and not any(one.role is ValueRole.AMOUNT for one in tool.slots)
    ):
        # `Pay 20`: of what?
        return Obstacle("no unit")
    if unit is UnitKind.NONE:
        return value
    if unit is UnitKind.PERCENT and name == "percent" and "percent" in slot.labels:
        return value
    if unit is UnitKind.NOUN and slot.is_id:
        # `two items` says how many, and not which one.
        return Obstacle("noun", mention.text)
    if unit is UnitKind.NOUN:
        noun = stem(mention.text)
        if noun in _SPANS and (noun not in slot.labels or _is_one_span(slot, noun)):
            # `for 9 seasons` is no season, and no 9 pieces.
            return Obstacle("noun", mention.text)
        if _counts_items(slot, mention):
            # `2 seats` says how many.
            return Obstacle("noun", mention.text)
        value *= MEASURES.get(mention.unit_name, ("", 1))[1]
        is_own = (
            (noun in tool.words and not slot.labels - _GENERAL)
            or noun in slot.labels
            or (noun in {"unit", "piec", "token", "coin"} and not slot.is_list)
            or _is_named(slot, mention, tool)
            or any(
                noun in word.split()
                for one in tool.slots
                if one is not slot
                for word, _ in one.named
            )
        )
        if noun == "degre":
            is_own = not slot.labels.isdisjoint({"degre", "celsiu", "celsius", "temperatur"})
        return value if is_own or is_named else Obstacle("noun", mention.text)
    is_item = slot.is_id and name not in context.unit_names and mention.labels[:1] == (name,)
    is_one = name in split_words(slot.name) and not mention.labels and value != 1
    is_stated = slot.role is ValueRole.COUNT and name in slot.labels and not is_one
    if unit is UnitKind.TOKEN and not mention.text and (is_item or is_stated):
        return value
    if unit is UnitKind.TOKEN and not mention.text:
        roles = {one.role for one in tool.slots}
        is_whole = "whol" in tool.words and mention.token_handle in tool.handles
        return (
            value
            if ValueRole.AMOUNT not in roles and (ValueRole.TOKEN in roles or is_whole)
            else Obstacle("unit", name)
        )
    if unit is UnitKind.TIME and name in slot.labels:
        # `for 2 weeks` is no week of the year.
        words = split_words(slot.name)
        is_length = f"{name}s" in words or (name not in words and f"{name}s" in tool.said)
        return value if is_length or is_named else Obstacle("unit", name)
    if unit is UnitKind.UNKNOWN and stem(mention.text) in slot.labels:
        return value
    if unit is UnitKind.TOKEN and not name and mention.text in slot.labels:
        return value
    return Obstacle("unit", name or mention.text)


def _is_one_span(slot: ParameterSlot, noun: str) -> bool:
    """Return whether a slot names one span of time: `untilSeason`."""
    words = split_words(slot.name)
    return any(stem(word) == noun and not word.endswith("s") for word in words)


def _counts_items(slot: ParameterSlot, mention: Mention) -> bool:
    """Return whether a number counts the items of a slot: `2 seats`, `two tables`."""
    said, words = mention.text.lower(), split_words(slot.name)
    is_plural = said.endswith("s") and mention.value != 1
    is_one = said.removesuffix("s") in words and said not in words
    return (
        is_plural
        and slot.role is ValueRole.COUNT
        and (is_one or (slot.is_list and stem(said) in slot.labels))
    )


def _has_full_clock(mention: Mention, context: Context) -> bool:
    """Return whether an hour after noon is beside an hour: `from 22 to 6` counts to 24."""
    return any(
        one.unit is UnitKind.NONE
        and not one.labels
        and _NOON < one.value <= _MIDNIGHT
        and 0 < abs(one.first - mention.first) <= _NEAR
        for one in context.quantities
    )


def _is_named(slot: ParameterSlot, mention: Mention, tool: ToolRoles) -> bool:
    """Return whether the noun after a number may be the text of a tool: `6 milk cans`."""
    texts = [each for each in tool.slots if each.role is ValueRole.TEXT]
    return (
        len(texts) == 1
        and not texts[0].options
        and slot.role is ValueRole.COUNT
        and bool(mention.unit_name)
    )


def _convert_amount(
    slot: ParameterSlot, mention: Mention, unit: UnitKind, name: str, context: Context
) -> Fraction | Obstacle:
    value, of = mention.value, slot.unit
    if unit is UnitKind.TOKEN and any(one.lower() == f"{name}_2" for one in context.known.tokens):
        return Obstacle("ambiguous", name)
    scale = Fraction(10) ** of.decimals
    if unit is UnitKind.TOKEN:
        sub = mention.text
        is_same = name == of.name or (not name and sub in SUB_UNITS and of.name == "native")
        if sub in SUB_UNITS:
            # gwei of a token is meant as of ether, where that has as many decimals.
            is_same = is_same and (of.name == "native" or sub == "wei" or of.decimals == 18)  # noqa: PLR2004
            if not is_same:
                return Obstacle("token", name or sub)
            return (
                value
                * scale
                / Fraction(10)
                ** (SUB_UNITS[sub] if sub != "wei" or of.name == "native" else of.decimals)
            )
        if sub == "base unit":
            return value if name in {"", of.name} else Obstacle("token", name)
        if not is_same and of.name:
            return Obstacle("token", name or sub)
        if not of.name and name not in context.unit_names | {""} and mention.token_handle == "":
            return Obstacle("token", name)
        if sub == "cent":
            return value * scale / 100 if name else Obstacle("unit", "cents")
        return value * scale
    if unit is UnitKind.NONE or (
        unit is UnitKind.NOUN and stem(mention.text) in {"token", "coin", "unit"}
    ):
        if len(context.unit_names) == 1 and not context.has_bare_amount:
            return value * scale
        return Obstacle("unit" if mention.labels else "no unit", "")
    if unit is UnitKind.NOUN:
        is_own = stem(mention.text) in slot.labels and stem(mention.text) not in {"amount", "valu"}
        return value * scale if is_own else Obstacle("noun", mention.text)
    return Obstacle("unit" if unit is not UnitKind.UNKNOWN else "token", name or mention.text)


def _as_number(slot: ParameterSlot, value: Fraction) -> Value | Obstacle:
    limits = slot.limits or (_INT if slot.kind is ParamType.INT else _UINT)
    scaled = value if slot.places is None else value * 10**slot.places
    if scaled.denominator != 1:
        return Obstacle("fraction", str(float(value)))
    number = int(scaled)
    shown = show_number(number, slot.places or 0)
    if number not in limits:
        return Obstacle("range", shown)
    return Value((shown if slot.places is None else to_json(shown),))


def _refer(
    slot: ParameterSlot, mention: Mention, context: Context, tool: ToolRoles
) -> Value | Obstacle:
    """Return the value of `it`, `all of it` or `the same amount`."""
    if (
        mention.unit is UnitKind.TOKEN
        and slot.role is ValueRole.AMOUNT
        and mention.unit_name != slot.unit.name
    ):
        return Obstacle("token", mention.unit_name)
    if slot.is_id and mention.kind is MentionKind.ALL:
        return Obstacle("role")
    if context.is_converted and mention.kind is not MentionKind.ALL:
        return Obstacle("reference", mention.text or "it")
    share = mention.value or Fraction(1)
    end = context.first if mention.kind is MentionKind.IT else mention.first
    before = [one for one in context.quantities if one.first < end and _is_antecedent(slot, one)]
    if (
        mention.kind is not MentionKind.ALL
        and mention.text.lower() not in OF_RESULTS
        and before
        and not (context.is_after_read and before[-1].first < context.first)
    ):
        last = before[-1]
        later = [
            one
            for one in context.quantities
            if last.end <= one.first < end and one.unit is UnitKind.NONE and not one.labels
        ]
        if mention.kind is MentionKind.IT and (context.is_changed or later):
            # `Invoice 4 is fine, 5 isn't. Dispute that.`
            return Obstacle("reference", mention.text or "it")
        if mention.kind is MentionKind.IT and len(before) > 1 and _is_beside(before[-2], last):
            # `loans 4 and 5, then end it`
            return Obstacle("reference", mention.text or "it")
        value = convert(slot, last, context, tool)
        if not isinstance(value, Obstacle):
            return _as_number(slot, value * share)
    is_number = slot.role is not ValueRole.AMOUNT and not slot.is_id
    if not context.has_result or (is_number and not context.is_after_read):
        return Obstacle("reference", mention.text or "it")
    if context.results is None:
        return Value(reference=mention.text or "it")
    return _find_in_results(slot, mention, context, tool)


_LEAST_APART = 6


def _is_beside(one: Mention, other: Mention) -> bool:
    """Return whether two quantities are items of a list: near each other, and of one kind."""
    is_near = other.first - one.end < _LEAST_APART
    is_same = one.unit_name == other.unit_name and one.labels == other.labels
    return is_near and is_same and one.value != other.value


def _is_antecedent(slot: ParameterSlot, mention: Mention) -> bool:
    """Return whether `it` may stand for a quantity."""
    if slot.role is ValueRole.AMOUNT:
        return mention.unit is UnitKind.TOKEN
    return mention.unit is UnitKind.NOUN or not slot.labels.isdisjoint(mention.labels)


def _find_in_results(
    slot: ParameterSlot, mention: Mention, context: Context, tool: ToolRoles
) -> Value | Obstacle:
    found: set[Fraction] = set()
    for one in context.results or ():
        if slot.role is ValueRole.AMOUNT and one.unit is UnitKind.NONE:
            # What it counts is not said.
            continue
        if slot.is_id and slot.labels.isdisjoint(one.labels):
            # `38467 left` is no number of a contract.
            continue
        value = convert(slot, one, context, tool) if one.kind is MentionKind.QUANTITY else None
        if isinstance(value, Fraction):
            found.add(value)
    if len(found) != 1:
        return Obstacle("result", mention.text or "it")
    return _as_number(slot, found.pop() * (mention.value or 1))
