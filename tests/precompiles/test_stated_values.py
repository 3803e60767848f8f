"""Stated values: which ones a description has, and the grammar that admits precisely them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.react import GrammarViolationError, parse
from precompiles.stated_values import limit_tools, read_range, read_texts
from tests.precompiles.test_grammar import BOOK, compiled, one_tool

if TYPE_CHECKING:
    from precompiles.address_handles import AddressBook
    from precompiles.tool_metadata import Tool

SIGNED, UNSIGNED = range(-(2**255), 2**255), range(2**256)
UINT_MAX = 2**256 - 1


def limited(kind: ParamType, description: str) -> Tool:
    """Return the tool `t`, whose parameter `v` has a description."""
    tool = one_tool(kind)
    (parameter,) = tool.parameters
    described = replace(parameter, description=description)
    (found,) = limit_tools([replace(tool, parameters=(described,))])
    return found


def takes(tool: Tool, value: str, book: AddressBook = BOOK) -> bool:
    """Return whether grammar and parser, which agree, admit an argument."""
    text = f' x\nAction: t\nAction Input: {{"v": {value}}}'
    matcher = compiled(build_grammar([tool], [handle for handle, _ in book.handles])).deep_copy()
    tokens = list(text.encode())
    is_admitted = matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()
    assert not matcher.get_error()
    try:
        parse(text, [tool], book)
    except GrammarViolationError:
        assert not is_admitted
    else:
        assert is_admitted
    return is_admitted


@pytest.mark.parametrize(
    ("description", "low", "high"),
    [
        ("a score from 0 to 100", 0, 100),
        ("Between 1 and 5 stars", 1, 5),
        ("the change (from -1,000 to 1,000).", -1000, 1000),
        ("from minus five to five", -5, 5),
        ("from 0% to 100%", 0, 100),
        ("between 1 second and 5 seconds", 1, 5),
        ("from 7 to 7", 7, 7),
        ("between 1k and 1 million", 1_000, 1_000_000),
        ("a fee in basis points from 0 to 10000", 0, 10_000),
        ("from 0 to 10 - higher is better", 0, 10),
        ("from 1 to 2, never from 3 to 4", 1, 2),
        (f"from 1 to {2**255 - 1:,}", 1, 2**255 - 1),
        (f"from 3 to {10**90}", None, None),
    ],
)
def test_a_range_is_read(description: str, low: int | None, high: int | None) -> None:
    expected = None if low is None or high is None else range(low, high + 1)
    assert read_range(description, SIGNED) == expected


@pytest.mark.parametrize(
    "description",
    [
        "",
        "a score",
        "12 to 15",
        "from 5 to 1",
        "from 0.5 to 1",
        "from 0 to 2^256 - 1",
        "from 0 to 2 ** 8",
        "from 0 to 1e18",
        "from 2 and 5",
        "between 2 to 5",
        "upfrom 2 to 5",
        "from 1 to 10, exclusive",
        "amount with 6 decimals, from 1 to 5",
        "from 1 to 30 days, in seconds",
        "from 1 minute to 2 hours",
        "fee (basis points) from 0 to 5 percent",
        "between 1 and 5, excluding both",
        "between one hundred and twenty",
    ],
)
def test_other_texts_state_no_range(description: str) -> None:
    assert read_range(description, SIGNED) is None


def test_a_range_ends_at_the_limits_of_the_type() -> None:
    assert read_range("from -5 to 5", UNSIGNED) == range(6)
    assert read_range("from -5 to -1", UNSIGNED) is None
    assert read_range(f"from 0 to {UINT_MAX:,}", UNSIGNED) == UNSIGNED
    assert read_range(f"from 0 to {UINT_MAX}", SIGNED) == range(2**255)


@pytest.mark.parametrize(
    ("description", "texts"),
    [
        ("one of buy, sell or hold", ["buy", "sell", "hold"]),
        ("one of: \"low\", 'very high'. Not more.", ["low", "very high"]),
        ("one of a, 0x12, b", ["a", "b"]),
        ("one of our names", ["our names"]),
    ],
)
def test_a_set_is_read(description: str, texts: list[str]) -> None:
    assert read_texts(description) == tuple(json.dumps(text) for text in texts)


def test_without_a_stated_value_a_parameter_is_free() -> None:
    assert takes(limited(ParamType.STRING, "one of our names"), '"anything"')
    assert takes(limited(ParamType.STRING, "from 1 to 5"), '"anything"')
    assert takes(limited(ParamType.UINT, "an amount"), "7")
    assert takes(limited(ParamType.BOOL, "one of yes, no; from 0 to 1"), "true")
    assert one_tool(ParamType.UINT).parameters[0].values is None


@pytest.mark.parametrize(
    ("kind", "description", "admitted", "refused"),
    [
        (ParamType.UINT, "from 0 to 100", ["0", "7", "100"], ["101", "-1", "07", '"7"', "true"]),
        (ParamType.UINT, "from -5 to 5", ["0", "5"], ["-1", "6"]),
        (ParamType.INT, "from -12 to -3", ["-12", "-3", "-10"], ["-2", "-13", "3", "-03"]),
        (ParamType.INT, "between 5 and 5", ["5"], ["4", "6", "-5", "55"]),
        (ParamType.UINT, f"from 2 to {UINT_MAX:,}", ["2", str(UINT_MAX)], ["1", str(UINT_MAX + 1)]),
        (ParamType.UINT_ARRAY, "each from 1 to 3", ["[]"], []),
        (ParamType.UINT_ARRAY, "from 1 to 3", ["[]", "[1, 3]"], ["[4]", "[1, 0]", "2"]),
        (ParamType.STRING, "one of buy, buy all", ['"buy"', '"buy all"'], ['"sell"', '"BUY"']),
        (ParamType.STRING, 'one of a"b, c\\d, é/😀', ['"a\\"b"', '"c\\\\d"', '"é/😀"'], ['"a"']),
        (ParamType.STRING_ARRAY, "one of x, y", ["[]", '["x", "y", "x"]'], ['["z"]', '"x"']),
    ],
)  # fmt: skip
def test_the_grammar_admits_precisely_the_stated_values(
    kind: ParamType, description: str, admitted: list[str], refused: list[str]
) -> None:
    tool = limited(kind, description)
    assert all(takes(tool, value) for value in admitted)
    assert not any(takes(tool, value) for value in refused)


BOUND = st.integers(-(2**255), UINT_MAX) | st.integers(-30, 130)


@settings(max_examples=40)
@given(BOUND, BOUND, BOUND, st.sampled_from([ParamType.INT, ParamType.UINT]), st.booleans())
def test_grammar_and_parser_agree_on_every_range(
    low: int, high: int, number: int, kind: ParamType, has_separators: bool
) -> None:
    low, high = sorted((low, high))
    said = f"from {low:,} to {high:,}" if has_separators else f"between {low} and {high}"
    tool = limited(kind, said)
    limits = UNSIGNED if kind is ParamType.UINT else SIGNED
    has_range = high >= limits.start and low < limits.stop
    for one in (number, low, high, low - 1, high + 1):
        assert takes(tool, str(one)) == (one in limits and (low <= one <= high or not has_range))


@settings(max_examples=40)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=9), max_size=6),
    st.text(st.characters(codec="utf-8"), max_size=9),
)
def test_grammar_and_parser_agree_on_every_set(items: list[str], other: str) -> None:
    description = f"one of {', '.join(items)}"
    tool = limited(ParamType.STRING, description)
    (parameter,) = tool.parameters
    values = parameter.values
    assert values == read_texts(description) or len(read_texts(description) or ()) < len("ab")
    assert isinstance(values, tuple) or values is None
    for value in (*(values or ()), json.dumps(other, ensure_ascii=False)):
        assert takes(tool, value) or value not in (values or ())


def test_tools_with_the_same_values_share_a_terminal() -> None:
    parameters = [
        ParamDescription(param_type=ParamType.UINT, name=f"p{n}", description="from 1 to 5")
        for n in range(3)
    ]
    tools = limit_tools([replace(one_tool(ParamType.UINT), parameters=tuple(parameters))])
    grammar = build_grammar(tools, [])
    assert grammar.count("STATED0: /1|[2-4]|5/\n") == 1
    assert "UINT" not in grammar
    assert "STATED1" not in grammar
