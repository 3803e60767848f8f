"""Amounts and accounts of requests, in the notations that people use."""

from __future__ import annotations

from fractions import Fraction

import pytest
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.agents.request_reading import AmountUnit, read_request

USDC, GOLD, OTHER_USDC = (Address(bytes([number]) * 20) for number in (0xA1, 0xA2, 0xA3))
BOB, ALICE, BOB_2, JOE = (Address(bytes([number]) * 20) for number in (0xB1, 0xB2, 0xB3, 0xB4))
PLAIN = Address(bytes(19) + b"\xaa")
NAMES = {
    "USDC": USDC,
    "GOLD": GOLD,
    "USDC_2": OTHER_USDC,
    "Bob": BOB,
    "Alice": ALICE,
    "bob-2": BOB_2,
    "uncle_joe": JOE,
}
UNITS = {
    "USDC": AmountUnit(token=USDC, base_units=10**6),
    "GOLD": AmountUnit(token=GOLD, base_units=10**18),
    "USDC_2": AmountUnit(token=OTHER_USDC, base_units=10**6),
    "BNB": AmountUnit(token=None, base_units=10**18),
}


def read_amounts(text: str) -> list[tuple[object, int] | str]:
    """Return the token and the base units of each quantity, or its text if it has no unit."""
    return [
        each.text
        if each.unit is None
        else (each.unit.token, int(each.value * each.unit.base_units))
        for each in read_request(text, NAMES, UNITS).quantities
    ]


def of(token: Address | None, *amounts: int) -> list[tuple[object, int]]:
    return [(token, amount) for amount in amounts]


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("Send 5 USDC to Bob", of(USDC, 5_000_000)),
        ("send 5usdc and 2.5 USDCs", of(USDC, 5_000_000, 2_500_000)),
        ("1,000.25 usdc", of(USDC, 1_000_250_000)),
        ("USDC 5 to Bob; GOLD: 2", [(USDC, 5_000_000), (GOLD, 2 * 10**18)]),
        ("five USDC, twenty-five USDC", of(USDC, 5_000_000, 25_000_000)),
        ("half a million USDC", of(USDC, 500_000 * 10**6)),
        ("1e3 USDC, 2.5k USDC, 1_000 USDC", of(USDC, 10**9, 2_500_000_000, 10**9)),
        ("1/2 USDC, .5 USDC, ½ USDC", of(USDC, 500_000, 500_000, 500_000)),
        ("5 USDC_2 and 5 of my GOLD", [(OTHER_USDC, 5_000_000), (GOLD, 5 * 10**18)]),
        ("0.1 BNB, 3 gwei and 7 wei, 2 ether", of(None, 10**17, 3 * 10**9, 7, 2 * 10**18)),
        ("9 base units of USDC, 4 wei of GOLD", [(USDC, 9), (GOLD, 4)]),
        ("5 whole USDC", of(USDC, 5_000_000)),
        ("5 to Bob", ["5"]),
        ("5 base units", ["5 base units"]),
    ],
)
def test_amounts_have_the_unit_beside_them(text: str, amounts: object) -> None:
    assert read_amounts(text) == amounts


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 LUSD", "lusd"), ("5 mETH", "meth"), ("5 cents", "cents"), ("$5", "$"), ("5 %", "%"),
        ("3 days", "days"), ("5 percent", "percent"), ("10:30", "10:30"), ("1.000,50", "1.000,50"),
        ("12/05/2024", "12/05/2024"), ("3 gwei of USDC", "gwei of USDC"),
    ],
)  # fmt: skip
def test_what_is_no_amount_of_a_token_has_another_unit(text: str, unit: str) -> None:
    [quantity] = read_request(f"Send {text} to Bob", NAMES, UNITS).quantities
    assert (quantity.unit, quantity.other_unit) == (None, unit)


def test_digits_in_names_and_words_are_no_amounts() -> None:
    text = f"Swap on UniswapV2 from bob-2 to {'0x' + PLAIN.hex()} by USDC_2"
    reading = read_request(text, NAMES, UNITS)
    assert reading.quantities == ()
    assert [each.address for each in reading.names] == [BOB_2, PLAIN, OTHER_USDC]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Send 5 USDC to Bob and Alice", [("Bob", BOB), ("Alice", ALICE)]),
        ("pay bob.", [("bob", BOB)]),
        ("to Bob's wallet", [("Bob", BOB)]),
        ("to Uncle Joe, uncle-joe", [("Uncle Joe", JOE), ("uncle-joe", JOE)]),
        ("to bob-2", [("bob-2", BOB_2)]),
        ("Give Bob GOLD", [("Bob", BOB), ("GOLD", GOLD)]),
        ("Send 5 USDC To Bob And Alice", [("Bob", BOB), ("Alice", ALICE)]),
        # Others.
        ("to Bob's sister", [("Bob's sister", None)]),
        ("to Bob Smith", [("Bob Smith", None)]),
        ("to old Uncle Bob", [("Uncle Bob", None)]),
        ("to bob.eth", [("bob.eth", None)]),
        ("to carol.eth", [("carol.eth", None)]),
        ("to @bob", [("@bob", None)]),
        ("to Bobby", [("Bobby", None)]),
        ("Send Carol 5 USDC on Friday", [("Carol", None)]),
    ],
)
def test_names_are_those_that_the_agent_knows(text: str, names: object) -> None:
    found = read_request(text, NAMES, UNITS).names
    assert [(each.text, each.address) for each in found] == names


def test_a_unit_names_no_recipient() -> None:
    """A token is a party only where the text says `to`."""
    assert read_request("Send 2 GOLD to Carol", NAMES, UNITS).names[0].address is None
    [mentioned] = read_request("Send all my GOLD away", NAMES, UNITS).names
    [receiver] = read_request("Send it to GOLD", NAMES, UNITS).names
    assert (mentioned.is_party, receiver.is_party) == (False, True)


def test_words_around_amounts() -> None:
    reading = read_request("Swap half of it back to me, and 10 % of the rest", NAMES, UNITS)
    assert reading.parts == (Fraction(1), Fraction(1, 2), Fraction(1, 10))
    assert (reading.is_relative, reading.names_asker, reading.doubts) == (True, True, ())
    reading = read_request("Send 5 USDC to Bob", NAMES, UNITS)
    assert (reading.parts, reading.is_relative, reading.names_asker) == ((), False, False)


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ("Do not send 5 USDC to Bob", ("not",)),
        ("Don\N{RIGHT SINGLE QUOTATION MARK}t pay", ("not",)),
        ("Pay Bob if he has none", ("if",)),
        ("Pay everybody except Bob", ("except",)),
        ("What would happen? Tell me", ("a question",)),
        ("What if I paid Bob?", ("if", "a question")),
        ("Could you pay Bob, please?", ()),
        ("Pay Bob", ()),
    ],
)
def test_words_that_make_an_order_doubtful(text: str, doubts: object) -> None:
    assert read_request(text, NAMES, UNITS).doubts == doubts


@given(st.integers(0, 10**9), st.integers(0, 6), st.sampled_from(["USDC", "usdc", "USDCs"]))
def test_decimal_amounts_are_exact(number: int, places: int, unit: str) -> None:
    shown = f"{number // 10**places:,}" + (f".{number % 10**places:0{places}d}" if places else "")
    assert read_amounts(f"Send {shown} {unit} to Bob") == [(USDC, number * 10 ** (6 - places))]


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    for each in (text, f"Send 5 {text}", f"to Bob{text}"):
        for quantity in read_request(each, NAMES, UNITS).quantities:
            assert 0 <= quantity.start < len(each)
