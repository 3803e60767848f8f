"""`eth_*` that read accounts and blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import BlockNotFoundError, header_of
from pyevm_agents.rpc.block_views import view_of
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import LATEST, BlockId, address, block, boolean, hash32, slot, uint64
from pyevm_agents.rpc.recent_faults import fault_told

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.chain import Record
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

DIGITS = re.compile(r"[0-9a-fA-F]{1,64}")
AT = optional(block, LATEST)

NOT_YET: Json = {"hash": None, "nonce": None, "miner": None}
"""What a block has when it is made, and not before. Source: geth's internal/ethapi/api.go."""


@METHODS.method("eth_chainId", is_quick=True)
def chain_id(rpc: Rpc) -> str:
    """Return the chain's id (EIP-155)."""
    return hex(rpc.node.chain.config.chain_id)


@METHODS.method("eth_blockNumber", is_quick=True)
def block_number(rpc: Rpc) -> str:
    """Return the latest block's number."""
    return hex(rpc.node.chain.head.block_number)


@METHODS.method("eth_accounts", "eth_requestAccounts", is_quick=True)
def accounts(rpc: Rpc) -> list[str]:
    """Return the accounts that the node sends for: it has their keys, or impersonates them."""
    keys = rpc.node.keys
    return [serializers.data(one) for one in (*keys.addresses, *sorted(keys.impersonated))]


@METHODS.method("eth_syncing", is_quick=True)
def syncing(rpc: Rpc) -> bool:  # noqa: ARG001 - as all methods
    """Return false: there is nobody to sync with."""
    return False


@METHODS.method("eth_getBalance", address, AT, is_quick=True)
def get_balance(rpc: Rpc, account: Address, block: BlockId) -> str:
    """Return an account's balance, in wei."""
    return hex(view_of(rpc, block).state.get_balance(account))


@METHODS.method("eth_getTransactionCount", address, AT, is_quick=True)
def get_transaction_count(rpc: Rpc, account: Address, block: BlockId) -> str:
    """Return an account's nonce; that of its next transaction where "pending"."""
    if block.tag == "pending":
        return hex(rpc.node.next_nonce(account))
    return hex(view_of(rpc, block).state.get_nonce(account))


@METHODS.method("eth_getCode", address, AT, is_quick=True)
def get_code(rpc: Rpc, account: Address, block: BlockId) -> str:
    """Return an account's code."""
    return serializers.data(view_of(rpc, block).state.get_code(account))


def storage_key(value: object, name: str) -> int:
    """Read a storage slot, without 0x too, as geth; what is none has a code of its own there."""
    if isinstance(value, str) and DIGITS.fullmatch(value):
        return int(value, 16)
    try:
        return slot(value, name)
    except RpcError as error:
        raise RpcError(SERVER_ERROR, f"unable to decode storage key: {error.message}") from error


@METHODS.method("eth_getStorageAt", address, storage_key, AT, is_quick=True)
def get_storage_at(rpc: Rpc, account: Address, position: int, block: BlockId) -> str:
    """Return a storage slot, 32 bytes."""
    return serializers.word(view_of(rpc, block).state.get_storage(account, position))


@METHODS.method("eth_getBlockByNumber", block, optional(boolean, default=False))
def get_block_by_number(rpc: Rpc, number: BlockId, full: bool) -> Json | None:  # noqa: FBT001 - JSON-RPC has places
    """Return a block by number or tag, null where there is none."""
    record = find_record(rpc, number)
    if record is None:
        return None
    form = serializers.block_json(record, is_full=full)
    if number.tag == "pending":
        form |= NOT_YET
    return form


@METHODS.method("eth_getBlockByHash", hash32, optional(boolean, default=False))
def get_block_by_hash(rpc: Rpc, block_hash: bytes, full: bool) -> Json | None:  # noqa: FBT001 - JSON-RPC has places
    """Return a block by hash, null where there is none."""
    return get_block_by_number(rpc, BlockId(hash=block_hash), full)


@METHODS.method("eth_getHeaderByNumber", block)
def get_header_by_number(rpc: Rpc, number: BlockId) -> Json | None:
    """Return a block's header, null where there is none."""
    record = find_record(rpc, number)
    return None if record is None else serializers.header_json(record.block.header)


@METHODS.method("eth_getHeaderByHash", hash32)
def get_header_by_hash(rpc: Rpc, block_hash: bytes) -> Json | None:
    """Return a block's header by its hash, null where there is none."""
    return get_header_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getBlockTransactionCountByNumber", block)
