"""`debug_*` that read what the chain keeps of its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import header_of
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.failures import SERVER_ERROR
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.methods.eth_state import record_of
from pyevm_agents.rpc.methods.storage_range import MAX_SLOTS, storage_range
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    address,
    block,
    data,
    hash32,
    invalid,
    quantity,
    text,
    uint64,
)
from pyevm_agents.tracing.witness import execution_witness

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()


@METHODS.method("debug_codeByHash", hash32, optional(block, LATEST))
def code_by_hash(rpc: Rpc, code_hash: bytes, block: BlockId) -> str:
    """Return the bytes with that hash, a contract's code say; none where the node has none.

    Rows are never taken away, so the block decides nothing.
    """
    header_of(rpc.node, block)
    rows = rpc.node.chain.rows
    if not rows.exists(code_hash) or keccak(code := rows[code_hash]) != code_hash:
        return "0x"
    return serializers.data(code)


def row_key(value: object, name: str) -> bytes:
    """Read a row's key: bytes in hexadecimal, or a text."""
    told = text(value, name)
    return data(told, name) if told.startswith("0x") else told.encode(errors="surrogatepass")


@METHODS.method("debug_dbGet", row_key)
def db_get(rpc: Rpc, key: bytes) -> str:
    """Return a row of the node's database by its key, which is py-evm's or the node's own."""
    rows = rpc.node.chain.rows
    if not rows.exists(key):
        raise RpcError(SERVER_ERROR, f"not found: no row has the key {serializers.data(key)}")
    return serializers.data(rows[key])


@METHODS.method("debug_executionWitness", block)
def debug_execution_witness(rpc: Rpc, number: BlockId) -> Json:
    """Return what a block's execution reads: trie nodes, codes, keys, and headers before it."""
    record = record_of(rpc, number)
    if record.block.number == 0:
        raise RpcError(SERVER_ERROR, "block 0 is the genesis block: nothing executes it")
    witness = execution_witness(rpc.node.chain, record)
    return {
        "state": [serializers.data(node) for node in witness.nodes],
        "codes": [serializers.data(code) for code in witness.codes],
        "keys": [serializers.data(key) for key in witness.keys],
        "headers": [serializers.data(header) for header in witness.headers],
    }


def slot_limit(value: object, name: str) -> int:
    """Read how many slots are wanted."""
    limit = quantity(value, name)
    if not 1 <= limit <= MAX_SLOTS:
        raise invalid(name, value, f"want 1 to {MAX_SLOTS} slots")
    return limit


def start_key(value: object, name: str) -> bytes:
    """Read the hash that a range begins with: bytes, whose rest is zeros."""
    key = data(value, name)
    if len(key) > len(keccak(b"")):
        raise invalid(name, value, "want at most 32 bytes")
    return key.ljust(len(keccak(b"")), b"\0")


@METHODS.method("debug_storageRangeAt", block, uint64, address, start_key, slot_limit)
def debug_storage_range_at(  # noqa: PLR0913, PLR0917 - JSON-RPC has places
    rpc: Rpc,
    block_hash: BlockId,
    transaction_index: int,
    account: Address,
    key_start: bytes,
    max_result: int,
) -> Json:
    """Return slots of an account, by their hashes, as they are before a block's transaction."""
    record = record_of(rpc, block_hash)
    count = len(record.block.transactions)
    if transaction_index > count:
        raise RpcError(
            SERVER_ERROR,
            f"transaction index {transaction_index} out of range: block "
            f"{record.block.number} has {count}",
        )
    slots, following = storage_range(rpc, record, transaction_index, account, key_start, max_result)
    return {
        "storage": {
            serializers.data(one.path): {
                "key": None if one.slot is None else serializers.word(one.slot),
                "value": serializers.word(one.value),
            }
            for one in slots
        },
        "nextKey": None if following is None else serializers.data(following),
    }
