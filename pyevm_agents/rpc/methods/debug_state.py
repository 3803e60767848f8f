"""`debug_*` methods that read the chain: raw blocks and receipts, states, storage ranges.

A storage trie has the hashes of slots, not the slots. Known are the slots that the block's
transactions touch, and the first ones, where compilers put values that are not in a mapping or an
array.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import rlp
from eth_utils import keccak
from rlp.sedes import big_endian_int
from trie.hexary import HexaryTrie
from trie.iter import NodeIterator

from precompiles.spec import WORD_BYTES
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import resolve_header
from pyevm_agents.rpc.block_views import require_ethereum_state
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_state import require_record
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_data,
    parse_hash32,
    parse_quantity,
    parse_text,
    parse_uint64,
)
from pyevm_agents.rpc.replay import make_touched_state_tracer, trace_transactions
from pyevm_agents.state.proofs import prove
from pyevm_agents.tracing.witness import build_execution_witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json


METHODS = MethodTable()

MAX_SLOTS = 1_024
"""The most slots of one request."""

FIRST_SLOTS = 1_024
"""Slots from 0 whose hashes are precomputed."""


@METHODS.method("debug_codeByHash", parse_hash32, optional(parse_block_id, LATEST))
def code_by_hash(rpc: RequestContext, code_hash: bytes, block: BlockId) -> str:
    """Return the code with a hash, empty if unknown.

    Code is never deleted, so the result does not depend on the block.
    """
    resolve_header(rpc.node, block)
    rows = rpc.node.chain.rows
    if not rows.exists(code_hash) or keccak(code := rows[code_hash]) != code_hash:
        return "0x"
    return serializers.encode_data(code)


def parse_row_key(value: object, name: str) -> bytes:
    """Parse a database key: bytes in hexadecimal, or a string."""
    text = parse_text(value, name)
    return parse_data(text, name) if text.startswith("0x") else text.encode(errors="surrogatepass")


@METHODS.method("debug_dbGet", parse_row_key)
def db_get(rpc: RequestContext, key: bytes) -> str:
    """Return a value of the node's database by key."""
    rows = rpc.node.chain.rows
    if not rows.exists(key):
        raise RpcError(SERVER_ERROR, f"not found: key {serializers.encode_data(key)}")
    return serializers.encode_data(rows[key])


@METHODS.method("debug_executionWitness", parse_block_id)
def debug_execution_witness(rpc: RequestContext, number: BlockId) -> Json:
    """Return the execution witness of a block: trie nodes, codes, keys, and earlier headers."""
    require_ethereum_state(rpc, "execution witnesses")
    record = require_record(rpc, number)
    if record.block.number == 0:
        raise RpcError(SERVER_ERROR, "block 0 is the genesis block: it is not executed")
    witness = build_execution_witness(rpc.node.chain, record)
    return {
        "state": [serializers.encode_data(node) for node in witness.nodes],
        "codes": [serializers.encode_data(code) for code in witness.codes],
        "keys": [serializers.encode_data(key) for key in witness.keys],
        "headers": [serializers.encode_data(header) for header in witness.headers],
    }


def parse_slot_limit(value: object, name: str) -> int:
    """Parse the number of slots of a range."""
    limit = parse_quantity(value, name)
    if not 1 <= limit <= MAX_SLOTS:
        raise invalid_param_error(name, value, f"must be 1 to {MAX_SLOTS} slots")
    return limit


def parse_start_key(value: object, name: str) -> bytes:
    """Parse the slot hash that a range starts with: bytes, padded with zeros."""
    key = parse_data(value, name)
    if len(key) > len(keccak(b"")):
        raise invalid_param_error(name, value, "must be at most 32 bytes")
    return key.ljust(len(keccak(b"")), b"\0")


