"""Forms of an order's verb, its first word: `sending 5 USDC`, `sent 5 USDC`, `sends 5 USDC`.

Spelling is regular, or in a table of the irregular verbs among the families' wordings.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Variant: TypeAlias = Literal["order", "infinitive", "gerund", "past", "participle", "third"]

VARIANTS: tuple[Variant, ...] = ("order", "infinitive", "gerund", "past", "participle", "third")

NO_VERBS = frozenset(
    (  # noqa: SIM905
        "ccip don't in lazily lazy never no safe safely thumbs"
    ).split()
)
"""First words of orders that are no verbs."""

_PAST = {
    "be": "was", "bear": "bore", "beat": "beat", "become": "became", "begin": "began",
    "bet": "bet", "bid": "bid", "bind": "bound", "blow": "blew", "break": "broke",
    "breed": "bred", "bring": "brought", "build": "built", "burn": "burned", "buy": "bought",
    "cast": "cast", "catch": "caught", "choose": "chose", "cling": "clung", "come": "came",
    "cut": "cut", "deal": "dealt", "dig": "dug", "do": "did", "draw": "drew", "drive": "drove",
    "eat": "ate", "fall": "fell", "feed": "fed", "fight": "fought", "find": "found",
    "fling": "flung", "fly": "flew", "forbid": "forbade", "foresee": "foresaw",
    "forget": "forgot", "forgive": "forgave", "freeze": "froze", "get": "got", "give": "gave",
    "go": "went", "grind": "ground", "grow": "grew", "hang": "hung", "have": "had",
    "hear": "heard", "hide": "hid", "hit": "hit", "hold": "held", "keep": "kept",
    "know": "knew", "lay": "laid", "lead": "led", "leave": "left", "lend": "lent",
    "let": "let", "lie": "lay", "light": "lit", "lose": "lost", "make": "made",
    "mean": "meant", "meet": "met", "offset": "offset", "outdo": "outdid", "overwrite": "overwrote",
    "override": "overrode", "pay": "paid", "prove": "proved", "put": "put", "quit": "quit",
    "read": "read", "rebuild": "rebuilt", "repay": "repaid", "reset": "reset",
    "resell": "resold", "retell": "retold", "rewrite": "rewrote", "ride": "rode",
    "ring": "rang", "rise": "rose", "run": "ran", "say": "said", "see": "saw",
    "seek": "sought", "sell": "sold", "presell": "presold", "send": "sent", "resend": "resent",
    "set": "set", "shake": "shook", "shoot": "shot", "show": "showed", "shrink": "shrank",
    "shut": "shut", "sing": "sang", "sink": "sank", "sit": "sat", "slide": "slid",
    "sow": "sowed", "speak": "spoke", "spend": "spent", "spin": "spun", "split": "split",
    "spread": "spread", "spring": "sprang", "stand": "stood", "steal": "stole",
    "stick": "stuck", "sting": "stung", "strike": "struck", "string": "strung",
    "sublet": "sublet", "swear": "swore", "sweep": "swept", "swing": "swung", "take": "took",
    "teach": "taught", "tear": "tore", "tell": "told", "think": "thought", "throw": "threw",
    "undo": "undid", "undergo": "underwent", "unbind": "unbound", "underwrite": "underwrote",
    "unfreeze": "unfroze", "unhide": "unhid", "unset": "unset",
    "unwind": "unwound", "uphold": "upheld", "wake": "woke", "wear": "wore", "win": "won",
    "wind": "wound", "withdraw": "withdrew", "withhold": "withheld", "write": "wrote",
}  # fmt: skip

_PARTICIPLES = {
    "be": "been", "bear": "borne", "beat": "beaten", "become": "become", "begin": "begun",
    "blow": "blown", "break": "broken", "choose": "chosen", "come": "come", "do": "done",
    "draw": "drawn", "drive": "driven", "eat": "eaten", "fall": "fallen", "fly": "flown",
    "forbid": "forbidden", "foresee": "foreseen", "forget": "forgotten",
    "forgive": "forgiven", "freeze": "frozen", "give": "given", "go": "gone",
    "grow": "grown", "hide": "hidden", "know": "known", "lie": "lain", "outdo": "outdone",
    "override": "overridden", "overwrite": "overwritten", "prove": "proven",
    "rewrite": "rewritten", "ride": "ridden", "ring": "rung", "rise": "risen", "run": "run",
    "see": "seen", "shake": "shaken", "show": "shown", "shrink": "shrunk", "sing": "sung",
    "sink": "sunk", "sow": "sown", "speak": "spoken", "spring": "sprung", "steal": "stolen",
    "swear": "sworn", "take": "taken", "tear": "torn", "throw": "thrown",
    "undergo": "undergone", "underwrite": "underwritten", "undo": "undone",
    "unfreeze": "unfrozen", "unhide": "unhidden", "wake": "woken", "wear": "worn",
    "withdraw": "withdrawn", "write": "written",
}  # fmt: skip
"""Participles that differ from the past."""

_DOUBLED = frozenset(
    (  # noqa: SIM905
        "admit allot annul begin benefit cancel commit compel confer control defer deter "
        "disinter dispel emit enrol equip excel expel format forbid forget fulfil label level "
        "model offset omit outbid overrun pencil permit program propel readmit rebut refer "
        "prefer regret repel reset rerun sublet signal squirrel submit transfer transmit travel "
        "unenrol upset"
    ).split()
)
"""Verbs of several syllables whose last consonant is doubled, besides those with `un-`."""

_SHORT = re.compile(r"(?:qu|[^aeiouy])*[aeiouy][^aeiouwxy]")
"""A syllable that ends in a vowel and a consonant."""

_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)\Z")
_AFTER_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")
_THIRD = {"be": "is", "have": "has"}


def inflect(order: str, variant: Variant) -> str | None:
    """Return an order with its verb in a form; None if that is not known: see `can_inflect`."""
    if variant in {"order", "infinitive"}:
        return order
    if not can_inflect(order):
        return None
    verb, space, rest = order.partition(" ")
    return inflect_verb(verb, variant) + space + rest


def can_inflect(order: str) -> bool:
    """Tell whether an order begins with a verb, and has no second one after a comma or an "and"."""
    verb = order.partition(" ")[0]
    is_word = re.fullmatch("[a-z]+(?:-[a-z]+)?", verb) is not None
    return is_word and verb not in NO_VERBS and not re.search(r"[,;:.] | and ", order)


def inflect_verb(verb: str, variant: Variant) -> str:
    """Return a form of a verb: the gerund, the simple past, its participle, the third person."""
    head, dash, last = verb.rpartition("-")
    match variant:
        case "gerund":
            form = _gerund(last)
        case "past":
            form = _PAST.get(last) or _past(last)
        case "participle":
            form = _PARTICIPLES.get(last) or _PAST.get(last) or _past(last)
        case "third":
            form = _THIRD.get(last) or _third(last)
        case _:
            form = last
    return head + dash + form


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and verb != "be" and not verb.endswith(("ee", "oe", "ye", "inge")):
        return verb[:-1] + "ing"
    return _double(verb) + "ing"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if _AFTER_CONSONANT_Y.search(verb):
        return verb[:-1] + "ied"
    return _double(verb) + "ed"


def _third(verb: str) -> str:
    if _AFTER_CONSONANT_Y.search(verb):
        return verb[:-1] + "ies"
    if _SIBILANT.search(verb) or verb.endswith("o"):
        return verb + "es"
    return verb + "s"


def _double(verb: str) -> str:
    """Return a verb with its last consonant doubled, if it is so before `-ing` and `-ed`."""
    if verb in _DOUBLED or _SHORT.fullmatch(verb.removeprefix("un")):
        return verb + verb[-1]
    return verb + "k" if verb.endswith("ic") else verb
