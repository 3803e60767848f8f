"""`ots_*` methods for the block explorer Otterscan, with searches by account.

Source: Otterscan's documentation of its JSON-RPC extensions, also where Erigon and anvil differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH

from pyevm_agents.chain.transactions import effective_gas_price
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import find_first_number, resolve_header
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_nonstandard import (
    find_first_block,
    get_transaction_by_sender_and_nonce,
)
from pyevm_agents.rpc.methods.eth_state import (
    find_executed_record,
    get_code,
    get_header_by_number,
    require_record,
    serialize_block_receipts,
)
from pyevm_agents.rpc.params import (
    LATEST,
    UINT64,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_hash32,
    parse_quantity,
    parse_uint64,
)
from pyevm_agents.rpc.replay import find_mined, trace_at_index, trace_transactions
from pyevm_agents.tracing import CallTree, TraceBudget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.replay import TracerFactory
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing.tracer import CallFrame


METHODS = MethodTable()

MAX_EXECUTED = 500
"""The most blocks that one search re-executes; indexed blocks are not counted."""

MAX_SCANNED = 50_000
"""The most blocks that one search visits, empty ones included."""

API_LEVEL = 8
"""The least level that Otterscan accepts. Source: its `src/params.ts`."""

MAX_PAGE = 1_000
SELECTOR_DIGITS = len("0x12345678")

TRANSFER, SELF_DESTRUCT, CREATION, CREATION_WITH_SALT = range(4)
OPERATIONS = {
    "CALL": TRANSFER,
    "SELFDESTRUCT": SELF_DESTRUCT,
    "CREATE": CREATION,
    "CREATE2": CREATION_WITH_SALT,
}
"""Otterscan's numbers of the calls that move ether, or create or destroy contracts."""

CREATIONS = (CREATION, CREATION_WITH_SALT)
MOVE_NOTHING = frozenset({"STATICCALL", "DELEGATECALL"})
SUCCESS = b"\x01"
"""A receipt's status (EIP-658)."""


@METHODS.method("ots_getApiLevel", is_quick=True)
def get_api_level(rpc: RequestContext) -> int:  # noqa: ARG001 - the signature of a method
    """Return the version of Otterscan's methods."""
    return API_LEVEL


@METHODS.method("erigon_getHeaderByNumber", parse_block_id)
def erigon_get_header_by_number(rpc: RequestContext, number: BlockId) -> Json | None:
    """Return a block's header, null if unknown; Otterscan detects a node by this method."""
    return get_header_by_number(rpc, number)


@METHODS.method("ots_hasCode", parse_address, optional(parse_block_id, LATEST))
def has_code(rpc: RequestContext, account: Address, block: BlockId) -> bool:
    """Return whether an account has code, or delegates to code."""
    return get_code(rpc, account, block) != "0x"


