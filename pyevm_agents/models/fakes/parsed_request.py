"""A model request, parsed: the question, the step, and the tools that the grammar admits.

Used by scripted models, to explain which steps were possible, and by adversarial models, to choose
one.

Source: `precompiles.grammar.build_grammar` and `precompiles.react.build_prompt`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.abi_types import AbiType, Kind, parse_type
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.language_model import GenerationRequest, Segment


_ITEM_TYPES = {
    "STRING": ParamType.STRING,
    "address": ParamType.ADDRESS,
    "BOOL": ParamType.BOOL,
    "INT": ParamType.INT,
    "UINT": ParamType.UINT,
}
_TO_ARRAY = ParamType.STRING_ARRAY - ParamType.STRING
_ITEM = "|".join((*_ITEM_TYPES, r"STATED\d+", r"typed\d+"))
_PART = re.compile(r"handle|TYPED_[A-Z]+[0-9]*|part\d+")
_TERMINAL = "TYPED_"
_FIXED = re.compile(r"\)\{(\d+)\} ")
_DIGIT = re.compile(r"\[(\d)-(\d)\](?:\{(\d+)(?:,(\d+))?\})?")
_MINUS = "-("
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(
    rf' (?:(?P<item>{_ITEM})|(?P<no_addresses>"\[\]")'
    rf'|"\[" \((?P<list>{_ITEM}) \(", " (?P=list)\)\{{0,\d+\}}\)\? "\]") '
)
_AFTER_NAME = "\nAction Input: {"
_TOOL_RULE = re.compile(r"tool\d+")

QUESTION = "Question: "
TURN = "Thought:"
"""Precedes the model's own text in each step; also the end of each observation."""

OBSERVATION = "\nObservation: "

INTEGER_TYPES = frozenset(
    (ParamType.INT, ParamType.UINT, ParamType.INT_ARRAY, ParamType.UINT_ARRAY)
)

