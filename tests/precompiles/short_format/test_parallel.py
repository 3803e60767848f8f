"""Values of several calls: whose is which, or of none; and what `to`, `by` and `until` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.precompiles.short_format.small_agents import (
    ADDRESS,
    BALANCE,
    BOOL,
    INT,
    PAY,
    STRING,
    STRINGS,
    TRANSFER,
    UINT,
    UINTS,
    Call,
    address_of,
    list_runs,
    make_tool,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.tool_metadata import Tool

BOB, ANN = map(address_of, ("Bob", "Ann"))
MODE = "writes Club"

OVEN = make_tool(
    "set_oven", "Sets the temperature of an oven (Club).",
    (UINT, "oven", "its number"), (INT, "degrees", "in degrees Celsius"), mode=MODE,
)  # fmt: skip
RAISE = make_tool(
    "raise_reward", "Raises the reward of a quest (Club).",
    (UINT, "quest", "number of the quest"), (UINT, "by", "points to add"), mode=MODE,
)  # fmt: skip
CHANGE = make_tool(
    "changeQuantity", "Changes the quantity of an order (Club).",
    (UINT, "orderId", "number of the order"), (UINT, "quantity", "how many pieces"), mode=MODE,
)  # fmt: skip
STAMPS = make_tool(
    "addStamps", "Adds stamps to the card of a customer (Club).",
    (ADDRESS, "customer", ""), (UINT, "count", "how many stamps"), mode=MODE,
)  # fmt: skip
SHIFT = make_tool(
    "assign_shift", "Puts somebody on a shift (Club).",
    (ADDRESS, "baker", "who works"), (UINT, "day", "day of the month"),
    (BOOL, "early", "true for the early shift, false for the late one"), mode=MODE,
)  # fmt: skip
POWER = make_tool(
    "setPower", "Switches the power of a berth (Club).",
    (UINT, "berth", "its number"), (BOOL, "powered", "true for on, false for off"), mode=MODE,
)  # fmt: skip
BATCHES = make_tool(
    "discard_batches", "Marks batches as discarded (Club).",
    (UINTS, "batches", "numbers of the batches"), mode=MODE,
)  # fmt: skip
SEAT = make_tool(
    "giveSeat", "Hands a seat over (Club).",
    (ADDRESS, "guest", "who has it then"), (UINT, "row", "1 to 8"), (UINT, "seat", "1 to 14"),
    mode=MODE,
)  # fmt: skip
LEAVE = make_tool(
    "grantLeave", "Grants leave (Club).",
    (ADDRESS, "employee", ""), (UINT, "numberOfDays", ""), mode=MODE,
)  # fmt: skip
MINT = make_tool(
    "lazyMint", "Lets tokens be minted later (Club).",
    (UINT, "amount", "how many"), (STRING, "baseURI", "where their data is"), mode=MODE,
)  # fmt: skip
TOKENS = make_tool(
    "PayTool", "Sends tokens to somebody",
    (ADDRESS, "token", "the ERC-20 token's address"), (ADDRESS, "recipient", "account"),
    (UINT, "amount", "amount in whole tokens"),
)  # fmt: skip
WEIGHT = make_tool(
    "recordWeight", "Records the weight of an animal (Club).",
    (UINT, "animalId", ""), (UINT, "grams", "its weight"), mode=MODE,
)  # fmt: skip
HOLD = make_tool("hold", "Holds a batch (Club).", (UINT, "batchId", ""), mode=MODE)
RECORD = make_tool(
    "recordBatch", "Records a batch (Club).",
    (STRING, "crop", ""), (UINT, "kilograms", ""), (UINT, "grade", "1 to 3"), mode=MODE,
)  # fmt: skip
CAPTAIN = make_tool(
    "setCaptain", "Makes a player the captain (Club).", (ADDRESS, "player", ""), mode=MODE
)
LIST = make_tool(
    "add_to_list", "Puts things on the shopping list (Club).", (STRINGS, "items", "what to buy"),
    mode=MODE,
)  # fmt: skip
LOG = make_tool("write_log", "Writes into the log (Club).", (STRING, "text", ""), mode=MODE)
BILL = make_tool(
    "payBill", "Pays all of a bill (Club).", (UINT, "number", "the bill's number"), mode=MODE
)
PART = make_tool(
    "payPart", "Pays a part of a bill (Club).",
    (UINT, "number", "the bill's number"), (UINT, "amount", "how much, in USDC, 6 decimals"),
    mode="writes Club USDC",
)  # fmt: skip
TAKE_BACK = make_tool("takeBack", "Takes an animal back (Club).", (UINT, "animalId", ""), mode=MODE)
KENNEL = make_tool(
    "moveAnimal", "Moves an animal into a kennel.",
    (UINT, "animalId", ""), (UINT, "kennel", ""), mode=MODE,
)  # fmt: skip

Case = tuple[tuple["Tool", ...], str, tuple[Call, ...]]

IN_PARALLEL: list[Case] = [
    ((OVEN,), "Set oven 3 to 220 and 4 to 180", (("set_oven", (3, 220)), ("set_oven", (4, 180)))),
    (
        (STAMPS,),
        "Add 3 stamps for Bob and 2 for Ann",
        (("addStamps", (BOB, 3)), ("addStamps", (ANN, 2))),
    ),
    (
        (STAMPS,),
        "Add 3 stamps for Bob and one for Ann",
        (("addStamps", (BOB, 3)), ("addStamps", (ANN, 1))),
    ),
    (
        (POWER,),
        "Power on for berths 4 and 5, off for berth 6",
        (("setPower", (4, True)), ("setPower", (5, True)), ("setPower", (6, False))),
    ),
    (
        (KENNEL, TAKE_BACK),
        "Animal 7 is back. Take it back and put it in kennel 14.",
        (("takeBack", (7,)), ("moveAnimal", (7, 14))),
    ),
    ((RAISE,), "Raise the reward of quest 4 by 50", (("raise_reward", (4, 50)),)),
    ((CHANGE,), "Change the quantity of order 7 to 5", (("changeQuantity", (7, 5)),)),
    ((LIST, HOLD), "Add milk, bread. Hold batch 4.", (
        ("add_to_list", (["milk", "bread"],)), ("hold", (4,)),
    )),
    ((LOG, HOLD), "Log: wind from the north. Hold batch 3.", (
        ("write_log", ("wind from the north",)), ("hold", (3,)),
    )),
    ((BATCHES,), "Batch 4 is broken, discard it and 5", (("discard_batches", ([4, 5],)),)),
    ((SHIFT,), "Put Bob on the late shift on the 19th", (("assign_shift", (BOB, 19, False)),)),
]  # fmt: skip


@pytest.mark.parametrize(("tools", "question", "calls"), IN_PARALLEL)
def test_values_in_parallel_belong_to_their_items(
    tools: Sequence[Tool], question: str, calls: tuple[Call, ...]
) -> None:
    assert [run.calls for run in list_runs(question, tools)] == [calls]


UNCLEAR: list[tuple[tuple[Tool, ...], str]] = [
    # A unit that is not said.
    ((PAY,), "Pay Bob 5000 wei and Ann 3000"),
    ((PAY,), "Bob 5 gwei, Ann 3"),
    # A number that may be an amount, or an item.
    ((BILL, PART), "Pay 20"),
    ((BILL, TRANSFER), "Send 20 USDC each to Bob and Ann, in total 40"),
    ((TRANSFER,), "Send Bob 20 USDC each"),
    ((TOKENS,), "Pay Bob 34 USDC each"),
    # A scheme is no label of a text.
    ((MINT,), "lazy 6 ipfs://final/"),
    ((SEAT, TRANSFER), "Give seat 5 in row 3 to Bob and 6 to Ann"),
    ((BILL, PAY), "Pay Bob 0.1 ETH and bills"),
    # Numbers in another order, shared between others, or of one only.
    ((PART,), "Pay 50 USDC of bill 4 and 30 to 5"),
    ((STAMPS,), "Add a stamp for Bob and 2 for Ann"),
    ((RECORD,), "Record 500 kg of wheat grade 1 and 300 kg barley"),
    ((SHIFT,), "Bob early on the 4th, Ann late"),
    # Ranges, counts, lengths, steps.
    ((BATCHES,), "Discard batches 4 to 7"),
    ((BATCHES,), "Discard two batches"),
    ((BATCHES,), "Discard batches 4 and 5 at 6"),
    ((SEAT,), "Give Bob 2 seats in row 4"),
    ((LEAVE,), "Grant Bob leave until the 12th"),
    ((RAISE,), "Raise the reward of quest 4 to 50"),
    ((CHANGE,), "Change order 7 by 5 pieces"),
    ((OVEN,), "Make oven 3 two degrees colder"),
    ((OVEN,), "Set oven 4 to 430 degrees Fahrenheit"),
    ((WEIGHT,), "Animal 4 lost 200 grams, record that"),
    # What `it` may be.
    ((HOLD, RECORD), "Record a batch of 500 kg wheat, grade 1, and hold it"),
    ((HOLD,), "Batch 4 is right, batch 5 is wrong, hold it"),
    ((HOLD,), "Batch 4 is fine, 5 isn't. Hold that."),
    # Words that say more.
    ((CAPTAIN,), "Make Bob captain and Ann vice captain"),
    ((TRANSFER, BALANCE), "- Bob 5 USDC\n- Ann 6 USDC (already paid)"),
    ((TRANSFER,), "Send Bob 5 USDC of the 10 USDC for Ann"),
    ((TRANSFER,), "Bob and Ann each pay 20 USDC"),
    ((TRANSFER,), "Send Bob a new one for 60 USDC"),
    ((TRANSFER,), "On the last of the month transfer the bonus: Bob 5 USDC"),
    ((LOG,), "Log: wind from the north. It may rain."),
    ((CHANGE,), "Change order 7 to about half an hour"),
    # Parts that another tool, or none, would do.
    ((BILL, TRANSFER), "Send Bob 20 USDC and Ann's bill 5"),
    ((OVEN,), "Set oven 3 to 220 and 4 to hot"),
    ((OVEN, POWER), "Set oven 3 to 220 and its power off"),
    ((KENNEL,), "Move animal 4's bed into kennel 5"),
    ((SEAT,), "Give Bob Ann's seat 4 in row 2"),
    ((BATCHES,), "Discard batch 4 of gloves, 20 pieces"),
    ((OVEN,), "Set oven 3 to 20 below"),
    ((OVEN,), "Set oven 3 to 220 and locked"),
    ((HOLD, LEAVE), "Cancel my leave on batch 4"),
    ((SEAT,), "Give Bob seat 4, and 13, seat 5, in row 2"),
]


@pytest.mark.parametrize(("tools", "question"), UNCLEAR)
def test_what_belongs_to_none_is_not_done(tools: Sequence[Tool], question: str) -> None:
    # A run that is not done is undone as a whole.
    assert [run.calls for run in list_runs(question, tools) if run.answer.startswith("Done")] == []
