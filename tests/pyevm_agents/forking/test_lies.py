"""Answers of a remote that lies: values that no account, slot or header can have."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth_hash.auto import keccak
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.forking.headers import HeaderMismatchError, parse_header
from pyevm_agents.forking.proofs import ProofError, ProvenAccount, verify_account, verify_slots
from pyevm_agents.rpc.errors import INTERNAL_ERROR
from tests.pyevm_agents.forking.fake_remote import CONTRACT, build_remote_chain, fake_remote
from tests.pyevm_agents.forking.forked_node import forked_node
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.forking.fake_remote import FakeRemote
    from tests.pyevm_agents.rpc.served import Served

STRANGER = Address(b"\x99" * 20)
PATH = b"\x20"
"""A leaf's path of an even number of nibbles."""


@pytest.fixture(scope="module")
def remote() -> Iterator[FakeRemote]:
    served = build_remote_chain()
    with fake_remote(served) as it:
        yield it
    served.close()


def build_leaf(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return the only node of a trie, and the trie's root."""
    node = rlp.encode([PATH + keccak(key), value])
    return bytes(node), bytes(keccak(node))


@pytest.mark.parametrize(
    ("nonce", "balance"), [(2**64, 0), (0, 2**256), (2**600, 2**600), (2**64 - 1, 2**256 - 1)]
)
def test_an_account_has_a_possible_nonce_and_balance(nonce: int, balance: int) -> None:
    value = bytes(rlp.encode([nonce, balance, BLANK_ROOT_HASH, EMPTY_SHA3]))
    node, root = build_leaf(STRANGER, value)
    proof = {"accountProof": ["0x" + node.hex()]}
    if nonce < 2**64 and balance < 2**256:
        assert verify_account(proof, root, STRANGER)[:2] == (nonce, balance)
        return
    with pytest.raises(ProofError):
        verify_account(proof, root, STRANGER)


@pytest.mark.parametrize("value", [2**256, 2**600, [1], [[]], b"\0\1"], ids=str)
def test_a_slot_has_a_possible_value(value: object) -> None:
    node, root = build_leaf((7).to_bytes(32, "big"), bytes(rlp.encode(value)))
    account = ProvenAccount(0, 0, root, EMPTY_SHA3)
    with pytest.raises(ProofError):
        verify_slots({"storageProof": [{"proof": ["0x" + node.hex()]}]}, account, [7])


@given(nodes=st.lists(st.binary(max_size=80), min_size=1, max_size=3))
def test_a_root_of_any_bytes_proves_nothing_or_a_possible_account(nodes: list[bytes]) -> None:
    proof = {"accountProof": ["0x" + node.hex() for node in nodes]}
    try:
        account = verify_account(proof, bytes(keccak(nodes[0])), STRANGER)
    except ProofError:
        return
    assert account.nonce < 2**64
    assert account.balance_wei < 2**256


@pytest.mark.parametrize(
    ("field", "bits"),
    {
        "difficulty": 256, "number": 63, "gasLimit": 63, "gasUsed": 63, "timestamp": 64,
        "baseFeePerGas": 256, "blobGasUsed": 63, "excessBlobGas": 29,
    }.items(),
)  # fmt: skip
def test_a_header_has_possible_quantities(remote: FakeRemote, field: str, bits: int) -> None:
    block = remote.served.ask("eth_getBlockByNumber", "0x1", False)  # noqa: FBT003 - JSON-RPC has places
    with pytest.raises(HeaderMismatchError, match=rf"must be at most 2\^{bits} - 1"):
        parse_header(block | {field: hex(2**bits)})
    with pytest.raises(HeaderMismatchError, match="it states the hash"):
        parse_header(block | {field: hex(2**bits - 1)})
    wrong: object
    for wrong in ("0x", "-0x1", None, [], "0x" + "f" * 5_000):
        with pytest.raises(HeaderMismatchError):
            parse_header(block | {field: wrong, "hash": "0x00"})


ODD: list[Any] = [
    *(None, True, -1, 2**70, "", "0x", "-0x1", "0xzz", "0x" + "f" * 65, "0x" + "f" * 5_000, "ä"),
    *([], {}, [None], [[]], {"number": "0x1"}, {"baseFeePerGas": ["0x1"] * 3}),
]
READS: tuple[tuple[str, list[Any]], ...] = (
    ("eth_feeHistory", ["0x2", "latest", [50]]),
    ("eth_feeHistory", ["0x3", "0x3"]),
    ("eth_getLogs", [{"fromBlock": "earliest", "toBlock": "latest"}]),
    ("eth_getBlockByHash", ["0x" + "12" * 32, True]),
    ("eth_getBlockByNumber", ["0x2", True]),
    ("eth_getTransactionByHash", ["0x" + "13" * 32]),
    ("eth_getTransactionReceipt", ["0x" + "14" * 32]),
    ("debug_traceTransaction", ["0x" + "15" * 32]),
    ("eth_getBlockReceipts", ["0x2"]),
    ("eth_call", [{"to": "0x" + CONTRACT.hex()}, "0x1"]),
    ("trace_block", ["0x2"]),
    ("ots_getBlockDetails", [2]),
)


def change(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 - JSON
    """Return JSON with something else in one place."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.2:
        return chance.choice(ODD)
    if isinstance(value, dict):
        key = chance.choice([*value])
        rest = {name: entry for name, entry in value.items() if name != key}
        return rest if chance.random() < 0.3 else rest | {key: change(value[key], chance)}
    place = chance.randrange(len(value))
    return [*value[:place], change(value[place], chance), *value[place + 1 :]]


def find_bug(node: Served, method: str, params: list[Any]) -> str | None:
    try:
        node.ask(method, *params)
    except RefusedError as error:
        return error.message if error.code == INTERNAL_ERROR else None
    return None


@pytest.mark.parametrize("has_proofs", [True, False])
def test_no_lie_is_an_internal_error(remote: FakeRemote, *, has_proofs: bool) -> None:
    chance = random.Random(int(has_proofs))  # noqa: S311 - the same each time
    remote.faults.has_proofs = has_proofs
    with forked_node(remote.url) as node:
        node.ask("evm_mine")
        remote.faults.change_result = lambda _method, result: change(result, chance)
        bugs: dict[str, object] = {}
        for turn in range(60):
            address = "0x" + (1_000 + turn).to_bytes(20, "big").hex()
            state: list[tuple[str, list[Any]]] = [
                ("eth_getBalance", [address]),
                ("eth_getCode", [address]),
                ("eth_getStorageAt", ["0x" + CONTRACT.hex(), hex(1_000 + turn)]),
                ("eth_estimateGas", [{"to": address, "data": "0x01"}]),
            ]
            for method, params in (*state, chance.choice(READS)):
                if (message := find_bug(node, method, params)) is not None:
                    bugs[message] = (method, params)
        remote.faults.change_result = lambda _method, result: result
    remote.faults.has_proofs = True
    assert not bugs
