"""A model that chooses at random, for comparison: how much does an agent get right by luck?

It chooses each of a step's tools and the final answer with equal probability, and draws arguments
from the grammar. Its output is a function of its seed and the prompt.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

from precompiles.abi_types import Kind, parse_type
from precompiles.typed_texts import quote_text
from pyevm_agents.models import ScriptedModel
from pyevm_agents.models.fakes.parsed_request import parse_values

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

TYPED = "TYPED_"
"""Prefix of the terminals of elementary types."""

_RULE = re.compile(r"([A-Za-z]\w*): (.*)")
_PIECE = re.compile(
    r'(?P<literal>"(?:[^"\\]|\\.)*")(?P<maybe>\?)?'
    r"|(?P<name>[A-Za-z]\w*)(?P<name_maybe>\?)?|(?P<open>\()|(?P<or>\|)"
    r"|(?P<close>\))(?:\{0,(?P<most>\d+)\}|\{(?P<times>\d+)\}|(?P<optional>\?))?| +"
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


def _draw_leaf(name: str, chance: random.Random) -> str:
    """Return a text that a terminal of an elementary type admits, as a part of a text in JSON."""
    of = parse_type(name.removeprefix(TYPED).lower())
    if of is None:
        raise ValueError(f"no type: {name!r}")
    if of.numbers is not None:
        return str(_draw_number(of.numbers, chance))
    if of.kind is Kind.BOOL:
        return chance.choice(["true", "false"])
    if of.kind is Kind.STRING:
        return json.dumps(quote_text(_words(chance)))[1:-1]
    return chance.randbytes(of.size or chance.randint(1, MAX_ITEMS)).hex()


def _draw_number(numbers: object, chance: random.Random) -> int:
    """Return a number of a range, of at most `MAX_DIGITS` digits where the range has them."""
    if not isinstance(numbers, range):
        raise TypeError(f"no range: {numbers!r}")
    most = 10 ** chance.randint(1, MAX_DIGITS)
    low, high = max(numbers.start, -most), min(numbers.stop, most)
    return chance.randrange(low, high) if low < high else chance.choice(numbers)


class _Expansion:
    """Expands rules of `precompiles.grammar`, a small part of Lark's."""

    def __init__(self, rules: Mapping[str, str], chance: random.Random) -> None:
        self._rules = rules
        self._chance = chance

    def of_rule(self, name: str) -> str:
        """Return a text that a rule or terminal admits."""
        if name in _TERMINALS:
            return _TERMINALS[name](self._chance)
        if name.startswith(TYPED):
            return _draw_leaf(name, self._chance)
        if self._rules[name].startswith("/"):
            return str(_draw_number(parse_values(self._rules[name]), self._chance))
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
                is_taken = self._is_taken(piece["name_maybe"])
                texts[-1] += self.of_rule(piece["name"]) if is_taken else ""
            position += 1
        return self._chance.choice(texts), position

    def _expand_repetition(self, pieces: list[re.Match[str]], start: int) -> tuple[str, int]:
        """Return repetitions of a bracket's content, by its quantifier."""
        text, end = self._alternatives(pieces, start)
        if pieces[end]["times"]:
            times = int(pieces[end]["times"])
            return "".join(self._alternatives(pieces, start)[0] for _ in range(times)), end
        if pieces[end]["most"]:
            times = self._chance.randint(0, min(MAX_ITEMS, int(pieces[end]["most"])))
            return "".join(self._alternatives(pieces, start)[0] for _ in range(times)), end
        return (text if self._is_taken(pieces[end]["optional"]) else ""), end

    def _is_taken(self, mark: str | None) -> bool:
        return mark is None or self._chance.random() < 0.5  # noqa: PLR2004 - a coin
