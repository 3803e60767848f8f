"""Steps of scripts: creation, rendering and display."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from eth_utils import to_canonical_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.display import LINE_CHARACTERS
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import (
    AnswerStep,
    RepeatedStep,
    ToolStep,
    UncheckedStep,
    again,
    answer,
    unchecked,
    use,
)
from pyevm_agents.models.fakes.script_steps import (
    Step,
    describe_step,
    render_step,
)

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
HANDLES = (("addr1", ADDRESS), ("USDC", "0x" + "11" * 20))

NAMES = {
    "use": use,
    "answer": answer,
    "again": again,
    "unchecked": unchecked,
}

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
ITEMS = st.one_of(TEXTS, st.booleans(), st.integers())
ARGUMENTS = st.dictionaries(
    st.one_of(TEXTS, st.sampled_from(["thought", "arguments", "tool", "class", "amount"])),
    st.one_of(ITEMS, st.lists(TEXTS, max_size=3), st.lists(st.integers(), max_size=3)),
    max_size=4,
)
ONCE = st.one_of(
    st.builds(use, TEXTS, TEXTS, ARGUMENTS),
    st.builds(lambda tool, given: use(tool, None, given), TEXTS, ARGUMENTS),
    st.builds(lambda text, thought: answer(text, thought=thought), TEXTS, TEXTS),
    st.builds(answer, TEXTS),
    st.builds(unchecked, TEXTS),
    st.just("a text"),
)


@dataclass(frozen=True)
class Contract:
    """An object with an address, like a web3.py contract."""

    address: object


@given(step=st.one_of(ONCE, ONCE.map(again)))
def test_a_step_is_shown_as_the_python_that_makes_it(step: Step) -> None:
    shown = repr(step) if isinstance(step, str) else str(step)
    assert eval(shown, NAMES.copy()) == step  # noqa: S307 - what `str` returned


def test_a_step_is_shown_as_a_person_would_write_it() -> None:
    assert str(use("Pay", to=ADDRESS, wei=1, notes=["a"])) == (
        f'use("Pay", to="{ADDRESS}", wei=1, notes=["a"])'
    )
    assert str(use("Pay", "Go.", {"thought": True})) == (
        'use("Pay", thought="Go.", arguments={"thought": True})'
    )
    assert str(answer("Bye")) == 'answer("Bye")'
    assert str(again(unchecked("?"))) == 'again(unchecked("?"))'
    assert describe_step(" Text\n") == '" Text\\n"'


def test_what_is_shown_of_a_long_step_is_short() -> None:
    assert len(describe_step(answer("x" * 50_000))) == LINE_CHARACTERS + 1


@pytest.mark.parametrize("value", [ADDRESS, to_canonical_address(ADDRESS), Contract(ADDRESS)])
def test_an_address_may_be_text_bytes_or_a_contract(value: object) -> None:
    step = use("Pay", to=value, all=[value, value])
    assert step.arguments == {"to": ADDRESS, "all": (ADDRESS, ADDRESS)}
    assert render_step(step, HANDLES).endswith('{"to": "addr1", "all": ["addr1", "addr1"]}')


@pytest.mark.parametrize("value", [b"\x01" * 19, Contract(None), Contract(b"\x01" * 20), [None]])
def test_what_stands_for_no_address_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"argument to=.* of Pay: unsupported type"):
        use("Pay", to=value)


@given(given_order=st.permutations(["a", "b", "c", "more"]), order=st.permutations("abc"))
def test_arguments_are_said_in_the_order_of_the_parameters(
    given_order: list[str], order: list[str]
) -> None:
    step = use("T", None, dict.fromkeys(given_order, 1))
    said = json.loads(render_step(step, order=order).split("Action Input: ")[1])
    assert list(said) == [*order, "more"]


def test_without_an_order_arguments_are_said_as_given() -> None:
    assert render_step(use("T", b=1, a=2)).endswith('{"b": 1, "a": 2}')


def test_again_is_said_once_more_and_not_twice() -> None:
    once = use("T", a=1)
    assert again(again(once)) == again(once) == RepeatedStep(step=once)
    assert render_step(again(once)) == render_step(once)
    assert render_step(unchecked(f"to {ADDRESS}"), HANDLES) == "to addr1"


def test_steps_are_values() -> None:
    assert use("T", a=1) == ToolStep(tool="T", thought="I should use T.", arguments={"a": 1})
    assert answer("x") == AnswerStep(answer="x", thought="I now know the final answer")
    assert unchecked("x") == UncheckedStep(text="x")


def test_an_address_behind_a_line_break_in_a_text_is_said_as_its_handle() -> None:
    """JSON writes a line break as two characters, the second of which is a letter."""
    address = "0x" + "Ab" * 20
    step = use("Tell", text=f"To\n{address}\t{address}", all=[f"\n{address}"])
    assert render_step(step, (("bob", address),)).endswith(
        '{"text": "To\\nbob\\tbob", "all": ["\\nbob"]}'
    )


def test_an_argument_without_a_name_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"pass tool arguments by name, such as use\(.CounterTool., amount=1\)$"
    ):
        use("CounterTool", 5)  # type: ignore[arg-type]


def test_a_tool_that_is_no_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^use\(5, …\): must be a tool's name"):
        use(5, amount=5)  # type: ignore[arg-type]


def test_an_answer_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must be a text, as answer\('5'\)$"):
        answer(5)  # type: ignore[arg-type]
