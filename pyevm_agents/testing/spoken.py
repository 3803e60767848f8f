"""Texts that a model may say, chosen by Hypothesis: likely ones, or made up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis.strategies import SearchStrategy, characters, text

from precompiles.escaping import CONTROL_CLASS
from precompiles.spec import MAX_NAME_CHARACTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.internal.conjecture.data import ConjectureData

LIKELY_SHARE = 0.4
"""How often a text is one of the likely ones."""

MADE_UP_SHARE = 0.2
"""How often a text is made up."""

ENDLESS_SHARE = 0.1
"""How often a text that is made up is as long as it may be: a model that does not stop."""

MAX_KNOWN = 200
"""Likely texts; Hypothesis takes weights for up to 255."""

MAX_MADE_UP_CHARACTERS = 40

_CONTROL = re.compile(f"[{CONTROL_CLASS}]")
_CONTROL_BUT_BREAKS = re.compile(rf"(?![\n\r\t])[{CONTROL_CLASS}]")
_HEXADECIMAL = re.compile("0[xX]+")

_MADE_UP = text(
    characters(codec="utf-8", max_codepoint=ord(MAX_NAME_CHARACTER)),
    max_size=MAX_MADE_UP_CHARACTERS,
)
"""Characters that vocabularies can spell; those that no text may have are spaces in it."""


class Texts(SearchStrategy[str]):
    """A text of up to so many characters. Shrinks to the plainest."""

    def __init__(
        self, plain: str, likely: Sequence[str], known: Sequence[str], *, most: int, is_line: bool
    ) -> None:
        """Take the plainest text, likely ones, others, and the limits.

        Input:
            is_line: whether it is one line, and not empty: a thought or an answer.
        """
        super().__init__()
        self._most = most
        self._is_line = is_line
        said = dict.fromkeys(map(self._sayable, [plain, *likely, *known][:MAX_KNOWN]))
        self._known = [one for one in said if one or not is_line]
        last, preferred = len(self._known), {*likely} & {*self._known}
        known_share = (0.99 - MADE_UP_SHARE - LIKELY_SHARE) / last
        self._weights = dict.fromkeys(range(last), known_share) | {last: MADE_UP_SHARE}
        for index, one in enumerate(self._known):
            if one in preferred:
                self._weights[index] += LIKELY_SHARE / len(preferred)

    def __repr__(self) -> str:
        """Say what it draws."""
        return f"Texts({self._known})"

    def do_draw(self, data: ConjectureData) -> str:
        """Draw one."""
        last = len(self._known)
        index = data.draw_integer(0, last, weights=self._weights)
        if index < last:
            return self._known[index]
        made_up = data.draw(_MADE_UP)
        if data.draw_boolean(ENDLESS_SHARE):
            made_up = f"{made_up} " * self._most
        return self._sayable(made_up) or self._known[0]

    def _sayable(self, text: str) -> str:
        """Return what the grammar admits of a text."""
        controls = _CONTROL if self._is_line else _CONTROL_BUT_BREAKS
        said = _HEXADECIMAL.sub("0", controls.sub(" ", text))
        return (said.lstrip(" ") if self._is_line else said)[: self._most]
