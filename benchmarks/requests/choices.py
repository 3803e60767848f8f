"""A model that makes given choices, to try all that the rules of the short format leave open.

A step that the rules decide is repeated. Of a step that they leave to the model, the grammar has
few texts, which are listed and tried one after the other.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from precompiles.language_model import Confidence, repeat_decided
from pyevm_agents.models.fakes.parsed_request import parse_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models import Vocabulary

MAX_TEXTS = 24
"""Texts of a step that are tried."""

_RULE = re.compile(r"([A-Za-z]\w*): (.*)")
_FREE = frozenset(("THOUGHT", "ANSWER"))
"""Texts of an agent without tools, which may be any."""

_PIECE = re.compile(r'(?P<literal>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z]\w*)|(?P<sign>[()|])| +')


class ChoosingModel:
    """A language model that takes the texts of given numbers. Implements `LanguageModel`."""

    def __init__(self, vocabulary: Vocabulary, path: Sequence[int] = ()) -> None:
        """Choose by numbers.

        Input:  the tokens' source; the number of the text of each step that is left to the model.
        """
        self.path = tuple(path)
        self.options: list[int] = []
        """The number of texts of each step that was left to the model, so far."""

        self._vocabulary = vocabulary

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self._vocabulary.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the decided text, or the chosen one; the first after the end of the path."""
        if request.decided:
            return repeat_decided(request)
        texts = list_texts(request.grammar)
        place = len(self.options)
        number = self.path[place] if place < len(self.path) else 0
        self.options.append(len(texts))
        generation = self._vocabulary.encode_given_text(texts[number], request)
        return replace(generation, confidence=Confidence(surprisal=0))


def list_texts(grammar: str) -> list[str]:
    """Return the texts that a grammar of the short format admits, refusals last.

    At most `MAX_TEXTS`.
    """
    rules = dict(_RULE.findall(grammar))
    found = list(islice(_expand(rules, "start"), MAX_TEXTS * 4))
    return sorted(found, key=lambda text: "\nFinal Answer: " in text)[:MAX_TEXTS]


def _expand(rules: dict[str, str], name: str) -> Iterator[str]:
    body = rules[name]
    if name in _FREE:
        yield "text"
        return
    if body.startswith("/"):
        yield from map(str, _list_range(parse_values(body)))
        return
    pieces = [match for match in _PIECE.finditer(body) if match.lastgroup]
    texts, _ = _read_alternatives(rules, pieces, 0)
    yield from texts


def _list_range(values: object) -> Sequence[int]:
    assert isinstance(values, range)  # noqa: S101 - the short format has no other terminal
    return values


def _read_alternatives(
    rules: dict[str, str], pieces: Sequence[re.Match[str]], place: int
) -> tuple[list[str], int]:
    found: list[str] = []
    parts: list[list[str]] = []
    while place < len(pieces) and pieces[place]["sign"] != ")":
        piece = pieces[place]
        if piece["sign"] == "|":
            found += map("".join, product(*parts))
            parts = []
        elif piece["sign"] == "(":
            inner, place = _read_alternatives(rules, pieces, place + 1)
            parts.append(inner)
        elif piece["literal"]:
            parts.append([json.loads(piece["literal"])])
        else:
            parts.append([*_expand(rules, piece["name"])])
        place += 1
    return [*found, *map("".join, product(*parts))], place
