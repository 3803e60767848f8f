"""Whether a call uses the values that its clause names."""

from __future__ import annotations

import pytest

from precompiles.abi import ParamDescription, ParamType
from precompiles.short_format.clauses import NameIndex
from precompiles.short_format.named_values import uses_named_values

NAMES = NameIndex(("addr1", "addr2", "USDC"))
TYPES = {
    "to": ParamType.ADDRESS,
    "of": ParamType.ADDRESS,
    "amount": ParamType.UINT,
    "days": ParamType.INT,
    "all": ParamType.ADDRESS_ARRAY,
    "items": ParamType.UINT_ARRAY,
    "note": ParamType.STRING,
    "title": ParamType.STRING,
    "on": ParamType.BOOL,
}


def check(clause: str, **arguments: object) -> bool:
    parameters = [
        ParamDescription(param_type=TYPES[name], name=name, description="") for name in arguments
    ]
    return uses_named_values(clause, NAMES, parameters, arguments)


@pytest.mark.parametrize(
    ("clause", "arguments"),
    [
        ("send 5 USDC to addr1", {"to": "addr1", "of": "USDC", "amount": 5}),
        ("send 5 usdc to addr1", {"to": "addr1", "of": "USDC", "amount": 5_000_000}),
        ("pay it out", {"to": "addr1", "amount": 9}),
        ("send addr1 and addr2 some", {"all": ["addr1", "addr2"]}),
        ("send 1, 2 and 2", {"items": [1, 2, 2]}),
        ("send addr1 its share, addr1 first", {"to": "addr1", "of": "addr1"}),
        ("lend 7 for 7 days", {"amount": 7, "days": 7}),
        ("note 5 eggs for addr1", {"note": "5 eggs for addr1"}),
        ("write eggs over eggs", {"note": "eggs", "title": "eggs"}),
        ("switch it on", {"on": True}),
        ("hello", {}),
    ],
)
def test_all_values_are_used(clause: str, arguments: dict[str, object]) -> None:
    assert check(clause, **arguments)


@pytest.mark.parametrize(
    ("clause", "arguments"),
    [
        ("lock addr1 out of the file of addr2", {"to": "addr2"}),
        ("let addr1 in", {}),
        ("let the file of addr1 go", {"to": "addr1", "of": "addr1"}),
        ("lend addr2 7 days of it", {"to": "addr2", "amount": 7, "days": 7}),
        ("send 5 and 6", {"amount": 5}),
        ("send five", {"on": True}),
        ("note it for addr1", {"note": "it"}),
        ("from there to the zoo", {"note": "the zoo", "title": "the zoo"}),
        ("send to addr1", {"all": ["addr1"], "to": "addr1"}),
        ("send 5", {"items": [5], "amount": 5}),
    ],
)
def test_a_value_is_left_over_or_used_too_often(clause: str, arguments: dict[str, object]) -> None:
    assert not check(clause, **arguments)


def test_a_value_that_the_tool_names_is_used() -> None:
    def check_tool(described: str) -> bool:
        return uses_named_values("what is my USDC balance", NAMES, (), {}, described=described)

    assert check_tool("balanceOf Read the balance of USDC.")
    assert check_tool("balance-of-usdc")
    assert not check_tool("balanceOf Read the balance of USDCX.")
    assert not check_tool("")


def test_a_quoted_text_names_nothing() -> None:
    assert check('write "send 5 to addr1"', on=True)