@METHODS.method("ots_getBlockDetails", parse_block_id)
def get_block_details(rpc: RequestContext, number: BlockId) -> Json | None:
    """Return a block without transactions, with the total fees, null if unknown."""
    record = find_executed_record(rpc, number)
    if record is None:
        return None
    fees = zip(_compute_gas_prices(record), serialize_block_receipts(rpc, record), strict=True)
    return {
        "block": _serialize_slim_block(record),
        "issuance": {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"},
        "totalFees": hex(sum(price * int(str(receipt["gasUsed"]), 16) for price, receipt in fees)),
    }


@METHODS.method("ots_getBlockDetailsByHash", parse_hash32)
def get_block_details_by_hash(rpc: RequestContext, block_hash: bytes) -> Json | None:
    """Return a block without transactions, with the total fees, null if unknown."""
    return get_block_details(rpc, BlockId(hash=block_hash))


def parse_page_size(value: object, name: str) -> int:
    """Parse the size of a page."""
    size = parse_quantity(value, name, UINT64)
    if not 1 <= size <= MAX_PAGE:
        raise invalid_param_error(name, value, f"must be a page of 1 to {MAX_PAGE} entries")
    return size


@METHODS.method("ots_getBlockTransactions", parse_block_id, parse_uint64, parse_page_size)
def get_block_transactions(
    rpc: RequestContext, number: BlockId, page_number: int, page_size: int
) -> Json | None:
    """Return a page of a block's transactions and receipts; page 0 is the first."""
    record = find_executed_record(rpc, number)
    if record is None:
        return None
    page = slice(page_number * page_size, (page_number + 1) * page_size)
    indices = range(len(record.block.transactions))[page]
    transactions = [
        serializers.serialize_transaction(record.block.transactions[index], record, index)
        for index in indices
    ]
    for transaction in transactions:
        transaction["input"] = str(transaction["input"])[:SELECTOR_DIGITS]
    return {
        "fullblock": _serialize_slim_block(record) | {"transactions": transactions},
        "receipts": [
            with_timestamp(receipt, record) | {"logs": None, "logsBloom": None}
            for receipt in serialize_block_receipts(rpc, record)[page]
        ],
    }


@METHODS.method("ots_getTransactionBySenderAndNonce", parse_address, parse_uint64)
def get_hash_by_sender_and_nonce(rpc: RequestContext, account: Address, nonce: int) -> object:
    """Return the hash of an account's transaction by nonce, null if unknown."""
    transaction = get_transaction_by_sender_and_nonce(rpc, account, nonce)
    return None if transaction is None else transaction["hash"]


@METHODS.method("ots_getTransactionError", parse_hash32)
def get_transaction_error(rpc: RequestContext, transaction_hash: bytes) -> str:
    """Return the revert data of a failed transaction, empty for one that succeeded."""
    record, index = find_mined(rpc, transaction_hash)
    if record.receipts[index].state_root == SUCCESS:
        return "0x"
    return serializers.encode_data(_trace_frames(rpc, transaction_hash)[0].output)


@METHODS.method("ots_getInternalOperations", parse_hash32)
def get_internal_operations(rpc: RequestContext, transaction_hash: bytes) -> list[Json]:
    """Return a transaction's internal ether transfers, contract creations and SELFDESTRUCTs."""
    return [
        {
            "type": OPERATIONS[frame.kind],
            "from": serializers.encode_data(frame.sender),
            "to": serializers.encode_data(frame.to),
            "value": hex(frame.value_wei or 0),
        }
        for frame in _trace_frames(rpc, transaction_hash, with_reverted=False)
        if frame.depth and _is_operation(frame)
    ]


@METHODS.method("ots_traceTransaction", parse_hash32)
def trace_transaction(rpc: RequestContext, transaction_hash: bytes) -> list[Json]:
    """Return a transaction's calls in pre-order, each with the depth."""
    return [
        {
            "type": frame.kind,
            "depth": frame.depth,
            "from": serializers.encode_data(frame.sender),
            "to": serializers.encode_data(frame.to),
            "value": None if frame.kind in MOVE_NOTHING else hex(frame.value_wei or 0),
            "input": serializers.encode_data(frame.input),
            "output": serializers.encode_data(frame.output),
        }
        for frame in _trace_frames(rpc, transaction_hash)
    ]


@METHODS.method("ots_getContractCreator", parse_address)
def get_contract_creator(rpc: RequestContext, account: Address) -> Json | None:
    """Return the creator of a contract and the transaction, null if not created in one."""
    number = find_first_block(rpc, lambda state: bool(state.get_code(account)))
    if number is None:
        return None
    record = require_record(rpc, BlockId(number=number))
    trees = trace_transactions(rpc, record, call_tracers(rpc.open_trace_budget()))
    for transaction, calls in zip(record.block.transactions, trees, strict=True):
        for node, failed in calls.walk_nodes():
            is_creation = OPERATIONS.get(node.frame.kind) in CREATIONS
            if is_creation and not failed and node.frame.to == account:
                return {
                    "hash": serializers.encode_data(transaction.hash),
                    "creator": serializers.encode_data(node.frame.sender),
                }
    return None


def call_tracers(budget: TraceBudget) -> TracerFactory[CallTree]:
    """Return a factory of tracers that record calls and share a budget."""
    return lambda _at, _logs_before: CallTree(budget)


def with_timestamp(receipt: Json, record: BlockRecord) -> Json:
    """Return a receipt with the block's time."""
    return receipt | {"timestamp": hex(record.block.header.timestamp)}


def _trace_frames(
    rpc: RequestContext, transaction_hash: bytes, *, with_reverted: bool = True
) -> list[CallFrame]:
    """Return a transaction's calls, starting with the top-level one."""
    tracers = call_tracers(rpc.open_trace_budget())
    calls = trace_at_index(rpc, *find_mined(rpc, transaction_hash), tracers)
    return [node.frame for node, reverted in calls.walk_nodes() if with_reverted or not reverted]


def _is_operation(frame: CallFrame) -> bool:
    return bool(frame.value_wei) if frame.kind == "CALL" else frame.kind in OPERATIONS


def _compute_gas_prices(record: BlockRecord) -> list[int]:
    base_fee = record.block.header.as_dict().get("base_fee_per_gas")
    return [effective_gas_price(transaction, base_fee) for transaction in record.block.transactions]


def _serialize_slim_block(record: BlockRecord) -> Json:
    """Serialize a block without the fields that Otterscan ignores."""
    form = serializers.serialize_block(record, is_full=False)
    del form["transactions"]
    return form | {"logsBloom": None, "transactionCount": len(record.block.transactions)}


@METHODS.method("ots_searchTransactionsBefore", parse_address, parse_uint64, parse_page_size)
def search_transactions_before(
    rpc: RequestContext, account: Address, block_number: int, page_size: int
) -> Json:
    """Return transactions of an account before a block (0: the latest), newest first."""
    head = int(rpc.node.chain.head.block_number)
    first = head if block_number == 0 else min(block_number - 1, head)
    page = _search(rpc, account, range(first, find_first_number(rpc.node) - 1, -1), page_size)
    newest_first = [(record, index) for record, places in page.blocks for index in places[::-1]]
    return _serialize_page(rpc, newest_first) | {
        "firstPage": block_number == 0 or block_number > head,
        "lastPage": page.is_exhausted,
    }


@METHODS.method("ots_searchTransactionsAfter", parse_address, parse_uint64, parse_page_size)
def search_transactions_after(
    rpc: RequestContext, account: Address, block_number: int, page_size: int
) -> Json:
    """Return transactions of an account after a block (0: the first), newest first."""
    head = int(rpc.node.chain.head.block_number)
    first = max(block_number + 1, find_first_number(rpc.node))
    page = _search(rpc, account, range(first, head + 1), page_size)
    oldest_first = [(record, index) for record, places in page.blocks for index in places]
    return _serialize_page(rpc, oldest_first[::-1]) | {
        "firstPage": page.is_exhausted,
        "lastPage": block_number == 0,
    }


@dataclass(slots=True, kw_only=True)
class _SearchResult:
    blocks: list[tuple[BlockRecord, list[int]]] = field(default_factory=list)
    """Blocks, each with the indices of the matching transactions."""

    is_exhausted: bool = False
    """Whether the search visited all blocks."""


def _search(
    rpc: RequestContext, account: Address, numbers: Sequence[int], page_size: int
) -> _SearchResult:
    """Search blocks until a page is full; a page contains all matches of the last block.

    Raises: RpcError: no match within the limits of one search.
            BlockNotFoundError: blocks were rolled back during the search.
    """
    chain, page, count, executed = rpc.node.chain, _SearchResult(), 0, 0
    for number in numbers[:MAX_SCANNED]:
        if count >= page_size:
            return page
        header = resolve_header(rpc.node, BlockId(number=number))
        if header.transaction_root == BLANK_ROOT_HASH:
            continue
        parties = rpc.address_index.get(header.hash)
        if parties is None:
            if executed == MAX_EXECUTED:
                return _stop_search(page, account, numbers[: numbers.index(number)])
            executed += 1
            record = chain.block_with_receipts(header)
            with TraceBudget(pool=rpc.trace_pool) as budget:
                execute = partial(trace_transactions, rpc, record, call_tracers(budget))
                parties = rpc.address_index.find(header.hash, execute)
        if places := [index for index, accounts in enumerate(parties) if account in accounts]:
            page.blocks.append((chain.block_with_receipts(header), places))
            count += len(places)
    if len(numbers) > MAX_SCANNED:
        return _stop_search(page, account, numbers[:MAX_SCANNED])
    page.is_exhausted = True
    return page


def _stop_search(page: _SearchResult, account: Address, visited: Sequence[int]) -> _SearchResult:
    """Return the matches of a search that reached the limits."""
    if not page.blocks:
        raise RpcError(
            LIMIT_EXCEEDED,
            f"no transaction of {serializers.encode_data(account)} in blocks {visited[0]} to "
            f"{visited[-1]}; continue the search from block {visited[-1]}",
        )
    return page


def _serialize_page(rpc: RequestContext, places: list[tuple[BlockRecord, int]]) -> Json:
    records = {record.block.header.hash: record for record, _ in places}
    receipts = {key: serialize_block_receipts(rpc, record) for key, record in records.items()}
    return {
        "txs": [
            serializers.serialize_transaction(record.block.transactions[index], record, index)
            for record, index in places
        ],
        "receipts": [
            with_timestamp(receipts[record.block.header.hash][index], record)
            for record, index in places
        ],
    }
