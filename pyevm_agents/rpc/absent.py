"""Methods that other nodes have, and why this one has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_FORK = "this node can't fork a remote network: py-evm has all of a chain's state, or none"
NO_WALLET = "the node delegates to nobody; send a type 4 transaction (EIP-7702)"
NO_BLOBS = "blobs are not kept, only their hashes"
NO_PROOF_OF_WORK = "blocks of this chain need no work"
NO_NETWORK = "the node has no peers"
NO_FILES = "where the node keeps its files is told to nobody over the network"
NO_SERVER = "the server starts and stops with its process"

ABSENT: Mapping[str, str] = {
    "anvil_setRpcUrl": NO_FORK,
    "anvil_setChainId": "the chain id is part of genesis: start the node with --chain-id",
    "anvil_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(anvil_setNextBlockBaseFeePerGas)",
    "hardhat_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(hardhat_setNextBlockBaseFeePerGas)",
    "anvil_enableTraces": "debug_traceTransaction traces what was mined, at any time",
    "anvil_addCapability": NO_WALLET,
    "anvil_setExecutor": NO_WALLET,
    "wallet_getCapabilities": NO_WALLET,
    "wallet_sendTransaction": NO_WALLET,
    "anvil_getBlobByHash": NO_BLOBS,
    "anvil_getBlobsByTransactionHash": NO_BLOBS,
    "anvil_getBlobSidecarsByBlockId": NO_BLOBS,
    "hardhat_addCompilationResult": "stack traces of Solidity are not made; revert reasons are",
    "hardhat_getStackTraceFailuresCount": "stack traces of Solidity are not made",
    "eth_getWork": NO_PROOF_OF_WORK,
    "eth_submitWork": NO_PROOF_OF_WORK,
    "eth_submitHashrate": NO_PROOF_OF_WORK,
    "eth_getCompilers": "the node compiles nothing; use solc",
    "admin_addPeer": NO_NETWORK,
    "admin_removePeer": NO_NETWORK,
    "admin_peers": NO_NETWORK,
    "admin_nodeInfo": "a geth's; web3_clientVersion and anvil_nodeInfo say what this node is",
    "admin_datadir": NO_FILES,
    "admin_startHTTP": NO_SERVER,
    "admin_stopHTTP": NO_SERVER,
    "admin_startWS": NO_SERVER,
    "admin_stopWS": NO_SERVER,
}
