"""The meaning of an order's words: which tool, and whether an order at all.

Values decide how a tool is filled; words decide whether the tool is meant. The verb of an order has
to be a tool's own or to mean the same, or the nouns have to be the tool's own. Words that cancel an
order, postpone or leave open are a block. A word at an important place that nothing explains is a
doubt.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.mentions import (
    BLOCKS,
    UNKNOWN,
    VALUES,
    Mention,
    MentionKind,
    UnitKind,
)
from precompiles.short_format.orders import RECEIVES, Mood, is_english_verb
from precompiles.short_format.phrases import is_past, stem
from precompiles.short_format.roles import ValueRole, split_words
from precompiles.short_format.setting import gives, makes, sets, shifts
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.values import Obstacle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.short_format.mentions import Scan
    from precompiles.short_format.orders import Order, Part
    from precompiles.short_format.roles import ParameterSlot, ToolRoles


class Strength(IntEnum):
    """How sure the words of an order are that a tool is meant."""

    WEAK = 1
    """Nothing speaks against it."""

    FAIR = 2
    """It has the order's verb or its nouns among its words."""

    STRONG = 3
    """Its own verb is the order's, or means the same."""


_OTHERS = frozenset((MentionKind.NAME, MentionKind.HIM, MentionKind.STRANGER))
_TALK = english.TALK
MODALS = frozenset("can could may might shall should will would must".split())  # noqa: SIM905


def _word_places(scan: Scan, order: Order) -> Iterator[int]:
    for part in order.parts:
        for place in range(part.first, part.end):
            if scan.owners[place] < 0 and scan.tokens[place].kind is TokenShape.WORD:
                yield place


