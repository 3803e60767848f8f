"""`net_*` and `web3_*` methods."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.params import parse_data

if TYPE_CHECKING:
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()


@METHODS.method("net_version", is_quick=True)
def net_version(rpc: RequestContext) -> str:
    """Return the chain id in decimal digits."""
    return str(rpc.node.chain.config.chain_id)


@METHODS.method("net_listening", is_quick=True)
def net_listening(rpc: RequestContext) -> bool:  # noqa: ARG001 - the signature of a method
    """Return true: the node accepts connections."""
    return True


@METHODS.method("net_peerCount", is_quick=True)
def net_peer_count(rpc: RequestContext) -> str:  # noqa: ARG001 - the signature of a method
    """Return 0: the node has no peers."""
    return "0x0"


@METHODS.method("web3_clientVersion", is_quick=True)
def client_version(rpc: RequestContext) -> str:  # noqa: ARG001 - the signature of a method
    """Return the node's name and version, with the prefix that Hardhat's network helpers need."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    own = f"pyevm-agents/{version('pyevm-agents')}/{system}/python{platform.python_version()}"
    return f"anvil-compatible/{own}"


@METHODS.method("web3_sha3", parse_data)
def web3_sha3(rpc: RequestContext, data: bytes) -> str:  # noqa: ARG001 - the signature of a method
    """Return the keccak-256 of bytes."""
    return serializers.encode_data(keccak(data))
