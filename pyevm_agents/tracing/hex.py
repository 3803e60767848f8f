"""Numbers and bytes as JSON-RPC spells them."""

from __future__ import annotations


def encode_quantity(value: int) -> str:
    """Return a number as 0x and its digits, without leading zeros."""
    return f"{value:#x}"


def encode_data(value: bytes) -> str:
    """Return bytes as 0x and two digits each."""
    return "0x" + value.hex()


def encode_word(value: int) -> str:
    """Return a number as 0x and the 64 digits of an EVM word."""
    return f"0x{value:064x}"