def get_block_transaction_count_by_number(rpc: Rpc, number: BlockId) -> str | None:
    """Return how many transactions a block has, null where there is no such block."""
    record = find_record(rpc, number)
    return None if record is None else hex(len(record.block.transactions))


@METHODS.method("eth_getBlockTransactionCountByHash", hash32)
def get_block_transaction_count_by_hash(rpc: Rpc, block_hash: bytes) -> str | None:
    """Return how many transactions a block has, null where there is no such block."""
    return get_block_transaction_count_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getUncleCountByBlockNumber", block)
def get_uncle_count_by_number(rpc: Rpc, number: BlockId) -> str | None:
    """Return how many uncles a block has, null where there is no such block."""
    record = find_record(rpc, number)
    return None if record is None else hex(len(record.block.uncles))


@METHODS.method("eth_getUncleCountByBlockHash", hash32)
def get_uncle_count_by_hash(rpc: Rpc, block_hash: bytes) -> str | None:
    """Return how many uncles a block has, null where there is no such block."""
    return get_uncle_count_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getBlockReceipts", block)
def get_block_receipts(rpc: Rpc, number: BlockId) -> list[Json] | None:
    """Return the receipts of a block, null where there is no such block."""
    record = find_record(rpc, number)
    # A block that nobody has executed yet has none.
    if record is None or len(record.receipts) < len(record.block.transactions):
        return None
    return receipts_of(rpc, record)


@METHODS.method("eth_getTransactionByHash", hash32)
def get_transaction_by_hash(rpc: Rpc, transaction_hash: bytes) -> Json | None:
    """Return a transaction, mined or waiting, null where there is none."""
    found = rpc.node.chain.find_transaction(transaction_hash)
    if found is not None:
        record, index = found
        return serializers.transaction_json(record.block.transactions[index], record, index)
    waiting = rpc.node.pool.get(transaction_hash)
    return None if waiting is None else serializers.transaction_json(waiting.transaction)


@METHODS.method("eth_getTransactionByBlockNumberAndIndex", block, uint64)
def get_transaction_by_number_and_index(rpc: Rpc, number: BlockId, index: int) -> Json | None:
    """Return a block's transaction by its place, null where there is none."""
    record = find_record(rpc, number)
    if record is None or index >= len(record.block.transactions):
        return None
    return serializers.transaction_json(record.block.transactions[index], record, index)


@METHODS.method("eth_getTransactionByBlockHashAndIndex", hash32, uint64)
def get_transaction_by_hash_and_index(rpc: Rpc, block_hash: bytes, index: int) -> Json | None:
    """Return a block's transaction by its place, null where there is none."""
    return get_transaction_by_number_and_index(rpc, BlockId(hash=block_hash), index)


@METHODS.method("eth_getTransactionReceipt", hash32)
def get_transaction_receipt(rpc: Rpc, transaction_hash: bytes) -> Json | None:
    """Return a mined transaction's receipt, null where there is none.

    Whoever waits for one that the host failed on is told so: there will be none.
    """
    found = rpc.node.chain.find_transaction(transaction_hash)
    if found is None:
        if (fault := rpc.node.fault_of(transaction_hash)) is not None:
            raise fault_told(
                "eth_getTransactionReceipt",
                f"the transaction was dropped, for the host failed: {fault}; send it again",
            )
        return None
    record, index = found
    return receipts_of(rpc, record)[index]


def receipts_of(rpc: Rpc, record: Record) -> list[Json]:
    """Return a block's receipts as JSON."""
    blob_base_fee = None
    if any(one.type_id == 3 for one in record.block.transactions):  # noqa: PLR2004 - EIP-4844
        blob_base_fee = rpc.node.chain.state(record.block.header).blob_base_fee
    return [*serializers.receipts_json(record, blob_base_fee)]


def find_record(rpc: Rpc, block: BlockId) -> Record | None:
    """Return a block with its receipts; None where there is none.

    Where a model has to be asked, "pending" is only listed, and has none.
    """
    try:
        header = header_of(rpc.node, block)
    except BlockNotFoundError:
        return None
    if block.tag == "pending":
        return rpc.node.pending.block()
    return rpc.node.chain.record(header)


def find_executed(rpc: Rpc, block: BlockId) -> Record | None:
    """Return a block with its receipts, "pending" without what a model has to be asked for."""
    if block.tag == "pending":
        return rpc.node.pending.chain().draft
    return find_record(rpc, block)


def record_of(rpc: Rpc, block: BlockId) -> Record:
    """Return a block with its receipts, as `find_executed` does.

    Raises: BlockNotFoundError: there is none.
    """
    record = find_executed(rpc, block)
    if record is None:
        raise BlockNotFoundError("header not found")
    return record
