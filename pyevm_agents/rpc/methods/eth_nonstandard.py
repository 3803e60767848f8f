"""`eth_*` methods of other nodes that execution-apis lacks, and those of proof of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import resolve_header
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.methods.eth_state import find_record, get_transaction_by_hash
from pyevm_agents.rpc.params import (
    BlockId,
    parse_address,
    parse_block_id,
    parse_hash32,
    parse_uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import StateAPI
    from eth_typing import Address

    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()


@METHODS.method("eth_coinbase")
def coinbase(rpc: RequestContext) -> str:
    """Return the fee recipient of the next block."""
    return serializers.encode_data(rpc.node.next_block.build_header().coinbase)


@METHODS.method("eth_hashrate", is_quick=True)
def hashrate(rpc: RequestContext) -> str:  # noqa: ARG001 - the signature of a method
    """Return 0: the chain has no proof of work."""
    return "0x0"


@METHODS.method("eth_mining", is_quick=True)
def mining(rpc: RequestContext) -> bool:
    """Return whether automine or interval mining is on."""
    return rpc.node.mining.is_automatic or rpc.node.mining.interval_seconds > 0


@METHODS.method("eth_networkId", is_quick=True)
def network_id(rpc: RequestContext) -> int:
    """Return the chain id as a JSON number."""
    return rpc.node.chain.config.chain_id


@METHODS.method("eth_pendingTransactions")
def pending_transactions(rpc: RequestContext) -> list[Json]:
    """Return all transactions in the pool."""
    waiting = rpc.node.pool.content(rpc.node.chain.nonce)
    return [
        serializers.serialize_transaction(entry.transaction)
        for lines in waiting
        for line in lines.values()
        for entry in line
    ]


@METHODS.method("eth_getTransactionBySenderAndNonce", parse_address, parse_uint64)
def get_transaction_by_sender_and_nonce(
    rpc: RequestContext, account: Address, nonce: int
) -> Json | None:
    """Return an account's mined or pending transaction by nonce, null if unknown."""
    for waiting in rpc.node.pool.list_by_sender(account):
        if waiting.transaction.nonce == nonce:
            return get_transaction_by_hash(rpc, waiting.transaction.hash)
    number = find_first_block(rpc, lambda state: state.get_nonce(account) > nonce)
    if number is None:
        return None
    for transaction in rpc.node.chain.block(number).transactions:
        if transaction.sender == account and transaction.nonce == nonce:
            return get_transaction_by_hash(rpc, transaction.hash)
    return None


def find_first_block(rpc: RequestContext, condition: Callable[[StateAPI], bool]) -> int | None:
    """Return the first block whose state satisfies a monotonic condition; None if no block does."""
    chain = rpc.node.chain
    low, high = 0, int(chain.head.block_number)
    if not condition(chain.state()):
        return None
    while low < high:
        middle = (low + high) // 2
        if condition(chain.state(resolve_header(rpc.node, BlockId(number=middle)))):
            high = middle
        else:
            low = middle + 1
    return low


@METHODS.method("eth_getUncleByBlockNumberAndIndex", parse_block_id, parse_uint64)
def get_uncle_by_number_and_index(rpc: RequestContext, number: BlockId, index: int) -> Json | None:
    """Return an uncle of a block by index, null if absent."""
    record = find_record(rpc, number)
    if record is None or index >= len(record.block.uncles):
        return None
    return serializers.serialize_header(record.block.uncles[index])


@METHODS.method("eth_getUncleByBlockHashAndIndex", parse_hash32, parse_uint64)
def get_uncle_by_hash_and_index(rpc: RequestContext, block_hash: bytes, index: int) -> Json | None:
    """Return an uncle of a block by index, null if absent."""
    return get_uncle_by_number_and_index(rpc, BlockId(hash=block_hash), index)


@METHODS.method("eth_getRawTransactionByHash", "debug_getRawTransaction", parse_hash32)
def get_raw_transaction_by_hash(rpc: RequestContext, transaction_hash: bytes) -> str | None:
    """Return the encoded bytes of a mined or pending transaction, null if unknown."""
    waiting = rpc.node.pool.get(
        transaction_hash
    )  # First: a block is stored, then the pool emptied.
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is not None:
        record, index = match
        return serializers.encode_data(record.block.transactions[index].encode())
    return None if waiting is None else serializers.encode_data(waiting.transaction.encode())


@METHODS.method("eth_getRawTransactionByBlockNumberAndIndex", parse_block_id, parse_uint64)
def get_raw_transaction_by_number_and_index(
    rpc: RequestContext, number: BlockId, index: int
) -> str | None:
    """Return the encoded bytes of a block's transaction by index, null if absent."""
    record = find_record(rpc, number)
    if record is None or index >= len(record.block.transactions):
        return None
    return serializers.encode_data(record.block.transactions[index].encode())


@METHODS.method("eth_getRawTransactionByBlockHashAndIndex", parse_hash32, parse_uint64)
def get_raw_transaction_by_hash_and_index(
    rpc: RequestContext, block_hash: bytes, index: int
) -> str | None:
    """Return the encoded bytes of a block's transaction by index, null if absent."""
    return get_raw_transaction_by_number_and_index(rpc, BlockId(hash=block_hash), index)
