"""A model that chooses at random, for comparison: how much does an agent get right by luck?

It chooses each of a step's tools and the final answer with equal probability, and draws arguments
from the grammar. Its output is a function of its seed and the prompt.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

from pyevm_agents.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models import GgufModel

WORDS = (
    "the",
    "of",
    "and",
    "to",
    "pool",
    "token",
    "vote",
    "send",
    "none",
    "yes",
    "no",
    "first",
    "last",
)
MAX_WORDS, MAX_DIGITS, MAX_ITEMS = 4, 6, 4
"""Most words, digits and items where a grammar has no limit."""

_RULE = re.compile(r"([A-Za-z]\w*): (.*)")
_PIECE = re.compile(
    r'(?P<literal>"(?:[^"\\]|\\.)*")(?P<maybe>\?)?'
    r"|(?P<name>[A-Za-z]\w*)|(?P<open>\()|(?P<or>\|)"
    r"|(?P<close>\))(?:\{0,(?P<most>\d+)\}|(?P<optional>\?))?| +"
)


def random_model(vocabulary: GgufModel, seed: int) -> ScriptedModel:
    """Return a model with the tokens and gas of a real one, and random choices.

    Input: an open model or vocabulary, which the caller closes.
    """
    return ScriptedModel(RandomChoice(seed), vocabulary=vocabulary)


class RandomChoice:
    """Draws a step at random: a script for `ScriptedModel`."""

    def __init__(self, seed: int) -> None:
        """Choose by a seed."""
        self._seed = seed

    def __call__(self, request: GenerationRequest) -> str:
        """Return a text that the request's grammar admits."""
        chance = random.Random(f"{self._seed} {request.prompt_tokens} {request.grammar}")  # noqa: S311 - by its seed
        rules = dict(_RULE.findall(request.grammar))
        thought = f" {_words(chance)}\n"
        # The grammar separates answers from tools first; each tool must be as likely as the answer.
        choice = chance.choice(["answer", *re.findall(r"\btool\d+\b", rules.get("use", ""))])
        if choice == "answer":
            return f"{thought}Final Answer: {_words(chance)}"
        return f"{thought}Action: {_Expansion(rules, chance).of_rule(choice)}"


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, MAX_WORDS)))


def _digits(chance: random.Random) -> str:
    return str(chance.randrange(10 ** chance.randint(1, MAX_DIGITS)))


_TERMINALS: Mapping[str, Callable[[random.Random], str]] = {
    "STRING": lambda chance: json.dumps(_words(chance)),
    "BOOL": lambda chance: chance.choice(["true", "false"]),
    "UINT": _digits,
    "INT": lambda chance: chance.choice([_digits(chance), f"-{chance.randint(1, 10**MAX_DIGITS)}"]),
}


class _Expansion:
    """Expands rules of `precompiles.grammar`, a small part of Lark's."""

    def __init__(self, rules: Mapping[str, str], chance: random.Random) -> None:
        self._rules = rules
        self._chance = chance

    def of_rule(self, name: str) -> str:
        """Return a text that a rule or terminal admits."""
        if name in _TERMINALS:
            return _TERMINALS[name](self._chance)
        pieces = [*_PIECE.finditer(self._rules[name])]
        text, _ = self._alternatives(pieces, 0)
        return text

    def _alternatives(self, pieces: list[re.Match[str]], position: int) -> tuple[str, int]:
        """Return one of the alternatives up to the end or a closing bracket, and its position."""
        texts = [""]
        while position < len(pieces) and pieces[position]["close"] is None:
            piece = pieces[position]
            if piece["or"]:
                texts.append("")
            elif piece["open"]:
                text, position = self._expand_repetition(pieces, position + 1)
                texts[-1] += text
            elif piece["literal"]:
                texts[-1] += json.loads(piece["literal"]) if self._is_taken(piece["maybe"]) else ""
            elif piece["name"]:
                texts[-1] += self.of_rule(piece["name"])
            position += 1
        return self._chance.choice(texts), position

    def _expand_repetition(self, pieces: list[re.Match[str]], start: int) -> tuple[str, int]:
        """Return repetitions of a bracket's content, by its quantifier."""
        text, end = self._alternatives(pieces, start)
        if pieces[end]["most"]:
            times = self._chance.randint(0, min(MAX_ITEMS, int(pieces[end]["most"])))
            return "".join(self._alternatives(pieces, start)[0] for _ in range(times)), end
        return (text if self._is_taken(pieces[end]["optional"]) else ""), end

    def _is_taken(self, mark: str | None) -> bool:
        return mark is None or self._chance.random() < 0.5  # noqa: PLR2004 - a coin
