"""`ots_search*`: the transactions that an account takes part in, a page at a time.

Source: Otterscan's documentation of its JSON-RPC extensions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import header_of
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.methods.eth_state import receipts_of
from pyevm_agents.rpc.methods.ots import dated, page_size, tree
from pyevm_agents.rpc.params import BlockId, address, uint64
from pyevm_agents.rpc.replay import traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from pyevm_agents.chain import Record
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

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