KEPT_GRAMMARS = 64
"""Parsed grammars in the cache: all steps of a run usually have the same grammar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedParameter:
    """A parameter of a tool."""

    name: str
    param_type: ParamType
    values: range | tuple[str, ...] | None = None
    """The values of an argument, or of a list's items; None: all of the type. A stated range of
    `INT` without negative numbers has the type `UINT`: their texts are equal."""

    text_type: AbiType | None = None
    """The type of a typed text, or of a list's typed texts. Without handles, the items of a list
    that need an address are shown as addresses."""

    @property
    def words(self) -> str:
        """The type in a message, such as `positive integer from 0 to 255`."""
        words = self.param_type.words
        if self.text_type is not None:
            return f"{words} of {self.text_type}"
        if isinstance(self.values, range):
            return f"{words} from {self.values.start} to {self.values.stop - 1}"
        return words if self.values is None else f"{words}, one of {', '.join(self.values)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTool:
    """A tool that may be used, with parameters in the order of the grammar."""

    name: str
    parameters: tuple[AllowedParameter, ...]

    @property
    def typed_names(self) -> frozenset[str]:
        """Names of the parameters with typed texts."""
        return frozenset(one.name for one in self.parameters if one.text_type is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSteps:
    """The steps that a grammar admits, apart from free text."""

    tools: tuple[AllowedTool, ...]
    """The tools that may be used: without handles, none with an address parameter."""

    handles: tuple[str, ...]
    """Handles of the addresses in the prompt: the values of an address parameter, and of the
    addresses in typed texts."""

    may_answer: bool
    """Whether the run may end in this step."""

    def find_tool(self, name: str) -> AllowedTool | None:
        """Return a tool by name; None if not allowed."""
        return next((tool for tool in self.tools if tool.name == name), None)


@lru_cache(maxsize=KEPT_GRAMMARS)
def parse_grammar(grammar: str) -> AllowedSteps:
    """Parse a grammar of `precompiles.grammar.build_grammar`.

    Raises:
        ConfigError: the grammar is not from `build_grammar`.
    """
    rules = dict(line.split(": ", 1) for line in grammar.split("\n") if ": " in line)
    try:
        used = _TOOL_RULE.findall(rules.get("use", ""))
        return AllowedSteps(
            tools=tuple(_parse_tool(rules[name], rules) for name in used),
            handles=tuple(
                json.loads(json.loads(literal))
                for literal in _LITERAL.findall(rules.get("address", ""))
            ),
            may_answer="answer" in rules["step"].split(" | "),
        )
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"not a grammar of `precompiles.grammar.build_grammar`: {grammar[:200]!r}; "
            "pass the grammar of an executor's request"
        ) from error


def try_parse_grammar(grammar: str) -> AllowedSteps | None:
    """Parse a grammar of `build_grammar`; return None for any other grammar."""
    try:
        return parse_grammar(grammar)
    except ConfigError:
        return None


def _parse_tool(rule: str, rules: Mapping[str, str]) -> AllowedTool:
    r"""Parse `"name\nAction Input: {\"first\": " UINT ", \"second\": " … "}"`."""
    opening, position = _parse_literal(rule, 0)
    name, _, literal = opening.partition(_AFTER_NAME)
    parameters: list[AllowedParameter] = []
    while position < len(rule):
        value = _VALUE.match(rule, position)
        if value is None:
            raise ValueError(f"no value at {position} of {rule!r}")
        key = literal.removeprefix(", ").removesuffix(": ")
        parameters.append(_parse_parameter(json.loads(key), value, rules))
        literal, position = _parse_literal(rule, value.end())
    return AllowedTool(name=name, parameters=tuple(parameters))


def _parse_literal(rule: str, position: int) -> tuple[str, int]:
    match = _LITERAL.match(rule, position)
    if match is None:
        raise ValueError(f"no literal at {position} of {rule!r}")
    return str(json.loads(match[0])), match.end()


def _parse_parameter(name: str, value: re.Match[str], rules: Mapping[str, str]) -> AllowedParameter:
    item = value["item"] or value["list"]
    if item is None:
        return AllowedParameter(name=name, param_type=ParamType.ADDRESS_ARRAY)
    values: range | tuple[str, ...] | None = None
    text_type = None
    if item in _ITEM_TYPES:
        kind = _ITEM_TYPES[item]
    elif item.startswith("typed"):
        kind, text_type = ParamType.STRING, _parse_part(_find_parts(rules[item])[0], rules)
    else:
        values = parse_values(rules[item])
        is_signed = isinstance(values, range) and values.start < 0
        kind = ParamType.INT if is_signed else ParamType.UINT
        kind = ParamType.STRING if isinstance(values, tuple) else kind
    return AllowedParameter(
        name=name,
        param_type=ParamType(kind + _TO_ARRAY) if value["list"] else kind,
        values=values,
        text_type=text_type,
    )


def _find_parts(rule: str) -> list[str]:
    """Return the names in a rule of `typed_texts.TypedRules`, whose literals have no letters."""
    return _PART.findall(rule)


def _parse_part(name: str, rules: Mapping[str, str]) -> AbiType:
    """Parse a part of a typed text: the type that `typed_texts.TypedRules` wrote."""
    if name.startswith(_TERMINAL):
        leaf = parse_type(name.removeprefix(_TERMINAL).lower())
        if leaf is None:
            raise ValueError(f"no type: {name!r}")
        return leaf
    if name == "handle":
        return AbiType(Kind.ADDRESS)
    rule = rules[name]
    names = _find_parts(rule)
    if rule.startswith('"("'):
        return AbiType(Kind.TUPLE, parts=tuple(_parse_part(part, rules) for part in names))
    item = _parse_part(names[0], rules) if names else AbiType(Kind.ADDRESS)
    if not names or rule.endswith(')? "]"'):
        return AbiType(Kind.ARRAY, parts=(item,))
    more = _FIXED.search(rule)
    return AbiType(Kind.FIXED_ARRAY, 1 + int(more[1]) if more else 1, (item,))


def parse_values(body: str) -> range | tuple[str, ...]:
    """Parse the body of a terminal of stated values: a pattern of a range, or texts in JSON."""
    if not body.startswith("/"):
        return tuple(json.loads(literal) for literal in _LITERAL.findall(body))
    positive, _, negative = body.strip("/").partition(_MINUS)
    bounds = [_find_bounds(branch) for branch in positive.rstrip("|").split("|") if branch]
    if negative:
        found = map(_find_bounds, negative.removesuffix(")").split("|"))
        bounds += [(-high, -low) for low, high in found]
    return range(min(low for low, _ in bounds), max(high for _, high in bounds) + 1)


def _find_bounds(branch: str) -> tuple[int, int]:
    """Return the lowest and highest number of a branch of `build_range_pattern`."""

    def repeat(match: re.Match[str], digit: int, count: int) -> str:
        return match[digit] * int(match[count] or match[3] or 1)

    lowest = _DIGIT.sub(lambda match: repeat(match, 1, 3), branch)
    return int(lowest), int(_DIGIT.sub(lambda match: repeat(match, 2, 4), branch))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPrompt:
    """A prompt, parsed."""

    opening: tuple[Segment, ...]
    """The prompt before the run's first generation. Equal in all steps of a run, unless a tool's
    description changes in between."""

    question: str
    """The user's prompt to the agent, on one line, with handles in place of addresses."""

    history: tuple[Segment, ...]
    """The steps so far: generation and observation, alternating."""

    @property
    def step(self) -> int:
        """Number of this step in the run, from 1."""
        return 1 + len(self.history) // 2

    @property
    def text(self) -> str:
        """Text of the whole prompt."""
        return join_segments((*self.opening, *self.history))

    @property
    def observation(self) -> str | None:
        """The last tool result, on one line; None in the first step."""
        if not self.history:
            return None
        text = self.history[-1].text.removeprefix(OBSERVATION)
        return text.removesuffix(f"\n{TURN}")

    def render_history_before(self, step: int) -> str:
        """Return the generations and observations before a step (from 1) of the same run."""
        return join_segments(self.history[: 2 * (step - 1)])

    def render_prompt_at(self, step: int) -> str:
        """Return the prompt of an earlier step (from 1) of the same run."""
        return join_segments(self.opening) + self.render_history_before(step)


def parse_prompt(request: GenerationRequest) -> ParsedPrompt:
    """Parse the prompt of a request."""
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
    """Return the text of a prompt, including the literals of the chat template."""
    return "".join(segment.text for segment in segments)


def _is_data(segment: Segment, text: str) -> bool:
    return not segment.is_template and segment.text == text
