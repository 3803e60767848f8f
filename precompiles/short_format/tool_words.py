"""What a router reads of a clause and of a tool: words, and counts of values.

A router scores (clause, tool). It never reads a tool result, so a result cannot choose a tool.

Source: docs/architecture.md#router.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.language_model import ClauseWords, ToolWords
from precompiles.quantities import NUMBER_WORDS, find_quantities
from precompiles.short_format.clauses import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.short_format.clauses import NameIndex
    from precompiles.tool_metadata import Tool

MAX_CLAUSE_WORDS = 48
"""Words read of a clause; later ones are ignored."""

MAX_TOOL_WORDS = 32
"""Words read of a tool's name, of its description, and of its parameters."""

_COUNTED = ({ParamType.UINT, ParamType.INT}, {ParamType.ADDRESS}, {ParamType.STRING})
_IDENTIFIER = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTERS = re.compile(r"[A-Za-z]+")


def read_clause_words(text: str, names: NameIndex) -> ClauseWords:
    """Read a clause: numbers, names and quoted texts are counted, all other words are read.

    Input:  the clause with `"…"` in place of quoted texts, and the index of the prompt's handles.
    """
    spans = names.find_spans(text)
    rest, reached = "", 0
    for start, end, _ in spans:
        rest += text[reached:start] + " "
        reached = end
    rest += text[reached:]
    rest = HIDDEN.sub(" ", rest)
    words = [word.lower() for word in _LETTERS.findall(rest)]
    return ClauseWords(
        tuple(word for word in words if word not in NUMBER_WORDS)[:MAX_CLAUSE_WORDS],
        (len(find_quantities(rest)), len(spans), len(HIDDEN.findall(text))),
    )


def read_tool_words(tool: Tool) -> ToolWords:
    """Read a tool. A name in camel case or with underscores has several words.

    A list counts as one value of its items' kind, a typed text as one of each leaf's. Markers are
    not read.
    """
    about = " ".join(f"{p.name} {p.plain_description}" for p in tool.parameters)
    kinds = [kind for parameter in tool.parameters for kind in parameter.leaf_kinds]
    numbers, addresses, texts = (sum(kind in wanted for kind in kinds) for wanted in _COUNTED)
    return ToolWords(
        _split(tool.name), _split(tool.description), _split(about), (numbers, addresses, texts)
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(islice(split_identifiers(text), MAX_TOOL_WORDS))


def split_identifiers(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case; a name in camel case has several."""
    return (word[0].lower() for word in _IDENTIFIER.finditer(text))
