"""Input of a router, from a clause and from a tool: words, and counts of values.

A router scores (clause, tool), and never reads a tool result: a result cannot choose a tool.

Source: docs/architecture.md#router.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.language_model import ClauseWords, ToolWords
from precompiles.short_format.mentions import MentionKind
from precompiles.short_format.tokens import TokenShape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.short_format.mentions import Scan
    from precompiles.tool_metadata import Tool

MAX_CLAUSE_WORDS = 48
"""Words read of a clause; later ones are ignored."""

MAX_TOOL_WORDS = 32
"""Words read of a tool's name, of its description, and of its parameters."""

_COUNTED = ({ParamType.UINT, ParamType.INT}, {ParamType.ADDRESS}, {ParamType.STRING})
_VALUES = (MentionKind.QUANTITY, MentionKind.NAME, MentionKind.QUOTATION)
_IDENTIFIER = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MARKER = re.compile(r"\[(?:call|abi):[^\]]*\]")
_LETTERS = re.compile(r"[A-Za-z]+")


def read_clause_words(scan: Scan, first: int = 0, end: int | None = None) -> ClauseWords:
    """Read an order: quantities, names and quoted texts are counted, all other words are read.

    Input:  a scan, and the first token and the end of the order; by default all.
    """
    last = len(scan.tokens) if end is None else end
    words = [
        token.word
        for place, token in enumerate(scan.tokens[first:last], start=first)
        if token.kind is TokenShape.WORD
        and (scan.owners[place] < 0 or scan.mentions[scan.owners[place]].kind not in _VALUES)
    ]
    kinds = [mention.kind for mention in scan.mentions if first <= mention.first < last]
    counts = tuple(kinds.count(kind) for kind in _VALUES)
    letters = [word for text in words for word in _LETTERS.findall(text)]
    return ClauseWords(tuple(letters[:MAX_CLAUSE_WORDS]), (counts[0], counts[1], counts[2]))


def read_tool_words(tool: Tool) -> ToolWords:
    """Read a tool. A name in camel case or with underscores has several words.

    A list counts as one value of the items' kind, a typed text as one of each leaf's. Markers are
    not read.
    """
    about = " ".join(f"{p.name} {p.plain_description}" for p in tool.parameters)
    kinds = [kind for parameter in tool.parameters for kind in parameter.leaf_kinds]
    numbers, addresses, texts = (sum(kind in wanted for kind in kinds) for wanted in _COUNTED)
    return ToolWords(
        _split(tool.name),
        _split(_MARKER.sub("", tool.description)),
        _split(_MARKER.sub("", about)),
        (numbers, addresses, texts),
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(islice(split_identifiers(text), MAX_TOOL_WORDS))


def split_identifiers(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; a name in camel case has several."""
    return (word[0].lower() for word in _IDENTIFIER.finditer(text))
