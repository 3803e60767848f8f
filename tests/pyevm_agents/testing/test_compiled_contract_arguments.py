"""A constructor's arguments: by position, by name, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.compiled_contract import encode_arguments

TOKEN = [
    {"name": "owner_", "type": "address", "internalType": "contract Owner"},
    {"name": "_supply", "type": "uint256", "internalType": "uint256"},
    {"name": "symbol", "type": "string"},
]
OWNER = "0x" + "57" * 20
WANTED = encode(["address", "uint256", "string"], [OWNER, 7, "T"])


@dataclass
class Contract:
    address: str


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((OWNER, 7, "T"), {}),
        ((OWNER,), {"_supply": 7, "symbol": "T"}),
        ((), {"owner": OWNER, "supply": 7, "symbol": "T"}),
        ((Contract(OWNER),), {"supply": 7, "symbol": "T"}),
        ((bytes.fromhex(OWNER[2:]), 7), {"symbol": "T"}),
    ],
)
def test_they_are_given_by_position_or_name(
    arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    assert encode_arguments("Token", TOKEN, arguments, named) == WANTED


@pytest.mark.parametrize(
    ("arguments", "named", "told"),
    [
        ((OWNER,), {}, r"missing uint256 _supply, string symbol"),
        ((OWNER, 7, "T", 1), {}, r"takes 3 arguments, 4 are given"),
        ((OWNER, 7, "T"), {"supply": 7}, r"'supply' is given twice"),
        ((OWNER, 7), {"name": "T"}, r"has no argument 'name'"),
        ((OWNER, -1, "T"), {}, r"-1 is no uint256 _supply"),
        ((OWNER, 2**256, "T"), {}, r"is no uint256 _supply"),
        ((OWNER, "7", "T"), {}, r"'7' is no uint256 _supply"),
        ((OWNER, 7, b"T"), {}, r"b'T' is no string symbol"),
        (("Bob", 7, "T"), {}, r"'Bob' is no contract Owner owner_: address 'Bob': must be"),
        ((OWNER, "9" * 500, "T"), {}, r"'9{70,90}… is no uint256"),
    ],
)
def test_what_does_not_fit_is_told_with_the_signature(
    arguments: tuple[object, ...], named: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as raised:
        encode_arguments("Token", TOKEN, arguments, named)
    signature = "Token(contract Owner owner_, uint256 _supply, string symbol)"
    assert str(raised.value).startswith(signature)


def test_a_name_without_underscores_must_be_one() -> None:
    both = [{"name": "_a", "type": "uint8"}, {"name": "a_", "type": "uint8"}]
    assert encode_arguments("C", both, (), {"_a": 1, "a_": 2}) == encode(["uint8", "uint8"], [1, 2])
    with pytest.raises(ConfigError, match="has no argument 'a'"):
        encode_arguments("C", both, (), {"a": 1})


STRUCT = {
    "name": "limits",
    "type": "tuple[]",
    "internalType": "struct Limit[]",
    "components": [{"name": "who", "type": "address"}, {"name": "data", "type": "bytes"}],
}


@pytest.mark.parametrize(
    "given_limit", [(OWNER, b"\x01"), [Contract(OWNER), "0x01"], {"who": OWNER, "data": "01"}]
)
def test_structs_are_given_in_order_or_by_name(given_limit: object) -> None:
    encoded = encode_arguments("C", [STRUCT], ([given_limit],), {})
    assert decode(["(address,bytes)[]"], encoded) == (((OWNER, b"\x01"),),)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("text", "a list is wanted"),
        ([{"who": OWNER}], "its fields are who, data"),
        ([(OWNER,)], "it has 2 fields"),
        ([(OWNER, "0xz")], "non-hexadecimal"),
        (7, "not iterable"),
    ],
)
def test_structs_that_do_not_fit_are_told(wrong: object, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        encode_arguments("C", [STRUCT], (wrong,), {})


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=4), max_size=4))
def test_lists_of_lists_are_encoded(rows: list[list[int]]) -> None:
    parameter: Any = {"name": "rows", "type": "uint64[][]"}
    decoded = decode(["uint64[][]"], encode_arguments("C", [parameter], (), {"rows": rows}))
    assert decoded == (tuple(tuple(row) for row in rows),)
