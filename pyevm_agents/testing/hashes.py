"""Hashes of transactions as tests have them: text, bytes, or web3.py's own."""

from __future__ import annotations

from pyevm_agents.errors import ConfigError

HASH_BYTES = 32


def hash_of(told: bytes | str) -> bytes:
    """Return the 32 bytes of a transaction's hash.

    Raises: ConfigError: it is none.
    """
    try:
        data = bytes.fromhex(told.removeprefix("0x")) if isinstance(told, str) else bytes(told)
    except (TypeError, ValueError):
        data = b""
    if len(data) != HASH_BYTES:
        raise ConfigError(
            f"{told!r} is no hash of a transaction: give 0x and 64 hexadecimal digits, 32 bytes, "
            "or a receipt's `transactionHash`"
        )
    return data
