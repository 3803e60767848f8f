"""Merkle proofs of accounts and storage slots.

Source: EIP-1186; yellow paper, appendix D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import rlp
from eth.rlp.accounts import Account
from eth_utils import keccak
from trie.hexary import HexaryTrie

from precompiles.spec import HASH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import DatabaseAPI
    from eth_typing import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageProof:
    """The value of a slot, with the trie nodes from the storage root down."""

    slot: int
    value: int
    nodes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountProof:
    """An account, with the trie nodes from the state root down, each as RLP."""

    account: Account
    """Empty if it does not exist."""

    nodes: tuple[bytes, ...]
    storage: tuple[StorageProof, ...]


def prove(
    rows: DatabaseAPI, state_root: bytes, address: Address, slots: Iterable[int]
) -> AccountProof:
    """Return an account and storage slots, with Merkle proofs.

    Input:
        rows: a database with the trie nodes.
        state_root: the root to prove against.
        address: of the account.
        slots: of the account's storage.
    """
    accounts = HexaryTrie(rows, state_root)
    key = keccak(address)
    encoded = accounts[key]
    account = rlp.decode(encoded, Account) if encoded else Account()
    storage = HexaryTrie(rows, account.storage_root)
    return AccountProof(
        account=account,
        nodes=_collect_proof_nodes(accounts, key),
        storage=tuple(_prove_slot(storage, slot) for slot in slots),
    )


def _prove_slot(storage: HexaryTrie, slot: int) -> StorageProof:
    key = keccak(slot.to_bytes(HASH_BYTES, "big"))
    encoded = storage[key]
    value = int.from_bytes(rlp.decode(encoded), "big") if encoded else 0
    return StorageProof(slot=slot, value=value, nodes=_collect_proof_nodes(storage, key))


def _collect_proof_nodes(trie: HexaryTrie, key: bytes) -> tuple[bytes, ...]:
    """Return the nodes from the root to a key, or to the node that proves the absence.

    A node shorter than a hash is contained in the parent, and left out.
    """
    nodes = [rlp.encode(node) for node in trie.get_proof(key)]  # type: ignore[no-untyped-call]
    return tuple(node for i, node in enumerate(nodes) if i == 0 or len(node) >= HASH_BYTES)
