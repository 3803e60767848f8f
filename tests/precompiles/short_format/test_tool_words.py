"""Words and counts that a router reads."""

from __future__ import annotations

import pytest

from precompiles.abi import ParamDescription, ParamType
from precompiles.short_format.mentions import scan
from precompiles.short_format.tool_words import (
    MAX_CLAUSE_WORDS,
    MAX_TOOL_WORDS,
    read_clause_words,
    read_tool_words,
)
from precompiles.tool_metadata import Tool
from tests.precompiles.short_format.small_agents import make_vocabulary

KNOWN = make_vocabulary()


@pytest.mark.parametrize(
    ("text", "words", "counts"),
    [
        ("Send 5 USDC to Bob", ("send", "to"), (1, 1, 0)),
        ('Post "pay Ann 2" and "3" to bob', ("post", "and", "to"), (0, 1, 2)),
        ("two hundred and fifty for bob", ("for",), (1, 1, 0)),
        ("don't café 5k", ("don", "t", "caf"), (1, 0, 0)),
        ("pay Carol 1/2", ("pay", "carol"), (0, 0, 0)),
        ("", (), (0, 0, 0)),
    ],
)
def test_reads_an_order(text: str, words: tuple[str, ...], counts: tuple[int, int, int]) -> None:
    read = read_clause_words(scan(text, KNOWN))
    assert (read.words, read.counts) == (words, counts)


def test_reads_the_tokens_of_an_order_alone() -> None:
    read = read_clause_words(scan("pay Bob 5, note 6 for Ann", KNOWN), 4)
    assert (read.words, read.counts) == (("note", "for"), (1, 1, 0))
    read = read_clause_words(scan("pay Bob 5, note 6 for Ann", KNOWN), 0, 3)
    assert (read.words, read.counts) == (("pay",), (1, 1, 0))


def tool(name: str, description: str, *parameters: tuple[ParamType, str, str]) -> Tool:
    return Tool(
        address=bytes(20),  # type: ignore[arg-type]
        name=name,
        description=description,
        parameters=tuple(
            ParamDescription(param_type=kind, name=label, description=about)
            for kind, label, about in parameters
        ),
    )


def test_reads_a_tool() -> None:
    read = read_tool_words(
        tool(
            "transferERC20_from",
            "Sends USDC, quickly.",
            (ParamType.ADDRESS, "toWhom", "The payee"),
            (ParamType.UINT, "amount", "in wei"),
            (ParamType.INT_ARRAY, "ns", ""),
            (ParamType.STRING, "memo", ""),
            (ParamType.BOOL, "urgent", ""),
        )
    )
    assert read.name == ("transfer", "erc", "from")
    assert read.description == ("sends", "usdc", "quickly")
    assert read.parameters == (
        "to", "whom", "the", "payee", "amount", "in", "wei", "ns", "memo", "urgent",
    )  # fmt: skip
    assert read.counts == (2, 1, 1)


def test_markers_are_no_words() -> None:
    marked = "Pays (USDC). [call:writes 0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0]"
    read = read_tool_words(tool("pay", marked, (ParamType.UINT, "fee", "a fee [abi:uint8]")))
    assert read.description == ("pays", "usdc")
    assert read.parameters == ("fee", "a", "fee")


def test_reads_no_more_words_than_the_limits() -> None:
    long = "word " * 100
    read = read_tool_words(tool("aB" * 32, long, (ParamType.BOOL, "x", long)))
    sizes = {len(read.name), len(read.description), len(read.parameters)}
    assert sizes == {MAX_TOOL_WORDS} == {32}
    assert len(read_clause_words(scan(long, KNOWN)).words) == MAX_CLAUSE_WORDS == 48
