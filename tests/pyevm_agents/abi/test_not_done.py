"""Answers of undone runs in revert data, also below the errors of contracts around the agent."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector as selector
from hypothesis import given
from hypothesis import strategies as st

from precompiles.outcome import is_done
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.not_done import NOT_DONE_SELECTOR, find_not_done
from tests.run_answers import ANSWERS

SAID = "I can't do that: pay Carol"
PLACE = b"\x11" * 20


def undo(answer: str) -> bytes:
    """Return the revert data of an agent with this answer."""
    return NOT_DONE_SELECTOR + encode(["string"], [answer])


def test_the_selector_is_that_of_the_contract() -> None:
    [error] = [each for each in load_artifact("RunOutcome").abi if each["type"] == "error"]
    assert (error["name"], [each["type"] for each in error["inputs"]]) == ("NotDone", ["string"])
    assert selector("NotDone(string)") == NOT_DONE_SELECTOR


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_an_answer_is_found_if_it_is_not_done(said: str, *, expected: bool) -> None:
    assert find_not_done(undo(said)) == (None if expected else said)


@given(st.text())
def test_no_answer_that_is_done_is_found(said: str) -> None:
    assert find_not_done(undo(said)) == (None if is_done(said) else said)


@pytest.mark.parametrize(
    ("signature", "types", "values"),
    [
        ("ToolCallFailed(address,bytes)", ["address", "bytes"], [PLACE]),
        ("CallFailed(address,bytes)", ["address", "bytes"], [PLACE]),
        ("CallFailed(address,bytes4,bytes)", ["address", "bytes4", "bytes"], [PLACE, b"1234"]),
    ],
)
def test_an_answer_is_found_below_other_errors(
    signature: str, types: list[str], values: list[object]
) -> None:
    def wrap(data: bytes) -> bytes:
        return selector(signature) + encode(types, [*values, data])

    assert find_not_done(wrap(undo(SAID))) == SAID
    assert find_not_done(wrap(wrap(undo(SAID)))) == SAID
    assert find_not_done(wrap(undo("Done."))) is None
    assert find_not_done(wrap(b"")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        NOT_DONE_SELECTOR,
        undo(SAID)[:-32],
        NOT_DONE_SELECTOR + encode(["bytes"], [b"Failed \xff"]),
        selector("Error(string)") + encode(["string"], [SAID]),
        selector("Unknown(bytes)") + encode(["bytes"], [undo(SAID)]),
    ],
)
def test_other_data_have_none(data: bytes) -> None:
    assert find_not_done(data) is None


@given(st.binary(max_size=300))
def test_any_data_can_be_asked(data: bytes) -> None:
    found = find_not_done(NOT_DONE_SELECTOR + data)
    assert found is None or not is_done(found)
