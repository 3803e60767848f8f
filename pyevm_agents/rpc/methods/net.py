"""`net_*`, `web3_*`, `rpc_*` and `txpool_*`."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from eth_utils import keccak, to_checksum_address

from pyevm_agents.chain.transactions import effective_gas_price
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.params import address, data

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.node.txpool import Waiting
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()


@METHODS.method("net_version", is_quick=True)
def net_version(rpc: Rpc) -> str:
    """Return the network's id: the chain's, in decimal digits."""
    return str(rpc.node.chain.config.chain_id)


@METHODS.method("net_listening", is_quick=True)
def net_listening(rpc: Rpc) -> bool:  # noqa: ARG001 - as all methods
    """Return whether the node takes connections: you have one."""
    return True


@METHODS.method("net_peerCount", is_quick=True)
def net_peer_count(rpc: Rpc) -> str:  # noqa: ARG001 - as all methods
    """Return how many peers there are: none, as there is no network."""
    return "0x0"


@METHODS.method("web3_clientVersion", is_quick=True)
def client_version(rpc: Rpc) -> str:  # noqa: ARG001 - as all methods
    """Return what the node is. Hardhat's network helpers refuse a name that begins otherwise."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    own = f"pyevm-agents/{version('pyevm-agents')}/{system}/python{platform.python_version()}"
    return f"anvil-compatible/{own}"


@METHODS.method("web3_sha3", data)
def web3_sha3(rpc: Rpc, data: bytes) -> str:  # noqa: ARG001 - as all methods
    """Return the keccak-256 of bytes."""
    return serializers.data(keccak(data))


@METHODS.method("txpool_status")
def txpool_status(rpc: Rpc) -> Json:
    """Return how many transactions are ready and queued."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {
        "pending": hex(sum(map(len, ready.values()))),
        "queued": hex(sum(map(len, queued.values()))),
    }


@METHODS.method("txpool_content")
def txpool_content(rpc: Rpc) -> Json:
    """Return the transactions that are ready and queued, by sender and nonce."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {"pending": _by_sender(ready), "queued": _by_sender(queued)}


@METHODS.method("txpool_contentFrom", address)
def txpool_content_from(rpc: Rpc, account: Address) -> Json:
    """Return an account's transactions that are ready and queued, by nonce."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)
    return {
        name: _by_nonce(lines.get(account, []))
        for name, lines in (("pending", ready), ("queued", queued))
    }


@METHODS.method("txpool_inspect")
def txpool_inspect(rpc: Rpc) -> Json:
    """Return the transactions that are ready and queued, a line each."""
    ready, queued = rpc.node.pool.content(rpc.node.chain.nonce)

    def told(lines: dict[Address, list[Waiting]]) -> Json:
        return {
            to_checksum_address(sender): {
                str(one.transaction.nonce): _summary(one.transaction) for one in line
            }
            for sender, line in lines.items()
        }

    return {"pending": told(ready), "queued": told(queued)}


def _by_sender(lines: dict[Address, list[Waiting]]) -> Json:
    return {to_checksum_address(sender): _by_nonce(line) for sender, line in lines.items()}


def _by_nonce(line: list[Waiting]) -> Json:
    return {
        str(one.transaction.nonce): serializers.transaction_json(one.transaction) for one in line
    }


def _summary(transaction: SignedTransactionAPI) -> str:
    to = to_checksum_address(transaction.to) if transaction.to else "contract creation"
    price = effective_gas_price(transaction, None)
    return f"{to}: {transaction.value} wei + {transaction.gas} gas at {price} wei"
