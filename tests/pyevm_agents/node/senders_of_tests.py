"""Transactions of a few accounts, made quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.config import ChainConfig
from pyevm_agents.transactions import DYNAMIC_FEE_TYPE, Fields, sign

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI

KEYS = tuple(PrivateKey(bytes([number]) * 32) for number in range(1, 5))
ADDRESSES = tuple(Address(key.public_key.to_canonical_address()) for key in KEYS)
NOBODY = Address(b"\x99" * 20)
CHAIN_ID = ChainConfig().chain_id
GWEI = 10**9


def transaction(sender: int = 0, nonce: int = 0, **fields: object) -> SignedTransactionAPI:
    """Return a plain transfer of the account of that number, but for what is told."""
    told: dict[str, object] = {
        "kind": DYNAMIC_FEE_TYPE,
        "nonce": nonce,
        "gas": 21_000,
        "to": NOBODY,
        "value_wei": 1,
        "max_fee_wei": 3 * GWEI,
        "gas_price_wei": 3 * GWEI,
        "max_priority_fee_wei": GWEI,
    }
    return sign(Fields(**(told | fields)), KEYS[sender], CHAIN_ID)  # type: ignore[arg-type]