@METHODS.method(
    "debug_storageRangeAt",
    parse_block_id,
    parse_uint64,
    parse_address,
    parse_start_key,
    parse_slot_limit,
)
def debug_storage_range_at(  # noqa: PLR0913, PLR0917 - JSON-RPC has places
    rpc: RequestContext,
    block_hash: BlockId,
    transaction_index: int,
    account: Address,
    key_start: bytes,
    max_result: int,
) -> Json:
    """Return slots of an account, ordered by hash, before a transaction of a block."""
    require_ethereum_state(rpc, "storage ranges")
    record = require_record(rpc, block_hash)
    count = len(record.block.transactions)
    if transaction_index > count:
        raise RpcError(
            SERVER_ERROR,
            f"transaction index {transaction_index} out of range: block "
            f"{record.block.number} has {count}",
        )
    slots, following = read_storage_range(
        rpc, record, transaction_index, account, key_start, max_result
    )
    return {
        "storage": {
            serializers.encode_data(entry.path): {
                "key": None if entry.slot is None else serializers.encode_word(entry.slot),
                "value": serializers.encode_word(entry.value),
            }
            for entry in slots
        },
        "nextKey": None if following is None else serializers.encode_data(following),
    }


@METHODS.method("debug_getRawBlock", parse_block_id)
def get_raw_block(rpc: RequestContext, number: BlockId) -> str:
    """Return a block's RLP."""
    return serializers.encode_data(rlp.encode(require_record(rpc, number).block))


@METHODS.method("debug_getRawHeader", parse_block_id)
def get_raw_header(rpc: RequestContext, number: BlockId) -> str:
    """Return a header's RLP."""
    return serializers.encode_data(rlp.encode(require_record(rpc, number).block.header))


@METHODS.method("debug_getRawReceipts", parse_block_id)
def get_raw_receipts(rpc: RequestContext, number: BlockId) -> list[str]:
    """Return the encoded receipts of a block, as in the receipt trie."""
    return [
        serializers.encode_data(receipt.encode())
        for receipt in require_record(rpc, number).receipts
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlot:
    """A non-zero slot."""

    path: bytes
    """The hash of the slot, its path in the trie."""

    slot: int | None
    """None if only the hash is known."""

    value: int


def read_storage_range(  # noqa: PLR0913, PLR0917 - the parameters of the method
    rpc: RequestContext, record: BlockRecord, index: int, account: Address, start: bytes, limit: int
) -> tuple[list[StoredSlot], bytes | None]:
    """Return slots before a transaction of a block, and the hash of the next slot.

    Changes by the block's system calls, before the first transaction, are not included.
    """
    changed = _collect_changed_slots(rpc, record, index, account)
    entries = heapq.merge(
        (
            entry
            for entry in _iter_initial_slots(rpc, record, account, start)
            if entry.path not in changed
        ),
        (changed[path] for path in sorted(changed) if path >= start and changed[path].value),
        key=lambda entry: entry.path,
    )
    slots = [*islice(entries, limit + 1)]
    following = slots[limit].path if len(slots) > limit else None
    return slots[:limit], following


def _collect_changed_slots(
    rpc: RequestContext, record: BlockRecord, index: int, account: Address
) -> dict[bytes, StoredSlot]:
    """Return the slots that the block's earlier transactions touch, with their new values."""
    slots: dict[int, int] = {}
    for touched in trace_transactions(rpc, record, make_touched_state_tracer, range(index)):
        if account in touched.after:
            slots |= touched.after[account].storage
    return {
        _hash_slot(slot): StoredSlot(path=_hash_slot(slot), slot=slot, value=value)
        for slot, value in slots.items()
    }


def _iter_initial_slots(
    rpc: RequestContext, record: BlockRecord, account: Address, start: bytes
) -> Iterator[StoredSlot]:
    """Yield the slots before the block."""
    chain, header = rpc.node.chain, record.block.header
    root = chain.state_root_before(header) if header.block_number else header.state_root
    storage_root = prove(chain.rows, root, account, ()).account.storage_root
    trie = HexaryTrie(chain.rows, storage_root)
    paths = NodeIterator(trie)
    path = start if start in trie else paths.next(start)
    known = _hash_first_slots()
    while path is not None:
        value = rlp.decode(trie[path], sedes=big_endian_int)
        yield StoredSlot(path=path, slot=known.get(path), value=value)
        path = paths.next(path)


def _hash_slot(slot: int) -> bytes:
    return bytes(keccak(slot.to_bytes(WORD_BYTES, "big")))


@cache
def _hash_first_slots() -> dict[bytes, int]:
    return {_hash_slot(slot): slot for slot in range(FIRST_SLOTS)}
