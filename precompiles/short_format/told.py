"""Values that a sentence states before an order: `We got 200 gloves. Please enter them`.

The order has the verb, and a pronoun in place of the values. The sentence before has the values:
    numbers, names, and one text. No money moves: a tool that moves something takes values of its
    own order alone.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.binding import list_items
from precompiles.short_format.mentions import BLOCKS, VALUES, Mention, MentionKind, UnitKind
from precompiles.short_format.orders import Mood, Order, is_english_verb
from precompiles.short_format.phrases import is_past, stem
from precompiles.short_format.tokens import TokenShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.mentions import KnownWords, Scan
    from precompiles.short_format.orders import Part
    from precompiles.short_format.values import Item

REFERENCES = frozenset(
    (MentionKind.IT, MentionKind.EACH, MentionKind.HIM, MentionKind.ALL, MentionKind.SAME)
)
_TELLING = frozenset((Mood.STATEMENT, Mood.NOMINAL, Mood.EMPTY, Mood.RECEIVING, Mood.ORDER))
_UNSAID = (BLOCKS | {MentionKind.UNREAD}) - {MentionKind.EARLIER}
_JOINTS = frozenset(("and", "&", ","))
_SMALL = (
    english.PREPOSITIONS
    | english.AUXILIARIES
    | english.DETERMINERS
    | english.SUBJECTS
    | english.GREETINGS
)
_MAX_WORDS = 3
"""Words of a text that is told without quotes."""


def find_told(parts: Sequence[Part], order: Order) -> tuple[Part, ...]:
    """Return the parts with values for an order: of the same sentence, or of the one before.

    A header and the lines of the list are one sentence.
    """
    before = [part for part in parts if part.end <= order.first]
    found: list[Part] = []
    is_same = not order.parts[0].is_start
    for part in reversed(before):
        if part.mood is Mood.EMPTY and not found:
            continue
        found.append(part)
        if part.is_start and part.before not in {"\n", "-"}:
            if is_same and part.mood is Mood.EMPTY:
                continue
            break
    return tuple(reversed(found))


def read_told(
    scan: Scan, parts: Sequence[Part], order: Order, known: KnownWords
) -> tuple[list[Item], list[str]] | None:
    """Return the values that parts state for an order, and the texts; None if none is sure.

    Names are left out if the order has a name or a pronoun for a person, which identifies the
    person.
    """
    if not parts or any(part.mood not in _TELLING for part in parts):
        return None
    if any(part.mood is Mood.ORDER and is_english_verb(_head(scan, part)) for part in parts):
        return None
    told = Order(tuple(replace(part, mood=Mood.NOMINAL, head=-1) for part in parts))
    mentions = told.list_mentions(scan)
    words = {token.word for part in parts for token in scan.tokens[part.first : part.end]}
    if words & english.CHANGED:
        # `Animal 4 lost 200 grams`: by how much, and not how much.
        return None
    if any(one.kind in _UNSAID and one.text.lower() != "again" for one in mentions):
        return None
    own = {one.kind for one in order.list_mentions(scan)}
    has_person = bool(own & {MentionKind.HIM, MentionKind.NAME})
    items = [
        replace(item, is_told=True)
        for item in list_items(scan, told, known)
        if not (has_person and item.mention.kind is MentionKind.NAME)
        and item.mention.kind not in REFERENCES
    ]
    is_statement = parts[0].mood is Mood.STATEMENT
    return items, _list_texts(scan, told, mentions, known, is_statement=is_statement)


def _head(scan: Scan, part: Part) -> str:
    return scan.tokens[part.head].word if part.head >= 0 else ""


def _list_texts(
    scan: Scan,
    told: Order,
    mentions: Sequence[Mention],
    known: KnownWords,
    *,
    is_statement: bool,
) -> list[str]:
    """Return the texts of the statements: the nouns that are counted, else unknown names.

    Else the text after a colon, item by item; else the one noun after `the` or `a`.
    """
    lists = [part for part in told.parts if part.before in {":", "-", "\n", ",", "and", "&"}]
    if any(part.before == ":" for part in told.parts) and not any(
        one.kind in VALUES for one in mentions
    ):
        return [_show_bare(scan, part) for part in lists]
    if any(_is_empty(part, mentions) and part.before in _JOINTS for part in told.parts):
        # `Bread and chess` may be one text or two.
        return []
    for before, after in pairwise(told.parts):
        is_pair = _counts(before, mentions) and _counts(after, mentions)
        if after.before in {"and", "&"} and not is_pair:
            # `Heron and Swift are both in the way`
            return []
    counted = [
        one.text
        for one in mentions
        if one.unit is UnitKind.NOUN and one.unit_name and stem(one.text) not in known.labels
    ]
    if counted:
        return [_show_noun(scan, one) for one in mentions if one.text in counted]
    strangers = [
        one for one in mentions if one.kind is MentionKind.STRANGER and "'s" not in one.text
    ]
    if strangers:
        return [one.text for one in strangers]
    topic = "" if is_statement else _show_topic(scan, told.parts[0])
    if topic:
        return [topic]
    nouns = [found for part in told.parts for found in _list_nouns(scan, part, known) if found]
    return nouns if len(nouns) == 1 else []


def _counts(part: Part, mentions: Sequence[Mention]) -> bool:
    kinds = {one.kind for one in mentions if part.holds(one)}
    return bool(kinds & {MentionKind.QUANTITY, MentionKind.QUOTATION})


def _is_empty(part: Part, mentions: Sequence[Mention]) -> bool:
    return not any(part.holds(one) for one in mentions)


def _show_topic(scan: Scan, part: Part) -> str:
    """Return the topic of a part that begins with a noun: `haircut on the 17th`."""
    place = part.first
    while (
        place < part.end
        and scan.owners[place] < 0
        and scan.tokens[place].kind is TokenShape.WORD
        and scan.tokens[place].word not in _SMALL
        and not is_english_verb(scan.tokens[place].word)
    ):
        place += 1
    is_followed = place < part.end and scan.tokens[place].word in english.PREPOSITIONS
    is_noun = is_followed and part.first < place <= part.first + _MAX_WORDS
    return scan.show(part.first, place) if is_noun else ""


def _show_noun(scan: Scan, mention: Mention) -> str:
    first = next(
        place
        for place in range(mention.first, mention.end)
        if scan.tokens[place].kind is TokenShape.WORD
    )
    return scan.show(first, mention.end)


def _show_bare(scan: Scan, part: Part) -> str:
    """Return the text of a part without the article."""
    first = part.first
    while first < part.end - 1 and scan.tokens[first].word in english.DETERMINERS:
        first += 1
    return scan.show(first, part.end)


def _list_nouns(scan: Scan, part: Part, known: KnownWords) -> list[str]:
    """Return the phrases after `the`, `of` or `a` up to a verb, a preposition or a sign."""
    found: list[str] = []
    place = part.first
    while place < part.end:
        word = scan.tokens[place].word
        place += 1
        is_opened = word in english.DETERMINERS or (
            word in {"of", "on", "in", "at"}
            and place < part.end
            and scan.tokens[place].word not in english.DETERMINERS
        )
        if not is_opened:
            continue
        first = place
        while place < part.end and _is_noun(scan, place, known):
            place += 1
        if first < place <= first + _MAX_WORDS:
            found.append(scan.show(first, place))
    return found


def _is_noun(scan: Scan, place: int, known: KnownWords) -> bool:
    token = scan.tokens[place]
    return (
        token.kind is TokenShape.WORD
        and scan.owners[place] < 0
        and token.word not in english.PREPOSITIONS | english.AUXILIARIES | english.DETERMINERS
        and token.word not in english.JOINTS | english.ADVERBS | english.SUBJECTS
        and not is_past(token.word)
        and not is_english_verb(token.word)
        and stem(token.word) not in known.words
    )
