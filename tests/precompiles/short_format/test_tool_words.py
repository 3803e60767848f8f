"""Words and counts that a router reads."""

from __future__ import annotations

import pytest

from precompiles.abi import ParamDescription, ParamType
from precompiles.short_format.clauses import NameIndex
from precompiles.short_format.tool_words import (
    MAX_CLAUSE_WORDS,
    MAX_TOOL_WORDS,
    read_clause_words,
    read_tool_words,
)
from precompiles.tool_metadata import Tool


@pytest.mark.parametrize(
    ("text", "words", "counts"),
    [
        ("Send 5 USDC to Bob", ("send", "to"), (1, 2, 0)),
        ('post "…2" and "…3" to bob', ("post", "and", "to"), (0, 1, 2)),
        ("two hundred and fifty for bob", ("and", "for"), (1, 1, 0)),
        ("don't café 5k", ("don", "t", "caf", "k"), (1, 0, 0)),
        ("bobby usdc.x", ("bobby", "x"), (0, 1, 0)),
        ("", (), (0, 0, 0)),
    ],
)
def test_reads_a_clause(text: str, words: tuple[str, ...], counts: tuple[int, int, int]) -> None:
    read = read_clause_words(text, NameIndex(["bob", "USDC"]))
    assert (read.words, read.counts) == (words, counts)


def test_a_clause_after_the_first_quotation_keeps_its_names_in_place() -> None:
    read = read_clause_words('say "…12" to bob today', NameIndex(["bob"]))
    assert (read.words, read.counts) == (("say", "to", "today"), (0, 1, 1))


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


def test_reads_no_more_words_than_the_limits() -> None:
    long = "word " * 100
    read = read_tool_words(tool("aB" * 32, long, (ParamType.BOOL, "x", long)))
    sizes = {len(read.name), len(read.description), len(read.parameters)}
    assert sizes == {MAX_TOOL_WORDS} == {32}
    assert len(read_clause_words(long, NameIndex([])).words) == MAX_CLAUSE_WORDS == 48
