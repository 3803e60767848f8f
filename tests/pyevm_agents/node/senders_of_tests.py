"""Transactions of a few accounts, made quickly, and nodes that mine them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.chain.transactions import DYNAMIC_FEE_TYPE, TransactionFields, sign
from pyevm_agents.config import ChainConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node import Node

    MakeNode = Callable[..., Node]

KEYS = tuple(PrivateKey(bytes([number]) * 32) for number in range(1, 5))
ADDRESSES = tuple(Address(key.public_key.to_canonical_address()) for key in KEYS)
NOBODY = Address(b"\x99" * 20)
CHAIN_ID = ChainConfig().chain_id
GWEI = 10**9
START = ChainConfig().genesis_timestamp_seconds


def transaction(sender: int = 0, nonce: int = 0, **fields: object) -> SignedTransactionAPI:
    """Return a plain transfer of the account of that number, with the given changes."""
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
    return sign(TransactionFields(**(told | fields)), KEYS[sender], CHAIN_ID)  # type: ignore[arg-type]


def mined(node: Node, one: Any) -> MinedBlock | None:  # noqa: ANN401
    """Submit a transaction; return its block where it was mined."""
    return node.submit_change(lambda: node.submit(one)).result()


def hashes(block: MinedBlock | None) -> list[bytes]:
    """Return the hashes of a block's transactions."""
    assert block is not None
    return [one.hash for one in block.block.transactions]
