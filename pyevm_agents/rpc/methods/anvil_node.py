"""`anvil_*` and `hardhat_*` methods about the node: impersonation, pool, log, node info."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from pyevm_agents.client.json_rpc import FIRST_DELAY_SECONDS
from pyevm_agents.node.transaction_defaults import (
    prepare_transaction,
    suggest_gas_price,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.methods.net import client_version
from pyevm_agents.rpc.params import (
    parse_address,
    parse_boolean,
    parse_hash32,
)
from pyevm_agents.rpc.transaction_params import parse_transaction_request

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()


@METHODS.method(
    "anvil_impersonateAccount", "hardhat_impersonateAccount", parse_address, is_quick=True
)
def impersonate_account(rpc: RequestContext, account: Address) -> bool:
    """Allow transactions from an account, without the account's key."""
    rpc.run_exclusive(lambda: rpc.node.keys.impersonate(account))
    return True


@METHODS.method(
    "anvil_stopImpersonatingAccount",
    "hardhat_stopImpersonatingAccount",
    parse_address,
    is_quick=True,
)
def stop_impersonating_account(rpc: RequestContext, account: Address) -> bool:
    """Stop the impersonation of an account."""
    rpc.run_exclusive(lambda: rpc.node.keys.stop_impersonating(account))
    return True


@METHODS.method(
    "anvil_autoImpersonateAccount", "hardhat_autoImpersonateAccount", parse_boolean, is_quick=True
)
def auto_impersonate_account(rpc: RequestContext, enabled: bool) -> bool:  # noqa: FBT001 - JSON-RPC has places
    """Switch the impersonation of every account on or off."""

    def switch_impersonation() -> None:
        rpc.node.keys.impersonates_all = enabled

    rpc.run_exclusive(switch_impersonation)
    return True


@METHODS.method("anvil_dropTransaction", "hardhat_dropTransaction", parse_hash32, is_quick=True)
def drop_transaction(rpc: RequestContext, transaction_hash: bytes) -> str | None:
    """Remove a transaction from the pool; return the hash, null if absent."""
    dropped = rpc.run_exclusive(lambda: rpc.node.pool.remove(transaction_hash))
    return None if dropped is None else serializers.encode_data(transaction_hash)


@METHODS.method("anvil_dropAllTransactions", "hardhat_dropAllTransactions", is_quick=True)
def drop_all_transactions(rpc: RequestContext) -> None:
    """Remove all transactions from the pool."""
    rpc.run_exclusive(rpc.node.pool.clear)


@METHODS.method("anvil_removePoolTransactions", parse_address, is_quick=True)
def remove_pool_transactions(rpc: RequestContext, account: Address) -> None:
    """Remove an account's transactions from the pool."""
    rpc.run_exclusive(lambda: rpc.node.pool.remove_by_sender(account))


@METHODS.method("eth_sendUnsignedTransaction", parse_transaction_request)
def send_unsigned_transaction(rpc: RequestContext, transaction: TransactionRequest) -> str:
    """Send a transaction from any account, without a key; return the hash."""
    if transaction.sender is None:
        raise RpcError(INVALID_PARAMS, "missing from: must be the sender's address")
    make = prepare_transaction(rpc.node, transaction, transaction.sender, may_sign=False)
    return serializers.encode_data(rpc.send(make))


@METHODS.method("anvil_setLoggingEnabled", "hardhat_setLoggingEnabled", parse_boolean)
def set_logging_enabled(rpc: RequestContext, enabled: bool) -> None:  # noqa: FBT001 - JSON-RPC has places
    """Switch the log of requests and transactions on or off."""
    rpc.node.is_logging = enabled


@METHODS.method("anvil_nodeInfo")
def node_info(rpc: RequestContext) -> Json:
    """Return the latest block, the hard fork and the settings of the next block."""
    head, following = rpc.node.chain.head, rpc.node.next_block.build_header()
    base_fee = int(following.base_fee_per_gas or 0)
    return {
        "currentBlockNumber": serializers.encode_quantity(head.block_number),
        "currentBlockTimestamp": head.timestamp,
        "currentBlockHash": serializers.encode_data(head.hash),
        "hardFork": rpc.node.chain.config.fork.capitalize(),
        "transactionOrder": "fees",
        "environment": {
            "baseFee": serializers.encode_quantity(base_fee),
            "chainId": rpc.node.chain.config.chain_id,
            "gasLimit": serializers.encode_quantity(following.gas_limit),
            "gasPrice": serializers.encode_quantity(suggest_gas_price(rpc.node)),
        },
        "forkConfig": _describe_fork(rpc),
    }


@METHODS.method("anvil_metadata", "hardhat_metadata")
def metadata(rpc: RequestContext) -> Json:
    """Return the node's version and id, the latest block and the snapshots."""
    head = rpc.node.chain.head
    return {
        "clientVersion": client_version(rpc),
        "clientSemver": version("pyevm-agents"),
        "chainId": rpc.node.chain.config.chain_id,
        "instanceId": serializers.encode_data(rpc.node.instance_id),
        "latestBlockNumber": head.block_number,
        "latestBlockHash": serializers.encode_data(head.hash),
        "forkedNetwork": _describe_network(rpc),
        "snapshots": {
            hex(number): [header.block_number, serializers.encode_data(header.hash)]
            for number, header in rpc.node.history.snapshots.items()
        },
    }


def _describe_fork(rpc: RequestContext) -> Json:
    """Return anvil's fields of a fork. The URL has host and port alone: a path may be a key."""
    fork = rpc.node.fork
    return {
        "forkUrl": None if fork is None else fork.client.public_url,
        "forkBlockNumber": None if fork is None else fork.origin.block_number,
        "forkRetryBackoff": None if fork is None else int(FIRST_DELAY_SECONDS * 1_000),
    }


def _describe_network(rpc: RequestContext) -> Json | None:
    """Return Hardhat's fields of a fork."""
    origin = rpc.node.chain.config.origin
    if origin is None:
        return None
    return {
        "chainId": origin.chain_id,
        "forkBlockNumber": origin.block_number,
        "forkBlockHash": serializers.encode_data(origin.block_hash),
    }
