"""`ots_*`: what the block explorer Otterscan shows of one block, transaction or account.

Source: Otterscan's documentation of its JSON-RPC extensions. Erigon serves it for real networks and
anvil for local ones; where they differ we do as the documentation says.

`ots_search*`: the transactions that an account takes part in, a page at a time.

Source: Otterscan's documentation of its JSON-RPC extensions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH

from pyevm_agents.chain.transactions import effective_gas_price
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import header_of
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.methods.eth_nonstandard import (
    first_block,
    get_transaction_by_sender_and_nonce,
)
from pyevm_agents.rpc.methods.eth_state import (
    find_executed,
    get_code,
    get_header_by_number,
    receipts_of,
    record_of,
)
from pyevm_agents.rpc.params import (
    LATEST,
    UINT64,
    BlockId,
    address,
    block,
    hash32,
    invalid,
    quantity,
    uint64,
)
from pyevm_agents.rpc.replay import mined, traced, traced_at
from pyevm_agents.tracing import CallTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from pyevm_agents.chain import Record
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Place
    from pyevm_agents.tracing.tracer import Frame


METHODS = Table()

API_LEVEL = 8
"""What Otterscan asks for at least. Source: its `src/params.ts`."""

MAX_PAGE = 1_000
SELECTOR_DIGITS = len("0x12345678")

TRANSFER, SELF_DESTRUCT, CREATION, CREATION_WITH_SALT = range(4)
OPERATIONS = {
    "CALL": TRANSFER,
    "SELFDESTRUCT": SELF_DESTRUCT,
    "CREATE": CREATION,
    "CREATE2": CREATION_WITH_SALT,
}
"""Which calls move value or contracts, and Otterscan's numbers for them."""

CREATIONS = (CREATION, CREATION_WITH_SALT)
MOVE_NOTHING = frozenset({"STATICCALL", "DELEGATECALL"})
SUCCESS = b"\x01"
"""A receipt's status (EIP-658)."""


@METHODS.method("ots_getApiLevel", is_quick=True)
def get_api_level(rpc: Rpc) -> int:  # noqa: ARG001 - as all methods
    """Return which version of Otterscan's methods these are."""
    return API_LEVEL


@METHODS.method("erigon_getHeaderByNumber", block)
def erigon_get_header_by_number(rpc: Rpc, number: BlockId) -> Json | None:
    """Return a block's header, null where there is none: Otterscan looks for Erigon by it."""
    return get_header_by_number(rpc, number)


@METHODS.method("ots_hasCode", address, optional(block, LATEST))
def has_code(rpc: Rpc, account: Address, block: BlockId) -> bool:
    """Return whether an account is a contract, or delegates to one."""
    return get_code(rpc, account, block) != "0x"


@METHODS.method("ots_getBlockDetails", block)
def get_block_details(rpc: Rpc, number: BlockId) -> Json | None:
    """Return a block without its transactions, with all fees paid, null where there is none."""
    record = find_executed(rpc, number)
    if record is None:
        return None
    fees = zip(_prices(record), receipts_of(rpc, record), strict=True)
    return {
        "block": _slim(record),
        "issuance": {"blockReward": "0x0", "uncleReward": "0x0", "issuance": "0x0"},
        "totalFees": hex(sum(price * int(str(one["gasUsed"]), 16) for price, one in fees)),
    }


@METHODS.method("ots_getBlockDetailsByHash", hash32)
def get_block_details_by_hash(rpc: Rpc, block_hash: bytes) -> Json | None:
    """Return a block without its transactions, with all fees paid, null where there is none."""
    return get_block_details(rpc, BlockId(hash=block_hash))


def page_size(value: object, name: str) -> int:
    """Read how many entries a page has."""
    size = quantity(value, name, UINT64)
    if not 1 <= size <= MAX_PAGE:
        raise invalid(name, value, f"want a page of 1 to {MAX_PAGE} entries")
    return size


