"""Addresses as tests have them: text, bytes, or a contract."""

from __future__ import annotations

from typing import TypeAlias

from eth_typing import Address
from eth_utils import (
    is_0x_prefixed,
    is_checksum_address,
    is_checksum_formatted_address,
    is_hex_address,
    to_canonical_address,
)

from pyevm_agents.errors import ConfigError

ADDRESS_BYTES = 20

AddressLike: TypeAlias = "str | bytes | object"
"""Hexadecimal text, 20 bytes, or something with an `address`, such as a contract of web3.py."""


def canonical(value: AddressLike) -> Address:
    """Return the 20 bytes of an address.

    Raises: ConfigError: it is none, or its checksum does not fit.
    """
    told = getattr(value, "address", value)
    if isinstance(told, bytes) and len(told) == ADDRESS_BYTES:
        return Address(told)
    if not isinstance(told, str) or not is_0x_prefixed(told) or not is_hex_address(told):
        raise ConfigError(
            f"{value!r} is no address: give 0x and 40 hexadecimal digits, 20 bytes, or a contract"
        )
    if is_checksum_formatted_address(told) and not is_checksum_address(told):
        raise ConfigError(
            f"the checksum of {told} does not fit: a digit is wrong, or write it in lower case"
        )
    return Address(to_canonical_address(told))
