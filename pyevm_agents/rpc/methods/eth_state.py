"""`eth_*` methods that read accounts, blocks, transactions and receipts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import BlockNotFoundError, resolve_header
from pyevm_agents.rpc.block_views import resolve_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    parse_address,
    parse_block_id,
    parse_boolean,
    parse_hash32,
    parse_slot,
    parse_uint64,
)
from pyevm_agents.rpc.recent_faults import departure_error

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

DIGITS = re.compile(r"[0-9a-fA-F]{1,64}")
AT = optional(parse_block_id, LATEST)

PENDING_NULL_FIELDS: Json = {"hash": None, "nonce": None, "miner": None}
"""Fields that a pending block lacks. Source: geth, internal/ethapi/api.go."""


@METHODS.method("eth_chainId", is_quick=True)
def chain_id(rpc: RequestContext) -> str:
    """Return the chain id (EIP-155)."""
    return hex(rpc.node.chain.config.chain_id)


@METHODS.method("eth_blockNumber", is_quick=True)
def block_number(rpc: RequestContext) -> str:
    """Return the latest block's number."""
    return hex(rpc.node.chain.head.block_number)


@METHODS.method("eth_accounts", "eth_requestAccounts", is_quick=True)
def accounts(rpc: RequestContext) -> list[str]:
    """Return the accounts that the node can send from: with a key, or impersonated."""
    keys = rpc.node.keys
    return [
        serializers.encode_data(address)
        for address in (*keys.addresses, *sorted(keys.impersonated))
    ]


@METHODS.method("eth_syncing", is_quick=True)
def syncing(rpc: RequestContext) -> bool:  # noqa: ARG001 - the signature of a method
    """Return false: the node has no peers to sync with."""
    return False


@METHODS.method("eth_getBalance", parse_address, AT, is_quick=True)
def get_balance(rpc: RequestContext, account: Address, block: BlockId) -> str:
    """Return an account's balance, in wei."""
    return hex(resolve_view(rpc, block).state.get_balance(account))


@METHODS.method("eth_getTransactionCount", parse_address, AT, is_quick=True)
def get_transaction_count(rpc: RequestContext, account: Address, block: BlockId) -> str:
    """Return an account's nonce; "pending" includes transactions in the pool."""
    if block.tag == "pending":
        return hex(rpc.node.next_nonce(account))
    return hex(resolve_view(rpc, block).state.get_nonce(account))


@METHODS.method("eth_getCode", parse_address, AT, is_quick=True)
def get_code(rpc: RequestContext, account: Address, block: BlockId) -> str:
    """Return an account's code."""
    return serializers.encode_data(resolve_view(rpc, block).state.get_code(account))


def parse_storage_key(value: object, name: str) -> int:
    """Parse a storage slot, with or without 0x, with geth's error of an invalid one."""
    if isinstance(value, str) and DIGITS.fullmatch(value):
        return int(value, 16)
    try:
        return parse_slot(value, name)
    except RpcError as error:
        raise RpcError(INVALID_PARAMS, f"unable to decode storage key: {error.message}") from error


@METHODS.method("eth_getStorageAt", parse_address, parse_storage_key, AT, is_quick=True)
def get_storage_at(rpc: RequestContext, account: Address, position: int, block: BlockId) -> str:
    """Return a storage slot, 32 bytes."""
    return serializers.encode_word(resolve_view(rpc, block).state.get_storage(account, position))


@METHODS.method("eth_getBlockByNumber", parse_block_id, optional(parse_boolean, default=False))
def get_block_by_number(rpc: RequestContext, number: BlockId, full: bool) -> Json | None:  # noqa: FBT001 - JSON-RPC has places
    """Return a block by number or tag, null if unknown."""
    record = find_record(rpc, number)
    if record is None:
        return None
    form = serializers.serialize_block(record, is_full=full)
    if number.tag == "pending":
        form |= PENDING_NULL_FIELDS
    return form


@METHODS.method("eth_getBlockByHash", parse_hash32, optional(parse_boolean, default=False))
def get_block_by_hash(rpc: RequestContext, block_hash: bytes, full: bool) -> Json | None:  # noqa: FBT001 - JSON-RPC has places
    """Return a block by hash, null if unknown."""
    return get_block_by_number(rpc, BlockId(hash=block_hash), full)


@METHODS.method("eth_getHeaderByNumber", parse_block_id)
def get_header_by_number(rpc: RequestContext, number: BlockId) -> Json | None:
    """Return a block's header by number or tag, null if unknown."""
    record = find_record(rpc, number)
    return None if record is None else serializers.serialize_header(record.block.header)


@METHODS.method("eth_getHeaderByHash", parse_hash32)
def get_header_by_hash(rpc: RequestContext, block_hash: bytes) -> Json | None:
    """Return a block's header by hash, null if unknown."""
    return get_header_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getBlockTransactionCountByNumber", parse_block_id)
