"""Why a request is declined, in words: the part not understood, and the most useful reason.

    I can't do that: I don't know who "Carol" is, in "Send 5 USDC to Carol".

Where tools are agents, and the order reached no tool, the answer says how to name one.

An answer that is not done begins with one of `outcome.NOT_DONE`. Source: docs/architecture.md#gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.short_format.tokens import fold_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.values import Obstacle

START = "I can't do that: "
MAX_QUOTED_CHARACTERS = 160
"""Characters of a part of the request that an answer quotes."""

TEXTS = {
    "person": 'I don\'t know who "{text}" is',
    "place": 'I don\'t know what "{text}" is',
    "not a recipient": '"{text}" is a token or a contract that I use, and no recipient',
    "direction": '"{text}" is on the other side of what I can do',
    "address": '"{text}" is no address that I can read',
    "token": '"{text}" is none of my tokens',
    "unit": '"{text}" is not the unit that this needs',
    "no unit": "I don't know of what: the amount has no unit",
    "noun": '"{text}" is not what I count',
    "unread": 'I can\'t read "{text}" as a number',
    "fraction": "that amount has more decimals than there are",
    "range": '"{text}" is out of range',
    "data": '"{text}" is not as long as it has to be',
    "part": 'I don\'t compute "{text}"',
    "inexact": '"{text}" is not exact',
    "several amounts": "there are several amounts for one thing",
    "several tokens": "the amount is of one token, and the order names another",
    "each": "I don't know whether each gets that amount, or all together",
    "lengths": "the values don't match one by one",
    "missing": "I need to know {text}",
    "left": 'I have no use for "{text}"',
    "reference": 'I don\'t know what "{text}" stands for',
    "result": 'no result tells what "{text}" is',
    "question": "that is a question, and none of my tools answers it",
    "negation": 'that is not to be done: "{text}"',
    "exception": 'I can\'t leave something out: "{text}"',
    "condition": 'I can\'t wait for a condition: "{text}"',
    "alternative": 'I can\'t choose: "{text}"',
    "correction": 'that was taken back: "{text}"',
    "doubt": 'that is not certain: "{text}"',
    "repeat": 'I act once: "{text}"',
    "later": 'I act now: I can\'t wait for "{text}"',
    "earlier": 'that is about "{text}"',
    "talk": 'none of my tools can "{text}"',
    "verb": 'none of my tools can "{text}"',
    "opposite": 'none of my tools can "{text}"',
    "word": 'I don\'t know what "{text}" is',
    "statement": "that tells something, and I don't know whether it is an order",
    "quoted": "that is a quotation, and no order",
    "report": "that tells something, and is no order",
    "text": "that text can't be used",
    "unsure": "I am not sure that you ask me to do that now",
    "choice": '"{text}" is none of the values',
    "no tool": "none of my tools does that",
    "empty": "there is nothing to do",
    "long": "the request is too long",
    "many": "there are too many orders at once",
    "ambiguous": "that can be read in more than one way",
    "history": "the steps so far are not those of this request",
}
"""Reasons by their keys; `{text}` is the part of the request that they are about."""

WITHOUT_A_TOOL = frozenset({"ambiguous", "empty", "no tool", "question", "talk", "verb"})
"""Reasons of an order that reaches no tool: an agent that is named would get it."""

MAX_AGENTS = 4
"""Names of agents in an answer."""


def explain(failure: Obstacle, clause: str, agents: Sequence[str] = ()) -> str:
    """Return the answer that declines a request.

    Input:  the reason, and the part of the request concerned, with handles; the names of the tools
            that are agents, in their order.
    """
    text = " ".join(failure.text.split())
    reason = TEXTS[failure.reason].replace("{text}", text)
    if not text:
        reason = reason.replace(' "" ', " ").replace(': ""', "").replace('""', "that")
    shown = " ".join(clause.split())
    if len(shown) > MAX_QUOTED_CHARACTERS:
        shown = shown[: MAX_QUOTED_CHARACTERS - 1].rpartition(" ")[0] + "\u2026"
    is_shown = "{text}" in TEXTS[failure.reason] and fold_case(shown) == fold_case(text)
    has_clause = bool(shown) and not is_shown
    place = f', in "{shown}"' if has_clause else ""
    answer = f"{START}{reason}{place}."
    if agents and failure.reason in WITHOUT_A_TOOL:
        ways = " or ".join(f'"Ask {name}:"' for name in agents[:MAX_AGENTS])
        answer += f" To ask an agent, begin with {ways}."
    return answer.replace("0x", "0\u2026").replace("0X", "0\u2026")
