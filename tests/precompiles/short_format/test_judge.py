"""The judge takes calls away, and decides where the rules are in doubt."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.chooser import MAX_SENTENCE_TOKENS
from precompiles.language_model import NAT
from precompiles.short_format.judge import (
    PROBABILITY_ONE,
    JudgedOrder,
    JudgedRequest,
    OrderJudge,
    Thresholds,
    Way,
    to_logit,
)
from tests.precompiles.short_format.scored import LIKELY, SURE, UNLIKELY, ScoredChooser
from tests.precompiles.short_format.small_agents import (
    BALANCE,
    NOTE,
    RENAME,
    TRANSFER,
    UINT,
    make_form,
    make_tool,
)

HALF, MOST = PROBABILITY_ONE // 2, PROBABILITY_ONE * 9 // 10
THRESHOLDS = Thresholds(sure=HALF, doubted=MOST, choice=HALF)

NUMBER = (UINT, "hatch", "its number")
OPEN = make_tool("openHatch", "Opens a hatch (Club).", NUMBER, mode="writes Club")
PAINT = make_tool("paintHatch", "Paints a hatch (Club).", NUMBER, mode="writes Club")
LEAVE = make_tool("leave", "Leaves the club (Club).", mode="writes Club")


def judge(chooser: ScoredChooser | None = None, thresholds: Thresholds = THRESHOLDS) -> OrderJudge:
    return OrderJudge(chooser or ScoredChooser(), thresholds)


@pytest.mark.parametrize(
    ("probability", "logit"),
    [(HALF, 0), (1, -726816), (PROBABILITY_ONE - 1, 726816), (MOST, 143993)],
)
def test_logits_of_probabilities(probability: int, logit: int) -> None:
    assert to_logit(probability) == logit


@given(st.integers(1, PROBABILITY_ONE - 1))
def test_a_logit_is_the_nearest_integer(probability: int) -> None:
    exact = NAT * math.log(probability / (PROBABILITY_ONE - probability))
    assert abs(to_logit(probability) - exact) <= 0.5 + 1e-6
    assert to_logit(PROBABILITY_ONE - probability) == -to_logit(probability)


@pytest.mark.parametrize(
    ("request_", "chooser", "decides"),
    [
        ("Send 5 USDC to Bob", ScoredChooser(), "Action: transfer"),
        # At the threshold, and below.
        ("Send 5 USDC to Bob", ScoredChooser({"5 usdc": 0}), "Action: transfer"),
        ("Send 5 USDC to Bob", ScoredChooser({"5 usdc": -1}), "I can't do that"),
        ("Send 5 USDC to Bob", ScoredChooser(moods={"Send": -1}), "I can't do that"),
        # What only reads needs no order.
        ("What is my USDC balance?", ScoredChooser(otherwise=UNLIKELY), "Action: balanceOf"),
        # All orders are judged before the first act.
        ("Note 5. Send 6 USDC to Bob", ScoredChooser({"6 usdc": UNLIKELY}), "I can't do that"),
        # The rules' refusals stand.
        ("Don't send 5 USDC to Bob", ScoredChooser(), "I can't do that"),
        ("Send 5 DAI to Bob", ScoredChooser(), "I can't do that"),
    ],
)
def test_what_is_admitted(request_: str, chooser: ScoredChooser, decides: str) -> None:
    form = make_form(request_, [TRANSFER, NOTE, BALANCE], judge=judge(chooser))
    assert decides in form.decided


@pytest.mark.parametrize(
    ("request_", "scores", "decides"),
    [
        # No list of verbs has it; the judge knows which is meant.
        ("Freshen hatch 3", {"open hatch": SURE}, "Action: openHatch"),
        ("Freshen hatch 3", {"open hatch": LIKELY}, "I can't do that"),
        # The words don't decide.
        ("Name: the Foxes", {"foxes": SURE, "Foxes": SURE}, "Action: rename"),
        ("Name: the Foxes", {"foxes": LIKELY, "Foxes": LIKELY}, "I can't do that"),
        # What moves money needs a verb of the lists, and other lists stand.
        ("Whisk 5 USDC to Bob", {"usdc": SURE}, "I can't do that"),
        ("Freshen oily hatch 3", {"hatch": SURE}, "I can't do that"),
        # Without a value the words alone would decide.
        ("Pause the club", {"leave": SURE}, "I can't do that"),
        # An opposite is no verb that a list lacks.
        ("Shut hatch 3", {"hatch": SURE}, "I can't do that"),
        ("Freshen hatch 3 if it rains", {"hatch": SURE}, "I can't do that"),
        ("Never freshen hatch 3", {"hatch": SURE}, "I can't do that"),
        ("Open hatch 3? I forgot", {"hatch": SURE}, "I can't do that"),
    ],
)
def test_where_the_rules_are_in_doubt_a_higher_probability_decides(
    request_: str, scores: dict[str, int], decides: str
) -> None:
    chooser = ScoredChooser(scores, otherwise=UNLIKELY, moods={"": SURE})
    form = make_form(request_, [OPEN, PAINT, RENAME, LEAVE, TRANSFER], judge=judge(chooser))
    assert decides in form.decided


@pytest.mark.parametrize(
    ("lead", "is_done"), [(0, True), (1, False), (NAT, False), (2 * NAT, True)]
)
def test_of_several_acts_the_likeliest_is_made_if_it_leads(lead: int, is_done: bool) -> None:
    # 73 %: a lead of a nat.
    thresholds = replace(THRESHOLDS, choice=PROBABILITY_ONE * 7311 // 10_000)
    scores = {"open hatch": SURE + lead, "note": SURE} | ({"paint hatch": SURE} if lead else {})
    chooser = ScoredChooser(scores, moods={"": SURE}, otherwise=UNLIKELY)
    for request_ in ("Freshen hatch 3", "Note 5. Freshen hatch 3"):
        form = make_form(request_, [PAINT, OPEN, NOTE], judge=judge(chooser, thresholds))
        # All orders are judged before the first act.
        assert ("Action: " in form.decided) == is_done


def test_nothing_is_scored_before_its_tokens_are_counted() -> None:
    chooser = ScoredChooser()
    form = make_form("Note 5. Send 6 USDC to Bob", [TRANSFER, NOTE], judge=judge(chooser))
    moods, calls = 2 + 5, 0
    counted = form.judged_tokens
    assert not chooser.moods
    assert not chooser.calls
    assert form.decided
    assert sorted(chooser.moods) == ["Note 5", "Send 6 USDC to Bob"]
    calls = sum(len(f"{sentence} {call}".split()) for sentence, call in chooser.calls)
    assert counted == moods + calls


def test_what_is_too_long_to_be_judged_the_rules_alone_decide() -> None:
    chooser = ScoredChooser(otherwise=UNLIKELY)
    form = make_form("Note " + " and ".join(map(str, range(60))), [NOTE], judge=judge(chooser))
    assert form.judged_tokens == 0
    assert "Action: note" in form.decided
    way = Way(("note. numbers = 5",), acts=True, is_read=False)
    for is_sure, admitted in ((True, (0,)), (False, ())):
        order = JudgedOrder("", (way,), is_sure=is_sure, is_gated=True)
        assert judge(chooser).find_admitted(JudgedRequest((order,))) == (admitted,)


class UnreadChooser(ScoredChooser):
    """Must not be asked: it would be read from its file."""

    def count_mood_tokens(self, sentence: str) -> int:
        raise AssertionError(sentence)


def test_a_chooser_with_nothing_to_decide_is_not_asked() -> None:
    for request_ in (
        "Send 5 USDC to Bob",
        "Note 5. Send 6 USDC to Bob",
        "What is my USDC balance?",
    ):
        unread = judge(UnreadChooser(), replace(THRESHOLDS, sure=0))
        assert "Action: " in make_form(request_, [TRANSFER, NOTE, BALANCE], judge=unread).decided


def test_where_the_rules_are_sure_they_may_decide_alone() -> None:
    chooser = ScoredChooser(otherwise=UNLIKELY)
    form = make_form(
        "Note 5. Send 6 USDC to Bob",
        [TRANSFER, NOTE],
        judge=judge(chooser, replace(THRESHOLDS, sure=0)),
    )
    assert form.judged_tokens == 0
    assert "Action: note" in form.decided
    doubted = make_form(
        "Name: the Foxes", [RENAME], judge=judge(chooser, replace(THRESHOLDS, sure=0))
    )
    assert doubted.judged_tokens > 0
    assert "I can't do that" in doubted.decided


@pytest.mark.parametrize(
    ("request_", "moods", "decides"),
    [
        # All words count, those of remarks and of other orders as well.
        ("Send 5 USDC to Bob. It snowed.", {}, "Action: transfer"),
        ("Send 5 USDC to Bob. It snowed.", {"snowed": -1}, "I can't do that"),
        ("Note 5. It snowed. Send 6 USDC to Bob", {"snowed": UNLIKELY}, "I can't do that"),
        # Without words beside the orders the rules alone decide, and no chooser is read.
        ("Hello, please send 5 USDC to Bob, thanks", {"": UNLIKELY}, "Action: transfer"),
        ("Note 5. Then send 6 USDC to Bob", {"": UNLIKELY}, "Action: note"),
        # What only reads is not judged as an order.
        ("It rained. What is my USDC balance?", {"": UNLIKELY}, "Action: balanceOf"),
        ("Name: the Foxes", {"": -1}, "I can't do that"),
    ],
)
def test_a_request_that_acts_is_read_as_a_whole(
    request_: str, moods: dict[str, int], decides: str
) -> None:
    chooser = ScoredChooser(moods=moods)
    thresholds = replace(THRESHOLDS, sure=0, request=HALF)
    tools = [TRANSFER, NOTE, BALANCE, RENAME]
    form = make_form(request_, tools, judge=judge(chooser, thresholds))
    counted = form.judged_tokens
    assert decides in form.decided
    read = sum(len(one.split()) for one in chooser.moods)
    read += sum(len(f"{sentence} {call}".split()) for sentence, call in chooser.calls)
    assert counted == read


def test_of_a_long_request_as_much_as_can_be_read_is_judged() -> None:
    filler = "He repaired the roof of the old house. "
    request = "It hailed. " + filler * 9 + "Send 5 USDC to Bob. It snowed. " + filler * 9
    chooser = ScoredChooser()
    form = make_form(request, [TRANSFER], judge=judge(chooser, replace(THRESHOLDS, request=1)))
    assert form.judged_tokens
    assert form.decided
    read = max(chooser.moods, key=len)
    assert "house. Send 5 USDC to Bob. It snowed." in read
    assert "hailed" not in read
    assert MAX_SENTENCE_TOKENS - 10 <= len(read.split()) <= MAX_SENTENCE_TOKENS
    alone = "Send 5 USDC to Bob " + "for the new nets " * 30
    form = make_form(
        alone, [TRANSFER], judge=judge(chooser, replace(THRESHOLDS, sure=0, request=1))
    )
    assert form.judged_tokens == 0


def test_a_form_without_a_judge_reads_no_token() -> None:
    assert make_form("Note 5", [NOTE]).judged_tokens == 0


def test_the_texts_that_are_judged() -> None:
    chooser = ScoredChooser()
    form = make_form("Send 5 USDC to Ann and 6.5 USDC to Bob", [TRANSFER], judge=judge(chooser))
    assert form.decided
    assert chooser.calls == [
        (
            "Send 5 USDC to Ann and 6.5 USDC to Bob",
            (
                "transfer: Send tokens to an address (USDC). to (who gets the tokens) = Ann, Bob; "
                "value (amount of USDC (USD Coin), 6 decimals) = 5 usdc, 6.5 usdc"
            ),
        )
    ]
