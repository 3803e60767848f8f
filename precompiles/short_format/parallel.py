"""Whether the values of several calls are in parallel, and in the direction of the slots.

    Set oven 3 to 220 and 4 to 180      (3, 220) and (4, 180)
    Contribute 50 to trip 4 and 30 to 5 (4, 50) and (5, 30), and never (30, 5)
    Discard batches 4 to 7              neither [4, 7] nor anything else: a range
    Raise the reward to 50              is no raise by 50

A value that could belong to two items, or to two parameters, belongs to neither.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.mentions import Mention, MentionKind, UnitKind
from precompiles.short_format.orders import is_english_verb
from precompiles.short_format.phrases import stem
from precompiles.short_format.roles import NUMBERS, ValueRole, split_words
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.values import Obstacle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.mentions import Scan
    from precompiles.short_format.orders import Order
    from precompiles.short_format.roles import ParameterSlot, ToolRoles
    from precompiles.short_format.values import Item

_STEPS = frozenset(
    "by extra more add added additional increase increment step grow growth plus".split()  # noqa: SIM905
)
"""Words of a parameter that says by how much."""

_ENDS = frozenset(
    "until till to end ends due close closes closing last expiry expires deadline".split()  # noqa: SIM905
)
"""Words of a parameter that says until when."""

_LENGTHS = frozenset("number days nights weeks minutes hours seasons months".split())  # noqa: SIM905
_STARTS = frozenset("from start starts begin begins since open opens first".split())  # noqa: SIM905
_SAID_LENGTHS = frozenset("length duration count number for in max min".split())  # noqa: SIM905
SETTERS = frozenset(map(stem, ("set", "change", "update", "adjust", "alter", "dim")))
"""Verbs of tools that give a thing a value: it can have one only."""

_RANGES = frozenset(("to", "through", "thru", "till", "until", "-", "\u2013"))
_COMPARED = frozenset(english.COMPARATIVES) | {"less", "more", "fewer", "longer", "shorter"}
_UNEVEN = Obstacle("lengths", progress=8)
"""It is unclear which value belongs to which item."""

_NEAR = 3
"""Tokens before a number in which its preposition is: `into the trip 4`."""

_VALUES = frozenset(
    (MentionKind.QUANTITY, MentionKind.ORDINAL, MentionKind.CLOCK, MentionKind.QUOTATION)
)


def is_misdirected(scan: Scan, slot: ParameterSlot, item: Item, tool: ToolRoles) -> bool:
    """Return whether a number's preposition contradicts a slot.

    `to 50` is no step, `by 5` no new value, `until the 12th` no length.
    """
    if tool.is_read or slot.role not in NUMBERS or item.is_told:
        return False
    mention, names = item.mention, frozenset(split_words(slot.name))
    counts = not names.isdisjoint(_LENGTHS) or split_words(slot.name)[-1:][0].endswith("s")
    if mention.kind is MentionKind.ORDINAL and counts and not slot.is_list:
        return True
    if mention.unit is UnitKind.TIME and (item.preposition == "in" or _is_index(names, mention)):
        # `in 20 minutes` is later, and `12 weeks` is no week.
        return True
    if item.preposition in {"from", "since"} and not names.isdisjoint(_ENDS - {"to"}):
        return names.isdisjoint(_STARTS)
    after = scan.tokens[mention.end].word if mention.end < len(scan.tokens) else ""
    follows = scan.tokens[mention.end + 1].word if mention.end + 1 < len(scan.tokens) else ""
    is_turned = after in {"up", "down"} and follows != "to"
    is_turned = is_turned and (not slot.is_id or mention.unit is UnitKind.NOUN)
    moves = not tool.verbs.isdisjoint({"raise", "lower", "extend"}) and "sets" not in tool.said
    if (after in _COMPARED or is_turned) and not moves:
        # `two degrees colder`
        return True
    if mention.kind is not MentionKind.QUANTITY and mention.kind is not MentionKind.ORDINAL:
        return False
    before = scan.tokens[mention.first - 1].word if mention.first else ""
    is_shift = before in {"up", "down"} and not slot.is_id
    is_shift = is_shift and not is_english_verb(scan.tokens[mention.first - 2].word)
    shifts = not tool.verbs.isdisjoint({"raise", "lower"}) and "sets" not in tool.said
    if is_shift and not shifts:
        # `treble down 3`
        return True
    is_ranked = before in {"first", "last", "top"} and mention.first > 1
    if is_ranked and scan.tokens[mention.first - 2].kind is TokenShape.WORD:
        # `drop first 3`
        return True
    nouns = [token.word for token in scan.tokens[max(mention.first - 2, 0) : mention.first]]
    if (
        slot.is_id
        and nouns[1:] == ["for"]
        and stem(nouns[0]) in slot.labels
        and not _has_noun(scan, mention)
    ):
        # `a table for 5`
        return True
    if _is_label_of_one(scan, slot, mention):
        return True
    is_numbered = "number" in mention.labels and not slot.is_id and slot is not tool.slots[0]
    if is_numbered and {"number", "num", "no"}.isdisjoint(slot.names | names | slot.labels):
        # `oats no. 2` has no grade, and `no 25` is no amount.
        return True
    is_labelled = not slot.names.isdisjoint(mention.labels)
    if item.preposition in {"until", "till"}:
        return names.isdisjoint(_ENDS)
    if mention.unit is UnitKind.TIME and item.preposition == "for":
        # `for 12 weeks` is no week in which it is due.
        return not names.isdisjoint(_ENDS)
    is_step = not names.isdisjoint(_STEPS) or (
        not tool.verbs.isdisjoint({"raise", "lower"})
        and not slot.is_id
        and slot.role is not ValueRole.PERCENT
        and names.isdisjoint({"new", "target", "value"})
        and not tool.heads & SETTERS
    )
    if item.preposition == "to":
        return (is_step and not is_labelled) or _is_reached(slot, names, tool)
    is_absolute = bool(tool.heads & SETTERS) or not names.isdisjoint(_ENDS | {"new", "target"})
    return item.preposition == "by" and is_absolute and not is_labelled


def _is_label_of_one(scan: Scan, slot: ParameterSlot, mention: Mention) -> bool:
    """Return whether a number names one thing where a slot counts things: `match 2`, `day 5`."""
    place = mention.first - 1
    while place > 0 and scan.tokens[place].word in {"number", "no", "no.", "nr", "#"}:
        place -= 1
    word = scan.tokens[place].word if place >= 0 else ""
    is_plural = f"{word}s" in split_words(slot.name) or f"{word}es" in split_words(slot.name)
    return bool(word) and is_plural and stem(word) in mention.labels and not slot.is_list


def _is_reached(slot: ParameterSlot, names: frozenset[str], tool: ToolRoles) -> bool:
    """Return whether a tool adds where `to` states a target: `extend berth 3 to 6 nights`."""
    is_sum = slot.role in {ValueRole.COUNT, ValueRole.TIME} and not slot.is_id
    is_set = bool(tool.heads & SETTERS) or not tool.verbs.isdisjoint({"set", "move"})
    is_goal = not names.isdisjoint(_ENDS | {"new", "target", "level", "value"})
    adds = not tool.verbs.isdisjoint({"append", "extend", "raise", "lower", "mint", "burn"})
    return is_sum and adds and not is_set and not is_goal


def _is_index(names: frozenset[str], mention: Mention) -> bool:
    """Return whether a parameter names one span of time, such as a week of the year."""
    unit = mention.unit_name
    return unit in names and f"{unit}s" not in names and names.isdisjoint(_SAID_LENGTHS)


def find_misfit(  # noqa: PLR0913 - an assignment and what is around it
    scan: Scan,
    order: Order,
    slots: Sequence[ParameterSlot],
    items: Sequence[Item],
    chosen: Sequence[tuple[int, ...]],
    *,
    has_each: bool,
) -> Obstacle | None:
    """Return why values can't belong to the assigned slots, or None.

    Input:  of each slot, the places of its items.
    """
    for slot, places in zip(slots, chosen, strict=True):
        mentions = [items[place].mention for place in places]
        if _is_range(scan, mentions):
            return Obstacle("unread", scan.show(mentions[0].first, mentions[-1].end), progress=8)
        if len({one.kind for one in mentions} & _VALUES) > 1 and slot.role in NUMBERS:
            return _UNEVEN
        if slot.role in NUMBERS and any(
            _begins_pair(scan, items, items[place], items[places[0]]) for place in places[1:]
        ):
            return _UNEVEN
        owned = {scan.tokens[one.end - 1].text == "'s" for one in mentions}
        if slot.role not in NUMBERS and len(owned) > 1:
            # `Give Bob Ann's seat 4`
            return _UNEVEN
        written = [_has_noun(scan, one) for one in mentions]
        if slot.role in NUMBERS and written != sorted(written, reverse=True):
            # `seat 4, and 13, seat 5`
            return _UNEVEN
        units = {one.unit for one in mentions if one.kind is MentionKind.QUANTITY}
        nouns = {stem(one.text) for one in mentions if one.unit is UnitKind.NOUN}
        if slot.is_list and len(units) > 1 and not nouns <= slot.labels:
            # `batch 4 of gloves, 20 pieces`
            return _UNEVEN
        if not _is_regular([items[place] for place in places]):
            return _UNEVEN
        refused = [one.first and scan.tokens[one.first - 1].word == "no" for one in mentions]
        if any(refused[1:]) and not refused[0]:
            # `showers 1, 2, no 3`
            return _UNEVEN
        if slot.role in NUMBERS and not slot.is_id and _adds_another(scan, mentions):
            return _UNEVEN
        if slot.role is ValueRole.AMOUNT and any(
            items[place].preposition == "of" for place in places[1:]
        ):
            # `5 USDC of the 10 USDC`
            return Obstacle("several amounts", progress=8)
    if _splits_list(scan, slots, items, chosen):
        return _UNEVEN
    if _pays_out_of_inside(scan, slots, items, chosen):
        return Obstacle("direction", progress=8)
    several = [(slot, of) for slot, of in zip(slots, chosen, strict=True) if len(of) > 1]
    if has_each and any(slot.role is ValueRole.AMOUNT for slot, _ in several):
        # `20 USDC each, in total 40`
        return Obstacle("several amounts", progress=8)
    numbers = [of for slot, of in several if slot.role in NUMBERS and not slot.is_list]
    if len(numbers) > 1 and not _is_repeated(numbers):
        return _UNEVEN
    if _is_unclear(slots, items, chosen):
        return _UNEVEN
    if _is_bare_rest(order, slots, items, chosen):
        return _UNEVEN
    shared = [
        of[0]
        for slot, of in zip(slots, chosen, strict=True)
        if len(of) == 1 and not slot.is_list and items[of[0]].mention.kind in _VALUES
    ]
    if not has_each and any(not slot.is_list and is_between(of, shared) for slot, of in several):
        return _UNEVEN
    return None


def _splits_list(
    scan: Scan,
    slots: Sequence[ParameterSlot],
    items: Sequence[Item],
    chosen: Sequence[tuple[int, ...]],
) -> bool:
    """Return whether a bare number after a labelled one is another thing: `item 1 and 7`."""
    of = {place: slot for slot, places in zip(slots, chosen, strict=True) for place in places}
    for place, (one, other) in enumerate(pairwise(items)):
        first, second = one.mention, other.mention
        is_bare = (
            second.kind is MentionKind.QUANTITY
            and second.unit is UnitKind.NONE
            and not other.preposition
            and not _has_noun(scan, second)
            and not other.inherited_unit
        )
        between = [token.text for token in scan.tokens[first.end : second.first]]
        is_joined = first.kind is MentionKind.QUANTITY and between in (["and"], [","], ["&"])
        if (
            is_bare
            and is_joined
            and _has_noun(scan, first)
            and of.get(place) is not of.get(place + 1)
        ):
            return True
    return False


def _adds_another(scan: Scan, mentions: Sequence[Mention]) -> bool:
    """Return whether a bare number after others is one more: `lower 1 by 20 and 2 too`."""
    return any(
        one.unit is UnitKind.NONE
        and one.end < len(scan.tokens)
        and scan.tokens[one.end].word in {"too", "also", "as"}
        for one in mentions[1:]
    )


def _pays_out_of_inside(
    scan: Scan,
    slots: Sequence[ParameterSlot],
    items: Sequence[Item],
    chosen: Sequence[tuple[int, ...]],
) -> bool:
    """Return whether a payment to a person goes into an item: `20 USDC into trip 4 for Ann`."""
    has_amount = any(
        slot.role is ValueRole.AMOUNT and of for slot, of in zip(slots, chosen, strict=True)
    )
    has_recipient = any(
        slot.role is ValueRole.RECIPIENT and of for slot, of in zip(slots, chosen, strict=True)
    )
    if not (has_amount and has_recipient):
        return False
    numbered = [
        items[place].mention
        for slot, of in zip(slots, chosen, strict=True)
        if slot.role is ValueRole.COUNT
        for place in of
    ]
    return any(
        {"into", "onto", "towards", "toward"}
        & {token.word for token in scan.tokens[max(one.first - _NEAR, 0) : one.first]}
        for one in numbered
    )


def _begins_pair(scan: Scan, items: Sequence[Item], item: Item, first: Item) -> bool:
    """Return whether a number begins a pair of its own: `oven 3 to 220 and 4 to hot`."""
    after = scan.tokens[item.mention.end].word if item.mention.end < len(scan.tokens) else ""
    is_said = bool(first.preposition) and not item.preposition and not item.mention.labels
    is_opened = after in {"to", "at", "by", "on", "off"}
    places = {one.mention.first for one in items}
    return is_said and is_opened and item.mention.end + 1 not in places


def _has_noun(scan: Scan, mention: Mention) -> bool:
    """Return whether a number has its own noun before it: `seat 4`."""
    before = scan.tokens[mention.first - 1].word if mention.first else ""
    return stem(before) in mention.labels


def is_between(places: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether one of some values stands between the values that would share it."""
    return any(min(places) < other < max(places) for other in others)


