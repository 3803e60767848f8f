"""Orders that state a value in place of an act: `rank 4 for Dana`, `lower the quorum to 20 %`.

A tool that sets a value is meant by the name of the value, with any verb of change. A verb with a
direction needs the value that is reached: `lower the quorum by 5 %` sets nothing. A tool that makes
something is meant by `new` and the name of the thing.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.mentions import MentionKind, UnitKind
from precompiles.short_format.phrases import stem
from precompiles.short_format.roles import ValueRole
from precompiles.short_format.tokens import TokenShape

if TYPE_CHECKING:
    from precompiles.short_format.mentions import Scan
    from precompiles.short_format.orders import Order
    from precompiles.short_format.roles import ToolRoles

_SETTING = frozenset(
    map(stem, ("set", "change", "update", "adjust", "alter", "assign", "rename", "configure"))
)
_MAKING = frozenset(("append", "note", "book", "mint", "announce", "list", "open"))
_MAKING_HEADS = frozenset(
    map(
        stem,
        (  # noqa: SIM905
            "place enter submit file create start plan issue grant award schedule reserve order"
        ).split(),
    )
)
_CHANGES = frozenset(map(stem, english.CHANGES))
_MOVES_VALUE = frozenset(
    stem(verb.split()[0]) for meaning in ("raise", "lower") for verb in english.VERBS[meaning]
) | frozenset(map(stem, english.VERB_NOUNS))
_REACHED = frozenset(("to", "at", "on", ":", "=", "is", "be"))
_NEW = frozenset(("new", "another", "additional"))


def sets(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order names the value that a tool sets, and the new value."""
    if tool.is_read or tool.moves or tool.heads.isdisjoint(_SETTING) or not tool.slots:
        return False
    head = scan.tokens[order.head].word if order.head >= 0 else ""
    verb = stem(head)
    if head and verb not in _CHANGES | _MOVES_VALUE and head not in english.WRITES:
        return False
    nouns = tool.name_words - tool.heads - {"new"}
    said = _list_nouns(scan, order) | frozenset(map(stem, english.VERB_NOUNS.get(head, ())))
    if head in english.WRITES and _is_written(order, scan, tool):
        return True
    is_named = bool(nouns) and nouns <= said
    if not is_named and not _is_measured(scan, order, tool):
        return False
    return verb not in _MOVES_VALUE or _is_reached(scan, order)


def shifts(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order makes something more or less: `make apples 10 cents cheaper`."""
    if tool.is_read or tool.verbs.isdisjoint({"raise", "lower"}) or order.head < 0:
        return False
    if stem(scan.tokens[order.head].word) not in _CHANGES:
        return False
    words = [token.word for part in order.parts for token in scan.tokens[part.first : part.end]]
    found = {english.COMPARATIVES[word] for word in words if word in english.COMPARATIVES}
    return len(found) == 1 and not found.isdisjoint(tool.verbs) and not _is_reached(scan, order)


def gives(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order gives a person the thing that a tool adds: `give Ann 2 stamps`."""
    if tool.is_read or tool.moves or order.head < 0:
        return False
    if scan.tokens[order.head].word not in english.GIVES:
        return False
    counted = {stem(one.text) for one in order.list_mentions(scan) if one.unit is UnitKind.NOUN}
    has_party = any(slot.role is ValueRole.PARTY for slot in tool.slots)
    return has_party and not counted.isdisjoint(tool.name_words - tool.heads)


def makes(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order without a verb names a new thing that a tool makes."""
    is_making = order.head >= 0 and scan.tokens[order.head].word in english.MAKES
    nouns = tool.name_words - tool.heads
    is_entered = order.head >= 0 and scan.tokens[order.head].word in {"enter", "register", "log"}
    if is_entered and not tool.is_read and not tool.moves and nouns:
        # `enter the machine rentals: …`
        return nouns <= _list_nouns(scan, order)
    if tool.is_read or not (is_making or (order.head < 0 and order.verb is None)):
        return False
    is_maker = not tool.verbs.isdisjoint(_MAKING) or not tool.heads.isdisjoint(_MAKING_HEADS)
    if not is_maker and "new" not in tool.said:
        return False
    first = order.parts[0]
    if not is_making and _names_made(scan, order, tool):
        return True
    words = [scan.tokens[place].word for place in range(first.first, first.end)]
    places = [place for place, word in enumerate(words) if word in _NEW]
    after = {stem(word) for place in places[:1] for word in words[place + 1 : place + 3]}
    return not after.isdisjoint(tool.words)


def _names_made(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order begins with the product of a tool: `2 tickets for Ann`."""
    quantities = [one for one in order.list_mentions(scan) if one.kind is MentionKind.QUANTITY]
    counted = {stem(one.text) for one in quantities[:1] if one.unit is UnitKind.NOUN}
    place = max(order.first, order.parts[0].opener_end)
    following = scan.tokens[place + 1] if place + 1 < order.end else None
    if scan.owners[place] < 0 and (following is None or following.kind is TokenShape.WORD):
        counted.add(stem(scan.tokens[place].word))
    return not counted.isdisjoint(tool.name_words - tool.heads)


def _is_written(order: Order, scan: Scan, tool: ToolRoles) -> bool:
    """Return whether an order writes a quotation on an item that a tool has a text of.

    `Write "Welcome" on cake 3`
    """
    mentions = order.list_mentions(scan)
    labels = {label for one in mentions for label in one.labels}
    has_text = any(slot.role is ValueRole.TEXT for slot in tool.slots)
    has_item = any(slot.is_id and not slot.labels.isdisjoint(labels) for slot in tool.slots)
    return has_text and has_item and any(one.kind is MentionKind.QUOTATION for one in mentions)


def _is_measured(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order reaches degrees, which a tool sets: `put room 6 on 22 degrees`."""
    degrees = [one for one in order.list_mentions(scan) if one.text == "degree"]
    is_taken = any("degre" in slot.labels for slot in tool.slots)
    return len(degrees) == 1 and is_taken and _is_reached(scan, order)


def _list_nouns(scan: Scan, order: Order) -> frozenset[str]:
    """Return the stems of an order's words: beside values, labels and nouns of values."""
    found: set[str] = set()
    for part in order.parts:
        for place in range(part.first, part.end):
            owner, token = scan.owners[place], scan.tokens[place]
            if owner < 0 and token.kind is TokenShape.WORD:
                found.add(stem(token.word))
    for mention in order.list_mentions(scan):
        found |= set(mention.labels)
        if mention.unit is UnitKind.NOUN:
            found.add(stem(mention.text))
            found |= {"temperatur"} if mention.text == "degree" else set()
    return frozenset(found)


def _is_reached(scan: Scan, order: Order) -> bool:
    """Return whether the last value of an order is a target: `to 5`."""
    values = [
        one
        for one in order.list_mentions(scan)
        if one.kind in {MentionKind.QUANTITY, MentionKind.QUOTATION}
    ]
    if not values:
        return False
    place = values[-1].first - 1
    while place > order.first and (
        stem(scan.tokens[place].word) in values[-1].labels
        or scan.tokens[place].word in english.DETERMINERS
    ):
        place -= 1
    return scan.tokens[place].word in _REACHED