@METHODS.method("ots_getBlockTransactions", block, uint64, page_size)
def get_block_transactions(
    rpc: Rpc, number: BlockId, page_number: int, page_size: int
) -> Json | None:
    """Return a page of a block's transactions and receipts; page 0 has the first of them."""
    record = find_executed(rpc, number)
    if record is None:
        return None
    page = slice(page_number * page_size, (page_number + 1) * page_size)
    indices = range(len(record.block.transactions))[page]
    transactions = [
        serializers.transaction_json(record.block.transactions[index], record, index)
        for index in indices
    ]
    for transaction in transactions:
        transaction["input"] = str(transaction["input"])[:SELECTOR_DIGITS]
    return {
        "fullblock": _slim(record) | {"transactions": transactions},
        "receipts": [
            dated(receipt, record) | {"logs": None, "logsBloom": None}
            for receipt in receipts_of(rpc, record)[page]
        ],
    }


@METHODS.method("ots_getTransactionBySenderAndNonce", address, uint64)
def get_hash_by_sender_and_nonce(rpc: Rpc, account: Address, nonce: int) -> object:
    """Return the hash of an account's transaction by its nonce, null where there is none."""
    found = get_transaction_by_sender_and_nonce(rpc, account, nonce)
    return None if found is None else found["hash"]


@METHODS.method("ots_getTransactionError", hash32)
def get_transaction_error(rpc: Rpc, transaction_hash: bytes) -> str:
    """Return what a failed transaction reverted with, nothing for one that succeeded."""
    record, index = mined(rpc, transaction_hash)
    if record.receipts[index].state_root == SUCCESS:
        return "0x"
    return serializers.data(_frames(rpc, transaction_hash)[0].output)


@METHODS.method("ots_getInternalOperations", hash32)
def get_internal_operations(rpc: Rpc, transaction_hash: bytes) -> list[Json]:
    """Return what calls inside a transaction moved: ether, new contracts, and destroyed ones."""
    return [
        {
            "type": OPERATIONS[frame.kind],
            "from": serializers.data(frame.sender),
            "to": serializers.data(frame.to),
            "value": hex(frame.value_wei or 0),
        }
        for frame in _frames(rpc, transaction_hash, with_undone=False)
        if frame.depth and _moves_something(frame)
    ]


@METHODS.method("ots_traceTransaction", hash32)
def trace_transaction(rpc: Rpc, transaction_hash: bytes) -> list[Json]:
    """Return a transaction's calls, each with its depth, before those it made."""
    return [
        {
            "type": frame.kind,
            "depth": frame.depth,
            "from": serializers.data(frame.sender),
            "to": serializers.data(frame.to),
            "value": None if frame.kind in MOVE_NOTHING else hex(frame.value_wei or 0),
            "input": serializers.data(frame.input),
            "output": serializers.data(frame.output),
        }
        for frame in _frames(rpc, transaction_hash)
    ]


@METHODS.method("ots_getContractCreator", address)
def get_contract_creator(rpc: Rpc, account: Address) -> Json | None:
    """Return who created a contract, and in which transaction, null where nobody did."""
    number = first_block(rpc, lambda state: bool(state.get_code(account)))
    if number is None:
        return None
    record = record_of(rpc, BlockId(number=number))
    trees = traced(rpc, record, tree)
    for transaction, calls in zip(record.block.transactions, trees, strict=True):
        for node, failed in calls.nodes():
            is_creation = OPERATIONS.get(node.frame.kind) in CREATIONS
            if is_creation and not failed and node.frame.to == account:
                return {
                    "hash": serializers.data(transaction.hash),
                    "creator": serializers.data(node.frame.sender),
                }
    return None


def tree(at: Place, logs_before: int) -> CallTree:
    """Return a tracer that keeps the calls of a transaction."""
    del at, logs_before
    return CallTree()


def dated(receipt: Json, record: Record) -> Json:
    """Return a receipt with its block's time."""
    return receipt | {"timestamp": hex(record.block.header.timestamp)}


def _frames(rpc: Rpc, transaction_hash: bytes, *, with_undone: bool = True) -> list[Frame]:
    """Return a transaction's calls, the one that it is itself first."""
    calls = traced_at(rpc, *mined(rpc, transaction_hash), tree)
    return [node.frame for node, undone in calls.nodes() if with_undone or not undone]


def _moves_something(frame: Frame) -> bool:
    return bool(frame.value_wei) if frame.kind == "CALL" else frame.kind in OPERATIONS


