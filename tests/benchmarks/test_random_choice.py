"""Random choice: tools and the answer are equally likely, and each step is in the grammar."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from eth_typing import Address

from benchmarks.random_choice import RandomChoice, random_model
from precompiles.abi import ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import parse
from precompiles.tool_metadata import Tool
from tests.precompiles.typed_values import HEX_BOOK, marked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models import Vocabulary

PROMPT = """USDC = 0x5FbDB2315678afecb367f032d93F642f64180aa3
DAI = 0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"""
BOOK = AddressBook(PROMPT, [])
HANDLES = [handle for handle, _ in BOOK.handles]


def tool(number: int, name: str, *types: ParamType) -> Tool:
    return Tool(
        address=Address(bytes([number]) * 20),
        name=name,
        description="",
        parameters=tuple(
            ParamDescription(param_type=it, name=f'p"{index}', description="")
            for index, it in enumerate(types)
        ),
    )


EVERYTHING = tool(1, 'Every "thing" ( | )', *ParamType)
TOOLS = (EVERYTHING, tool(2, "pause"), tool(3, "tool1", ParamType.ADDRESS))


def request(
    number: int, tools: Sequence[Tool] = TOOLS, handles: Sequence[str] = HANDLES
) -> GenerationRequest:
    return GenerationRequest(
        segments=(Segment(text=str(number)),),
        prompt_tokens=(number,),
        grammar=build_grammar(tools, handles),
        max_tokens=10_000,
    )


def test_all_that_it_says_parses() -> None:
    choice = RandomChoice(1)
    for number in range(500):
        parse(choice(request(number)), TOOLS, BOOK)


def test_typed_texts_and_ranges_parse_as_well() -> None:
    tools = (
        marked("(address,uint24)[]", "bytes32", "(bytes,string[2],bool,int8)", "bytes[1][]"),
        replace(marked("uint8", kind=ParamType.UINT), name="vote"),
        replace(marked("int16", kind=ParamType.INT_ARRAY), name="move"),
    )
    handles = [handle for handle, _ in HEX_BOOK.handles]
    choice, used = RandomChoice(1), Counter[str]()
    for number in range(300):
        said = choice(request(number, tools, handles))
        parse(said, tools, HEX_BOOK)
        used[said.split("\n")[1]] += 1
    assert min(used[f"Action: {name}"] for name in ("t", "vote", "move")) > 30


def test_a_real_vocabulary_and_grammar_admit_what_it_says(vocabulary: Vocabulary) -> None:
    model = random_model(vocabulary, 1)
    for number in range(20):
        generation = model.generate(request(number))
        assert generation.is_complete
        assert generation.text.strip() == RandomChoice(1)(request(number)).strip()


def test_tools_and_the_answer_are_equally_likely() -> None:
    choice = RandomChoice(1)
    said = [parse(choice(request(number)), TOOLS, BOOK) for number in range(2_000)]
    counts = Counter(it.tool if isinstance(it, ToolUse) else None for it in said)
    assert len(counts) == len(TOOLS) + 1
    assert all(430 < count < 570 for count in counts.values())  # 500, give or take 3.6 sigma


def test_arguments_differ_and_take_every_handle() -> None:
    choice, only = RandomChoice(1), (EVERYTHING,)
    said = [parse(choice(request(number, only)), only, BOOK) for number in range(300)]
    values = [it.values for it in said if isinstance(it, ToolUse)]
    for index, param_type in enumerate(ParamType):
        found = {json.dumps(value[index]) for value in values}
        assert len(found) >= (2 if param_type in {ParamType.BOOL, ParamType.ADDRESS} else 10)
    assert {value[1] for value in values} == {address for _, address in BOOK.handles}


def test_without_handles_a_tool_that_needs_one_is_never_used() -> None:
    choice, book = RandomChoice(1), AddressBook("", [])
    for number in range(100):
        said = parse(choice(request(number, TOOLS, [])), TOOLS, book)
        assert not isinstance(said, ToolUse) or said.tool == TOOLS[1].address


def test_without_tools_it_answers() -> None:
    assert "Final Answer: " in RandomChoice(1)(request(1, []))


def test_it_is_a_function_of_seed_and_prompt() -> None:
    first = [RandomChoice(1)(request(number)) for number in range(20)]
    assert first == [RandomChoice(1)(request(number)) for number in range(20)]
    assert first != [RandomChoice(2)(request(number)) for number in range(20)]
    assert len(set(first)) > 10
