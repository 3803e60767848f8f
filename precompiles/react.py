"""ReAct: the prompt of a step, and the parsing of generated text.

The prompt is the ERC's template. The system message holds the tools with parameters, the format,
and the agent's base prompt. The user message holds the question. The model's turn holds the steps
so far and ends with `Thought:`, which the model continues. The ERC puts the base prompt first. Here
the base prompt is last, with worked examples next to the question: the untrained model then got 33
of 36 instructions right in place of 26 (docs/log.md).

Source: ERC, "Agent executor precompile"; docs/architecture.md#constrained-output, #text-is-data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from eth_typing import Address

from precompiles.abi import FinalAnswer, ParamType, ToolUse, Version
from precompiles.address_handles import AddressBook
from precompiles.errors import Refusal
from precompiles.escaping import CONTROL_CLASS, escape_line, escape_lines, unescape_line
from precompiles.language_model import Segment
from precompiles.spec import MAX_ARRAY_ITEMS, MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS
from precompiles.stated_values import to_json
from precompiles.typed_texts import expand_typed_text, intern_typed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from precompiles.abi import IterationRequest, ParamDescription, Value
    from precompiles.language_model import ModelProfile
    from precompiles.tool_metadata import Tool

Kind = TypeVar("Kind")

QUOTED_CHARACTERS = 200
"""Characters of a wrong text that an error message quotes. No rule depends on it."""

_LINE = rf"[^{CONTROL_CLASS}]+"
_REASONING = re.compile(rf"Thought: {_LINE}\nAction: {_LINE}\nAction Input: \{{{_LINE[:-1]}*\}}")
_OBSERVED = re.compile(
    rf"(?P<reasoning>(?s:.*))\nObservation: (?P<result>(?:\t|[^{CONTROL_CLASS}])*)\n?"
)
_FREE = rf"(?![^{CONTROL_CLASS}]*0[xX])[^ {CONTROL_CLASS}][^{CONTROL_CLASS}]"
_JSON = rf'\{{(?:[^\\{CONTROL_CLASS}]|\\["\\nrt])*\}}'
_TEXT = rf'"(?:[^"\\{CONTROL_CLASS}]|\\["\\nrt])*+"'
_LITERAL = re.compile(rf'(?P<text>{_TEXT})(?!:)|"(?:[^"\\]|\\.)*+(?:"|\Z)')
"""A text among JSON values, or another literal: a key, or one that is not canonical or not closed.

Each quotation mark begins a match, so a search takes linear time.
"""

_DIGITS = re.compile("0x[0-9A-Fa-f]{40}")
"""The digits of an address; a text without them is not decoded."""

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
_NESTED = re.compile(r"\{.*\{|\[[^\]]*\[")
_OUTPUT = re.compile(
    rf" (?P<thought>{_FREE}{{0,{MAX_THOUGHT_CHARACTERS - 1}}})\n"
    rf"(?:Final Answer: (?P<answer>{_FREE}{{0,{MAX_TEXT_CHARACTERS - 1}}})\n?"
    rf"|Action: (?P<name>{_LINE})\nAction Input: (?P<arguments>{_JSON}))"
)

_FORMAT_WITHOUT_TOOLS = """Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Final Answer: the final answer to the original input question

