"""Hexadecimal encoding of numbers and bytes, as in JSON-RPC."""

from __future__ import annotations


def encode_quantity(value: int) -> str:
    """Encode a number as 0x and digits, without leading zeros."""
    return f"{value:#x}"


def encode_data(value: bytes) -> str:
    """Encode bytes as 0x and two digits per byte."""
    return "0x" + value.hex()


def encode_word(value: int) -> str:
    """Encode a number as 0x and the 64 digits of an EVM word."""
    return f"0x{value:064x}"
