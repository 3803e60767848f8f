"""Hashes of transactions as tests have them: text, bytes, or web3.py's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.inputs import shown

HASH_BYTES = 32


def hash_of(given: bytes | str | Mapping[str, object]) -> bytes:
    """Return the 32 bytes of a transaction's hash, which a receipt has, too.

    Raises: ConfigError: it is none.
    """
    told: Any = given.get("transactionHash") if isinstance(given, Mapping) else given
    try:
        data = bytes.fromhex(told.removeprefix("0x")) if isinstance(told, str) else bytes(told)
    except (TypeError, ValueError):
        data = b""
    if len(data) != HASH_BYTES:
        raise ConfigError(
            f"{shown(given)} is no hash of a transaction: give 0x and 64 hexadecimal digits, "
            "32 bytes, or a receipt"
        )
    return data