def _build_meanings() -> dict[tuple[str, ...], frozenset[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for meaning, verbs in english.VERBS.items():
        for verb in verbs:
            words = verb.split()
            found.setdefault((stem(words[0]), *words[1:]), set()).add(meaning)
    return {words: frozenset(meanings) for words, meanings in found.items()}


_VERB_MEANINGS = _build_meanings()
_LONG_MEANINGS = tuple((words, of) for words, of in _VERB_MEANINGS.items() if len(words) > 2)  # noqa: PLR2004
_PARTICLES = english.PARTICLES
_FAR = frozenset(("go", "toward", "towards"))
"""Words that belong to a verb as particles do: `let seat 4 go`, `put 60 USDC toward it`."""

OPPOSITES = tuple(
    (frozenset(map(stem, left)), frozenset(map(stem, right))) for left, right in english.OPPOSITES
)
"""Stems of words that exclude each other."""

_MIN_SPELLED = 4
"""Characters of a tool's name that an order may spell out."""

_NEUTRAL = frozenset(
    map(stem, "send move transfer bring shift return get put take pass give".split())  # noqa: SIM905
)


_PLAIN_VERBS = frozenset(map(stem, ("make", "set", "change", "update", "turn", "fix", "let", "do")))
"""Verbs that say little of what is done."""


def find_meanings(scan: Scan, order: Order) -> tuple[str, frozenset[str]]:
    """Return the stem of an order's verb, and the meanings of the verb with the particle."""
    head = order.head
    if head < 0:
        return "", frozenset()
    verb = stem(scan.tokens[head].word)
    part = order.head_part
    assert part is not None  # noqa: S101 - it has a head
    if scan.tokens[head].word in english.PERFORM or _adds(scan, head, part.end):
        for place in range(head + 1, min(head + 5, part.end)):
            action = english.ACTIONS.get(scan.tokens[place].word)
            if action is not None:
                return stem(action), _VERB_MEANINGS.get((stem(action),), frozenset())
    words = tuple(token.word for token in scan.tokens[head + 1 : part.end])
    has_time = any(one.unit is UnitKind.TIME for one in order.list_mentions(scan))
    is_more = scan.tokens[head].word == "add" or not _MORE.isdisjoint(words)
    if has_time and scan.tokens[head].word in _GIVING and is_more:
        return "extend", frozenset(("extend",))
    if verb == "withdraw" and _names_item(scan, order):
        return verb, _VERB_MEANINGS[verb,] | {"cancel"}
    before = scan.tokens[head - 1].word if head else ""
    if scan.tokens[head].word in {"get", "have"} and before in {"i", "we"}:
        # `can I get court 6 at 19`
        return verb, _VERB_MEANINGS.get((verb,), frozenset()) | {"book"}
    for phrase, found in _LONG_MEANINGS:
        rest = phrase[1:]
        if phrase[0] == verb and any(
            words[at : at + len(rest)] == rest for at in range(len(words) - len(rest) + 1)
        ):
            return verb, found
    for place in range(head + 1, part.end):
        word = scan.tokens[place].word
        if word in _PARTICLES | _FAR and (verb, word) in _VERB_MEANINGS:
            after = scan.tokens[place + 1].word if place + 1 < part.end else ""
            if word in {"in", "on", "over"} and after in english.DETERMINERS and place > head + 1:
                continue
            own = (
                _VERB_MEANINGS.get((verb,), frozenset())
                if word in {"back", "over"}
                else frozenset()
            )
            return verb, _VERB_MEANINGS[verb, word] | own
    return verb, _VERB_MEANINGS.get((verb,), frozenset())


def has_verb(tool: ToolRoles, word: str) -> bool:
    """Return whether a word is the verb of a tool, or means the same."""
    verb = stem(word)
    return verb in tool.heads or bool(_VERB_MEANINGS.get((verb,), frozenset()) & tool.verbs)


def _find_phrase(scan: Scan, order: Order) -> range:
    """Return the tokens of a verb of several words without the first: `take it off sale`."""
    part = order.head_part
    if part is None or order.head < 0:
        return range(0)
    verb = stem(scan.tokens[order.head].word)
    words = tuple(token.word for token in scan.tokens[order.head + 1 : part.end])
    for phrase, _ in _LONG_MEANINGS:
        rest = phrase[1:]
        for at in range(len(words) - len(rest) + 1):
            if phrase[0] == verb and words[at : at + len(rest)] == rest:
                return range(order.head + 1 + at, order.head + 1 + at + len(rest))
    return range(0)


def _names_item(scan: Scan, order: Order) -> bool:
    """Return whether the object of a verb is an item by number: `withdraw proposal 3`."""
    mentions = order.list_mentions(scan)
    values = [one for one in mentions if one.kind in VALUES]
    if not values or any(one.unit is not UnitKind.NONE or not one.labels for one in values):
        return False
    return all(
        scan.owners[place] >= 0
        or scan.tokens[place].word in english.DETERMINERS
        or stem(scan.tokens[place].word) in values[0].labels
        for place in range(order.head + 1, values[0].first)
    )


_ADDED = frozenset(("deposit", "investment", "contribution", "donation"))


_GIVING = frozenset(("give", "have", "need", "get", "run", "add"))
_MORE = frozenset(("another", "more", "extra", "longer", "additional"))


def _adds(scan: Scan, head: int, end: int) -> bool:
    """Return whether an order adds to an earlier act: `increase my deposit by 6 DAI`."""
    words = [token.word for token in scan.tokens[head : min(head + 4, end)]]
    is_more = words[0] in {"increase", "raise", "boost"}
    return is_more and "by" in words and any(word in _ADDED for word in words)


def measure_strength(scan: Scan, order: Order, tool: ToolRoles) -> Strength | Obstacle:
    """Return how much an order's verb speaks for or against a tool."""
    head = order.head
    mood = Mood.NOMINAL if order.head_part is None else order.head_part.mood
    said = [scan.tokens[place].word for place in _word_places(scan, order)]
    words = set(map(stem, said))
    named = has_name(scan, order, tool) or bool(find_agent(scan, order.first, order.end, tool))
    if named:
        return Strength.STRONG
    if _appoints(scan, order, tool) or _asks_tool(scan, order, tool):
        return Strength.STRONG
    if any(means(scan, order, tool) for means in (sets, makes, shifts, gives)):
        return Strength.STRONG
    if _is_opposite(scan, order, tool):
        return Obstacle("opposite", scan.tokens[head].text if head >= 0 else "", progress=1)
    if _is_form(scan, order, tool):
        return Strength.STRONG
    if mood is Mood.QUESTION and _is_advice(scan, head, order.end):
        return Obstacle("question", progress=2)
    if mood is Mood.QUESTION and tool.is_search and scan.tokens[head].word in MODALS:
        return Obstacle("question", progress=2)
    if mood is Mood.QUESTION:
        return Strength.FAIR if tool.is_read else Obstacle("question", progress=2)
    if mood is Mood.RECEIVING:
        if scan.tokens[head].word in {"go", "goes"} and (
            words & tool.name_words or _has_direction(scan, order, tool)
        ):
            return Strength.STRONG
        is_placed = scan.tokens[head].word in {"go", "goes"} and scan.tokens[head + 1].word != "to"
        return Strength.STRONG if "pay" in tool.verbs and not is_placed else Strength.WEAK
    if head < 0:
        if _has_subject(scan, order, tool):
            return Obstacle("report", progress=2)
        if tool.is_search:
            return Obstacle("verb")
        if tool.is_read and any(one.kind in BLOCKS for one in order.list_mentions(scan)):
            return Obstacle("verb")
        if tool.is_read:
            return Strength.FAIR if words & tool.words else Strength.WEAK
        kinds = {mention.kind for mention in order.list_mentions(scan)}
        actions = [
            english.ACTIONS[word] for word in _first_nouns(scan, order) if word in english.ACTIONS
        ]
        if any(
            stem(one) in tool.heads or _VERB_MEANINGS.get((stem(one),), frozenset()) & tool.verbs
            for one in actions
        ):
            return Strength.STRONG
        if _says_choice(scan, order, tool):
            return Strength.STRONG
        particles = [word for word in said if word in {"up", "down", "off", "on"}]
        if {"up", "down"} <= set(particles) or {"off", "on"} <= set(particles):
            # `Ann off, Ben on`: of each its own.
            return Obstacle("verb", progress=1)
        if any(_VERB_MEANINGS.get((word,), frozenset()) & tool.verbs for word in particles):
            return Strength.STRONG
        is_payment = (
            MentionKind.QUANTITY in kinds
            and kinds & {MentionKind.NAME, MentionKind.HIM}
            and "pay" in tool.verbs
            and (tool.moves or any(slot.role is ValueRole.AMOUNT for slot in tool.slots))
        )
        return Strength.STRONG if is_payment else Strength.WEAK
    verb, meanings = find_meanings(scan, order)
    shown = scan.tokens[head].text
    if tool.is_read and scan.tokens[head].word in {"give", "get", "hand"}:
        owner = scan.owners[head + 1] if head + 1 < order.end else -1
        if owner >= 0 and scan.mentions[owner].kind in _OTHERS:
            # `give Ann and Ben 2 stamps`
            return Obstacle("verb", shown, progress=1)
    if tool.is_read and scan.tokens[head].word in english.READ_VERBS - english.ASK_VERBS:
        after = scan.owners[head + 1] if head + 1 < order.end else -1
        place = head + 1 + (after >= 0 and scan.mentions[after].kind is MentionKind.SELF)
        owner = scan.owners[place] if place < order.end else -1
        if owner >= 0 and scan.mentions[owner].unit is UnitKind.TOKEN:
            return Obstacle("verb", shown, progress=1)
    if tool.is_read:
        is_asked = (
            verb in tool.name_words
            or scan.tokens[head].word in english.READ_VERBS | {"have"}
            or bool(meanings & tool.verbs)
        )
        return Strength.FAIR if is_asked else Obstacle("verb", shown, progress=1)
    if scan.tokens[head].word in _TALK and verb not in tool.words:
        return Obstacle("talk", shown, progress=3)
    has_particle = meanings and meanings != _VERB_MEANINGS.get((verb,), frozenset())
    own = tool.heads if is_english_verb(scan.tokens[head].word) else tool.name_words
    if tool.particle and verb in tool.heads and not _says_particle(scan, order, tool):
        # `check 2` does not check in
        return Obstacle("verb", shown, progress=1)
    if "back" in split_words(tool.name)[1:] and _goes_to(scan, order):
        # `Take 30 kg of batch 2 to Ann` takes nothing back.
        return Obstacle("verb", shown, progress=1)
    is_own = (
        _has_truth(verb, tool)
        or _switches(scan, order, tool)
        or (verb in own and not (has_particle and not meanings & tool.verbs))
        or (scan.tokens[head].word in english.PERFORM and _has_object(scan, order, tool))
    )
    is_same = bool(meanings & tool.verbs)
    if tool.is_agent and verb in tool.words:
        return Strength.STRONG
    if "swap" in tool.verbs and meanings & {"buy", "sell", "swap"}:
        is_right = _exchanges(scan, order, tool, is_bought=meanings & _EXCHANGES == {"buy"})
        return Strength.STRONG if is_right else Obstacle("verb", shown, progress=1)
    clash = _clashes(scan, order, tool)
    if clash:
        return Obstacle("opposite", shown, progress=1)
    if is_own or is_same:
        return Strength.STRONG
    if verb in _NEUTRAL and _has_direction(scan, order, tool):
        return Strength.STRONG
    if verb in tool.words:
        return Strength.FAIR
    is_neutral = (
        verb in _NEUTRAL or verb in _PLAIN_VERBS or scan.tokens[head].word in english.READ_VERBS
    )
    if meanings and tool.verbs and (tool.moves or (not tool.slots and not is_neutral)):
        is_meant = _count_nouns(scan, order, tool) > 1
        return Strength.FAIR if is_meant else Obstacle("verb", shown, progress=1)
    if scan.tokens[head].word in (english.READ_VERBS if tool.moves else english.ASK_VERBS):
        return Obstacle("verb", shown, progress=1)
    return Strength.WEAK


def _has_subject(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether a part says that people do it: `some folks send 5`, `a good agent pays 7`."""
    for part in order.parts:
        words = [token.word for token in scan.tokens[part.first : part.end]]
        if part.head >= 0 or words[0] not in _ANY:
            continue
        for place in range(part.first + 1, part.end - 1):
            is_word = scan.owners[place] < 0 and scan.tokens[place - 1].kind is TokenShape.WORD
            is_object = scan.owners[place + 1] >= 0
            is_noun = place == part.first + 1 and words[0] not in _ANYONE
            if is_word and is_object and not is_noun and has_verb(tool, scan.tokens[place].word):
                return True
    return False


_ANYONE = frozenset(
    "people folks everybody everyone somebody someone nobody anybody anyone others".split()  # noqa: SIM905
)
"""Subjects of one word."""

_ANY = _ANYONE | frozenset("a an some every each most many any all no few several".split())  # noqa: SIM905
"""Words that begin a subject which nobody is told by."""


def _goes_to(scan: Scan, order: Order) -> bool:
    """Return whether an order has a recipient: `to Ann`, or the object of the verb."""
    return any(
        mention.kind is MentionKind.NAME
        and mention.first
        and (
            any(
                token.word == "to"
                for token in scan.tokens[max(mention.first - 2, order.head) : mention.first]
            )
            or mention.first in {order.head + 1, order.head + 2}
        )
        for mention in order.list_mentions(scan)
    )


def _says_particle(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order has the particle of a tool's verb: `check Ann in`."""
    part = order.head_part
    assert part is not None  # noqa: S101 - it has a head
    verb = stem(scan.tokens[order.head].word)
    words = [scan.tokens[place].word for place in range(order.head + 1, part.end)]
    following = dict(zip(words, [*words[1:], ""], strict=True))
    if verb not in _OPEN_VERBS:
        return True
    is_in = tool.particle == "in" and following.get("in") in {"on", "with"}
    return tool.particle in words and not is_in


_OPEN_VERBS = frozenset(("check", "sign", "log"))
"""Stems of verbs that do another thing without a particle: `check 2` does not check in."""


def _says_choice(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order has a word that a tool gives for a number: `proposal 1: for`."""
    named = {word for slot in tool.slots for word, _ in slot.named}
    return any(
        stem(scan.tokens[place].word) in named
        and (scan.tokens[place].word not in _FUNCTION or place + 1 == part.end)
        for part in order.parts
        for place in range(part.first, part.end)
        if scan.owners[place] < 0 and scan.tokens[place].kind is TokenShape.WORD
    )


def _is_advice(scan: Scan, head: int, end: int) -> bool:
    """Return whether a question is one for advice: `Should I pay it`?"""
    words = [token.word for token in scan.tokens[head : min(head + 2, end)]]
    return (
        len(words) > 1
        and words[0] in {"should", "shall", "may", "must", "ought"}
        and words[1] in {"i", "we"}
    )


def _count_nouns(scan: Scan, order: Order, tool: ToolRoles) -> int:
    """Return how many words of an order beside verb and values are a tool's own."""
    words = {
        stem(scan.tokens[place].word)
        for place in _word_places(scan, order)
        if place != order.head
        and scan.tokens[place].word not in _FUNCTION
        and scan.tokens[place].word not in english.MONEY_NOUNS
    }
    return len(words & tool.words)


def _first_nouns(scan: Scan, order: Order) -> list[str]:
    """Return the words of an order before the first preposition or value."""
    found = []
    for place in range(order.first, order.parts[0].end):
        word = scan.tokens[place].word
        if scan.owners[place] >= 0 or word in english.PREPOSITIONS:
            break
        if not _is_label_at(scan, place):
            # `proposal 1` names one that exists.
            found.append(word)
    return found


def _has_truth(verb: str, tool: ToolRoles) -> bool:
    """Return whether a verb is a tool's own or the opposite, and the tool takes a truth value."""
    if not any(slot.role is ValueRole.TRUTH for slot in tool.slots):
        return False
    return any(
        verb in both and not both.isdisjoint(tool.name_words)
        for both in (left | right for left, right in OPPOSITES)
    )


def _switches(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order turns something on or off, and a truth value of a tool does that."""
    truths = [slot for slot in tool.slots if slot.role is ValueRole.TRUTH]
    says = any(not slot.labels.isdisjoint({"on", "off"}) for slot in truths) or any(
        not {"on", "off"}.isdisjoint(dict(slot.named)) for slot in tool.slots
    )
    words = {token.word for token in scan.tokens[order.head : order.end]}
    return (
        says and scan.tokens[order.head].word in {"turn", "switch"} and bool(words & {"on", "off"})
    )


def _has_object(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether the first noun after a verb is a tool's: `do the wages`."""
    for place in range(max(order.head + 1, order.first), order.end):
        owner, token = scan.owners[place], scan.tokens[place]
        if (
            owner >= 0
            and scan.mentions[owner].kind is MentionKind.NAME
            and scan.mentions[owner].text in tool.handles
        ):
            return True
        if owner < 0 and token.kind is TokenShape.WORD and token.word not in _FUNCTION:
            return stem(token.word) in (
                tool.words if scan.tokens[order.head].word != "make" else tool.heads
            )
    return False


def has_name(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order spells out a tool's name of several words."""
    said = scan.show(order.first, order.end)
    return (
        len(tool.name) >= _MIN_SPELLED
        and tool.name in said
        and any(sign.isupper() or sign == "_" for sign in tool.name[1:])
    )


_POSTS = frozenset(map(stem, ("role", "title", "rank", "position", "post", "office", "job")))


def _appoints(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order gives a person a role: `make Ann our treasurer`."""
    if order.head < 0 or scan.tokens[order.head].word not in {"make", "appoint", "name"}:
        return False
    texts = [slot for slot in tool.slots if slot.role is ValueRole.TEXT]
    is_role = len(texts) == 1 and not texts[0].names.isdisjoint(_POSTS)
    owner = scan.owners[order.head + 1] if order.head + 1 < order.end else -1
    is_named = owner >= 0 and scan.mentions[owner].kind in {MentionKind.NAME, MentionKind.HIM}
    after = (
        scan.tokens[scan.mentions[owner].end].word
        if is_named and (scan.mentions[owner].end < order.end)
        else ""
    )
    return is_role and after in english.POSSESSIVES | {"the", "a", "an"}


def _asks_tool(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order names a tool that takes a text: `Ask the Handbook "…"`."""
    is_asked = order.head >= 0 and scan.tokens[order.head].word in {"ask", "consult"}
    words = [token.text for token in scan.tokens[order.first : order.end]]
    has_text = any(slot.role is ValueRole.TEXT for slot in tool.slots)
    return is_asked and has_text and tool.name[:1].isupper() and tool.name in words


_EXCHANGES = frozenset(("buy", "sell", "swap"))
_GOT = frozenset(("out", "get", "buy", "receiv"))
_GIVEN = frozenset(("in", "giv", "sell", "send", "pay"))


def _exchanges(scan: Scan, order: Order, tool: ToolRoles, *, is_bought: bool) -> bool:
    """Return whether the amount of an order is on the side of an exchange that a tool takes.

    `swap 5 USDC for DAI` and `buy DAI for 5 USDC` state the amount given, `swap DAI for 5 USDC` and
    `buy 5 USDC with DAI` the amount received.
    """
    amounts = [one for one in order.list_mentions(scan) if one.kind is MentionKind.QUANTITY]
    if not amounts:
        return True
    words = {scan.tokens[place].word for place in range(order.first, amounts[0].first)}
    is_object = words.isdisjoint({"for", "with", "using", "into"})
    slots = [slot.names for slot in tool.slots if slot.role is ValueRole.AMOUNT]
    asks_got = any(names & _GOT for names in slots) and not any(names & _GIVEN for names in slots)
    return (is_object == is_bought) == asks_got


def find_agent(scan: Scan, first: int, end: int, tool: ToolRoles) -> int:
    """Return the end of an agent's name among some tokens, or 0: `Ask the Counting Agent`."""
    name = tuple(map(stem, split_words(tool.name))) if tool.is_agent else ()
    words = [stem(token.word) for token in scan.tokens[first:end]] if name else []
    for start in range(len(words) - len(name) + 1) if name else ():
        if tuple(words[start : start + len(name)]) == name:
            return first + start + len(name)
    return 0


def _is_form(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether an order is a list of a tool's parameters with their values: `seller: Ann`."""
    labels = {
        stem(scan.tokens[place].word)
        for place in range(order.first, order.end - 1)
        if scan.tokens[place + 1].text in {":", "="}
    }
    names = [set(map(stem, split_words(parameter.name))) for parameter in tool.parameters]
    if order.head < 0 and order.verb is None and not tool.is_read:
        # `weekdays 2 and 4: open at 9 am, close at 8 pm`
        labels |= {stem(scan.tokens[place].word) for place in _word_places(scan, order)}
    return len(names) > 1 and all(not of.isdisjoint(labels) for of in names)


def _is_opposite(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether a word of an order excludes the act of a tool; a truth value admits both."""
    head = order.head
    if any(slot.role is ValueRole.TRUTH for slot in tool.slots):
        return False
    if tool.particle in english.OPPOSITE_PARTICLES and head >= 0:
        part = order.head_part
        assert part is not None  # noqa: S101 - it has a head
        words = {scan.tokens[place].word for place in range(head + 1, min(head + 2, part.end))}
        words |= {scan.tokens[part.end - 1].word}
        if english.OPPOSITE_PARTICLES[tool.particle] in words and tool.particle not in words:
            return True
    said = {
        scan.tokens[place].word
        for place in _word_places(scan, order)
        if place <= head + 1 or scan.tokens[place].word in {"up", "down", "on", "off"}
    }
    said = {stem(word) for word in said}
    if head >= 0:
        said.add(stem(scan.tokens[head].word))
    undone = {f"{prefix}{verb}" for verb in tool.heads for prefix in ("un", "de", "dis")}
    if head >= 0 and stem(scan.tokens[head].word) in undone - tool.name_words:
        return True
    names = tool.name_words | set(map(stem, split_words(tool.name)))
    for one, other in OPPOSITES:
        for mine, theirs in ((one, other), (other, one)):
            if names & mine and not names & theirs and said & theirs and not said & mine:
                return True
    return False


def _clashes(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether order and tool have opposite directions: out of and into."""
    inward, outward = _directions(scan, order)
    own_inward, own_outward = _own_directions(tool)
    pays_in = tool.moves and "pay" in tool.verbs and not _has_recipient(tool)
    if pays_in and outward & tool.words - own_outward:
        # `0.5 ETH from the fund, please pay that` contributes nothing.
        return True
    return bool(inward & own_outward - own_inward) or bool(outward & own_inward - own_outward)


def _has_recipient(tool: ToolRoles) -> bool:
    return any(slot.role in {ValueRole.RECIPIENT, ValueRole.PARTY} for slot in tool.slots)


def _has_direction(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    inward, outward = _directions(scan, order)
    own_inward, own_outward = _own_directions(tool)
    return bool(inward & own_inward) or bool(outward & own_outward)


def _directions(scan: Scan, order: Order) -> tuple[set[str], set[str]]:
    """Return stems of the nouns into and out of which an order goes."""
    inward: set[str] = set()
    outward: set[str] = set()
    for part in order.parts:
        place = part.first
        while place < part.end:
            word = scan.tokens[place].word
            place += 1
            if scan.owners[place - 1] >= 0 or word not in english.INWARD | english.OUTWARD:
                continue
            noun = ""
            while place < part.end:
                owner, token = scan.owners[place], scan.tokens[place]
                if owner >= 0 and scan.mentions[owner].kind is MentionKind.NAME and not noun:
                    noun = scan.mentions[owner].text.lower()
                    break
                if token.word == "of" and word == "out":
                    place += 1
                    continue
                if (
                    owner >= 0
                    or token.kind is not TokenShape.WORD
                    or (token.word in _FUNCTION and token.word not in english.DETERMINERS)
                ):
                    break
                if token.word not in english.DETERMINERS:
                    noun = stem(token.word)
                place += 1
            if noun:
                (inward if word in english.INWARD else outward).add(noun)
    return inward, outward


def _own_directions(tool: ToolRoles) -> tuple[frozenset[str], frozenset[str]]:
    return tool.inward, tool.outward


def count_evidence(scan: Scan, order: Order, tool: ToolRoles) -> int:
    """Return the evidence of an order's words for a tool: two for one of the name, one for others.

    Nouns beside a value that the tool takes, such as `vault 5`, do not count for a tool that reads.
    """
    own_mentions = order.list_mentions(scan)
    labels = {label for mention in own_mentions for label in mention.labels}
    words = {
        stem(scan.tokens[place].word)
        for place in _word_places(scan, order)
        if scan.tokens[place].word not in _FUNCTION
        # `look` and `check` say that something is read, and not what.
        and not (
            tool.is_read
            and place == order.head
            and scan.tokens[place].word in {"look", "check", "see", "show", "tell", "read"}
        )
    }
    opening = scan.tokens[max(order.first, order.parts[0].opener_end)].word
    if tool.is_read and opening in {"who", "whose", "whom", "where", "when", "why"}:
        words -= labels
    handles = {mention.text for mention in own_mentions if mention.kind is MentionKind.NAME}
    if not tool.is_read:
        words |= labels | {
            stem(mention.text) for mention in own_mentions if mention.unit is UnitKind.NOUN
        }
    if tool.is_read:
        words |= {
            stem(one)
            for place in _word_places(scan, order)
            for one in english.READ_NOUNS.get(scan.tokens[place].word, ())
        }
        words |= {stem(one) for word in words for one in english.READ_NOUNS.get(word, ())}
    own = {word for word in words if is_word_of(word, tool.words)}
    named = {word for word in words if is_word_of(word, tool.name_words)}
    return len(own) + len(named) + len(handles & tool.handles)


def count_strange(scan: Scan, order: Order, tool: ToolRoles) -> int:
    """Return how many words of a question a tool that reads does not explain."""
    found = 0
    for place in _word_places(scan, order):
        word = scan.tokens[place].word
        is_plain = (
            word in _FUNCTION
            or word in english.MONEY_NOUNS
            or word in english.ADVERBS
            or (place == order.head and word in english.READ_VERBS | english.AUXILIARIES)
            or word in _ASKED_WORDS
        )
        names = {stem(word), *(stem(one) for one in english.READ_NOUNS.get(stem(word), ()))}
        found += not is_plain and not any(is_word_of(one, tool.words) for one in names)
    return found


def explains(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether a tool that reads explains a question, beside a search that might answer it.

    It has all the question's words; or one of its own is said, and one other at most, or a value.
    """
    strange = count_strange(scan, order, tool)
    said = {
        stem(scan.tokens[place].word)
        for place in _word_places(scan, order)
        if scan.tokens[place].word not in _FUNCTION and place != order.head
    }
    names = {one.text for one in order.list_mentions(scan) if one.kind is MentionKind.NAME}
    if names & tool.handles or any(is_word_of(word, tool.words) for word in said):
        return strange <= 1 or bool(tool.slots)
    # `How much do I have?`, but not `Can I have my deposit back?`
    is_open = scan.tokens[order.head].word in english.QUESTION_WORDS
    return is_open and strange == 0 and count_evidence(scan, order, tool) > 0


_ASKED_WORDS = frozenset("much many currently still left exactly moment know right".split())  # noqa: SIM905
_LEAST_SHARED = 4


def is_word_of(word: str, words: frozenset[str]) -> bool:
    """Return whether a stem is among some, or begins like one: `humid`, `humiditi`."""
    if word in words:
        return True
    return len(word) >= _LEAST_SHARED and any(one.startswith(word) for one in words)


_FUNCTION = (
    english.DETERMINERS
    | english.PREPOSITIONS
    | english.AUXILIARIES
    | english.SUBJECTS
    | english.QUESTION_WORDS
    | english.JOINTS
    | english.SELF
    | english.GREETINGS
    | english.IT
    | english.HIM
)


# -- what takes an order back -- #

_SOFT = frozenset((MentionKind.INEXACT, MentionKind.REPEAT, MentionKind.LATER, MentionKind.EARLIER))


def find_block(scan: Scan, order: Order, tool: ToolRoles) -> Obstacle | None:
    """Return why an order does not count, or not now; else None."""
    for mention in scan.mentions:
        if mention.kind not in BLOCKS or not order.holds(mention):
            continue
        if any(part.first <= mention.first < part.opener_end for part in order.parts):
            continue
        words = {stem(scan.tokens[place].word) for place in range(mention.first, mention.end)}
        words -= {stem(handle.lower()) for handle in tool.handles}
        if (
            mention.kind is MentionKind.REPEAT
            and mention.text.lower() == "again"
            and (not tool.moves or _has_own_amount(scan, order))
        ):
            continue
        if mention.text.lower() == "every" and not tool.slots and _is_noun_of(scan, mention, tool):
            continue
        if (
            mention.kind is MentionKind.NEGATION
            and words == {"no"}
            and _is_vote(scan, mention, tool)
        ):
            continue
        after = scan.tokens[mention.end].text if mention.end < len(scan.tokens) else ""
        before = scan.tokens[mention.first - 1].word if mention.first else ""
        is_origin = mention.kind is MentionKind.EARLIER and before in {"from", "of"}
        is_origin = is_origin or (after == "'s" and mention.kind is not MentionKind.LATER)
        is_origin = is_origin and tool.verbs.isdisjoint({"book"})
        if mention.kind in _SOFT and is_origin and not tool.is_read:
            # `yesterday's goals`, `the stamps from this morning`
            continue
        named = {word for slot in tool.slots for word, _ in slot.named}
        if mention.kind is MentionKind.NEGATION and words & named & {"non", "never", "no"}:
            # `0 = none`
            continue
        if mention.kind is MentionKind.NEGATION and find_negated(scan, mention, tool.slots):
            continue
        is_other_time = bool(words & {"next", "last", "after", "before"} - tool.words)
        if (
            mention.kind in _SOFT
            and not is_other_time
            and (
                words & tool.words
                or words & {word for slot in tool.slots for word, _ in slot.named}
            )
        ):
            continue
        if tool.is_read and mention.kind not in {
            MentionKind.EARLIER,
            MentionKind.CORRECTION,
            MentionKind.NEGATION,
            MentionKind.LATER,
            MentionKind.REPEAT,
        }:
            continue
        is_past = mention.kind is MentionKind.EARLIER and mention.text.lower() not in _UP_TO_NOW
        if (
            tool.is_read
            and (order.is_question or mention.kind is MentionKind.EARLIER)
            and (not is_past)
        ):
            continue
        return Obstacle(mention.kind.name.lower(), mention.text)
    return None


_NATIVE = frozenset("eth ether native plain normal wrapped".split())  # noqa: SIM905
_OWN = frozenset("account wallet balance money funds cash tokens token".split())  # noqa: SIM905
"""What somebody pays from without saying more."""

_MONEY_STEMS = frozenset(map(stem, english.MONEY_NOUNS))
_BEFORE_NAMED = 3


def find_negated(scan: Scan, mention: Mention, slots: Sequence[ParameterSlot]) -> bool:
    """Return whether a negation makes a truth value false: `not express`."""
    after = scan.tokens[mention.end : mention.end + _BEFORE_NAMED]
    return any(
        stem(token.word) in slot.names
        for slot in slots
        if slot.role is ValueRole.TRUTH
        for token in after
    )


def read_named_truth(scan: Scan, order: Order, slot: ParameterSlot) -> bool | None:
    """Return the truth value that an order names: `express`, `no express`; or None."""
    places = [
        place for place in _word_places(scan, order) if stem(scan.tokens[place].word) in slot.names
    ]
    negations = [one for one in order.list_mentions(scan) if one.kind is MentionKind.NEGATION]
    found = {
        not any(one.end <= place < one.end + _BEFORE_NAMED for one in negations) for place in places
    }
    return found.pop() if len(found) == 1 else None


def _has_own_amount(scan: Scan, order: Order) -> bool:
    """Return whether an order has an amount and no pronoun: `pay Bob 5 USDC again` pays once."""
    kinds = {mention.kind for mention in order.list_mentions(scan)}
    return MentionKind.QUANTITY in kinds and not kinds & {
        MentionKind.IT,
        MentionKind.SAME,
        MentionKind.ALL,
        MentionKind.HIM,
    }


_UP_TO_NOW = frozenset(("so far", "just now", "recently", "earlier"))


def _is_noun_of(scan: Scan, mention: Mention, tool: ToolRoles) -> bool:
    """Return whether a word of a tool follows: `count every default`."""
    after = scan.tokens[mention.end].word if mention.end < len(scan.tokens) else ""
    return stem(after) in tool.words


_VOTES = frozenset("favor favour support yes no aye nay".split())  # noqa: SIM905


def _is_vote(scan: Scan, mention: Mention, tool: ToolRoles) -> bool:
    """Return whether `no` is a vote: `vote no on 3`, `a no for 2`."""
    if not any("against" in dict(slot.named) for slot in tool.slots):
        return False
    before = scan.tokens[mention.first - 1].word if mention.first else ""
    return before in {"vote", "a", "voting", "say", "cast", "with", "our", "my"}


def find_unknown(scan: Scan, order: Order, tool: ToolRoles) -> Obstacle | None:
    """Return the unknown name of an order."""
    has_party = _has_party(tool)
    for mention in scan.mentions:
        if mention.kind not in UNKNOWN or not order.holds(mention):
            continue
        if mention.kind in {MentionKind.SELF, MentionKind.SOMEBODY} and (
            tool.is_read or not has_party
        ):
            continue
        if mention.kind is MentionKind.STRANGER and is_text(scan, tool, mention):
            continue
        if (
            mention.kind is MentionKind.SELF
            and mention.first
            and scan.tokens[mention.first - 1].word == "from"
        ):
            continue
        if mention.kind in {MentionKind.STRANGER, MentionKind.SOMEBODY} and _is_purpose(
            scan, order, mention
        ):
            continue
        return Obstacle(
            "person" if mention.kind is not MentionKind.UNREAD else "unread", mention.text
        )
    unit = _find_other_unit(scan, order, tool)
    if unit:
        return Obstacle("token", unit)
    for mention in scan.mentions:
        is_in = order.holds(mention)
        if (
            is_in
            and mention.kind is MentionKind.DATA
            and not any(slot.role is ValueRole.DATA for slot in tool.slots)
        ):
            return Obstacle("address", mention.text)
    return None


def _find_other_unit(scan: Scan, order: Order, tool: ToolRoles) -> str:
    """Return the native currency that an order names, of a tool that shows a token's balance."""
    if not tool.is_read or tool.slots or "balanc" not in tool.name_words:
        return ""
    own = {handle.lower() for handle in tool.handles} | tool.words
    for place in _word_places(scan, order):
        word = scan.tokens[place].word
        if word in {"eth", "ether", "wei"} and word not in own:
            return scan.tokens[place].text
    return ""


def _has_party(tool: ToolRoles) -> bool:
    return any(
        slot.role in {ValueRole.PARTY, ValueRole.RECIPIENT, ValueRole.SOURCE} for slot in tool.slots
    )


def is_text(scan: Scan, tool: ToolRoles, mention: Mention) -> bool:
    """Return whether a capitalised name is a tool's text.

    The tool takes no account, or the text's label comes before.
    """
    texts = [slot for slot in tool.slots if slot.role is ValueRole.TEXT]
    place = mention.first - 1
    while place > 0 and scan.tokens[place].word in {"is", "are", "called", "named", "=", ":"}:
        place -= 1
    label = stem(scan.tokens[place].word) if place >= 0 else ""
    if any(one.kind is MentionKind.QUOTATION for one in scan.mentions):
        return False
    return bool(texts) and (not _has_party(tool) or any(label in slot.names for slot in texts))


def _is_purpose(scan: Scan, order: Order, mention: Mention) -> bool:
    """Return whether a name stands in the purpose of an amount: `12 POL for the train to Lyon`.

    `for` and an article come after all values of the part.
    """
    part = next((part for part in order.parts if part.holds(mention)), None)
    if part is None:
        return True
    values = [
        one.first
        for one in scan.mentions
        if part.first <= one.first < mention.first and one.kind in VALUES
    ]
    starts = [
        place
        for place in range(part.first, mention.first - 1)
        if scan.tokens[place].word == "for" and scan.tokens[place + 1].word in english.DETERMINERS
    ]
    return (
        len(values) > 1
        and bool(starts)
        and starts[0] > max(values)
        and mention.first > starts[0] + len(("for", "the"))
    )


MAX_LOOSE_WORDS = 4


def find_loose_words(scan: Scan, order: Order, tool: ToolRoles) -> list[tuple[int, int]]:
    """Return first token and end of each run of words that neither grammar nor tool explains."""
    found: list[tuple[int, int]] = []
    for part in order.parts:
        start = -1
        for place in range(max(part.first, part.opener_end), part.end + 1):
            is_loose = place < part.end and _is_loose(scan, order, tool, place)
            if is_loose and start < 0:
                start = place
            elif not is_loose and start >= 0:
                found.append((start, place))
                start = -1
    found = [
        one
        for one in found
        if one[1] - one[0] <= MAX_LOOSE_WORDS and not _is_adjective(scan, tool, one)
    ]
    return [one for one in found if not _is_place(scan, one[0]) and not _is_beside(scan, one[0])]


def _is_beside(scan: Scan, first: int) -> bool:
    """Return whether words say by what, or stand in brackets: `by post`, `[withdrawn]`."""
    before = scan.tokens[first - 1] if first else None
    return before is not None and (before.word in {"by", "via"} or before.text in {"[", "("})


def _is_place(scan: Scan, first: int) -> bool:
    """Return whether words follow `to the`, `on my order` or the like."""
    place = first - 1
    while place > 0 and scan.owners[place] < 0 and scan.tokens[place].kind is TokenShape.WORD:
        if scan.tokens[place].word in english.DETERMINERS:
            return scan.tokens[place - 1].word in english.INWARD
        if scan.tokens[place].word in _FUNCTION:
            return False
        place -= 1
    return False


def _is_adjective(scan: Scan, tool: ToolRoles, run: tuple[int, int]) -> bool:
    """Return whether words stand before a tool's own noun, or after `a`: `a nice title`."""
    before = scan.tokens[run[0] - 1].word if run[0] else ""
    after = scan.tokens[run[1]].word if run[1] < len(scan.tokens) else ""
    if tool.is_read and any(
        slot.role is ValueRole.TEXT and stem(after) in slot.names for slot in tool.slots
    ):
        # `How much spelt flour is left?` asks for a flour's name.
        return False
    return before in {"a", "an"} or stem(after) in tool.words


_OPPOSED = frozenset(word for pair in english.OPPOSITES for words in pair for word in words)


def _is_loose(scan: Scan, order: Order, tool: ToolRoles, place: int) -> bool:
    token, owner = scan.tokens[place], scan.owners[place]
    if owner >= 0:
        mention = scan.mentions[owner]
        if (
            mention.unit is UnitKind.NOUN
            and token.kind is TokenShape.WORD
            and token.word == mention.unit_name
        ):
            return stem(mention.text) not in tool.words and mention.text != "degree"
        return mention.kind is MentionKind.STRANGER and is_text(scan, tool, mention)
    word = token.word
    is_known = (
        place == order.head
        or word in _FUNCTION
        or word in english.MONEY_NOUNS
        or word in english.ADVERBS
        or word in _PARTICLES
        or word in _OPPOSED
        or stem(word) in tool.words - tool.examples
        or (tool.is_read and (word in _ASKED_WORDS or _asks_noun(word, tool)))
    )
    return token.kind is TokenShape.WORD and not is_known


def _asks_noun(word: str, tool: ToolRoles) -> bool:
    """Return whether a word means a noun of a tool that reads: `cost` for `price`."""
    nouns = english.READ_NOUNS.get(stem(word), english.READ_NOUNS.get(word, ()))
    return any(stem(noun) in tool.words for noun in nouns)


def _is_compound(scan: Scan, tool: ToolRoles, place: int) -> bool:
    """Return whether a word belongs to a tool's noun that follows: `the savings vault`."""
    after = scan.tokens[place + 1] if place + 1 < len(scan.tokens) else None
    is_noun = after is not None and scan.owners[place + 1] < 0 and after.word not in _FUNCTION
    return (
        is_noun
        and after is not None
        and stem(after.word) in tool.name_words | tool.inward | tool.outward
    )


def _find_purpose(scan: Scan, part: Part) -> int:
    """Return where the purpose of an amount begins: after a part's values; else a large number."""
    values = [one.end for one in scan.mentions if part.holds(one) and one.kind in VALUES | UNKNOWN]
    if not values:
        return part.end
    starts = [
        place
        for place in range(max(values), part.end)
        if scan.tokens[place].word in english.PURPOSES
    ]
    return starts[0] if starts else part.end


def _is_list_header(scan: Scan, part: Part) -> bool:
    """Return whether a part is a line that ends with a colon, and has no value."""
    end = part.end
    is_header = end + 1 < len(scan.tokens) and scan.tokens[end].text == ":"
    is_header = is_header and scan.tokens[end + 1].text == "\n"
    return is_header and not any(part.holds(one) for one in scan.mentions)


def _books_for(scan: Scan, part: Part, tool: ToolRoles) -> bool:
    """Return whether a part names the purpose of a booking: `table 7 for the poker round`.

    `for the next film` and `for Friday` are attributes.
    """
    words = {token.word for token in scan.tokens[part.first : part.end]}
    is_other = words & (_RANKS | english.WEEKDAYS | {"'s"}) or any(
        word.endswith("'s") for word in words
    )
    return not tool.verbs.isdisjoint({"book", "invite"}) and not is_other


_RANKS = frozenset("second third fourth fifth next last other previous following".split())  # noqa: SIM905


def _describes_new(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether `a` and a noun follow the verb for a titled thing: `schedule a concert`."""
    is_quoted = any(one.kind is MentionKind.QUOTATION for one in order.list_mentions(scan))
    has_text = any(slot.role is ValueRole.TEXT for slot in tool.slots)
    is_new = scan.tokens[order.head + 1].word in {"a", "an"}
    return is_quoted and has_text and is_new and not tool.moves


def _find_receiving_end(scan: Scan, part: Part) -> int:
    """Return the end of the verb of `Bob is to get 5`."""
    if part.mood is not Mood.RECEIVING:
        return -1
    found = RECEIVES.match(scan.tokens, part.head)
    return -1 if found is None else found[0]


_OF_MANNER = frozenset(("as", "in", "at", "by", "during"))
_BEFORE_THINGS = frozenset(("as", "", "to", "in", "on", "at", "from", "of", "into"))


def _has_article(scan: Scan, place: int) -> bool:
    return place < len(scan.tokens) and scan.tokens[place].word in english.ARTICLES


_CLAUSE_SUBJECTS = frozenset("i i'm i've i'll we we're we've we'll he she they".split())  # noqa: SIM905


def _is_clause(scan: Scan, order: Order, tool: ToolRoles) -> bool:
    """Return whether a clause with `that` follows a verb: `admit that Bob was right`."""
    place = order.head + 1
    if order.head < 0 or place + 1 >= order.end:
        return False
    words = [scan.tokens[at].word for at in range(place, order.end)]
    if any(
        word == "that" and (after in english.AUXILIARIES or before == "is")
        for word, after, before in zip(words, [*words[2:], "", ""], [*words[1:], ""], strict=True)
    ):
        # `pass on to Ann that 12 is late`
        return True
    if scan.tokens[place].word in _CLAUSE_SUBJECTS:
        # `note I have to buy milk`
        return True
    if scan.tokens[place].word != "that":
        return False
    following = [scan.tokens[at].word for at in range(place + 2, order.end)]
    if any(
        word in english.AUXILIARIES or (is_past(word) and stem(word) not in tool.words)
        for word in following
    ):
        return True
    after = scan.tokens[place + 1].word
    owner = scan.owners[place + 1]
    is_name = owner >= 0 and scan.mentions[owner].kind is MentionKind.NAME
    end = scan.mentions[owner].end if is_name else place + 2
    follows = scan.tokens[end].word if end < order.end else ""
    return after in english.SUBJECTS or (is_name and follows in english.AUXILIARIES)


def _is_item_without_value(scan: Scan, part: Part, told: set[int]) -> bool:
    """Return whether a part is an item without a value: `3, 14 and the next number`."""
    has_value = any(one.kind in VALUES and part.holds(one) for one in scan.mentions)
    is_item = part.before in {"and", "&", "n", "plus"} and part.mood is Mood.NOMINAL
    is_told = not told.isdisjoint(range(part.first, part.end))
    return (
        is_item
        and not has_value
        and not is_told
        and (scan.tokens[part.first].word in english.DETERMINERS)
    )


def _is_participle_alone(scan: Scan, part: Part, tool: ToolRoles) -> bool:
    """Return whether a part is one word that a tool does not have: `and locked`."""
    words = [
        scan.tokens[place].word for place in range(part.first, part.end) if scan.owners[place] < 0
    ]
    has_mention = any(part.holds(one) for one in scan.mentions)
    is_joined = part.before in {"and", "&", "plus"} and part.mood is Mood.NOMINAL
    return (
        is_joined
        and not has_mention
        and len(words) == 1
        and not any(slot.is_list for slot in tool.slots)
        and stem(words[0]) not in tool.words
        and words[0] not in english.ADVERBS
    )


def _is_label_at(scan: Scan, place: int) -> bool:
    """Return whether a word names the next number: `card 4`."""
    owner = scan.owners[place + 1] if place + 1 < len(scan.tokens) else -1
    return owner >= 0 and stem(scan.tokens[place].word) in scan.mentions[owner].labels


def find_other_act(
    scan: Scan, order: Order, tool: ToolRoles, acts: frozenset[str]
) -> Obstacle | None:
    """Return the verb of another tool that an order is for: `give number 19 to Ann to foster`.

    Input:  stems of the names of all tools that write.
    """
    if tool.is_read or tool.is_agent:
        return None
    for part in order.parts:
        for place in range(max(part.first, part.opener_end), part.end - 1):
            word = scan.tokens[place + 1].word
            is_act = (
                scan.tokens[place].word == "to"
                and scan.owners[place] < 0
                and scan.owners[place + 1] < 0
                and place + 1 != order.head
                and stem(word) in acts - tool.words
            )
            if is_act:
                return Obstacle("word", scan.tokens[place + 1].text)
    return None


def find_other_noun(
    scan: Scan, order: Order, tool: ToolRoles, nouns: frozenset[str], acts: frozenset[str]
) -> Obstacle | None:
    """Return the noun of another tool that an order is about: `cancel my note on appointment 4`.

    Input:  stems of the names of the values that other tools write; of the names of all tools that
            write.
    """
    if tool.is_read or tool.is_agent:
        return None
    for place in range(order.first + 1, order.end - 1):
        word = scan.tokens[place + 1].word
        is_owned = scan.tokens[place].text == "'s" and scan.owners[place - 1] >= 0
        owner = scan.mentions[scan.owners[place - 1]] if is_owned else None
        if (
            owner is not None
            and owner.kind is MentionKind.QUANTITY
            and (stem(word) not in tool.words)
        ):
            # `hand 4's papers over`
            return Obstacle("word", scan.tokens[place + 1].text)
    for place in _word_places(scan, order):
        word, before = scan.tokens[place].word, scan.tokens[place - 1].word if place else ""
        after = scan.tokens[place + 1].word if place + 1 < order.end else ""
        is_object = before in {"its", "my", "his", "her", "their", "our"} or (
            before in {"the", "of"} and after in {"of", "on"}
        )
        outward = scan.tokens[place - 2].word if place > 1 else ""
        is_place = outward in {"from", "off"} and before in english.DETERMINERS
        is_object = is_object or (is_place and word != "list")
        is_object = is_object and place > order.head
        is_other = stem(word) in (nouns | acts) - tool.words - _MONEY_STEMS
        if stem(word) in acts - tool.name_words and _is_part_of(scan, order, tool, place):
            return Obstacle("word", scan.tokens[place].text)
        if is_object and is_other and place != order.head and not _is_label_at(scan, place):
            is_list = after == "of" and stem(word) in acts
            if not is_list:
                return Obstacle("word", scan.tokens[place].text)
        act = stem(english.ACTIONS.get(word, ""))
        if outward == "as" and before in english.ARTICLES and act in acts - tool.words:
            # `give Ann card 4 as a loan`
            return Obstacle("word", scan.tokens[place].text)
    return None


def _is_plain_word(scan: Scan, tool: ToolRoles, place: int) -> bool:
    """Return whether a word adds no meaning, of a tool that moves no money."""
    word = scan.tokens[place].word
    has_text = any(slot.role is ValueRole.TEXT for slot in tool.slots)
    following = scan.tokens[place + 1] if place + 1 < len(scan.tokens) else None
    is_numbered = following is not None and (
        following.text == "#" or following.kind is TokenShape.NUMBER
    )
    owner = scan.owners[place + 1] if following is not None else -1
    is_it = owner >= 0 and scan.mentions[owner].kind is MentionKind.IT
    return (
        _is_label_at(scan, place)
        or (
            # `inv #6`
            is_numbered
            and len(word) >= _LEAST_SHORTENED
            and any(one.startswith(word) for one in tool.words)
        )
        or (word in {"bearing", "numbered"} and _leads_to_number(scan, place))
        or (word == "enter" and is_it)
        or word.partition("'")[0] in english.SUBJECTS
        or english.COMPARATIVES.get(word, "") in tool.verbs
        or (has_text and word in _CALLED)
    )


_LEAST_SHORTENED = 3
"""Letters of a shortened noun."""


def _leads_to_number(scan: Scan, place: int) -> bool:
    """Return whether only `the` and `number` are between a word and a number."""
    place += 1
    while place < len(scan.tokens) and scan.tokens[place].word in {"the", "a", "number", "no"}:
        place += 1
    return place < len(scan.tokens) and scan.tokens[place].kind is TokenShape.NUMBER


_CALLED = frozenset(
    "called named titled worded saying reading text words message wording".split()  # noqa: SIM905
)
"""Words before a text."""


def _find_unplaced(scan: Scan, order: Order, tool: ToolRoles, told: set[int]) -> Obstacle | None:
    """Return the words of an order that have no place in a tool which moves no money.

    The bare object of the verb beside a quotation, `add descaler to the list`; and for how long,
    `keep room 2 at 22 for the next hour`.
    """
    place = order.head + 1
    if 0 < place < order.end and scan.owners[place] < 0 and place not in told:
        token = scan.tokens[place]
        is_quoted = any(one.kind is MentionKind.QUOTATION for one in order.list_mentions(scan))
        after = scan.tokens[place + 1].word if place + 1 < order.end else ""
        is_object = token.kind is TokenShape.WORD and after in english.INWARD
        if is_quoted and is_object and _is_unexplained(token.word, tool):
            return Obstacle("word", token.text)
    if any(slot.role in {ValueRole.TIME, ValueRole.TEXT} for slot in tool.slots):
        return None
    for at in range(order.first, order.end - 1):
        noun = scan.tokens[at + 1].word.removesuffix("'s")
        is_span = stem(noun) in SPANS or noun in english.WEEKDAYS
        before = scan.tokens[at - 1].word if at else ""
        is_span = is_span and stem(noun) not in tool.words and before not in {"from", "of"}
        if scan.tokens[at].word == "this" and is_span:
            return Obstacle("later", scan.show(at, at + 2))
    for at in range(max(order.head, order.first), order.end - 2):
        words = [token.word for token in scan.tokens[at : at + 4]]
        noun = next((one for one in words[2:] if one not in {"next", "whole", "coming"}), "")
        is_span = words[0] == "for" and words[1] in {"the", "a", "an", "this", "one"}
        if is_span and stem(noun) in SPANS and stem(noun) not in tool.words:
            return Obstacle("word", scan.show(at, min(at + 4, order.end)))
    return None


_RETURNS = frozenset(("withdraw", "unstake", "claim", "refund", "return", "repay", "unwrap"))
_TURNS = frozenset("off out away down back".split())  # noqa: SIM905


_MANNERS = frozenset(
    "cheque check card cash voucher vouchers post mail bank instalments installments".split()  # noqa: SIM905
)
"""What money is sent as or by. Open."""

_PAPERS = frozenset("bill request reminder receipt quote invoice cheque task".split())  # noqa: SIM905


def _sends(scan: Scan, head: int, place: int) -> bool:
    """Return whether a noun has a determiner, and is not paid by the verb."""
    before = scan.tokens[place - 1].word
    is_noun = before in english.DETERMINERS or before == "payment"
    return is_noun and scan.tokens[head].word not in {"pay", "settle", "cover", "clear"}


def _find_turn(scan: Scan, order: Order, tool: ToolRoles) -> Obstacle | None:
    """Return an adverb that reverses a verb: `sign Ann off`, `send 12 back`, `rent it out`.

    No list has the verb with the adverb, and the tool's words lack the adverb.
    """
    part = order.head_part
    if order.head < 0 or part is None or not order.parts[0].first <= order.head < order.end:
        return None
    verb = stem(scan.tokens[order.head].word)
    for place in range(order.head + 1, part.end):
        word = scan.tokens[place].word
        following = scan.tokens[place + 1].word if place + 1 < order.end else ""
        if word == "instead" and following == "of" and not tool.moves:
            # `Put Ann on quest 1 instead of Ben`
            return Obstacle("exception", scan.tokens[place].text)
        if verb == "toggl" and word in {"on", "off"}:
            return Obstacle("word", scan.tokens[place].text)
        if scan.owners[place] >= 0 or word not in _TURNS or word in tool.said:
            continue
        owner = scan.owners[place + 1] if place + 1 < order.end else -1
        is_preposition = place > order.head + 1 and (
            owner >= 0 or following in english.DETERMINERS or following == "of"
        )
        is_goal = following == "to" and bool({"set"} & (tool.verbs | tool.heads))
        is_known = (
            is_goal
            or (verb, word) in _VERB_MEANINGS
            or any(phrase[0] == verb and word in phrase for phrase, _ in _LONG_MEANINGS)
        )
        has_truth = any(
            (slot.role is ValueRole.TRUTH and not slot.named)
            or not {"on", "off"}.isdisjoint(dict(slot.named))
            for slot in tool.slots
        )
        is_taken = (
            word == "off" and is_preposition and not tool.verbs.isdisjoint({"append", "mint"})
        )
        if is_taken:
            # `load 20 credits off Ann's card`
            return Obstacle("direction")
        has_party = _has_party(tool) or any(slot.role is ValueRole.AMOUNT for slot in tool.slots)
        if word == "back" and is_known and not has_party:
            # `Pay invoice 2 back`
            is_known = bool(_VERB_MEANINGS.get((verb, word), frozenset()) & tool.verbs)
        is_returned = word == "back" and not tool.verbs.isdisjoint(_RETURNS)
        is_known = is_known or is_returned
        if not is_preposition and not is_known and not has_truth:
            return Obstacle("word", scan.tokens[place].text)
    return None


def _is_unexplained(word: str, tool: ToolRoles) -> bool:
    """Return whether a word is neither grammar nor a tool's own."""
    return (
        word not in _FUNCTION
        and word not in english.ADVERBS
        and word not in _PARTICLES
        and stem(word) not in tool.words
    )


SPANS = frozenset(
    map(
        stem,
        (  # noqa: SIM905
            "hour minute day night week weekend month evening season afternoon morning holiday"
        ).split(),
    )
)
"""Nouns of how long something lasts."""


def _is_part_of(scan: Scan, order: Order, tool: ToolRoles, place: int) -> bool:
    """Return whether a verb's object belongs to the object of a tool: `cancel my bid on lot 4`."""
    is_object = place == order.head + 2 and scan.tokens[place - 1].word in english.DETERMINERS
    if not is_object or place + 2 >= order.end:
        return False
    if scan.tokens[place + 1].word not in {"on", "of", "for", "in", "at", "to"}:
        return False
    return any(
        stem(scan.tokens[at].word) in tool.name_words and _is_label_at(scan, at)
        for at in range(place + 2, order.end)
    )


def find_unexplained(
    scan: Scan,
    order: Order,
    tool: ToolRoles,
    texts: Sequence[tuple[int, int]] = (),
    siblings: frozenset[str] = frozenset(),
) -> Obstacle | None:
    """Return a word at an important place that nothing explains.

    Important places are after `to`, `from`, `into`, `in`, `on` and `at`, beside a name, and between
    a verb and its values.

    Input:  the runs of words that are a tool's text; words of the other tools of the contract.
    """
    told = {place for first, end in texts for place in range(first, end)}
    if tool.is_read or tool.is_agent:
        return None
    if not tool.moves and _is_clause(scan, order, tool):
        return Obstacle("statement")
    unplaced = None if tool.moves else _find_unplaced(scan, order, tool, told)
    unplaced = unplaced or _find_turn(scan, order, tool)
    if unplaced is not None:
        return unplaced
    head = order.head
    phrase = _find_phrase(scan, order)
    is_purpose = False
    preposition = ""
    has_article = False
    previous_owner = -1
    for part in order.parts:
        preposition, is_purpose = "", False
        if part.is_loose and part.opener_end not in told:
            return Obstacle("verb", scan.tokens[part.opener_end].text)
        if _is_item_without_value(scan, part, told):
            return Obstacle("word", scan.show(part.first, part.end))
        if part is not order.parts[0] and _is_participle_alone(scan, part, tool):
            # `Hangar to 15 and locked`
            return Obstacle("word", scan.show(part.first, part.end))
        has_purpose = tool.moves or _books_for(scan, part, tool)
        purpose = _find_purpose(scan, part) if has_purpose else part.end
        if part is order.parts[0] and order.head < 0 and _is_list_header(scan, part):
            continue
        verb_end = _find_receiving_end(scan, part)
        for place in range(max(part.first, part.opener_end), min(part.end, purpose)):
            token, owner = scan.tokens[place], scan.owners[place]
            if part.head <= place < verb_end or place in told:
                continue
            if owner >= 0:
                mention = scan.mentions[owner]
                is_one = mention.kind is MentionKind.COURTESY and token.text.lower() == "one"
                if tool.moves and is_one and part.head >= 0:
                    # `issue one of 60 USDC to Ann`
                    return Obstacle("word", token.text)
                if (
                    mention.kind is MentionKind.COURTESY
                    and not tool.moves
                    and token.word in english.WEEKDAYS
                    and stem(token.word) not in tool.words
                ):
                    return Obstacle("later", token.text)
                previous_owner = owner
                if mention.text.lower() not in english.POSSESSIVES:
                    preposition, is_purpose, has_article = "", False, False
                continue
            is_paper = token.word in _PAPERS and place > head >= 0 and not is_purpose
            if is_paper and token.word not in tool.said and _sends(scan, head, place):
                # `Send Ann a bill of 10 USDC`, `cancel the reminder for order 6`
                return Obstacle("word", token.text)
            is_thing = token.text.lower() in {"one", "ones"} and "pay" in tool.verbs
            if is_thing and tool.moves:
                # `Give Ann a new one for 60 USDC` gives no money.
                return Obstacle("word", token.text)
            if token.kind is not TokenShape.WORD:
                previous_owner = -1
                continue
            word = token.word
            if word in english.ARTICLES and place + 1 == part.end and not tool.moves:
                # `add a, b and c`
                return Obstacle("word", token.text)
            is_last = place + 1 == part.end and place > part.opener_end and place != part.first
            is_other = word in _RANKS | {"first"} and (has_article or is_last) and not tool.moves
            if place == head or (
                word in _FUNCTION and word not in english.PREPOSITIONS and not is_other
            ):
                has_article = word in english.DETERMINERS
                previous_owner = -1
                continue
            if word in _PARTICLES and place == head + 1:
                previous_owner = -1
                continue
            following = scan.tokens[place + 1].word if place + 1 < part.end else ""
            is_act = following.endswith("ing") and stem(following) in tool.name_words
            is_due = (word == "for" and is_act) or (
                word == "as" and following in {"to", "due", "needing", "almost"}
            )
            if is_due and not tool.moves:
                # `mark oven 1 for cleaning`
                return Obstacle("later", scan.show(place, place + 2))
            if word == "back" and has_article and not tool.moves:
                # `row 3 from the back`
                return Obstacle("word", token.text)
            noun = scan.tokens[place + 2].word if place + 2 < part.end else ""
            noun = noun if following in english.ARTICLES else following
            if tool.moves and word in {"by", "as", "via", "in"} and noun in _MANNERS - tool.said:
                # `Pay Ann 50 USDC by cheque`
                return Obstacle("word", noun)
            is_till = word == "till" and (has_article or scan.tokens[place - 1].word.endswith("'s"))
            if word in english.PREPOSITIONS and not is_till:
                preposition = word
                is_purpose = has_purpose and (
                    word in english.PURPOSES
                    or word == "with"
                    or (word == "by" and _has_article(scan, place + 1))
                    or (word == "as" and "pay" in tool.verbs and _has_article(scan, place + 1))
                )
                previous_owner = -1
                continue
            is_known = (
                stem(word) in tool.words
                or word in split_words(tool.name)
                or (word == "list" and any(slot.is_list for slot in tool.slots))
                or (tool.moves and previous_owner < 0 and _is_compound(scan, tool, place))
                or (
                    stem(word) in siblings
                    and ((not tool.moves and previous_owner < 0) or _is_label_at(scan, place))
                )
                or (_is_label_at(scan, place) and any(slot.is_id for slot in tool.slots))
                or word in (english.MONEY_NOUNS if tool.moves else english.PLAIN_NOUNS)
                or word in english.ADVERBS
                or word in english.AUXILIARIES
                or (word == "person" and _has_party(tool))
                or (word in _NATIVE and not tool.verbs.isdisjoint({"wrap", "unwrap"}))
                or (word in _VOTES and any("against" in dict(slot.named) for slot in tool.slots))
                or (not tool.moves and (place in phrase or _is_plain_word(scan, tool, place)))
                or (place == head + 2 and _describes_new(scan, order, tool))
            )
            is_source = preposition in {"from", "out"} and word in english.MONEY_NOUNS
            if is_source and stem(word) not in tool.words and word not in _OWN:
                # `From its fund pay the Hostel 180 EURS`
                return Obstacle("place", token.text)
            if not is_known and not is_purpose:
                if tool.moves:
                    if preposition in {
                        "to",
                        "from",
                        "into",
                        "in",
                        "on",
                        "at",
                        "onto",
                        "toward",
                        "towards",
                    }:
                        return Obstacle("place" if has_article else "person", token.text)
                    if (
                        previous_owner >= 0
                        and scan.mentions[previous_owner].kind is MentionKind.NAME
                    ):
                        return Obstacle(
                            "person", scan.show(scan.mentions[previous_owner].first, place + 1)
                        )
                # `Leo vice captain`, `sell all gold`
                return Obstacle("word", token.text)
            previous_owner = -1
            has_article = False
    return None
