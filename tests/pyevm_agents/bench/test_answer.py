"""The paragraph that answers the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.answer import answer
from pyevm_agents.bench.document import Strong
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pyevm_agents.bench.form import Report

DEGENERATE = made_up.degenerate()


def text(report: Report) -> str:
    return "".join(word.text if isinstance(word, Strong) else word for word in answer(report))


def test_the_answer_is_made_of_the_figures() -> None:
    assert text(made_up.report()) == (
        "On this machine (AMD EPYC 7B13, 2 cores) SmolLM2-135M-Instruct reads a token of a prompt "
        "for the first time in 1.45 ms (from 1.45 ms after 16 tokens to 1.91 ms after 8,000), "
        "reads it again in 9.00 µs and writes one in 7.80 ms (from 7.80 ms after 16 tokens to "
        "10.3 ms after 8,000). At "
        "the pace of an ERC-20 transfer on this EVM, 185 ns a gas, that is worth 7,840 gas a cold "
        "prompt token (7,270 to 8,360), 48.6 gas a warm one (45.1 to 51.9) and 42,200 gas an "
        "output token (39,100 to 45,000). The default schedule asks 6,000, 100 and 10,000: parity "
        "is \N{MULTIPLICATION SIGN} 1.31, \N{MULTIPLICATION SIGN} 0.486 and "
        "\N{MULTIPLICATION SIGN} 4.22 of that. One transaction with a wallet's agent, four steps "
        "(3,580 prompt tokens, 172 "
        "written) takes 3.13 s, worth 16.9 million gas at that pace, and costs 10.5 million gas by "
        "default and 18.1 million gas under the parity schedule, which asks for each token what "
        "one takes at most. Of 6 attacks the worst buys 21.5 s of work for 30 million gas by "
        "default (longest thoughts) and 5.54 s at parity (longest thoughts); a pairing of two "
        "points, the EVM's own worst, takes 102 s."
    )


@pytest.mark.parametrize("kind", DEGENERATE)
def test_there_is_an_answer_to_whatever_was_measured(kind: str) -> None:
    told = text(DEGENERATE[kind])
    assert told.endswith(".")
    assert "  " not in told


def test_nothing_is_said_of_what_was_not_measured() -> None:
    assert text(DEGENERATE["bare"]) == "Nothing that answers it was measured in this run."
    assert "At the pace" not in text(DEGENERATE["no yardsticks"])
