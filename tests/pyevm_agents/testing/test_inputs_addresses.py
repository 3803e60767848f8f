"""Addresses in each form that tests use."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.inputs import parse_address


@dataclass
class Contract:
    address: str


@given(st.binary(min_size=20, max_size=20))
def test_every_form_is_the_same_address(address: bytes) -> None:
    text = "0x" + address.hex()
    forms = (address, text, text.upper().replace("0X", "0x"), to_checksum_address(text))
    assert {parse_address(form) for form in forms} == {address}
    assert parse_address(Contract(to_checksum_address(text))) == address


@pytest.mark.parametrize(
    "wrong",
    ["", "0x", "57" * 20, "0x" + "57" * 21, "0x" + "5g" * 20, b"\x57" * 19, 7, None, [], True],
)
def test_what_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="must be 0x and 40"):
        parse_address(wrong)


def test_a_failing_checksum_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"checksum of 0xF39F.* does not fit"):
        parse_address("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
