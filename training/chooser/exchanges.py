"""Wordings with one word exchanged, so that they ask for something else: verb, noun, opposite.

The words come from the tool's siblings in its family, and from tables of the short format. A word
is exchanged for one that none of the tool's own texts has.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from precompiles.short_format.english import CHANGES, LIGHT_VERBS, OPPOSITES, VERBS
from training.chooser.inflection import can_inflect

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from training.patterns import Pattern

_WORD = re.compile("[a-z]+")
_SLOT = re.compile(r"\{\w+\}")
_ARTICLES = "the|a|an|my|our|your|its|this|that|their|of|which|what|whose"
_NOUN = re.compile(
    rf"\b(?:{_ARTICLES}) (?:[a-z]+ )?(?P<noun>[a-z]{{3,}})"
    r"(?=$|[,.;?!:]| (?:of|to|for|in|on|at|from|with|by|and|as|is|are|into|out|under|\{))"
)
"""The last word of a short noun phrase."""

_SWITCHES = {"on": "off", "off": "on", "up": "down", "down": "up", "in": "out"}
_SWITCHED = frozenset(["turn", "switch", "put", "let"])
_UNDONE = frozenset(
    (  # noqa: SIM905
        "block bolt do flag follow freeze hide list load lock mute pack pause pin pledge plug "
        "publish register seal share sign sponsor stake subscribe wrap"
    ).split()
)
"""Verbs whose opposite begins with `un`."""

_VAGUE = CHANGES | LIGHT_VERBS | frozenset(
    (  # noqa: SIM905
        "send transfer return give pass tell see say show check ask help call do no hand"
    ).split()
)  # fmt: skip
"""Verbs that say too little of what is done to make an order a different one."""

_AMBIGUOUS = frozenset(["cut", "down", "drop", "lift", "strike", "up"])
"""Verbs with several opposites: `cut off all ties` is not `raise off all ties`."""

_NO_NOUNS = frozenset(
    (  # noqa: SIM905
        "one ones way time now back part rest place number all most"
    ).split()
)


def exchange_verb(
    wording: str, own: Pattern, siblings: Sequence[Pattern], rng: random.Random
) -> str | None:
    """Return an order with a sibling's verb of another meaning; None if there is none.

    Both verbs must have meanings in the table `VERBS`, none of which is the same.
    """
    verb, _, rest = wording.partition(" ")
    meanings = _meanings(verb)
    if not can_inflect(wording) or not meanings or verb in _VAGUE:
        return None
    said = _words(own)
    others = sorted(
        other
        for other in {one for sibling in siblings for one in _verbs(sibling)}
        if other not in said
        and other not in _VAGUE
        and _meanings(other)
        and _meanings(other).isdisjoint(meanings | _own_meanings(own))
    )
    return f"{rng.choice(others)} {rest}" if others else None


def exchange_noun(
    wording: str, own: Pattern, siblings: Sequence[Pattern], rng: random.Random
) -> str | None:
    """Return an order or a question with a sibling's noun; None if there is none."""
    said = _words(own)
    others = sorted(
        {one for sibling in siblings for one in _nouns(sibling) if _stem(one) not in said}
    )
    places = [match.span("noun") for match in _NOUN.finditer(wording)]
    places = [(a, b) for a, b in places if wording[a:b] not in _NO_NOUNS]
    if not others or not places:
        return None
    start, end = rng.choice(places)
    return wording[:start] + rng.choice(others) + wording[end:]


def exchange_opposite(wording: str, own: Pattern, rng: random.Random) -> str | None:
    """Return an order with the opposite of its verb, or of its `on`; None if none is known."""
    verb, _, rest = wording.partition(" ")
    if verb in _SWITCHED:
        words = wording.split(" ")
        places = [place for place, word in enumerate(words) if word in _SWITCHES]
        if len(places) == 1 and words[places[0]] in {"on", "off"}:
            words[places[0]] = _SWITCHES[words[places[0]]]
            return " ".join(words)
        return None
    said = _words(own)
    others = [one for one in _opposites(verb) if one not in said and one not in _VAGUE]
    return f"{rng.choice(others)} {rest}" if others else None


def _opposites(verb: str) -> Iterator[str]:
    if verb in _UNDONE:
        yield f"un{verb}"
    elif verb.removeprefix("un") in _UNDONE:
        yield verb.removeprefix("un")
    for left, right in OPPOSITES:
        for mine, theirs in ((left, right), (right, left)):
            if verb in mine - _AMBIGUOUS:
                # The sets also have adjectives and particles, which are no verbs.
                yield from sorted(one for one in theirs - _AMBIGUOUS if _meanings(one))


@lru_cache(maxsize=8_192)
def _meanings(verb: str) -> frozenset[str]:
    return frozenset(meaning for meaning, verbs in VERBS.items() if verb in verbs)


@lru_cache(maxsize=8_192)
def _own_meanings(pattern: Pattern) -> frozenset[str]:
    return frozenset(meaning for verb in _verbs(pattern) for meaning in _meanings(verb))


@lru_cache(maxsize=8_192)
def _verbs(pattern: Pattern) -> frozenset[str]:
    orders = {one.text.partition(" ")[0] for one in pattern.wordings if can_inflect(one.text)}
    return frozenset(orders | {name.partition(" ")[0].lower() for name in pattern.names})


@lru_cache(maxsize=8_192)
def _nouns(pattern: Pattern) -> frozenset[str]:
    texts = [one.text for one in pattern.wordings if one.kind == "orders"]
    found = {match["noun"] for text in texts for match in _NOUN.finditer(text)}
    return frozenset(found - _NO_NOUNS)


@lru_cache(maxsize=8_192)
def _words(pattern: Pattern) -> frozenset[str]:
    """Return the words, and their stems, of all texts of a tool."""
    texts = [*pattern.names, *pattern.descriptions, *(one.text for one in pattern.wordings)]
    for p in pattern.parameters:
        texts += [*p.names, *p.descriptions]
    words = {word for text in texts for word in _WORD.findall(_SLOT.sub(" ", text).lower())}
    return frozenset(words | {_stem(word) for word in words})


def _stem(word: str) -> str:
    return word.removesuffix("s")
