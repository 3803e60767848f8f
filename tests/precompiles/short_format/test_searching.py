"""Questions to an agent with a search: what is searched, with which text, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.precompiles.short_format.small_agents import (
    BALANCE,
    RENAME,
    STRING,
    TOOLS,
    TRANSFER,
    UINT,
    USDC,
    address_of,
    list_runs,
    make_tool,
    run_agent,
)

if TYPE_CHECKING:
    from precompiles.tool_metadata import Tool

HANDBOOK = make_tool(
    "handbook", "Finds passages of the handbook", (STRING, "query", "words to look for"),
    mode="reads",
)  # fmt: skip
ALONE = (HANDBOOK,)
AMONG = (*TOOLS, HANDBOOK)
FEW = (BALANCE, TRANSFER, RENAME)
BOB = address_of("Bob")

SEARCHED = [
    # Questions, with and without a sign.
    ("What is the deposit for a kayak?", "What is the deposit for a kayak"),
    ("how long may I borrow a book", "how long may I borrow a book"),
    ("Is parking free on Sundays?", "Is parking free on Sundays"),
    ("When was the house built?", "When was the house built"),
    ("Are dogs not allowed?", "Are dogs not allowed"),
    ("Who won the regatta last year?", "Who won the regatta last year"),
    ("Can I stay inside if it rains?", "Can I stay inside if it rains"),
    ("May children use the sauna?", "May children use the sauna"),
    ("What do canoes, kayaks and tents cost?", "What do canoes, kayaks and tents cost"),
    ('What is the rule on "quiet hours"?', 'What is the rule on "quiet hours"'),
    ("How do I send USDC to Bob?", "How do I send USDC to Bob"),
    ("Opening hours of the pool?", "Opening hours of the pool"),
    # What is around a question is left out, unless the question needs it.
    ("Hi! What is the fee, please?", "What is the fee"),
    ("We come by train. Which station is nearest?", "Which station is nearest"),
    ("I lost my key. What do I do?", "I lost my key. What do I do"),
    # Questions in other forms.
    ("Tell me who founded the choir", "who founded the choir"),
    ("Could you tell me where the first-aid box is?", "where the first-aid box is"),
    ("I'd like to know when the bar closes.", "when the bar closes"),
    ("I wonder how late the bar is open.", "how late the bar is open"),
    ("Remind me what the quorum is", "what the quorum is"),
    # Orders to look up: the object, without the place.
    ("Look up the opening hours", "the opening hours"),
    ("Find out if the office is open tomorrow", "if the office is open tomorrow"),
    ("Search for lost property", "lost property"),
    ("About the mooring fees", "the mooring fees"),
    ("Search the handbook for mooring fees, please", "mooring fees"),
    ('Search for "quiet hours"', "quiet hours"),
    ('Search the handbook "quiet hours"', "quiet hours"),
]  # fmt: skip


@pytest.mark.parametrize("tools", [ALONE, AMONG], ids=["alone", "among"])
@pytest.mark.parametrize(("question", "query"), SEARCHED)
def test_a_question_is_searched(question: str, query: str, tools: tuple[Tool, ...]) -> None:
    run = run_agent(question, tools, results=lambda _: '[1] "A passage."')
    assert run.calls == (("handbook", (query,)),)
    assert not run.has_choice
    assert run.answer == 'Done. handbook: [1] "A passage."'


def test_each_question_is_searched_and_one_with_a_pronoun_with_the_one_before() -> None:
    run = run_agent("What is the deposit for a kayak and when is it returned?", ALONE)
    assert [values for _, values in run.calls] == [
        ("What is the deposit for a kayak",),
        ("What is the deposit for a kayak and when is it returned",),
    ]


OTHERS = [
    # Another tool that reads is named.
    ("What is my balance?", ("balanceOf",)),
    ("How much USDC do I have?", ("balanceOf",)),
    # Orders keep what they do.
    ("Send 5 USDC to Bob. What is the deposit for a kayak?", ("transfer", "handbook")),
    ("What is the deposit for a kayak? Then send 5 USDC to Bob.", ("handbook", "transfer")),
    ("Can you send 5 USDC to Bob?", ("transfer",)),
    # Advice, proposals, and questions that may be orders.
    ("Should I send 5 USDC to Bob?", ()),
    ("How about sending 5 USDC to Bob?", ()),
    ("Could somebody send 5 USDC to Bob?", ()),
    ("Did you send 5 USDC to Bob?", ()),
    ("Send 5 USDC to Bob?", ()),
    ("5 USDC to Bob?", ()),
    # Not now, not by the agent, or no question.
    ("Don't tell me the fee", ()),
    ("Look up the fee tomorrow", ()),
    ("Tell Ann when the bar opens", ()),
    ("Let Bob know when the bar opens", ()),
    ("Water the plants", ()),
    ("When has Ann come, send her 5 USDC", ()),
    ('"What is the fee?"', ()),
    ("Hello!", ()),
]


@pytest.mark.parametrize(("question", "names"), OTHERS)
def test_other_requests_are_not_searched(question: str, names: tuple[str, ...]) -> None:
    for run in list_runs(question, AMONG):
        assert tuple(name for name, _ in run.calls) == names


def test_a_search_is_asked_by_its_name() -> None:
    tool = make_tool("Rules", "Reads rules", (STRING, "query", ""), mode="reads")
    for order in ('Ask the Rules "mooring fees".', "Ask the Rules about mooring fees"):
        assert run_agent(order, (tool, TRANSFER)).calls == (("Rules", ("mooring fees",)),)


def test_a_search_has_its_limits_by_default() -> None:
    for about, count in (("how many, default 3", 3), ("at most this many, 5 by default", 5)):
        tool = make_tool(
            "search", "Searches papers", (UINT, "top_k", about), (STRING, "terms", "search terms")
        )
        assert run_agent("Who is Ann?", (tool,)).calls == (("search", (count, "Who is Ann")),)


LOOKUP = make_tool("look", "Looks up what the rules say", (STRING, "question", "the question"))
NO_SEARCH = {
    "another writes": (
        make_tool("search", "Searches passages. It only reads.",
                  (STRING, "query", "words to look for"), mode="writes"),
    ),
    "a second one": (HANDBOOK, make_tool("rules", "Reads", (STRING, "query", ""), mode="reads")),
    "no default": (
        make_tool("search", "Searches papers", (STRING, "query", ""), (UINT, "year", "the year")),
    ),
    "no query": (make_tool("find_member", "Finds a member", (STRING, "name", "the name")),),
}  # fmt: skip


@pytest.mark.parametrize("tools", NO_SEARCH.values(), ids=list(NO_SEARCH))
def test_no_other_tool_is_a_search(tools: tuple[Tool, ...]) -> None:
    assert not run_agent("What is the deposit for a kayak?", tools).calls
    assert run_agent("What is the deposit for a kayak?", (LOOKUP,)).calls


OPENINGS = ("What is", "how much", "When was", "Is", "May I", "Did you", "Should", "Why don't we")
WORDS = """
    the fee Who Bob Ann is it send 5 USDC to rename club Owls look up find tell me please don't if
    may I should you do not my balance in search for handbook deposit "Owls"
"""
LIAR = NO_SEARCH["another writes"][0]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(OPENINGS),
    st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=6),
)
def test_a_question_never_acts(opening: str, words: list[str]) -> None:
    for run in list_runs(f"{opening} {' '.join(words)}?", (HANDBOOK, *FEW, LIAR)):
        assert {name for name, _ in run.calls} <= {"handbook", "balanceOf"}


def test_an_order_with_a_search_beside_it_is_done_once() -> None:
    run = run_agent("Look up the fee for a kayak, then send 5 USDC to Bob", AMONG)
    assert run.calls == (
        ("handbook", ("the fee for a kayak",)),
        ("transfer", (BOB, 5 * USDC)),
    )
