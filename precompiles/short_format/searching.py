"""Searches: what is asked of passages, and with which text.

    What is the deposit for a kayak?            "What is the deposit for a kayak"
    Could you tell me who founded the choir?    "who founded the choir"
    Search the handbook for mooring fees        "mooring fees"
    Should I pay Bob?                           nothing, if a tool pays

A question, or an order to look something up, is put to the agent's one search, unless it names
another tool. A search reads, so no question becomes an act.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.mentions import Mention, MentionKind, UnitKind
from precompiles.short_format.phrases import stem
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.wording import (
    MODALS,
    Strength,
    count_evidence,
    has_verb,
    measure_strength,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.mentions import Scan
    from precompiles.short_format.orders import Order
    from precompiles.short_format.roles import ToolRoles

_YOU = frozenset(("you", "u", "ya"))
_ANYBODY = frozenset(("someone", "somebody", "anyone", "anybody"))
_PROPOSALS = frozenset((("why", "don't"), ("why", "not"), ("how", "about"), ("what", "about")))
_PERSONS = frozenset((MentionKind.NAME, MentionKind.STRANGER, MentionKind.HIM))
_PRONOUNS = frozenset((MentionKind.IT, MentionKind.HIM))
_LOOKING = frozenset(map(stem, "tell show find look check read explain describe".split()))  # noqa: SIM905
_KNOWING = frozenset(("know", "remind", "see", "hear", "learn"))
"""Verbs that ask for something with a question word: `remind me what the fee is`."""

_SEARCHES = frozenset(stem(verb.split()[0]) for verb in english.VERBS["search"])
_CLAUSES = english.QUESTION_WORDS | {"whether", "if"}
_ABOUT = frozenset("up for about on in into at out down through me us over".split())  # noqa: SIM905
_THANKS = frozenset("please pls plz thanks thank thx cheers".split())  # noqa: SIM905
_PLAIN = (
    english.QUESTION_WORDS
    | english.QUESTION_OPENERS
    | english.AUXILIARIES
    | english.SUBJECTS
    | english.PREPOSITIONS
    | english.DETERMINERS
    | english.SELF
    | english.IT
    | english.HIM
    | {"there", "then", "next", "now", "instead", "much", "many", "often"}
)
"""Words that name no topic."""


def find_search(tools: Sequence[ToolRoles]) -> ToolRoles | None:
    """Return an agent's search; None without one, or with several."""
    found = [tool for tool in tools if tool.is_search]
    return found[0] if len(found) == 1 else None


def is_searched(scan: Scan, order: Order, search: ToolRoles, tools: Sequence[ToolRoles]) -> bool:
    """Return whether an order asks for what a search may find."""
    if order.is_question or _begins_question(scan, order):
        return not _asks_to_act(scan, order, tools)
    if order.is_nominal:
        # What an agent is asked by `Ask Librarian about the mill bridge`.
        return order.verb is None and scan.tokens[order.first].word == "about"
    if measure_strength(scan, order, search) is Strength.STRONG:
        # `Ask the Handbook "mooring fees"`
        return True
    head, words = order.head, [token.word for token in scan.tokens[order.head : order.end]]
    people = [one.first for one in order.list_mentions(scan) if one.kind in _PERSONS]
    if people and people[0] <= head + 1 and words[0] in english.READ_VERBS | _KNOWING:
        # `Tell Ann when the bar opens`, `let Bob know it`
        return False
    if words[0] in _KNOWING:
        is_thing = words[0] == "know" and words[1:2] != [] and words[1] in english.DETERMINERS
        return is_thing or not _CLAUSES.isdisjoint(words[1:4])
    if stem(words[0]) in _LOOKING | _SEARCHES:
        return True
    return words[0] in english.READ_VERBS and count_evidence(scan, order, search) > 0


def write_query(scan: Scan, order: Order, search: ToolRoles, before: int) -> str:
    """Return the text of a search: a question, or the object of an order to look up.

    Input:  the sentence before by its first token, -1 for none. It is put before a question that
            names no topic, or has a pronoun for one.
    """
    end = _drop_thanks(scan, order)
    if order.is_question or _begins_question(scan, order):
        first = _find_start(scan, order)
        is_open = before >= 0 and _needs_topic(scan, order, first)
        return scan.show(before if is_open else first, end).strip()
    first = max(order.head + 1, order.first)
    while first < end and scan.tokens[first].word in _ABOUT:
        first += 1
    first = _skip_place(scan, search, first, end)
    quoted = _get_mention(scan, first) if first < end else None
    if quoted is not None and quoted.kind is MentionKind.QUOTATION and quoted.end == end:
        return quoted.text
    return scan.show(first, end).strip()


