"""Reasons: the answers that decline a request."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.outcome import is_done
from precompiles.short_format.reasons import (
    MAX_QUOTED_CHARACTERS,
    TEXTS,
    WITHOUT_A_TOOL,
    explain,
)
from precompiles.short_format.values import Obstacle
from tests.precompiles.short_format.small_agents import run_agent


@pytest.mark.parametrize(
    ("failure", "clause", "answer"),
    [
        (
            Obstacle("person", "Carol"),
            "Send 5 USDC to Carol",
            'I can\'t do that: I don\'t know who "Carol" is, in "Send 5 USDC to Carol".',
        ),
        (
            Obstacle("condition", "If it rains"),
            "If it rains",
            "I can't do that: I can't wait for a condition: \"If it rains\".",
        ),
        (Obstacle("empty"), "", "I can't do that: there is nothing to do."),
        (Obstacle("missing", "to"), "Pay 5", 'I can\'t do that: I need to know to, in "Pay 5".'),
        (
            Obstacle("address", "0x12"),
            "Pay 0x12",
            'I can\'t do that: "0\u202612" is no address that I can read, in "Pay 0\u202612".',
        ),
    ],
)
def test_a_reason_names_what_it_is_about_and_where(
    failure: Obstacle, clause: str, answer: str
) -> None:
    assert explain(failure, clause) == answer


@pytest.mark.parametrize(
    ("agents", "way"),
    [
        ((), ""),
        (("Bursar",), ' To ask an agent, begin with "Ask Bursar:".'),
        (
            tuple("ABCDE"),
            ' To ask an agent, begin with "Ask A:" or "Ask B:" or "Ask C:" or "Ask D:".',
        ),
        (("0xbeef",), ' To ask an agent, begin with "Ask 0\u2026beef:".'),
    ],
)
def test_an_order_without_a_tool_is_told_the_agents(agents: tuple[str, ...], way: str) -> None:
    assert TEXTS.keys() >= WITHOUT_A_TOOL
    for reason in TEXTS:
        answer = explain(Obstacle(reason, "x"), "y x", agents)
        has_way = reason in WITHOUT_A_TOOL
        assert answer == explain(Obstacle(reason, "x"), "y x") + (way if has_way else "")


@given(st.sampled_from(sorted(TEXTS)), st.text(max_size=30), st.text(max_size=400))
def test_each_reason_is_one_short_line_that_says_that_nothing_is_done(
    reason: str, text: str, clause: str
) -> None:
    answer = explain(Obstacle(reason, text), clause)
    assert not is_done(answer)
    assert "\n" not in answer
    assert "0x" not in answer.lower()
    assert len(answer) <= 2 * MAX_QUOTED_CHARACTERS
    assert "{" not in TEXTS[reason].replace("{text}", "")


def test_a_long_order_is_quoted_to_a_word() -> None:
    answer = explain(Obstacle("no tool"), "word " * 100)
    quoted = re.findall('in "(.*)"', answer)
    assert quoted == [" ".join(["word"] * 31) + "\u2026"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Send 5 USDC to Bob and 7 DAI to Ann", "DAI"),
        ("Send 5 USDC to Bob and Carol each", "Carol"),
        ("Deposit 5 USDC. Then send 1/2 USDC to Bob.", "1/2"),
        ("Deposit 5 USDC, but don't withdraw it", "don't"),
        ("Send 5 USDC to Bob. Burn 6 USDC.", "Burn"),
        ("Deposit 5 USDC into the bank", "bank"),
    ],
)
def test_the_answer_names_what_was_in_the_way(question: str, words: str) -> None:
    run = run_agent(question)
    assert run.calls == ()
    assert f'"{words}"' in run.answer


def test_an_answer_writes_out_an_address_and_keeps_names() -> None:
    stranger = "0x52908400098527886E0F7030069857D2E4169EE7"
    assert stranger in run_agent(f"Burn 5 USDC for {stranger}").answer
    assert '"Burn 5 USDC for Bob"' in run_agent("Burn 5 USDC for Bob").answer
