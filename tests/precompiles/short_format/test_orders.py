"""Orders: the parts of a request, which of them ask for something, and which take it back."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.short_format.mentions import BLOCKS, scan
from precompiles.short_format.orders import gather_orders, list_mentions, read_parts
from tests.precompiles.short_format.small_agents import make_vocabulary

KNOWN = make_vocabulary()


def read(text: str) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Return the orders with the words of their verbs, the statements, and the conditions."""
    found = scan(text, KNOWN)
    orders, statements, conditions = gather_orders(found, read_parts(found, KNOWN))
    return (
        [
            (found.show(one.first, one.end), found.tokens[one.head].word if one.head >= 0 else "")
            for one in orders
        ],
        [found.show(one.first, one.end) for one in statements],
        [found.show(one.first, one.end) for one in conditions],
    )


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("Send 5 USDC to Bob", [("Send 5 USDC to Bob", "send")]),
        ("5 USDC to Bob", [("5 USDC to Bob", "")]),
        ("Bob gets 5 USDC", [("Bob gets 5 USDC", "gets")]),
        # Openers.
        ("Could you please pay Bob?", [("Could you please pay Bob", "pay")]),
        ("I'd like to pay Bob", [("I'd like to pay Bob", "pay")]),
        ("I want 5 USDC sent to Bob", [("I want 5 USDC sent to Bob", "sent")]),
        ("Make sure to pay Bob", [("Make sure to pay Bob", "pay")]),
        ("Let's pay Bob", [("Let's pay Bob", "pay")]),
        # Continuations belong to the order before them.
        ("Send 5 USDC to Bob and 3 to Ann", [("Send 5 USDC to Bob and 3 to Ann", "send")]),
        ("Bob gets 5 USDC and Ann gets 6", [("Bob gets 5 USDC and Ann gets 6", "gets")]),
        ("Note 5, 6 and 7", [("Note 5, 6 and 7", "note")]),
        # Several orders.
        ("Pay Bob. Pay Ann.", [("Pay Bob", "pay"), ("Pay Ann", "pay")]),
        ("Pay Bob; deposit 3 USDC", [("Pay Bob", "pay"), ("deposit 3 USDC", "deposit")]),
        ("Pay Bob and deposit 3 USDC", [("Pay Bob", "pay"), ("deposit 3 USDC", "deposit")]),
        ("Pay Bob, then show it", [("Pay Bob", "pay"), ("then show it", "show")]),
        ("- Pay Bob\n- Pay Ann", [("Pay Bob", "pay"), ("Pay Ann", "pay")]),
        ("1. Pay Bob\n2. Pay Ann", [("1. Pay Bob", "pay"), ("2. Pay Ann", "pay")]),
        # Courtesy, greetings, asides.
        ("Hi! Pay Bob. Thanks!", [("Pay Bob", "pay")]),
        ("Pay Bob (that's my friend)", [("Pay Bob", "pay")]),
        ("Hello", []),
        ("Thank you very much!", []),
        ("", []),
        ("...", []),
        # A quotation is one value, whatever it says.
        ('Note "pay Bob. Then stop"', [('Note "pay Bob. Then stop"', "note")]),
    ],
)  # fmt: skip
def test_a_request_has_these_orders(text: str, orders: list[tuple[str, str]]) -> None:
    assert read(text) == (orders, [], [])


@pytest.mark.parametrize(
    ("text", "orders", "statements"),
    [
        ("I sent 5 USDC to Bob", [], ["I sent 5 USDC to Bob"]),
        ("Bob paid me 5 USDC", [], ["Bob paid me 5 USDC"]),
        ("The rent is due", [], ["The rent is due"]),
        ('Ann says "send 5 USDC"', [], ['Ann says "send 5 USDC"']),
        ("I owe Bob a lot. Pay Ann.", ["Pay Ann"], ["I owe Bob a lot"]),
        ("Pay Ann. I owe her that.", ["Pay Ann"], ["I owe her that"]),
    ],
)
def test_a_statement_is_no_order(text: str, orders: list[str], statements: list[str]) -> None:
    found = read(text)
    assert ([one for one, _ in found[0]], found[1]) == (orders, statements)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("If it rains, pay Bob", "If it rains"),
        ("Unless Ann pays, pay Bob", "Unless Ann pays"),
        ("Once Ann pays, pay Bob", "Once Ann pays"),
        ("Pay Bob, if Ann pays", "if Ann pays"),
    ],
)
def test_a_condition_is_a_part_of_its_own(text: str, condition: str) -> None:
    assert read(text)[2] == [condition]


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("What is my balance?", True),
        ("How much do I have", True),
        ("Did I pay Bob?", True),
        ("Can I pay Bob?", True),
        ("Is Bob paid?", True),
        ("Can you pay Bob?", False),
        ("Would you pay Bob?", False),
        ("Pay Bob", False),
        ("Pay Bob?", True),
    ],
)
def test_a_question_is_told_from_an_order_that_asks_politely(text: str, is_question: bool) -> None:
    found = scan(text, KNOWN)
    ((order,), _, _) = gather_orders(found, read_parts(found, KNOWN))
    assert order.is_question == is_question


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Pay Bob", []),
        ("Don't pay Bob", ["NEGATION"]),
        ("Pay Bob, but never Ann", ["NEGATION"]),
        ("Pay everyone except Bob", ["EXCEPTION"]),
        ("Pay Bob or Ann", ["ALTERNATIVE"]),
        ("Pay Bob if Ann pays", ["CONDITION"]),
        ("Pay Bob 5, no wait, 6", ["CORRECTION"]),
        ("Maybe pay Bob", ["DOUBT"]),
        ("Pay Bob every week", ["REPEAT"]),
        ("Pay Bob tomorrow", ["LATER"]),
        ("Pay Bob as yesterday", ["EARLIER"]),
        ("Pay Bob about 5", ["INEXACT"]),
        ('Note "do not, or maybe tomorrow"', []),
    ],
)
def test_what_takes_an_order_back_belongs_to_it(text: str, kinds: list[str]) -> None:
    found = scan(text, KNOWN)
    orders, _, _ = gather_orders(found, read_parts(found, KNOWN))
    blocks = [
        mention.kind.name
        for order in orders
        for mention in list_mentions(found, order.first, order.end)
        if mention.kind in BLOCKS
    ]
    assert blocks == kinds


WORDS = st.sampled_from(
    [
        "Send", "pay", "note", "5 USDC", "3", "to Bob", "Ann", "and", "then", ",", ".", "?", "!",
        "\n", "if it rains", "don't", "I", "sent", "what", "is", "my balance", "could you",
        "please", "(", ")", '"pay Ann"', "gets", "each", ":", "-", "the", "because", "hi", "thanks",
        "first", "or", ";",
    ]
)  # fmt: skip


@given(st.lists(WORDS, max_size=16).map(" ".join))
@settings(max_examples=150, derandomize=True)
def test_orders_stand_in_the_order_of_the_text_and_share_no_token(text: str) -> None:
    found = scan(text, KNOWN)
    parts = read_parts(found, KNOWN)
    orders, statements, conditions = gather_orders(found, parts)
    used = [part for order in orders for part in order.parts]
    assert used == sorted(used, key=lambda part: part.first)
    gathered = [*used, *statements, *conditions]
    assert len({part.first for part in gathered}) == len(gathered)
    assert {part.end for part in gathered} <= {part.end for part in parts}
    for before, after in pairwise(parts):
        assert before.first < before.end <= after.first