def is_of_text(scan: Scan, order: Order, mention: Mention) -> bool:
    """Return whether words that take back an order belong to what is searched.

    Those of a question do, those after a question word, and a time that more words follow.
    """
    if order.is_question or _begins_question(scan, order):
        return True
    between = scan.tokens[max(order.head, 0) : mention.first]
    if any(token.word in _CLAUSES for token in between) or mention.kind is MentionKind.CONDITION:
        return True
    is_time = mention.kind in {MentionKind.LATER, MentionKind.EARLIER, MentionKind.REPEAT}
    return is_time and order.head < mention.first and mention.end < order.end


def _find_start(scan: Scan, order: Order) -> int:
    """Return the first token of a question, after greetings; that after `could you`."""
    part = order.parts[0]
    place = part.first
    while place < part.end and (
        scan.tokens[place].word in english.GREETINGS | _THANKS
        or scan.tokens[place].kind is TokenShape.SIGN
    ):
        place += 1
    words = [token.word for token in scan.tokens[place : place + 2]]
    is_own = words[:1] != [] and words[0] in english.QUESTION_OPENERS and words[1:] != []
    is_own = is_own and words[1] not in _YOU
    return place if is_own else max(part.first, part.opener_end)


def _begins_question(scan: Scan, order: Order) -> bool:
    """Return whether an order is a question in form: `Can we bring guests?`."""
    place, sign = _find_start(scan, order), order.parts[-1].end
    is_asked = sign < len(scan.tokens) and scan.tokens[sign].text == "?"
    return is_asked and scan.tokens[place].word in MODALS


def _asks_to_act(scan: Scan, order: Order, tools: Sequence[ToolRoles]) -> bool:
    """Return whether a question may be an order, or asks for advice: `Should I pay Bob?`."""
    first = _find_start(scan, order)
    words = [token.word for token in scan.tokens[first : order.end]]
    subject = words[1] if len(words) > 1 else ""
    if words[0] in MODALS and subject in _ANYBODY:
        # `Can anybody tell me when …`
        return stem("".join(words[2:3])) not in _LOOKING
    is_bare = words[0] not in english.QUESTION_WORDS | english.QUESTION_OPENERS
    if is_bare and any(
        mention.kind in _PERSONS or mention.unit is UnitKind.TOKEN
        for mention in order.list_mentions(scan)
    ):
        # `5 USDC to Bob?`
        return True
    is_proposal = words[0] in MODALS or subject in _YOU or tuple(words[:2]) in _PROPOSALS
    return (is_bare or is_proposal) and any(
        has_verb(tool, token.word)
        for token in scan.tokens[first : order.end]
        for tool in tools
        if not tool.is_read and token.kind is TokenShape.WORD
    )


def _needs_topic(scan: Scan, order: Order, first: int) -> bool:
    """Return whether a question has no noun, or a pronoun for one: `And when is it returned?`."""
    words = [token.word for token in scan.tokens[first : order.end] if token.word]
    if all(word in _PLAIN for word in words):
        return True
    is_empty = words[1:2] == ["it"] and ("to" in words or "that" in words)
    return not is_empty and any(
        mention.kind in _PRONOUNS and mention.first >= first and mention.text.lower() != "that"
        for mention in order.list_mentions(scan)
    )


def _skip_place(scan: Scan, search: ToolRoles, first: int, end: int) -> int:
    """Return where the object begins after `the handbook for`, if that is what is searched."""
    place = first
    while place < end and (
        scan.tokens[place].word in english.DETERMINERS
        or stem(scan.tokens[place].word) in search.words
        or scan.tokens[place].text == search.name
    ):
        place += 1
    if place == first or place >= end:
        return first
    mention = _get_mention(scan, place)
    if mention is not None and mention.kind is MentionKind.QUOTATION:
        return place
    return place + 1 if scan.tokens[place].word in {"for", "about"} and place + 1 < end else first


def _get_mention(scan: Scan, place: int) -> Mention | None:
    return scan.mentions[scan.owners[place]] if scan.owners[place] >= 0 else None


def _drop_thanks(scan: Scan, order: Order) -> int:
    """Return the end of an order without a last `please`."""
    last = _get_mention(scan, order.end - 1)
    is_polite = last is not None and last.kind is MentionKind.COURTESY
    if last is None or not is_polite or scan.tokens[last.first].word not in _THANKS:
        return order.end
    return last.first if last.first > order.first else order.end