def get_block_transaction_count_by_number(rpc: RequestContext, number: BlockId) -> str | None:
    """Return the number of transactions of a block, null if unknown."""
    record = find_record(rpc, number)
    return None if record is None else hex(len(record.block.transactions))


@METHODS.method("eth_getBlockTransactionCountByHash", parse_hash32)
def get_block_transaction_count_by_hash(rpc: RequestContext, block_hash: bytes) -> str | None:
    """Return the number of transactions of a block, null if unknown."""
    return get_block_transaction_count_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getUncleCountByBlockNumber", parse_block_id)
def get_uncle_count_by_number(rpc: RequestContext, number: BlockId) -> str | None:
    """Return the number of uncles of a block, null if unknown."""
    record = find_record(rpc, number)
    return None if record is None else hex(len(record.block.uncles))


@METHODS.method("eth_getUncleCountByBlockHash", parse_hash32)
def get_uncle_count_by_hash(rpc: RequestContext, block_hash: bytes) -> str | None:
    """Return the number of uncles of a block, null if unknown."""
    return get_uncle_count_by_number(rpc, BlockId(hash=block_hash))


@METHODS.method("eth_getBlockReceipts", parse_block_id)
def get_block_receipts(rpc: RequestContext, number: BlockId) -> list[Json] | None:
    """Return the receipts of a block, null if unknown."""
    record = find_record(rpc, number)
    # The pending block has no receipts before it is executed.
    if record is None or len(record.receipts) < len(record.block.transactions):
        return None
    return serialize_block_receipts(rpc, record)


@METHODS.method("eth_getTransactionByHash", parse_hash32)
def get_transaction_by_hash(rpc: RequestContext, transaction_hash: bytes) -> Json | None:
    """Return a mined or pending transaction, null if unknown."""
    waiting = rpc.node.pool.get(
        transaction_hash
    )  # First: a block is stored, then the pool emptied.
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is not None:
        record, index = match
        return serializers.serialize_transaction(record.block.transactions[index], record, index)
    return None if waiting is None else serializers.serialize_transaction(waiting.transaction)


@METHODS.method("eth_getTransactionByBlockNumberAndIndex", parse_block_id, parse_uint64)
def get_transaction_by_number_and_index(
    rpc: RequestContext, number: BlockId, index: int
) -> Json | None:
    """Return a block's transaction by index, null if absent."""
    record = find_record(rpc, number)
    if record is None or index >= len(record.block.transactions):
        return None
    return serializers.serialize_transaction(record.block.transactions[index], record, index)


@METHODS.method("eth_getTransactionByBlockHashAndIndex", parse_hash32, parse_uint64)
def get_transaction_by_hash_and_index(
    rpc: RequestContext, block_hash: bytes, index: int
) -> Json | None:
    """Return a block's transaction by index, null if absent."""
    return get_transaction_by_number_and_index(rpc, BlockId(hash=block_hash), index)


@METHODS.method("eth_getTransactionReceipt", parse_hash32)
def get_transaction_receipt(rpc: RequestContext, transaction_hash: bytes) -> Json | None:
    """Return the receipt of a mined transaction, null if not mined.

    Raises: RpcError: the transaction was dropped, because the engine failed.
    """
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is None:
        departure = rpc.node.find_departure(transaction_hash)
        if departure is not None and departure.is_failure:
            raise departure_error(departure)
        return None
    record, index = match
    return serialize_block_receipts(rpc, record)[index]


def serialize_block_receipts(rpc: RequestContext, record: BlockRecord) -> list[Json]:
    """Serialize the receipts of a block."""
    blob_base_fee = None
    if any(tx.type_id == 3 for tx in record.block.transactions):  # noqa: PLR2004 - EIP-4844
        blob_base_fee = rpc.node.chain.state(record.block.header).blob_base_fee
    return [*serializers.serialize_receipts(record, blob_base_fee)]


def find_record(rpc: RequestContext, block: BlockId) -> BlockRecord | None:
    """Return a block with receipts; None if unknown.

    A pending block that needs an inference is not executed, and has no receipts.
    """
    try:
        header = resolve_header(rpc.node, block)
    except BlockNotFoundError:
        return None
    if block.tag == "pending":
        return rpc.node.pending.build_block()
    return rpc.node.chain.block_with_receipts(header)


def find_executed_record(rpc: RequestContext, block: BlockId) -> BlockRecord | None:
    """Return a block with receipts; "pending" without transactions that need an inference."""
    if block.tag == "pending":
        return rpc.node.pending.build_chain().draft
    return find_record(rpc, block)


def require_record(rpc: RequestContext, block: BlockId) -> BlockRecord:
    """Return a block with receipts, as `find_executed_record` does.

    Raises: BlockNotFoundError: the block is unknown.
    """
    record = find_executed_record(rpc, block)
    if record is None:
        raise BlockNotFoundError("header not found")
    return record