Begin!"""

_FORMAT = """Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [{names}]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!"""


class GrammarViolationError(Exception):
    """Generated text outside the grammar: a fault of the host, never of the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One finished step: reasoning and observation."""

    reasoning: str
    observation: str


def parse_history(request: IterationRequest) -> tuple[HistoryStep, ...]:
    """Return the steps of a run so far; empty entries at the end of the arrays are ignored.

    Raises: Refusal: HistoryLengthMismatch, MalformedHistory (an empty reasoning before the last
            step; a reasoning that is not exactly a thought, an action and an action input; in
            version 1, a reasoning without exactly one escaped observation at the end).
    """
    if request.version is Version.FIRST:
        return _parse_observed(request.agent_reasoning)
    reasonings, results = request.agent_reasoning, request.tool_results
    if len(reasonings) != len(results):
        raise Refusal("HistoryLengthMismatch", len(reasonings), len(results))
    steps = [
        HistoryStep(reasoning=r, observation=o) for r, o in zip(reasonings, results, strict=True)
    ]
    while steps and not (steps[-1].reasoning or steps[-1].observation):
        steps.pop()
    for index, step in enumerate(steps):
        if not step.reasoning:
            raise Refusal("MalformedHistory", index, "agentReasoning is empty")
        if not _REASONING.fullmatch(step.reasoning):
            reason = "agentReasoning is not the lines Thought, Action and Action Input"
            raise Refusal("MalformedHistory", index, reason)
    return tuple(steps)


def _parse_observed(entries: Sequence[str]) -> tuple[HistoryStep, ...]:
    """Return the steps of a version-1 run, whose entries end with their observations."""
    count = len(entries)
    while count and not entries[count - 1]:
        count -= 1
    steps = []
    for index, entry in enumerate(entries[:count]):
        if not entry:
            raise Refusal("MalformedHistory", index, "agentReasoning is empty")
        match = _OBSERVED.fullmatch(entry)
        if match is None or not _REASONING.fullmatch(match["reasoning"]):
            reason = (
                "agentReasoning is not the lines Thought, Action, Action Input and Observation,"
                " with line breaks escaped"
            )
            raise Refusal("MalformedHistory", index, reason)
        observation = unescape_line(match["result"])
        steps.append(HistoryStep(reasoning=match["reasoning"], observation=observation))
    return tuple(steps)


def build_prompt(
    request: IterationRequest,
    steps: Sequence[HistoryStep],
    tools: Sequence[Tool],
    book: AddressBook,
    profile: ModelProfile,
) -> tuple[Segment, ...]:
    """Return the prompt of the next step as segments.

    The segments of a step are a prefix of those of the next: a run pays once for each.
    """
    # An address in a later tool result must not change earlier segments.
    opening = AddressBook(request.base_prompt, [request.prompt])
    # Handles first: an escape ends in a letter or digit, which would hide the address behind it.
    base_prompt = escape_lines(opening.intern_base_prompt(request.base_prompt))
    system = f"{_build_instructions(tools, opening)}\n\n{base_prompt}".rstrip("\n")
    segments = [
        Segment(text=profile.chat_prefix, is_template=True),
        Segment(text=system),
        Segment(text=profile.chat_middle, is_template=True),
        Segment(text=f"Question: {escape_line(opening.intern(request.prompt))}"),
        Segment(text=profile.chat_suffix, is_template=True),
        Segment(text="Thought:"),
    ]
    for step in steps:
        reasoning = intern_reasoning(step.reasoning, book, tools).removeprefix("Thought:")
        observed = escape_line(book.intern(step.observation))
        segments.append(Segment(text=reasoning))
        segments.append(Segment(text=f"\nObservation: {observed}\nThought:"))
    return tuple(segment for segment in segments if segment.text)


def intern_reasoning(reasoning: str, book: AddressBook, tools: Sequence[Tool] = ()) -> str:
    """Replace the addresses in an `agentReasoning` by handles: the inverse of `parse`.

    A text among the arguments is decoded first: JSON escapes a line break with a letter, which
    would hide the address that follows; likewise typed texts, those of the tool's typed parameters.
    Keys are not changed by `parse`, and have no addresses.
    """
    lines, separator, arguments = reasoning.rpartition("\n")
    action = lines.rpartition("\n")[2]
    typed = {
        to_json(parameter.name)
        for tool in tools
        if action == f"Action: {tool.name}"
        for parameter in tool.parameters
        if parameter.text_type is not None
    }
    key = ""

    def intern_text(match: re.Match[str]) -> str:
        nonlocal key
        if match["text"] is None:
            key = match[0]
            return key
        if not _DIGITS.search(match["text"]):
            return match[0]
        text = json.loads(match["text"])
        interned = intern_typed_text(text, book) if key in typed else book.intern(text)
        return json.dumps(interned, ensure_ascii=False)

    # A caller's own arguments may be no JSON; the addresses in them get handles as in any text.
    return book.intern(lines + separator + _LITERAL.sub(intern_text, arguments))


def parse(
    text: str,
    tools: Sequence[Tool],
    book: AddressBook,
    expand: Callable[[str], str] | None = None,
) -> ToolUse | FinalAnswer:
    """Parse generated text into a tool use or an answer, with handles expanded to addresses.

    Input:  the text; the tools; the handles; the function that expands strings for a tool, by
        default with all handles.
    Raises: GrammarViolationError: the grammar does not admit the text.
    """
    match = _OUTPUT.fullmatch(text)
    if match is None:
        raise GrammarViolationError(f"not a thought with an action or an answer: {_quote(text)}")
    if match["answer"] is not None:
        return FinalAnswer(answer=book.expand(match["answer"]))
    tool = next((tool for tool in tools if tool.name == match["name"]), None)
    if tool is None:
        raise GrammarViolationError(f"not one of the tools: {_quote(match['name'])}")
    if _NESTED.search(_STRINGS.sub("", match["arguments"])):
        # No parameter type nests, and parsing 100,000 levels would crash the process.
        raise GrammarViolationError(f"lists in lists for {tool.name}: {_quote(text)}")
    try:
        arguments = json.loads(match["arguments"])
        names = [parameter.name for parameter in tool.parameters]
        # Canonical JSON only: no extra spaces, duplicate keys or needless escapes.
        if (
            list(arguments) != names
            or json.dumps(arguments, ensure_ascii=False) != match["arguments"]
        ):
            raise GrammarViolationError(
                f"not the parameters of {tool.name}: {_quote(match['arguments'])}"
            )
        values = tuple(
            _convert_value(parameter, value, book, expand or book.expand)
            for parameter, value in zip(tool.parameters, arguments.values(), strict=True)
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise GrammarViolationError(f"not arguments of {tool.name}: {_quote(text)}") from error
    return ToolUse(
        tool=Address(tool.address),
        param_types=tuple(parameter.param_type for parameter in tool.parameters),
        values=values,
        # Only texts are expanded: a handle may equal a word of the format, a tool or a parameter.
        agent_reasoning=(
            f"Thought: {book.expand(match['thought'])}\nAction: {tool.name}\n"
            f"Action Input: {json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False)}"
        ),
    )


def _quote(text: str) -> str:
    """Return the start of a text of any length, quoted."""
    return repr(text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…")


def extract_thought(text: str) -> str:
    """Return the thought of a generated text."""
    return text.split("\n", 1)[0].strip()


def _build_instructions(tools: Sequence[Tool], book: AddressBook) -> str:
    start = "Answer the user's questions as best you can."
    if not tools:
        return f"{start}\n\n{_FORMAT_WITHOUT_TOOLS}"
    described = "\n".join(_describe(tool, book) for tool in tools)
    names = ", ".join(tool.name for tool in tools)
    return (
        f"{start}\n\nYou have access to the following tools:\n{described}\n\n"
        f"{_FORMAT.format(names=names)}"
    )


def _describe(tool: Tool, book: AddressBook) -> str:
    description = escape_line(book.intern(tool.description))
    parameters = "".join(f"\n  {_describe_parameter(p, book)}" for p in tool.parameters)
    return f"- {tool.name}: {description}{parameters}"


def _describe_parameter(parameter: ParamDescription, book: AddressBook) -> str:
    description = escape_line(book.intern(parameter.description))
    name = json.dumps(parameter.name, ensure_ascii=False)
    return f"{name} ({parameter.param_type.words}): {description}"


def _convert_value(
    parameter: ParamDescription, value: object, book: AddressBook, expand: Callable[[str], str]
) -> Value:
    param_type = parameter.param_type
    for item in value if isinstance(value, list) else [value]:
        _require_stated(parameter, item)
    if param_type >= ParamType.STRING_ARRAY:
        if not isinstance(value, list):
            raise TypeError(f"not a list: {value!r}")
        if len(value) > MAX_ARRAY_ITEMS:
            raise ValueError(f"{len(value)} items, at most {MAX_ARRAY_ITEMS}")
        return [_convert_item(parameter, item, book, expand) for item in value]  # type: ignore[return-value]
    return _convert_item(parameter, value, book, expand)


def _require_stated(parameter: ParamDescription, item: object) -> None:
    """Raise ValueError unless an item is one of the values that a parameter is limited to."""
    values = parameter.limits
    if values is None:
        return
    if (item if isinstance(values, range) else to_json(item)) not in values:
        raise ValueError(f"not a stated value of {parameter.name}: {item!r}")


def _convert_item(
    parameter: ParamDescription, value: object, book: AddressBook, expand: Callable[[str], str]
) -> str | bool | int:
    param_type = parameter.kind
    if parameter.text_type is not None:
        return expand_typed_text(parameter.text_type, _require_type(value, str), book)
    if param_type is ParamType.ADDRESS:
        return book.resolve(_require_type(value, str))
    if param_type is ParamType.STRING:
        text = _require_type(value, str)
        if len(text) > MAX_TEXT_CHARACTERS or "0x" in text or "0X" in text:
            raise ValueError(f"too long, or with 0x: {text!r}")
        return expand(text)
    if param_type is ParamType.BOOL:
        return _require_type(value, bool)
    number = _require_type(value, int)
    low, high = (0, 2**256) if param_type is ParamType.UINT else (-(2**255), 2**255)
    if not low <= number < high:
        raise ValueError(f"out of range: {number}")
    return number


def _require_type(value: object, kind: type[Kind]) -> Kind:
    # `True` is an `int` to isinstance, and must not become one here.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"not a {kind.__name__}: {value!r}")
    return value
