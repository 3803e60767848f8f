"""`txpool_*` methods: the transactions in the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.chain.transactions import effective_gas_price
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.params import parse_address

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.node.journal import PoolTransaction
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()


@METHODS.method("txpool_status")
def txpool_status(rpc: RequestContext) -> Json:
    """Return the numbers of pending (executable) and queued transactions."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {
        "pending": hex(sum(map(len, ready.values()))),
        "queued": hex(sum(map(len, queued.values()))),
    }


@METHODS.method("txpool_content")
def txpool_content(rpc: RequestContext) -> Json:
    """Return the pending (executable) and queued transactions, by sender and nonce."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {"pending": _serialize_by_sender(ready), "queued": _serialize_by_sender(queued)}


@METHODS.method("txpool_contentFrom", parse_address)
def txpool_content_from(rpc: RequestContext, account: Address) -> Json:
    """Return an account's pending (executable) and queued transactions, by nonce."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {
        name: _serialize_by_nonce(lines.get(account, []))
        for name, lines in (("pending", ready), ("queued", queued))
    }


@METHODS.method("txpool_inspect")
def txpool_inspect(rpc: RequestContext) -> Json:
    """Return the pending (executable) and queued transactions, a line each."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)

    def summarize_queue(lines: dict[Address, list[PoolTransaction]]) -> Json:
        return {
            to_checksum_address(sender): {
                str(entry.transaction.nonce): _summarize(entry.transaction) for entry in line
            }
            for sender, line in lines.items()
        }

    return {"pending": summarize_queue(ready), "queued": summarize_queue(queued)}


def _serialize_by_sender(lines: dict[Address, list[PoolTransaction]]) -> Json:
    return {
        to_checksum_address(sender): _serialize_by_nonce(line) for sender, line in lines.items()
    }


def _serialize_by_nonce(line: list[PoolTransaction]) -> Json:
    return {
        str(entry.transaction.nonce): serializers.serialize_transaction(entry.transaction)
        for entry in line
    }


def _summarize(transaction: SignedTransactionAPI) -> str:
    to = to_checksum_address(transaction.to) if transaction.to else "contract creation"
    price = effective_gas_price(transaction, None)
    # Clients parse geth's form, its multiplication sign included.
    return f"{to}: {transaction.value} wei + {transaction.gas} gas \u00d7 {price} wei"
