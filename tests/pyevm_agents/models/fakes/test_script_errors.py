"""Explanations of rejected steps: one exactly for each step that the grammar rejects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from hypothesis import example, given
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import GrammarViolationError, parse
from precompiles.tool_metadata import Tool
from pyevm_agents.models import again, answer, unchecked, use
from pyevm_agents.models.fakes.script_errors import (
    SHOWN_LINES,
    describe_allowed_steps,
    find_step_errors,
)
from pyevm_agents.models.fakes.script_steps import render_step
from tests.precompiles.typed_values import FIRST, HEX_BOOK, marked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models.fakes.script_steps import Step, ToolStep

USDC = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
OTHER = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
UNKNOWN = "0x3333333333333333333333333333333333333333"
BOOK = AddressBook(f"USDC = {USDC}", [OTHER])
NOBODY = AddressBook("", [])


def tool(name: str, *parameters: tuple[str, ParamType]) -> Tool:
    return Tool(
        address=Address(bytes(20)),
        name=name,
        description="",
        parameters=tuple(
            ParamDescription(param_type=param_type, name=parameter, description="")
            for parameter, param_type in parameters
        ),
    )


DEPLOY = tool("DeployTool", ("asset", ParamType.ADDRESS), ("amount", ParamType.UINT))
EVERY_TYPE = tool("Every", *((kind.name, kind) for kind in ParamType))
TOOLS = (DEPLOY, tool("WaitTool"), EVERY_TYPE)
ORDER = [parameter.name for parameter in EVERY_TYPE.parameters]


def request(
    tools: Sequence[Tool] = TOOLS, book: AddressBook = BOOK, *, prompt: str = ""
) -> GenerationRequest:
    return GenerationRequest(
        segments=(Segment(text=prompt), Segment(text="Thought:")),
        prompt_tokens=(),
        grammar=build_grammar(tools, [handle for handle, _ in book.handles]),
        max_tokens=1,
        handles=book.handles,
    )


def is_admitted(step: Step, order: Sequence[str] = ()) -> bool:
    try:
        parse(render_step(step, BOOK.handles, order=order), TOOLS, BOOK)
    except GrammarViolationError:
        return False
    return True


TEXTS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["0x", "0X1", "a\nb", "\t", "\x07", "\u2028", f"to {USDC}", f"x{UNKNOWN}"]),
    st.sampled_from([1_024, 1_025]).map(lambda count: "x" * count),
    st.sampled_from([1_024, 1_025]).map(lambda count: "\n" * count),
)
ADDRESSES = st.sampled_from([USDC, OTHER.lower(), "USDC", "addr1", UNKNOWN, "addr2", "0x", ""])
NUMBERS = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([2**256 - 1, 2**256, 2**255 - 1, 2**255, -(2**255), -(2**255) - 1]),
)
ITEMS: st.SearchStrategy[Any] = st.one_of(TEXTS, ADDRESSES, NUMBERS, st.booleans())
RIGHT: dict[ParamType, st.SearchStrategy[Any]] = {
    ParamType.STRING: TEXTS,
    ParamType.ADDRESS: ADDRESSES,
    ParamType.BOOL: st.booleans(),
    ParamType.INT: NUMBERS,
    ParamType.UINT: NUMBERS,
}


def values(param_type: ParamType) -> st.SearchStrategy[Any]:
    """Generate values, many of them valid for a parameter."""
    if param_type < ParamType.STRING_ARRAY:
        return st.one_of(RIGHT[param_type], ITEMS, st.lists(ITEMS, max_size=1))
    item = RIGHT[ParamType(param_type - ParamType.STRING_ARRAY)]
    return st.one_of(
        st.lists(item, max_size=3),
        st.sampled_from([64, 65]).flatmap(lambda n: item.map(lambda one: [one] * n)),
        st.lists(ITEMS, max_size=2),
        ITEMS,
    )


SOUND = {
    "STRING": "s",
    "ADDRESS": USDC,
    "BOOL": True,
    "INT": -1,
    "UINT": 1,
    "STRING_ARRAY": ["s"],
    "ADDRESS_ARRAY": [],
    "BOOL_ARRAY": [False],
    "INT_ARRAY": [],
    "UINT_ARRAY": [0],
}


@given(data=st.data(), param_type=st.sampled_from(ParamType))
def test_a_value_has_a_reason_where_it_is_refused(
    data: st.DataObject, param_type: ParamType
) -> None:
    value = data.draw(values(param_type))
    step = use("Every", None, {**SOUND, param_type.name: value})
    assert (not find_step_errors(step, request())) == is_admitted(step, ORDER), find_step_errors(
        step, request()
    )


TYPED = marked("(address,uint24)[]", "bytes2", "(string,bool)")
RATED = replace(marked("uint8", kind=ParamType.UINT), name="rate")
TYPED_TOOLS = (TYPED, RATED)
HEX = request(TYPED_TOOLS, HEX_BOOK)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (use("t", v="[]", v1="cafe", v2="('', true)"), ""),
        (use("t", v=f"[({FIRST.lower()}, 1), (cafe, 2)]", v1="aaaa", v2="('a', true)"), ""),
        (use("t", v="[]", v1="cafe", v2=rf"('\n{FIRST}', true)"), ""),
        (
            use("t", v=[], v1="cafe", v2="('', true)"),
            "v=(): must be of type text of (address,uint24)[]",
        ),
        (
            use("t", v="[]", v1=5, v2="('', true)"),
            "v1=5: must be of type text of bytes2",
        ),
        (
            use("t", v="[]", v1="0xcafe", v2="('', true)"),
            (
                "v1='0xcafe': must be a text of bytes2: character 0, \"0xcafe\": must be bytes2: 4 "
                "lower-case hexadecimal digits without 0x"
            ),
        ),
        (
            use("t", v="[(cafe, 16777216)]", v1="cafe", v2="('', true)"),
            (
                "v='[(cafe, 16777216)]': must be a text of (address,uint24)[]: character 8, "
                '"16777216)]": must be uint24: a whole number from 0 to 16777215'
            ),
        ),
        (
            use("t", v=f"[({UNKNOWN}, 1)]", v1="cafe", v2="('', true)"),
            f"v={UNKNOWN}: address unknown to the agent",
        ),
        (use("t", v="[(pool, 1)]", v1="cafe", v2="('', true)"), "v='pool': not an address"),
        (use("rate", v=256), "v=256: must be of type positive integer from 0 to 255"),
        (use("rate", v=255), ""),
        (use("rate", v="5"), "v='5': must be of type positive integer from 0 to 255"),
        (use("rate"), "the argument 'v' is missing: positive integer from 0 to 255"),
    ],
)
def test_typed_texts_and_ranges_have_reasons(step: ToolStep, told: str) -> None:
    found = "; ".join(find_step_errors(step, HEX))
    assert found.startswith(told)
    assert bool(found) == bool(told)
    tool = next(one for one in TYPED_TOOLS if one.name == step.tool)
    typed = [one.name for one in tool.parameters if one.text_type is not None]
    text = render_step(step, HEX_BOOK.handles, typed=typed)
    if told:
        with pytest.raises(GrammarViolationError):
            parse(text, TYPED_TOOLS, HEX_BOOK)
    else:
        assert isinstance(parse(text, TYPED_TOOLS, HEX_BOOK), ToolUse)


def test_an_offer_has_types_and_ranges() -> None:
    assert describe_allowed_steps(HEX).startswith(
        "The grammar admits:\n"
        "  t(v: text of (address,uint24)[], v1: text of bytes2, v2: text of (string,bool))\n"
        "  rate(v: positive integer from 0 to 255)\n"
    )


@given(arguments=st.dictionaries(st.sampled_from([*ORDER, "MORE"]), st.just(1)))
def test_missing_and_unknown_arguments_have_reasons(arguments: dict[str, object]) -> None:
    given_values = {name: SOUND.get(name, 1) for name in arguments}
    step = use("Every", None, given_values)
    found = "; ".join(find_step_errors(step, request()))
    assert ("has no parameter 'MORE'" in found) == ("MORE" in arguments)
    for name in ORDER:
        assert (f"the argument '{name}' is missing" in found) == (name not in arguments)


@given(
    thought=st.one_of(TEXTS, st.sampled_from(["x" * 240, "x" * 241, " x"])),
    text=st.one_of(TEXTS, st.just(" x")),
)
@example(thought="ok", text=f"{UNKNOWN}")
@example(thought="ok", text="x\n")
@example(thought="\t", text="x\n\n")
def test_thoughts_and_answers_have_a_reason_where_they_are_refused(thought: str, text: str) -> None:
    step = answer(text, thought=thought)
    assert (not find_step_errors(step, request())) == is_admitted(step)
    waiting = use("WaitTool", thought)
    assert (not find_step_errors(waiting, request())) == is_admitted(waiting)


@given(given_order=st.permutations(ORDER))
def test_a_tools_arguments_may_come_in_any_order(given_order: list[str]) -> None:
    step = use("Every", None, {name: SOUND[name] for name in given_order})
    assert find_step_errors(step, request()) == ()
    meant = parse(render_step(step, BOOK.handles, order=ORDER), TOOLS, BOOK)
    assert isinstance(meant, ToolUse)
    assert list(meant.values) == [SOUND[name] for name in ORDER]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (use("DeployTol"), "there is no tool 'DeployTol'; did you mean 'DeployTool'?"),
        (use("Burn"), "there is no tool 'Burn'"),
        (
            use("DeployTool", amout=1, asset="USDC"),
            (
                "DeployTool has no parameter 'amout'; did you mean 'amount'?; "
                "the argument 'amount' is missing: positive integer"
            ),
        ),
        (
            use("DeployTool", asset=UNKNOWN, amount=-1),
            (
                f"asset={UNKNOWN}: address unknown to the agent: the base prompt, the prompt or a "
                "tool result must contain it; "
                "amount=-1: must be of type positive integer: 0 to 2**256 - 1"
            ),
        ),
        (use("DeployTool", asset="pool", amount=True), "asset='pool': not an address"),
        (
            use("DeployTool", asset="USDC", amount=True),
            "amount=True: must be of type positive integer",
        ),
        (
            use("DeployTool", asset="USDC", amount="1"),
            "amount='1': must be of type positive integer",
        ),
        (again(answer("")), "the answer is empty"),
        (answer("a\nb"), "the answer contains a line break or another control character"),
        (answer(f"to {UNKNOWN}"), f"the answer contains {UNKNOWN!r}: a model can't write 0x"),
        (answer("x" * 1_025), "the answer has 1,025 characters: must be at most 1,024"),
    ],
)
def test_reasons_are_told_in_the_tools_words(step: Step, told: str) -> None:
    assert "; ".join(find_step_errors(step, request())).startswith(told)


def test_a_tool_that_no_address_can_fill_is_told_from_one_that_is_not_there() -> None:
    shown = request(book=NOBODY, prompt="tools:\n- DeployTool: deposits\n")
    assert find_step_errors(use("DeployTool"), shown) == (
        "DeployTool takes an address, but the prompt contains none",
    )


@pytest.mark.parametrize("step", [" Thought\nFinal Answer: x", unchecked("?")])
def test_texts_have_no_reasons(step: Step) -> None:
    assert find_step_errors(step, request()) == ()


def test_an_offer_has_tools_and_addresses() -> None:
    assert describe_allowed_steps(request((DEPLOY, tool("WaitTool")))) == (
        "The grammar admits:\n"
        "  DeployTool(asset: address, amount: positive integer)\n"
        "  WaitTool()\n"
        "  or a final answer\n"
        "with these addresses from the prompt:\n"
        f"  USDC = {USDC}\n"
        f"  addr1 = {OTHER}"
    )
    assert describe_allowed_steps(request((), NOBODY)) == (
        "The grammar admits:\n  a final answer\nand no address: the prompt contains none"
    )


def test_a_long_offer_is_cut() -> None:
    many = [tool(f"tool {n}") for n in range(64)]
    assert describe_allowed_steps(request(many, NOBODY)).count("\n") == SHOWN_LINES + 3
    assert f"  and {64 - SHOWN_LINES} more" in describe_allowed_steps(request(many))


def test_another_grammar_has_no_offer() -> None:
    other = GenerationRequest(segments=(), prompt_tokens=(), grammar="start: A", max_tokens=1)
    assert describe_allowed_steps(other) == ""
    assert find_step_errors(use("Tool"), other) == ()
