"""Random tools, handles and outputs: the next prompt repeats exactly what the model wrote."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from precompiles.abi import IterationRequest, ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.errors import Refusal
from precompiles.react import build_prompt, parse, parse_history
from precompiles.tool_metadata import Tool, _check_look, _check_name
from tests.byte_model import PROFILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.language_model import Segment
    from tests.samples import Sample

    Chance = random.Random

ADDRESSES = [to_checksum_address(keccak(bytes([number]))[:20]) for number in range(12)]
WORDS = [
    *("Thought", "Action", "Input", "Observation", "Final", "Answer", "Question", "Begin"),
    *("true", "false", "null", "addr1", "addr2", "addr3", "addr12", "USDC", "USDC.e", "x-1.y"),
    *("n", "r", "t", "u", "nPOOL", "POOL", "nn", "u000a", "1a", "a.b", "a_b", "pay", "to", "a"),
]
"""Names of addresses, tools and parameters: words of the format, values, escapes of JSON."""

SIGNS = [
    *' \n\r\t"\\/:,.;-_{}[]()01xXe',
    "\\n",
    '\\"',
    "\\u0041",
    "é",
    "😀",
    "\u200b",
    "<|im_end|>",
]
"""Parts of texts: what JSON escapes, what looks like an escape, neighbours of a handle."""

TYPES = [*ParamType, ParamType.STRING, ParamType.STRING, ParamType.BOOL, ParamType.ADDRESS]
MAX_STEPS = 3


@dataclass
class Run:
    """A run of an agent: its tools, and the request of its next step."""

    tools: tuple[Tool, ...]
    request: IterationRequest
    book: AddressBook
    segments: tuple[Segment, ...] = ()


def draw_text(chance: Chance, words: list[str], most: int = 8) -> str:
    """Return a text of words, signs and addresses."""
    parts = chance.choices([words, SIGNS, ADDRESSES], weights=[5, 5, 1], k=chance.randint(0, most))
    return "".join(chance.choice(part) for part in parts)


def draw_names(chance: Chance, count: int) -> list[str]:
    """Return names that the executor takes."""
    names: dict[str, str] = {}
    for _ in range(count):
        name = "".join(chance.choice([*WORDS, *SIGNS]) for _ in range(chance.randint(1, 3)))
        try:
            _check_name(Address(b""), b"", name)
            _check_look(Address(b""), b"", name, names if name not in names.values() else {})
        except Refusal:
            continue
    return list(names.values())


def draw_tools(chance: Chance) -> tuple[Tool, ...]:
    tools = []
    for index, name in enumerate(draw_names(chance, 6)):
        parameters = tuple(
            ParamDescription(param_type=chance.choice(TYPES), name=each, description="")
            for each in draw_names(chance, 5)
        )
        address = Address(bytes(19) + bytes([index]))
        tools.append(Tool(address=address, name=name, description="", parameters=parameters))
    return tuple(tools)


def draw_run(chance: Chance) -> Run:
    tools = draw_tools(chance)
    names = [*WORDS, *(tool.name for tool in tools)]
    names += [parameter.name for tool in tools for parameter in tool.parameters]
    named = chance.sample(ADDRESSES, chance.randint(0, 5))
    lines = [draw_text(chance, names), *(f"{chance.choice(names)} = {each}" for each in named)]
    request = IterationRequest(
        model_id="bytes",
        base_prompt="\n".join(lines),
        tools=tuple(tool.address for tool in tools),
        agent_reasoning=(),
        tool_results=(),
        prompt=draw_text(chance, names),
    )
    return Run(tools, request, AddressBook(request.base_prompt, [request.prompt]))


def draw_said_text(chance: Chance, handles: Sequence[str], most: int) -> str:
    """Return a text that the grammar admits between quotation marks: no `0x`."""
    kinds = [handles or WORDS, WORDS, SIGNS]
    parts = chance.choices(kinds, weights=[3, 1, 4], k=chance.randint(0, 8))
    text = "".join(chance.choice(part) for part in parts)[:most]
    return text if "0x" not in text.lower() else text.replace("0", "")


def draw_item(chance: Chance, param_type: ParamType, handles: Sequence[str]) -> Any:  # noqa: ANN401
    match param_type:
        case ParamType.STRING:
            return draw_said_text(chance, handles, 1_024)
        case ParamType.ADDRESS:
            return chance.choice(handles)
        case ParamType.BOOL:
            return chance.random() < 0.5
        case ParamType.UINT:
            return chance.choice([0, 1, 2**256 - 1, chance.getrandbits(64)])
        case _:
            return chance.choice([0, -1, 2**255 - 1, -(2**255), chance.getrandbits(64)])


def draw_value(chance: Chance, param_type: ParamType, handles: Sequence[str]) -> Any:  # noqa: ANN401
    if param_type < ParamType.STRING_ARRAY:
        return draw_item(chance, param_type, handles)
    item_type = ParamType(param_type - ParamType.STRING_ARRAY)
    most = 3 if handles or item_type is not ParamType.ADDRESS else 0
    return [draw_item(chance, item_type, handles) for _ in range(chance.randint(0, most))]


def draw_thought(chance: Chance, handles: Sequence[str]) -> str:
    return " ".join(draw_said_text(chance, handles, 240).split()) or "Hm"


def expand(value: Any, book: AddressBook) -> Any:  # noqa: ANN401 - an argument
    """Return an argument with addresses in place of handles."""
    if isinstance(value, list):
        return [expand(item, book) for item in value]
    return book.expand(value) if isinstance(value, str) else value


def check_step(chance: Chance, run: Run, tool: Tool, sample: Sample) -> None:
    """Let the model use a tool; require its words in the next prompt, and move the run there."""
    handles = [handle for handle, _ in run.book.handles]
    arguments = {
        parameter.name: draw_value(chance, parameter.param_type, handles)
        for parameter in tool.parameters
    }
    written = json.dumps(arguments, ensure_ascii=False)
    thought = draw_thought(chance, handles)
    said = f" {thought}\nAction: {tool.name}\nAction Input: {written}"

    result = parse(said, run.tools, run.book)
    assert isinstance(result, ToolUse)
    values = {name: expand(value, run.book) for name, value in arguments.items()}
    assert result.values == tuple(values.values()), said
    assert result.agent_reasoning == (
        f"Thought: {run.book.expand(thought)}\nAction: {tool.name}\n"
        f"Action Input: {json.dumps(values, ensure_ascii=False)}"
    )

    request = replace(
        run.request,
        agent_reasoning=(*run.request.agent_reasoning, result.agent_reasoning),
        tool_results=(*run.request.tool_results, draw_text(chance, WORDS)),
    )
    book = AddressBook(request.base_prompt, [request.prompt, *request.tool_results])
    before = run.segments or build_prompt(run.request, (), run.tools, run.book, PROFILE)
    run.segments = build_prompt(request, parse_history(request), run.tools, book, PROFILE)
    run.request, run.book = request, book
    assert run.segments[: len(before)] == before
    assert run.segments[len(before)].text == said

    sample.figures["outputs"] += 1
    sample.figures["expanded"] += result.agent_reasoning != f"Thought:{said}"
    sample.figures["arguments"] += len(arguments)


@pytest.mark.slow
@pytest.mark.sample(count=3_000, seed=18)
def test_the_next_prompt_repeats_what_the_model_wrote(sample: Sample) -> None:
    sample.figures.update(outputs=0, expanded=0, arguments=0)
    run_number = 0
    while sample.figures["outputs"] < sample.count:
        chance = random.Random(f"{sample.seed} {run_number}")  # noqa: S311 - by its seed
        run, run_number = draw_run(chance), run_number + 1
        for _ in range(MAX_STEPS):
            usable = [
                tool
                for tool in run.tools
                if run.book.handles
                or all(one.param_type is not ParamType.ADDRESS for one in tool.parameters)
            ]
            if usable and sample.figures["outputs"] < sample.count:
                check_step(chance, run, chance.choice(usable), sample)
    sample.figures["runs"] = run_number
    assert sample.figures["expanded"] * 3 > sample.count
