"""Proofs are valid for the state root, and for no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth_utils import keccak, to_hex
from trie.exceptions import BadTrieProof
from trie.hexary import HexaryTrie

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

STORES = NOBODY
CODE = asm("PUSH0 CALLDATALOAD 0x20 CALLDATALOAD SSTORE STOP")


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    one = serve(codes={STORES: CODE})
    for slot in range(20):
        data = to_hex((slot + 100).to_bytes(32, "big") + slot.to_bytes(32, "big"))
        one.ask("eth_sendTransaction", {"to": to_hex(STORES), "data": data})
    return one


def proven(root: str, key: bytes, nodes: list[str]) -> bytes:
    raw = [rlp.decode(bytes.fromhex(node[2:])) for node in nodes]
    return bytes(HexaryTrie.get_from_proof(bytes.fromhex(root[2:]), keccak(key), raw))  # type: ignore[no-untyped-call]


def account_of(proof: dict[str, Any], root: str) -> list[bytes]:
    key = bytes.fromhex(proof["address"][2:])
    return rlp.decode(proven(root, key, proof["accountProof"]))  # type: ignore[no-any-return]


def test_an_account_and_its_slots_are_proven(served: Served) -> None:
    slots = [0, 7, 19, 50]
    proof = served.ask("eth_getProof", to_hex(STORES), [hex(slot) for slot in slots], "latest")
    root = served.ask("eth_getBlockByNumber", "latest")["stateRoot"]
    nonce, balance, storage_root, code_hash = account_of(proof, root)
    assert (int.from_bytes(nonce, "big"), int.from_bytes(balance, "big")) == (0, 0)
    assert proof["codeHash"] == to_hex(code_hash) == to_hex(keccak(CODE))
    assert proof["storageHash"] == to_hex(storage_root)
    for slot, one in zip(slots, proof["storageProof"], strict=True):
        found = proven(proof["storageHash"], slot.to_bytes(32, "big"), one["proof"])
        value = int.from_bytes(rlp.decode(found), "big") if found else 0
        assert one == {"key": hex(slot), "value": hex(value), "proof": one["proof"]}
        assert value == (slot + 100 if slot < 20 else 0)


def test_a_proof_holds_for_its_own_block_alone(served: Served) -> None:
    proof = served.ask("eth_getProof", to_hex(STORES), [], "0x3")
    assert account_of(proof, served.ask("eth_getBlockByNumber", "0x3")["stateRoot"])
    with pytest.raises(BadTrieProof):
        account_of(proof, served.ask("eth_getBlockByNumber", "0x4")["stateRoot"])


def test_that_there_is_no_account_is_proven_too(served: Served) -> None:
    missing = "0x" + "77" * 20
    proof = served.ask("eth_getProof", missing, ["0x" + "00" * 32], "latest")
    root = served.ask("eth_getBlockByNumber", "latest")["stateRoot"]
    assert proven(root, b"\x77" * 20, proof["accountProof"]) == b""
    assert (proof["balance"], proof["nonce"]) == ("0x0", "0x0")
    (one,) = proof["storageProof"]
    assert one == {"key": "0x" + "00" * 32, "value": "0x0", "proof": one["proof"]}


def test_accounts_and_slots_at_once(served: Served) -> None:
    found = served.ask("eth_getAccountInfo", to_hex(STORES))
    assert found == {"balance": "0x0", "nonce": "0x0", "code": to_hex(CODE)}
    account = served.ask("eth_getAccount", to_hex(ADDRESSES[0]))
    assert account["nonce"] == hex(20)
    values = served.ask("eth_getStorageValues", {to_hex(STORES): ["0x1", "0x63"]}, "latest")
    assert values == {to_hex(STORES): [f"0x{101:064x}", "0x" + "00" * 32]}
    with pytest.raises(RefusedError, match="must have at least one slot"):
        served.ask("eth_getStorageValues", {}, "latest")
    with pytest.raises(RefusedError, match="too many slots: 1025, at most 1024"):
        served.ask("eth_getProof", to_hex(STORES), ["0x1"] * 1_025)
