"""Mentions: what is read in a text, and where."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.short_format.mentions import MentionKind, Scan, UnitKind, scan
from precompiles.short_format.tokens import read_tokens
from tests.precompiles.short_format.small_agents import make_vocabulary

KNOWN = make_vocabulary()
SILENT = {MentionKind.COURTESY, MentionKind.SEQUENCE}


def read(text: str) -> Scan:
    return scan(text, KNOWN)


def list_kinds(text: str) -> list[tuple[str, str]]:
    """Return span and kind of each mention that says something."""
    found = read(text)
    return [
        (found.show(one.first, one.end), one.kind.name)
        for one in found.mentions
        if one.kind not in SILENT
    ]


# -- quantities -- #


@pytest.mark.parametrize(
    ("text", "span", "value", "unit", "name"),
    [
        ("Send 5 USDC to Bob", "5 USDC", 5, UnitKind.TOKEN, "usdc"),
        ("send 5usdc", "5usdc", 5, UnitKind.TOKEN, "usdc"),
        ("Send USDC 5 to Bob", "5", 5, UnitKind.TOKEN, "usdc"),
        ("send 5 more USDC", "5 more USDC", 5, UnitKind.TOKEN, "usdc"),
        ("send 5 of my USDC", "5 of my USDC", 5, UnitKind.TOKEN, "usdc"),
        ("send 1,250.5 USDC", "1,250.5 USDC", "2501/2", UnitKind.TOKEN, "usdc"),
        ("send .5 USDC", ".5 USDC", "1/2", UnitKind.TOKEN, "usdc"),
        ("send 0.000001 USDC", "0.000001 USDC", "1/1000000", UnitKind.TOKEN, "usdc"),
        ("send 5k USDC", "5k USDC", 5_000, UnitKind.TOKEN, "usdc"),
        ("send 2e2 USDC", "2e2 USDC", 200, UnitKind.TOKEN, "usdc"),
        ("send 5 million USDC", "5 million USDC", 5_000_000, UnitKind.TOKEN, "usdc"),
        ("send five USDC", "five USDC", 5, UnitKind.TOKEN, "usdc"),
        ("send one USDC", "one USDC", 1, UnitKind.TOKEN, "usdc"),
        ("send a hundred USDC", "a hundred USDC", 100, UnitKind.TOKEN, "usdc"),
        ("send two and a half ETH", "two and a half ETH", "5/2", UnitKind.TOKEN, "native"),
        ("send half an ether", "half an ether", "1/2", UnitKind.TOKEN, "native"),
        ("send 10 cents of USDC", "10 cents of USDC", 10, UnitKind.TOKEN, "usdc"),
        ("send 3 base units of USDC", "3 base units of USDC", 3, UnitKind.TOKEN, "usdc"),
        ("a fee of 5%", "5%", 5, UnitKind.PERCENT, "percent"),
        ("a fee of 0.3 percent", "0.3 percent", "3/10", UnitKind.PERCENT, "percent"),
        ("a fee of 25 bps", "25 bps", 25, UnitKind.PERCENT, "basis point"),
        ("lock it for 3 days", "3 days", 3, UnitKind.TIME, "day"),
        ("lock it for 36h", "36h", 36, UnitKind.TIME, "hour"),
        ("note -5", "-5", -5, UnitKind.NONE, ""),
        ("note twenty-one", "twenty-one", 21, UnitKind.NONE, ""),
        ("vote for proposal 7", "7", 7, UnitKind.NONE, ""),
        ("vote for proposal #7", "7", 7, UnitKind.NONE, ""),
        ("send 5 DAI", "5 DAI", 5, UnitKind.UNKNOWN, "DAI"),
        ("send 5 mUSDC", "5 mUSDC", 5, UnitKind.UNKNOWN, "mUSDC"),
        ("send $5", "$5", 5, UnitKind.UNKNOWN, "$"),
        ("send 5 euros", "5 euros", 5, UnitKind.UNKNOWN, "euros"),
    ],
)
def test_a_quantity_is_exact_and_has_its_unit(
    text: str, span: str, value: str | int, unit: UnitKind, name: str
) -> None:
    found = read(text)
    (quantity,) = [one for one in found.mentions if one.kind is MentionKind.QUANTITY]
    assert found.show(quantity.first, quantity.end) == span
    assert (quantity.value, quantity.unit, quantity.unit_name) == (Fraction(value), unit, name)


@pytest.mark.parametrize("sub", ["wei", "gwei", "szabo", "finney"])
def test_a_sub_unit_keeps_its_name(sub: str) -> None:
    (quantity,) = read(f"2 {sub}").mentions
    assert (quantity.unit, quantity.unit_name, quantity.text) == (UnitKind.TOKEN, "", sub)


@pytest.mark.parametrize(
    "number",
    [
        "1/2", "\u00bd", "5-6", "1.000,50", "1.000", "1 000", "5 6", "5.5.5", "+5", "1_000",
        "5'000", "2^8", "2*5", "5,5", "1e-3", "1,00", "25:61",
    ],
)  # fmt: skip
def test_a_number_in_another_notation_is_not_read(number: str) -> None:
    assert list_kinds(f"note {number}") == [(number, "UNREAD")]
    assert (number, "UNREAD") in list_kinds(f"send {number} USDC to Bob")
    assert not any(kind == "QUANTITY" for _, kind in list_kinds(f"send {number} USDC to Bob"))


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("about 5 USDC", "about"),
        ("roughly 5 USDC", "roughly"),
        ("at most 5 USDC", "at most"),
        ("at least 5 USDC", "at least"),
        ("up to 5 USDC", "up to"),
        ("more than 5 USDC", "more than"),
        ("~5 USDC", "~"),
        ("5 USDC or so", "5 USDC or so"),
        ("5 USDC or more", "5 USDC or more"),
    ],
)
def test_what_is_beside_a_number_makes_it_inexact(text: str, mark: str) -> None:
    assert (mark, "INEXACT") in list_kinds(f"send {text} to Bob")


# -- other kinds -- #


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        # Names.
        ("to Bob", [("Bob", "NAME")]),
        ("to bob", [("bob", "NAME")]),
        ("to Bob, Ann & Carl", [("Bob", "NAME"), ("Ann", "NAME"), ("Carl", "NAME")]),
        ("to Bob's wallet", [("Bob's wallet", "NAME")]),
        ("to Carol", [("Carol", "STRANGER")]),
        ("to Bob Smith", [("Bob Smith", "STRANGER")]),
        ("to Bob's dog", [("Bob's dog", "STRANGER")]),
        ("to @bob", [("@bob", "STRANGER")]),
        ("to bob.eth", [("bob.eth", "STRANGER")]),
        ("to my brother", [("brother", "SOMEBODY")]),
        ("to everyone", [("everyone", "SOMEBODY")]),
        ("to me", [("me", "SELF")]),
        ("to 0x1234", [("0x1234", "DATA")]),
        # References.
        ("half of it", [("half of it", "SAME")]),
        ("the same amount", [("the same amount", "SAME")]),
        ("all my USDC", [("all my USDC", "ALL")]),
        ("everything", [("everything", "ALL")]),
        ("send it to him", [("it", "IT"), ("him", "HIM")]),
        ("to that account", [("that account", "PLACE")]),
        ("to each of them", [("each", "EACH"), ("them", "IT")]),
        ("pay twice", [("twice", "PART")]),
        ("pay a few", [("few", "PART")]),
        # Texts and times.
        ('say "a b" now', [('"a b"', "QUOTATION")]),
        ("say \u201ca b\u201d", [("\u201ca b\u201d", "QUOTATION")]),
        ("say \u00aba b\u00bb", [("\u00aba b\u00bb", "QUOTATION")]),
        ("say 'a b'", [("'a b'", "QUOTATION")]),
        ('say "pay Bob 5', [('"pay Bob 5', "QUOTATION")]),
        ("at 10:30", [("10:30", "CLOCK")]),
        ("at 9 pm", [("9 pm", "CLOCK")]),
        ("the 3rd week", [("3rd", "ORDINAL")]),
        # What takes an order back.
        ("do not pay", [("not", "NEGATION")]),
        ("don't pay", [("don't", "NEGATION")]),
        ("don\u2019t pay", [("don\u2019t", "NEGATION")]),
        ("dont pay", [("dont", "NEGATION")]),
        ("never pay", [("never", "NEGATION")]),
        ("without Bob", [("without", "NEGATION"), ("Bob", "NAME")]),
        ("except Bob", [("except", "EXCEPTION"), ("Bob", "NAME")]),
        ("pay unless Bob pays", [("unless", "CONDITION"), ("Bob", "NAME")]),
        ("pay or stop", [("or", "ALTERNATIVE")]),
        ("no wait, 6", [("no wait", "CORRECTION"), ("6", "QUANTITY")]),
        ("scratch that", [("scratch that", "CORRECTION")]),
        ("maybe", [("maybe", "DOUBT")]),
        ("every day", [("every", "REPEAT")]),
        ("pay daily", [("daily", "REPEAT")]),
        ("pay again", [("again", "REPEAT")]),
        ("pay tomorrow", [("tomorrow", "LATER")]),
        ("pay next week", [("next week", "LATER")]),
        ("pay on Friday", [("Friday", "LATER")]),
        ("as yesterday", [("yesterday", "EARLIER")]),
        # What says nothing.
        ("please pay, thanks", []),
        ("first pay, then stop, finally go", []),
        ("1. pay\n2. go", []),
        ("", []),
        ("the other one", []),
    ],
)
def test_a_text_has_these_mentions(text: str, mentions: list[tuple[str, str]]) -> None:
    assert list_kinds(text) == mentions


def test_a_name_gives_its_handle_as_the_base_prompt_writes_it() -> None:
    for text in ("Bob", "BOB", "bob", "Bob's wallet"):
        (name,) = read(f"to {text}").mentions
        assert name.text == "Bob"


def test_a_quotation_gives_what_is_quoted_and_hides_what_it_says() -> None:
    (quotation,) = read('"do not pay Carol 5 DAI, or 1/2"').mentions
    assert quotation.text == "do not pay Carol 5 DAI, or 1/2"


# -- properties -- #

PIECES = st.sampled_from(
    [
        "Send", "5", "USDC", "Bob", "Carol", "to", " ", " ", "  ", "\n", "\t", ",", ".", "'", '"',
        "\u201c", "\u201d", "\u2019", "and", "not", "1/2", "-", "\u2013", "(", ")", "0x", "0x12",
        "%", "$", "\u20ac", "half of it", "a", "an", "hour", "all my", "1e9", "1,000", "10:30",
        "9 pm", "3rd", "#", "every", "other", "one", "two hundred", "and a half", "\u00bd",
        "\u5b57", "\U0001f600", "\u2028", "\u00e9", "no.", "@", "/", "*", "~", "->", "thanks",
        "don't", "s", "because",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=30).map("".join),
    st.lists(PIECES, max_size=20).map(" ".join),
    st.text(max_size=40),
)


@given(TEXTS)
@settings(max_examples=150, derandomize=True)
def test_each_character_but_blanks_belongs_to_one_token(text: str) -> None:
    at = 0
    for token in read_tokens(text):
        assert not text[at : token.start].strip()
        assert at <= token.start < token.end <= len(text)
        at = token.end
    assert not text[at:].strip()


@given(TEXTS)
@settings(max_examples=150, derandomize=True)
def test_each_token_belongs_to_at_most_one_mention(text: str) -> None:
    found = read(text)
    owners = [-1] * len(found.tokens)
    at = 0
    for index, mention in enumerate(found.mentions):
        assert at <= mention.first < mention.end <= len(found.tokens)
        at = mention.end
        owners[mention.first : mention.end] = [index] * (mention.end - mention.first)
    assert found.owners == tuple(owners)


@given(TEXTS)
@settings(max_examples=150, derandomize=True)
def test_no_digit_is_a_plain_word(text: str) -> None:
    found = read(text)
    for token, owner in zip(found.tokens, found.owners, strict=True):
        if owner < 0 and any(digit in "0123456789" for digit in token.text):
            assert token.text[0] not in "0123456789"
