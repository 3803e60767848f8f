"""A request to a model, parsed: the question, the step, and the tools that its grammar admits.

Models for tests read them: a script, to tell what it could have said, and an adversary, to choose
from it.

Source: `precompiles.grammar.build_grammar` and `precompiles.react.build_prompt`, which make them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest, Segment


_ITEM_TYPES = {
    "STRING": ParamType.STRING,
    "address": ParamType.ADDRESS,
    "BOOL": ParamType.BOOL,
    "INT": ParamType.INT,
    "UINT": ParamType.UINT,
}
_TO_ARRAY = ParamType.STRING_ARRAY - ParamType.STRING
_ITEM = "|".join(_ITEM_TYPES)
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(
    rf' (?:(?P<item>{_ITEM})|(?P<no_addresses>"\[\]")'
    rf'|"\[" \((?P<list>{_ITEM}) \(", " (?P=list)\)\{{0,\d+\}}\)\? "\]") '
)
_AFTER_NAME = "\nAction Input: {"
_TOOL_RULE = re.compile(r"tool\d+")

INTEGER_TYPES = frozenset(
    (ParamType.INT, ParamType.UINT, ParamType.INT_ARRAY, ParamType.UINT_ARRAY)
)

KEPT_GRAMMARS = 64
"""Grammars whose reading is kept: a run asks for the same one in every step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedParameter:
    """A parameter of a tool."""

    name: str
    param_type: ParamType


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTool:
    """A tool that may be used, with its parameters in the order in which they are said."""

    name: str
    parameters: tuple[AllowedParameter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSteps:
    """All that a model may say in one step, but for the words of its thought and texts."""

    tools: tuple[AllowedTool, ...]
    """The tools that may be used; not those with an address where the prompt names none."""

    handles: tuple[str, ...]
    """What an address may be: the handles of those that the prompt names. Empty where no tool asks
    for one."""

    may_answer: bool
    """Whether the run may end here."""

    def find_tool(self, name: str) -> AllowedTool | None:
        """Return the tool with a name; None where it may not be used."""
        return next((tool for tool in self.tools if tool.name == name), None)


@lru_cache(maxsize=KEPT_GRAMMARS)
def parse_grammar(grammar: str) -> AllowedSteps:
    """Read a grammar of `precompiles.grammar.build_grammar`.

    Raises:
        ConfigError: the grammar is another one.
    """
    rules = dict(line.split(": ", 1) for line in grammar.split("\n") if ": " in line)
    try:
        used = _TOOL_RULE.findall(rules.get("use", ""))
        return AllowedSteps(
            tools=tuple(_parse_tool(rules[name]) for name in used),
            handles=tuple(
                json.loads(json.loads(literal))
                for literal in _LITERAL.findall(rules.get("address", ""))
            ),
            may_answer="answer" in rules["step"].split(" | "),
        )
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"The grammar {grammar[:200]!r} is not one of `precompiles.grammar.build_grammar`; "
            "pass that of an executor's request"
        ) from error


def try_parse_grammar(grammar: str) -> AllowedSteps | None:
    """Return the same; None of another grammar."""
    try:
        return parse_grammar(grammar)
    except ConfigError:
        return None


def _parse_tool(rule: str) -> AllowedTool:
    r"""Read `"name\nAction Input: {\"first\": " UINT ", \"second\": " … "}"`."""
    opening, position = _parse_literal(rule, 0)
    name, _, literal = opening.partition(_AFTER_NAME)
    parameters: list[AllowedParameter] = []
    while position < len(rule):
        value = _VALUE.match(rule, position)
        if value is None:
            raise ValueError(f"no value at {position} of {rule!r}")
        key = literal.removeprefix(", ").removesuffix(": ")
        parameters.append(AllowedParameter(name=json.loads(key), param_type=_parse_type(value)))
        literal, position = _parse_literal(rule, value.end())
    return AllowedTool(name=name, parameters=tuple(parameters))


def _parse_literal(rule: str, position: int) -> tuple[str, int]:
    match = _LITERAL.match(rule, position)
    if match is None:
        raise ValueError(f"no literal at {position} of {rule!r}")
    return str(json.loads(match[0])), match.end()


def _parse_type(value: re.Match[str]) -> ParamType:
    if value["item"]:
        return _ITEM_TYPES[value["item"]]
    if value["list"]:
        return ParamType(_ITEM_TYPES[value["list"]] + _TO_ARRAY)
    return ParamType.ADDRESS_ARRAY


QUESTION = "Question: "
TURN = "Thought:"
"""The model's own words begin after it; so does each later step's observation end."""

OBSERVATION = "\nObservation: "


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPrompt:
    """A prompt, in parts."""

    opening: tuple[Segment, ...]
    """What stands before the run's first words; the same for all steps of a run, unless a tool's
    description changes meanwhile."""

    question: str
    """What the agent was asked, on one line, with handles in place of addresses."""

    history: tuple[Segment, ...]
    """The steps so far: what the model said, and what came of it, in turn."""

    @property
    def step(self) -> int:
        """Which step of the run this is, from 1."""
        return 1 + len(self.history) // 2

    @property
    def text(self) -> str:
        """The whole prompt."""
        return join_segments((*self.opening, *self.history))

    @property
    def observation(self) -> str | None:
        """What the last tool answered, on one line; None in the first step."""
        if not self.history:
            return None
        text = self.history[-1].text.removeprefix(OBSERVATION)
        return text.removesuffix(f"\n{TURN}")

    def render_history_before(self, step: int) -> str:
        """Return what was said and observed before a step of the same run, from 1."""
        return join_segments(self.history[: 2 * (step - 1)])

    def render_prompt_at(self, step: int) -> str:
        """Return the prompt as it was in a step of the same run, from 1."""
        return join_segments(self.opening) + self.render_history_before(step)


def parse_prompt(request: GenerationRequest) -> ParsedPrompt:
    """Take a request's prompt apart."""
    segments = request.segments
    turns = [index for index, segment in enumerate(segments) if _is_data(segment, TURN)]
    end = turns[0] + 1 if turns else len(segments)
    questions = [
        segment.text.removeprefix(QUESTION)
        for segment in segments[:end]
        if not segment.is_template and segment.text.startswith(QUESTION)
    ]
    return ParsedPrompt(
        opening=segments[:end],
        question=questions[-1] if questions else "",
        history=segments[end:],
    )


def join_segments(segments: tuple[Segment, ...]) -> str:
    """Return the text of a prompt, the chat template's own literals included."""
    return "".join(segment.text for segment in segments)


def _is_data(segment: Segment, text: str) -> bool:
    return not segment.is_template and segment.text == text
