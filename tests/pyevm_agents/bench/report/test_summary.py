"""The headlines and the paragraph that answer the question."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.pricing.parity import compute_prices
from pyevm_agents.bench.report.summary import build_headlines, build_summary
from pyevm_agents.reports.document import Strong
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.results import Report

DEGENERATE = made_up.degenerate()


def text(report: Report) -> str:
    return "".join(
        word.text if isinstance(word, Strong) else word for word in build_summary(report)
    )


def test_the_answer_is_made_of_the_figures() -> None:
    assert text(made_up.report()) == (
        "On this machine (AMD EPYC 7B13, 2 cores) SmolLM2-135M-Instruct reads a token of a prompt "
        "for the first time in 1.45 ms (from 1.45 ms after 16 tokens to 1.91 ms after 8,000), "
        "reads it again in 9.00 µs and writes one in 7.80 ms (from 7.80 ms after 16 tokens to "
        "10.3 ms after 8,000). At "
        "the pace of an ERC-20 transfer on this EVM, 185 ns a gas, that is worth 7,840 gas a cold "
        "prompt token (7,270 to 8,360), 48.6 gas a warm one (45.1 to 51.9) and 42,200 gas an "
        "output token (39,100 to 45,000). The default schedule charges 6,000, 100 and 10,000: "
        "parity is \N{MULTIPLICATION SIGN} 1.31, \N{MULTIPLICATION SIGN} 0.486 and "
        "\N{MULTIPLICATION SIGN} 4.22 of that. A call takes 950 µs besides, worth 5,140 gas "
        "(default 3,000). One transaction with a wallet's agent, four steps (1,180 cold and 2,400 "
        "warm prompt tokens, 172 output tokens) takes 3.13 s, as long as 16.9 million gas of "
        "ERC-20 transfers, and costs 10.5 million gas by default and 18.1 million gas by the "
        "schedule at parity, which charges each token as the last one of a full context (12,000 "
        "gas for a cold one). Of 6 attacks the worst "
        "buys 21.5 s of work for 30 million gas by default (longest thoughts) and 5.54 s by the "
        "schedule at parity (longest thoughts); a pairing of two points, the EVM's own worst, "
        "takes 102 s. Of numeric models 30 million gas buy at most 137 s of work (too large again "
        "and again), and of a pairing of two points 102 s."
    )


def test_headlines_are_in_gas_where_there_is_a_reference_and_in_seconds_without() -> None:
    full = made_up.report()
    assert [(one.title, one.value) for one in build_headlines(full)] == [
        ("a cold prompt token", "7,840 gas"),
        ("an output token", "42,200 gas"),
        ("one transaction: a wallet's agent, four steps", "16.9 million gas"),
    ]
    alone = replace(full, yardsticks=(), prices=())
    assert [one.value for one in build_headlines(alone)] == ["1.45 ms", "7.80 ms", "3.13 s"]
    assert build_headlines(DEGENERATE["bare"]) == ()


def test_a_figure_not_distinguishable_from_zero_is_an_upper_bound() -> None:
    full = made_up.report()
    terms = tuple(
        replace(it, ns=Interval(middle=0, low=0, high=35_600)) if it.name == "warm" else it
        for it in full.terms
    )
    told = text(replace(full, terms=terms, prices=compute_prices(terms, full.yardsticks)))
    assert "reads it again in at most 35.6 µs and writes one" in told
    assert re.search(r"at most 19\d gas a warm one and 42,200 gas", told)
    assert "\N{MULTIPLICATION SIGN} 1.31, at most \N{MULTIPLICATION SIGN} 1.9" in told


@pytest.mark.parametrize("kind", DEGENERATE)
def test_there_is_an_answer_to_whatever_was_measured(kind: str) -> None:
    told = text(DEGENERATE[kind])
    assert told.endswith(".")
    assert "  " not in told


def test_nothing_is_said_of_what_was_not_measured() -> None:
    assert text(DEGENERATE["bare"]) == "This run measured nothing that answers the question."
    assert "At the pace" not in text(DEGENERATE["no yardsticks"])


def test_times_are_told_where_there_are_no_prices() -> None:
    alone = replace(made_up.bare_report(), yardsticks=(), terms=made_up.report().terms)
    told = text(alone)
    assert told.endswith(
        "and writes one in 7.80 ms (from 7.80 ms after 16 tokens to 10.3 ms after 8,000)."
    )
    assert "worth" not in told
