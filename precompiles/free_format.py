"""The format of a step: grammar, scoring of the generation, and parsing.

A profile's decoding rules choose between the free format, the ERC's own, and the short format
(`short_format/`). A call without tools has the free format.

Source: docs/architecture.md#constrained-output, #short-format, #gate.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from precompiles.grammar import build_grammar
from precompiles.language_model import Scoring
from precompiles.react import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import FinalAnswer, ToolUse
    from precompiles.address_handles import AddressBook
    from precompiles.language_model import Generation
    from precompiles.tool_metadata import Tool


class StepFormat(Protocol):
    """The format of one step."""

    @property
    def characters(self) -> int:
        """Number of characters of the request and the results that are read, charged before."""

    @property
    def branches(self) -> int:
        """Number of pairs of an order and a tool, charged before the comparison."""

    @property
    def judged_tokens(self) -> int:
        """Number of tokens that the chooser reads, charged before."""

    @property
    def shown_tools(self) -> Sequence[Tool]:
        """The tools that the prompt describes."""

    @property
    def decided(self) -> str:
        """The text of a step that is decided without a model; else empty."""

    @property
    def grammar(self) -> str:
        """Lark text for llguidance, start rule `start`."""

    @property
    def scoring(self) -> Scoring | None:
        """The scoring of a generation, or None."""

    def read(self, generation: Generation) -> ToolUse | FinalAnswer:
        """Parse a generation.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """


class FreeFormat:
    """The ERC's format: a thought, then an answer or one of the tools with any arguments."""

    characters = branches = judged_tokens = 0
    decided = ""

    def __init__(self, tools: Sequence[Tool], book: AddressBook, *, has_gate: bool) -> None:
        """Input: the tools and handles of the call, and whether a gate needs a surprisal."""
        self._tools = self.shown_tools = tools
        self._book = book
        # A score costs less than the evaluation of its token, whose price is charged.
        self.scoring = Scoring.DECISION if has_gate and tools else None

    @cached_property
    def grammar(self) -> str:
        """Lark text for llguidance, start rule `start`."""
        return build_grammar(self._tools, [handle for handle, _ in self._book.handles])

    def read(self, generation: Generation) -> ToolUse | FinalAnswer:
        """Parse a generation.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        return parse(generation.text, self._tools, self._book)
