from __future__ import annotations

import pytest

from precompiles.short_format.call_text import (
    MAX_PARAMETER_WORDS,
    MAX_QUOTED_WORDS,
    MAX_TOOL_WORDS,
    UNKNOWN,
    CallArgument,
    shorten_quotations,
    show_number,
    show_text,
    split_name,
    write_call,
)


@pytest.mark.parametrize(
    ("name", "description", "arguments", "text"),
    [
        (
            "transfer",
            "Sends coins to a person.",
            [("to", "who is paid", "Bob"), ("value", "", "5 USDC")],
            "transfer: Sends coins to a person. to (who is paid) = Bob; value = 5 USDC",
        ),
        ("pauseTool", "", [], "pause"),
        ("Tool", "", [], "tool"),
        ("set_L2Fee", "In\n wei", [("newFee", "the new fee", UNKNOWN)],
         "set l2 fee: In wei. new fee = ?"),
        ("_", "", [("_", "", "1")], "_. _ = 1"),
    ],
)  # fmt: skip
def test_a_call_is_written_in_words(
    name: str, description: str, arguments: list[tuple[str, str, str]], text: str
) -> None:
    assert write_call(name, description, [CallArgument(*one) for one in arguments]) == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sendToL2", "send to l2"),
        ("ERC20Balance", "erc20 balance"),
        ("set_price", "set price"),
        ("URIOf", "uri of"),
    ],
)
def test_an_identifier_is_split_at_capitals_and_underscores(name: str, words: str) -> None:
    assert " ".join(split_name(name)) == words


@pytest.mark.parametrize(
    ("number", "decimals", "unit", "text"),
    [
        (5_000_000, 6, "USDC", "5 USDC"),
        (1, 6, "", "0.000001"),
        (-1_500, 3, "", "-1.5"),
        (0, 18, "ETH", "0 ETH"),
        (2**256 - 1, 0, "", str(2**256 - 1)),
        (1200, 2, "", "12"),
    ],
)
def test_a_number_is_shown_in_whole_units(number: int, decimals: int, unit: str, text: str) -> None:
    assert show_number(number, decimals, unit) == text


def test_long_texts_are_cut_at_their_limits() -> None:
    def words(count: int) -> str:
        return " ".join(["word"] * count)

    assert show_text(words(MAX_QUOTED_WORDS)) == f'"{words(MAX_QUOTED_WORDS)}"'
    assert show_text(words(MAX_QUOTED_WORDS + 1)) == f'"{words(MAX_QUOTED_WORDS)} \u2026"'
    exact, long = words(MAX_TOOL_WORDS), words(MAX_TOOL_WORDS + 1)
    assert write_call("f", exact, []) == f"f: {exact}"
    assert write_call("f", long, []) == f"f: {exact} \u2026"
    exact, long = words(MAX_PARAMETER_WORDS), words(MAX_PARAMETER_WORDS + 1)
    assert write_call("f", "", [CallArgument("x", exact, "1")]) == f"f. x ({exact}) = 1"
    assert write_call("f", "", [CallArgument("x", long, "1")]) == f"f. x ({exact} \u2026) = 1"


def test_quotations_of_a_request_are_cut_as_in_a_call() -> None:
    long = " ".join(["word"] * (MAX_QUOTED_WORDS + 1))
    cut = show_text(long)
    assert shorten_quotations(f'Post "{long}" and\n\u201cseven\u201d, then \u00ab{long}\u00bb') == (
        f'Post {cut} and "seven", then {cut}'
    )
    assert shorten_quotations('a 5" pipe') == 'a 5" pipe'
