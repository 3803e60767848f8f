"""`eth_*` that send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.node.transaction_defaults import (
    choose_gas_limit,
    prepare_transaction,
    resolve_signer,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.methods.patience import done_within
from pyevm_agents.rpc.params import data
from pyevm_agents.rpc.transaction_params import asked, decode_transaction

if TYPE_CHECKING:
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc

METHODS = Table()


@METHODS.method("eth_sendTransaction", asked)
def send_transaction(rpc: Rpc, transaction: TransactionRequest) -> str:
    """Sign a transaction, or send it for an impersonated account; return its hash.

    Where it says no gas limit, it gets what it needs; a block's gas where it fails with all of
    that, as anvil does, or where an agent thinks for so long that the client would give up before
    that is known.
    """
    node = rpc.node
    sender = resolve_signer(node, transaction)
    if transaction.gas is None and node.chain.config.models:
        gas = done_within(rpc.send_seconds, lambda: choose_gas_limit(node, transaction, sender))
        gas = node.next_block.header().gas_limit if gas is None else gas
        transaction = replace(transaction, gas=gas)
    return serializers.data(rpc.send(prepare_transaction(node, transaction, sender)))


@METHODS.method("eth_sendRawTransaction", data)
def send_raw_transaction(rpc: Rpc, transaction: bytes) -> str:
    """Send a transaction that was signed elsewhere; return its hash."""
    signed = decode_transaction(transaction, rpc.node.chain.transaction_builder)
    return serializers.data(rpc.send(lambda: signed))
