"""Requests that say a value, a choice or what was told before, in place of a plain order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.precompiles.short_format.small_agents import (
    ADDRESS,
    BOOL,
    INT,
    STRING,
    STRINGS,
    TRANSFER,
    UINT,
    USDC,
    VOTE,
    Call,
    address_of,
    list_runs,
    make_tool,
    run_agent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.tool_metadata import Tool

BOB, ANN = map(address_of, ("Bob", "Ann"))
MODE = "writes Club"

RANK = make_tool(
    "setRank", "Sets the rank of a member (Club).",
    (ADDRESS, "member", ""), (UINT, "rank", "1 to 5, 5 is the highest [abi:uint8]"), mode=MODE,
)  # fmt: skip
QUORUM = make_tool(
    "setQuorum", "Sets the share of members that has to vote (Club).",
    (UINT, "percent", "at most 100"), mode=MODE,
)  # fmt: skip
WARM = make_tool(
    "set_temperature", "Sets the temperature that a room is kept at (Club).",
    (UINT, "room", "its number"), (INT, "degrees", "in degrees Celsius, -30 to 30"), mode=MODE,
)  # fmt: skip
RAISE = make_tool(
    "raise_price", "Raises the price of a drink (Club).",
    (STRING, "drink", "its name"), (UINT, "cents", "by how many cents"), mode=MODE,
)  # fmt: skip
LOWER = make_tool(
    "lower_price", "Lowers the price of a drink (Club).",
    (STRING, "drink", "its name"), (UINT, "cents", "by how many cents"), mode=MODE,
)  # fmt: skip
RECEIVE = make_tool(
    "receive_stock", "Enters a delivery of an item into the stock (Club).",
    (STRING, "item", "name of the item"), (UINT, "quantity", "how many pieces"), mode=MODE,
)  # fmt: skip
HAND_OUT = make_tool(
    "hand_out", "Hands an item out of the stock (Club).",
    (STRING, "item", "name of the item"), (UINT, "quantity", "how many pieces"),
    (ADDRESS, "employee", "who gets it"), mode=MODE,
)  # fmt: skip
HOURS = make_tool(
    "setOpeningHours", "Set opening hours (Club).",
    (UINT, "weekday", "[abi:uint8]"), (UINT, "opensAt", "[abi:uint8]"),
    (UINT, "closesAt", "[abi:uint8]"), mode=MODE,
)  # fmt: skip
ORDER = make_tool(
    "order_goods", "Orders goods (Club).",
    (STRING, "goods", "what to order"), (UINT, "quantity", "how many pieces"),
    (BOOL, "express", "true for express delivery"), mode=MODE,
)  # fmt: skip
NICKNAME = make_tool(
    "setNickname", "Gives a card a nickname (Club).",
    (UINT, "cardId", "number of the card"), (STRING, "nickname", ""), mode=MODE,
)  # fmt: skip
PROPOSE = make_tool(
    "propose", "Makes a new proposal (Club).", (STRING, "description", "what is proposed"),
    mode=MODE,
)  # fmt: skip
LIST = make_tool(
    "add_to_list", "Puts things on the shopping list (Club).", (STRINGS, "items", "what to buy"),
    mode=MODE,
)  # fmt: skip
MATCH = make_tool(
    "recordMatch", "Records who beat whom (Club).",
    (ADDRESS, "winner", ""), (ADDRESS, "loser", "who lost"), mode=MODE,
)  # fmt: skip
LEND = make_tool(
    "lend", "Lends USDC to a member (Club).",
    (ADDRESS, "member", ""), (UINT, "amount", "how much, in USDC, 6 decimals"),
    (UINT, "dueWeek", "week of the year in which it is due"), mode="writes Club USDC",
)  # fmt: skip

CLUB = (RANK, QUORUM, WARM, VOTE, NICKNAME, PROPOSE, HOURS, MATCH, TRANSFER)
SHOP = (RAISE, LOWER, RECEIVE, HAND_OUT, ORDER, LIST, LEND, TRANSFER)

DONE: list[tuple[Sequence[Tool], str, tuple[Call, ...]]] = [
    # A value by its name, whatever changes it.
    (CLUB, "rank 4 for bob", (("setRank", (BOB, 4)),)),
    (CLUB, "Bump Bob up to rank 5", (("setRank", (BOB, 5)),)),
    (CLUB, "Raise both Bob and Ann to rank 3", (("setRank", (BOB, 3)), ("setRank", (ANN, 3)))),
    (CLUB, "Lower the quorum to 20 %", (("setQuorum", (20,)),)),
    (CLUB, "Cool room 2 to -8 degrees", (("set_temperature", (2, -8)),)),
    (
        CLUB,
        "Opening hours: weekday 6, opens at 10, closes at 16",
        (("setOpeningHours", (6, 10, 16)),),
    ),
    (CLUB, "New proposal: Free coffee on Sundays", (("propose", ("Free coffee on Sundays",)),)),
    (
        CLUB,
        'I would like to table a new proposal: "More chairs"',
        (("propose", ("More chairs",)),),
    ),
    (
        CLUB,
        "proposal 1: for, proposal 2: against, proposal 3: abstain",
        (("vote", (1, 1)), ("vote", (2, 0)), ("vote", (3, 2))),
    ),
    (
        CLUB,
        "Nickname card 15 Thunder Cat and card 4 Lucky",
        (("setNickname", (15, "Thunder Cat")), ("setNickname", (4, "Lucky"))),
    ),
    (SHOP, "Make tea 10 cents cheaper", (("lower_price", ("tea", 10)),)),
    (
        SHOP,
        "prices: tea up 2 cents, coffee down 5 cents",
        (("raise_price", ("tea", 2)), ("lower_price", ("coffee", 5))),
    ),
    # A truth value by its name.
    (SHOP, "Order 25 chairs, not express", (("order_goods", ("chairs", 25, False)),)),
    (SHOP, "Order 25 chairs, no need for express", (("order_goods", ("chairs", 25, False)),)),
    (SHOP, "Order 25 chairs, express please", (("order_goods", ("chairs", 25, True)),)),
    # What a sentence before or after tells.
    (SHOP, "200 gloves came in. Please enter them.", (("receive_stock", ("gloves", 200)),)),
    (SHOP, "The gloves came in, 100 of them. Enter them", (("receive_stock", ("gloves", 100)),)),
    (SHOP, "Ann needs 6 gloves, please hand them out to her", (("hand_out", ("gloves", 6, ANN)),)),
    (SHOP, "We're out of olive oil. Put it on the list", (("add_to_list", (["olive oil"],)),)),
    (
        SHOP,
        "Lend Ann 5 USDC. The due week is 40.",
        (("lend", (ANN, 5 * USDC, 40)),),
    ),
    (SHOP, "Lend Ann 5 USDC, due back by week 40", (("lend", (ANN, 5 * USDC, 40)),)),
]


@pytest.mark.parametrize(("tools", "question", "calls"), DONE)
def test_what_is_told_surely_is_done_without_the_model(
    tools: Sequence[Tool], question: str, calls: tuple[Call, ...]
) -> None:
    run = run_agent(question, tools)
    assert (run.calls, run.has_choice) == (calls, False), run.answer


NOT_DONE: list[tuple[Sequence[Tool], str]] = [
    (CLUB, "Lower the quorum by 5 %"),
    (CLUB, "Lower the quorum 5 %"),
    (CLUB, "Raise the rank of Bob by 1"),
    (CLUB, "rank 4 for bob?"),
    (CLUB, "rank 4 for Bob or Ann"),
    (CLUB, "The rank of Bob is 4"),
    (CLUB, "The quorum was lowered to 20 %"),
    (CLUB, "Don't lower the quorum to 20 %"),
    (CLUB, "rank 4 for Bob. Or was it Ann?"),
    (CLUB, "proposal 1: for or against"),
    (CLUB, "guardian of 3: 4"),
    (CLUB, "Bill Bob 5 USDC"),
    (CLUB, "Frame card 4"),
    (SHOP, "We didn't get 200 gloves. Please enter them."),
    (SHOP, "If 200 gloves come in, enter them"),
    (SHOP, "Maybe 200 gloves came in. Enter them."),
    (SHOP, "200 or 300 gloves came in. Enter them."),
    (SHOP, "About 200 gloves came in. Enter them."),
    (SHOP, "200 gloves and a box of masks came in. Enter them."),
    (SHOP, "Ann gave Bob 6 gloves. Hand them out."),
    (SHOP, "Bob says that 200 gloves came in and that I should enter them"),
    (SHOP, "Lend Ann 5 USDC. The due week is a long one."),
    (SHOP, "Send 5 USDC to Bob. The amount is 6 USDC."),
    (SHOP, "Order 25 chairs, maybe express"),
    (SHOP, "Make tea cheaper"),
    (SHOP, "Make tea 10 or 20 cents cheaper"),
]


@pytest.mark.parametrize(("tools", "question"), NOT_DONE)
def test_nothing_is_done_whatever_the_model_chooses(tools: Sequence[Tool], question: str) -> None:
    assert {run.calls for run in list_runs(question, tools)} == {()}


@pytest.mark.parametrize(
    ("question", "winner"),
    [("record Bob as winner over Ann", BOB), ("Bob lost against Ann, please record it", ANN)],
)
def test_two_people_are_never_exchanged(question: str, winner: str) -> None:
    for run in list_runs(question, CLUB):
        assert all(call[1][0] == winner for call in run.calls)