def _is_range(scan: Scan, mentions: Sequence[Mention]) -> bool:
    """Return whether two numbers beside each other are the ends of a range: `4 to 7`."""
    return any(
        one.kind is MentionKind.QUANTITY
        and other.first == one.end + 1
        and scan.tokens[one.end].text.lower() in _RANGES
        for one, other in pairwise(mentions)
    )


def _is_regular(items: Sequence[Item]) -> bool:
    """Return whether the prepositions of a slot's values are all the same, or only the first's."""
    prepositions = [item.preposition for item in items]
    return len(set(prepositions)) <= 1 or (prepositions[0] != "" and not any(prepositions[1:]))


def _is_repeated(several: Sequence[tuple[int, ...]]) -> bool:
    """Return whether the values of several slots follow each other in each group alike."""
    size = len(several)
    ordered = [
        index
        for _, index in sorted((place, index) for index, of in enumerate(several) for place in of)
    ]
    groups = [tuple(ordered[start : start + size]) for start in range(0, len(ordered), size)]
    listed = [index for index, after in pairwise(ordered) if index == after]
    return len(set(groups)) == 1 or len(listed) == len(ordered) - size


def _is_unclear(
    slots: Sequence[ParameterSlot],
    items: Sequence[Item],
    chosen: Sequence[tuple[int, ...]],
) -> bool:
    """Return whether a later number could be a shared one as well: `seat 5 in row 3, and 6`."""
    pairs = [pair for pair in zip(slots, chosen, strict=True) if pair[0].role is ValueRole.COUNT]
    shared = [slot for slot, of in pairs if len(of) == 1]
    for slot, of in pairs:
        if len(of) < 2 or slot.is_list or not shared:  # noqa: PLR2004
            continue
        mentions = [items[place].mention for place in of]
        if mentions[0].labels and any(
            one.kind is MentionKind.QUANTITY and one.unit is UnitKind.NONE and not one.labels
            for one in mentions[1:]
        ):
            return True
    return False


def _is_bare_rest(
    order: Order,
    slots: Sequence[ParameterSlot],
    items: Sequence[Item],
    chosen: Sequence[tuple[int, ...]],
) -> bool:
    """Return whether a part that goes on has two numbers without a distinction: `30 to 5`."""
    if order.verb is None or not order.is_nominal:
        return False
    bare = {
        index
        for index, (slot, of) in enumerate(zip(slots, chosen, strict=True))
        for place in of
        if slot.role in NUMBERS
        and items[place].mention.kind is MentionKind.QUANTITY
        and items[place].mention.unit is UnitKind.NONE
        and slot.names.isdisjoint(items[place].mention.labels)
    }
    return len(bare) > 1
