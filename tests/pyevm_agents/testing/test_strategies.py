"""Drawn steps are admissible, all admissible steps are drawn, and failures shrink."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from hypothesis import find, given, settings
from hypothesis.errors import NoSuchExample

from precompiles.abi import FinalAnswer, ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import parse
from precompiles.stated_values import limit_tools
from precompiles.tool_metadata import Tool
from pyevm_agents.models import AnswerStep, ScriptedModel, ToolStep, Vocabulary, answer, use
from pyevm_agents.models.fakes.adversary import DecisionContext
from pyevm_agents.testing.strategies import StepStrategy
from tests.precompiles.typed_values import HEX_BOOK, marked

if TYPE_CHECKING:
    from collections.abc import Callable

BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TOKEN = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"  # noqa: S105 - an address
BASE_PROMPT = f"The limit is 1,000.\nBob = {BOB}\nTOKEN = {TOKEN}"
QUESTION = "Pay Bob 10."


def tool(name: str, *kinds: ParamType) -> Tool:
    parameters = [
        ParamDescription(param_type=kind, name=kind.name.lower(), description="") for kind in kinds
    ]
    return Tool(
        address=Address(b"\x01" * 20), name=name, description="", parameters=tuple(parameters)
    )


EVERYTHING = tool("Everything", *ParamType)
WAIT = tool("Wait")
TOOLS = (WAIT, EVERYTHING)


def situation(
    *tools: Tool, base_prompt: str = BASE_PROMPT, observation: str = ""
) -> tuple[DecisionContext, AddressBook]:
    book = AddressBook(base_prompt, [QUESTION])
    segments = [Segment(text="<|chat|> 55", is_template=True), Segment(text=base_prompt)]
    segments += [Segment(text=f"Question: {QUESTION}"), Segment(text="Thought:")]
    if observation:
        segments += [Segment(text=" Hm."), Segment(text=f"\nObservation: {observation}\nThought:")]
    request = GenerationRequest(
        segments=tuple(segments),
        prompt_tokens=(1,),
        grammar=build_grammar(tools, [handle for handle, _ in book.handles]),
        max_tokens=1_000_000,  # more than any step has
        handles=book.handles,
    )
    return DecisionContext(request=request), book


SITUATION, BOOK = situation(*TOOLS)


def test_whatever_is_chosen_can_be_said_and_is_understood(vocabulary: Vocabulary) -> None:
    @settings(max_examples=40, deadline=None)
    @given(StepStrategy(SITUATION, numbers=(7,), texts=("a 0x text\u2028",)))
    def test_it(step: ToolStep | AnswerStep) -> None:
        model = ScriptedModel([step], vocabulary=vocabulary)
        said = model.generate(SITUATION.request)
        assert said.is_complete
        meant = parse(said.text, TOOLS, BOOK)
        if isinstance(step, AnswerStep):
            assert meant == FinalAnswer(answer=step.answer)
            return
        assert not isinstance(meant, FinalAnswer)
        values = [list(it) if isinstance(it, tuple) else it for it in step.arguments.values()]
        assert list(meant.values) == values

    test_it()


def found(
    condition: Callable[[Any], bool], where: DecisionContext = SITUATION, *, tries: int = 3_000
) -> ToolStep | AnswerStep:
    """Return the simplest step that fulfils a condition."""
    patient = settings(max_examples=tries, database=None, deadline=None)
    return find(StepStrategy(where), condition, settings=patient)


def is_use(step: ToolStep | AnswerStep) -> bool:
    """Return whether a step uses a tool with arguments."""
    return isinstance(step, ToolStep) and bool(step.arguments)


def chosen(
    name: str, condition: Callable[[Any], bool], where: DecisionContext = SITUATION
) -> object:
    """Return the simplest argument that fulfils a condition."""
    step = found(
        lambda it: (
            isinstance(it, ToolStep) and name in it.arguments and condition(it.arguments[name])
        ),
        where,
    )
    assert isinstance(step, ToolStep)
    return step.arguments[name]


def test_the_simplest_step_is_an_answer() -> None:
    assert found(lambda _: True) == answer("Done")


def test_the_simplest_tool_is_the_first_one() -> None:
    assert found(lambda it: isinstance(it, ToolStep)) == use("Wait")


def test_the_simplest_arguments_are_small() -> None:
    assert found(lambda it: isinstance(it, ToolStep) and it.tool == "Everything") == use(
        "Everything",
        string="",
        address=BOB,
        bool=False,
        int=0,
        uint=0,
        string_array=[],
        address_array=[],
        bool_array=[],
        int_array=[],
        uint_array=[],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "condition", "simplest"),
    [
        ("uint", lambda it: it > 1_000, 1_001),
        ("uint", lambda it: it > 700, 701),
        ("uint", lambda it: it == 10, 10),
        ("uint", lambda it: it == 2**256 - 1, 2**256 - 1),
        ("int", lambda it: it == -(2**255), -(2**255)),
        ("int", lambda it: it < -5, -6),
        ("address", lambda it: it != BOB, TOKEN),
        ("bool", lambda it: it, True),
        ("string", lambda it: TOKEN in it, TOKEN),
        ("string", lambda it: "pay" in it.lower(), "Pay Bob 10."),
        ("string", lambda it: "\nFinal Answer" in it, "\nFinal Answer: done"),
        ("address_array", lambda it: len(it) > 1, (BOB, BOB)),
        ("uint_array", lambda it: 1_000 in it, (1_000,)),
        ("string_array", lambda it: BOB in it, (BOB,)),
        ("bool_array", any, (True,)),
    ],
)
def test_arguments_get_as_simple_as_a_failure_allows(
    name: str, condition: Callable[[Any], bool], simplest: object
) -> None:
    if name == "string" and simplest == "Pay Bob 10.":
        simplest = f"Pay {BOB} 10."  # `Bob` is a handle: a script has the address.
    assert chosen(name, condition) == simplest


def test_what_a_tool_told_is_said_again() -> None:
    where, _ = situation(WAIT, tool("Say", ParamType.STRING), observation="The code is 4711")
    assert chosen("string", lambda it: "4711" in it, where) == (
        "\nObservation: The code is 4711\nThought:"
    )


def test_without_addresses_lists_of_them_are_empty() -> None:
    lists = tool("Lists", ParamType.ADDRESS_ARRAY, ParamType.STRING)
    where, _ = situation(lists, tool("One", ParamType.ADDRESS), base_prompt="None")
    step = found(lambda it: isinstance(it, ToolStep), where)
    assert step == use("Lists", address_array=[], string="")
    with pytest.raises(NoSuchExample):
        found(lambda it: isinstance(it, ToolStep) and it.tool == "One", where, tries=100)


def test_without_tools_there_are_answers() -> None:
    where, _ = situation()
    assert found(lambda _: True, where) == answer("Done")


def test_where_no_answer_may_be_there_is_a_tool() -> None:
    where, _ = situation(WAIT)
    grammar = where.request.grammar.replace("step: answer | use", "step: use")
    request = GenerationRequest(
        segments=where.request.segments, prompt_tokens=(1,), grammar=grammar, max_tokens=1
    )
    assert found(lambda _: True, DecisionContext(request=request)) == use("Wait")


TYPED = marked("(address,uint24)[]", "bytes2", "bytes", "(string,bool[2],int8)", "string[][]")
LISTS = replace(marked("(address,bytes)", kind=ParamType.STRING_ARRAY), name="lists")
RATES = replace(marked("uint8", kind=ParamType.UINT), name="rates")
CHOICES = limit_tools(
    [
        replace(
            marked(""),
            name="choices",
            parameters=(
                ParamDescription(
                    param_type=ParamType.STRING, name="v", description="one of buy, sell"
                ),
                ParamDescription(
                    param_type=ParamType.INT_ARRAY, name="w", description="from -3 to 3"
                ),
            ),
        )
    ]
)[0]
HEX_TOOLS = (TYPED, LISTS, RATES, CHOICES)
HEX_PROMPT = "".join(f"{handle} = {address}\n" for handle, address in HEX_BOOK.handles)


def test_typed_texts_and_limited_values_can_be_said_and_are_understood(
    vocabulary: Vocabulary,
) -> None:
    where, book = situation(*HEX_TOOLS, base_prompt=HEX_PROMPT)

    @settings(max_examples=60, deadline=None)
    @given(StepStrategy(where, texts=("aa cafe \nPOOL it's \\",)))
    def test_it(step: ToolStep | AnswerStep) -> None:
        said = ScriptedModel([step], vocabulary=vocabulary).generate(where.request)
        meant = parse(said.text, HEX_TOOLS, book)
        if isinstance(step, ToolStep):
            assert isinstance(meant, ToolUse)
            given_values = [
                list(it) if isinstance(it, tuple) else it for it in step.arguments.values()
            ]
            assert list(meant.values) == given_values

    test_it()


def test_the_simplest_typed_texts_are_small() -> None:
    where, _ = situation(*HEX_TOOLS, base_prompt=HEX_PROMPT)
    step = found(lambda it: isinstance(it, ToolStep) and it.tool == "t", where)
    assert step == use("t", v="[]", v1="0000", v2="", v3="('', [false, false], 0)", v4="[]")
    step = found(lambda it: isinstance(it, ToolStep) and it.tool == "choices", where)
    assert step == use("choices", v="buy", w=[])
    step = found(lambda it: isinstance(it, ToolStep) and it.arguments.get("v") == 255, where)
    assert step == use("rates", v=255)


def test_without_addresses_typed_lists_of_them_are_empty() -> None:
    where, _ = situation(LISTS, marked("(address[],bool)", "bytes1"), base_prompt="None")
    assert found(lambda it: isinstance(it, ToolStep) and it.tool == "lists", where) == use(
        "lists", v=[]
    )
    with pytest.raises(NoSuchExample):
        found(
            lambda it: (
                isinstance(it, ToolStep)
                and it.arguments.get("v", "([]") not in ([], (), "([], true)", "([], false)")
            ),
            where,
            tries=100,
        )