def _prices(record: Record) -> list[int]:
    base_fee = record.block.header.as_dict().get("base_fee_per_gas")
    return [effective_gas_price(one, base_fee) for one in record.block.transactions]


def _slim(record: Record) -> Json:
    """Return a block without what Otterscan does not look at."""
    form = serializers.block_json(record, is_full=False)
    del form["transactions"]
    return form | {"logsBloom": None, "transactionCount": len(record.block.transactions)}


MAX_EXECUTED = 500
"""Blocks that one search executes again; those that were looked through before count for none."""

MAX_LOOKED_AT = 50_000
"""Blocks that one search looks at, empty ones and all."""


@METHODS.method("ots_searchTransactionsBefore", address, uint64, page_size)
def search_transactions_before(
    rpc: Rpc, account: Address, block_number: int, page_size: int
) -> Json:
    """Return transactions of an account before a block, 0 for the latest ones; newest first."""
    head = int(rpc.node.chain.head.block_number)
    first = head if block_number == 0 else min(block_number - 1, head)
    found = _search(rpc, account, range(first, -1, -1), page_size)
    newest_first = [(record, index) for record, places in found.blocks for index in places[::-1]]
    return _page(rpc, newest_first) | {
        "firstPage": block_number == 0 or block_number > head,
        "lastPage": found.is_all,
    }


@METHODS.method("ots_searchTransactionsAfter", address, uint64, page_size)
def search_transactions_after(
    rpc: Rpc, account: Address, block_number: int, page_size: int
) -> Json:
    """Return transactions of an account after a block, 0 for the first ones; newest first."""
    head = int(rpc.node.chain.head.block_number)
    found = _search(rpc, account, range(block_number + 1, head + 1), page_size)
    oldest_first = [(record, index) for record, places in found.blocks for index in places]
    return _page(rpc, oldest_first[::-1]) | {
        "firstPage": found.is_all,
        "lastPage": block_number == 0,
    }


@dataclass(slots=True, kw_only=True)
class _Found:
    blocks: list[tuple[Record, list[int]]] = field(default_factory=list)
    """Blocks with the places of those transactions in them."""

    is_all: bool = False
    """Whether no block was left to look at."""


def _search(rpc: Rpc, account: Address, numbers: Sequence[int], page_size: int) -> _Found:
    """Look through blocks until a page is full; a block's transactions stay together.

    Raises: RpcError: nothing was found in as many blocks as one search may look at.
            BlockNotFoundError: somebody rolled back meanwhile.
    """
    chain, found, count, executed = rpc.node.chain, _Found(), 0, 0
    for number in numbers[:MAX_LOOKED_AT]:
        if count >= page_size:
            return found
        header = header_of(rpc.node, BlockId(number=number))
        if header.transaction_root == BLANK_ROOT_HASH:
            continue
        parties = rpc.appearances.known(header.hash)
        if parties is None:
            if executed == MAX_EXECUTED:
                return _cut_short(found, account, numbers[: numbers.index(number)])
            executed += 1
            execute = partial(traced, rpc, chain.record(header), tree)
            parties = rpc.appearances.find(header.hash, execute)
        if places := [index for index, those in enumerate(parties) if account in those]:
            found.blocks.append((chain.record(header), places))
            count += len(places)
    if len(numbers) > MAX_LOOKED_AT:
        return _cut_short(found, account, numbers[:MAX_LOOKED_AT])
    found.is_all = True
    return found


def _cut_short(found: _Found, account: Address, looked_at: Sequence[int]) -> _Found:
    """Return what was found before a search became too long."""
    if not found.blocks:
        raise RpcError(
            LIMIT_EXCEEDED,
            f"no transaction of {serializers.data(account)} in blocks {looked_at[0]} to "
            f"{looked_at[-1]}; ask again, from block {looked_at[-1]} on",
        )
    return found


def _page(rpc: Rpc, places: list[tuple[Record, int]]) -> Json:
    records = {record.block.header.hash: record for record, _ in places}
    receipts = {key: receipts_of(rpc, record) for key, record in records.items()}
    return {
        "txs": [
            serializers.transaction_json(record.block.transactions[index], record, index)
            for record, index in places
        ],
        "receipts": [
            dated(receipts[record.block.header.hash][index], record) for record, index in places
        ],
    }
