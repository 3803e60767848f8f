"""Accounts and slots of `eth_getProof`, checked against a state root.

Source: EIP-1186.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth.rlp.accounts import Account
from eth_hash.auto import keccak
from rlp.sedes import big_endian_int

from pyevm_agents.state.account import StateCache
from pyevm_agents.state.trie import MissingNodeError, Trie

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_typing import Address


MAX_NONCE, MAX_WORD = 2**64 - 1, 2**256 - 1
"""Source: EIP-2681 for nonces."""


class ProofError(ValueError):
    """A proof that does not belong to the state root, or is invalid."""


class ProvenAccount(NamedTuple):
    """A proven account; the values of one that does not exist are 0 and empty."""

    nonce: int
    balance_wei: int
    storage_root: bytes
    code_hash: bytes


def verify_account(proof: object, state_root: bytes, address: Address) -> ProvenAccount:
    """Return the account that a result of `eth_getProof` proves.

    Raises: ProofError: the result proves nothing about the address under this state root.
    """
    encoded = _verify(_get(proof, "accountProof"), state_root, keccak(address))
    if encoded is None:
        return ProvenAccount(0, 0, BLANK_ROOT_HASH, EMPTY_SHA3)
    account = _decode(encoded, Account, "account")
    if account.nonce > MAX_NONCE or account.balance > MAX_WORD:
        raise ProofError("its account has a nonce or a balance that no account can have")
    return ProvenAccount(account.nonce, account.balance, account.storage_root, account.code_hash)


def verify_slots(proof: object, account: ProvenAccount, slots: Sequence[int]) -> list[int]:
    """Return the values of the slots that a result of `eth_getProof` proves, in order.

    Raises: ProofError: the result proves nothing about one of the slots of this account.
    """
    entries = _get(proof, "storageProof")
    if not isinstance(entries, list) or len(entries) != len(slots):
        number = "one storage proof" if len(slots) == 1 else f"{len(slots)} storage proofs"
        raise ProofError(f"it does not have {number}")
    return [_verify_slot(entry, account, slot) for entry, slot in zip(entries, slots, strict=True)]


def _verify_slot(entry: object, account: ProvenAccount, slot: int) -> int:
    nodes = _get(entry, "proof")
    encoded = _verify(nodes, account.storage_root, keccak(slot.to_bytes(32, "big")))
    if encoded is None:
        return 0
    value = int(_decode(encoded, big_endian_int, f"value of slot {slot}"))
    if value > MAX_WORD:
        raise ProofError(f"its value of slot {slot} has {value.bit_length()} bits, at most 256")
    return value


def _decode(encoded: bytes, sedes: Any, name: str) -> Any:  # noqa: ANN401 - as of rlp
    """Return the object of RLP. rlp's integers fail on a list with a TypeError."""
    try:
        return rlp.decode(encoded, sedes)
    except (rlp.exceptions.RLPException, TypeError) as error:
        raise ProofError(f"its {name} is not one of Ethereum") from error


def _get(proof: object, name: str) -> object:
    if not isinstance(proof, dict) or name not in proof:
        raise ProofError(f"it has no {name}")
    return proof[name]


def _verify(nodes: object, root: bytes, key: bytes) -> bytes | None:
    """Return the value of a key under a root, by the nodes of the path, or None."""
    try:
        found = _index_nodes(nodes)
        return Trie(found, root, StateCache()).get(key.hex())
    except MissingNodeError as error:
        raise ProofError(
            f"node 0x{error.node_hash.hex()} under the root 0x{root.hex()} is missing in it"
        ) from error
    except (TypeError, ValueError, IndexError) as error:
        raise ProofError("its nodes are not those of a trie") from error


def _index_nodes(nodes: object) -> Mapping[bytes, bytes]:
    if not isinstance(nodes, list):
        raise TypeError
    encoded = [bytes.fromhex(str(node).removeprefix("0x")) for node in nodes]
    return {keccak(node): node for node in encoded}
