"""Unsupported methods of other nodes, each with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_WALLET = "the node has no delegation wallet; send a type 4 transaction (EIP-7702)"
NO_BLOBS = "blobs are not stored, only their hashes"
NO_TEMPO = "a method of Tempo networks; fees are paid in ether"
NO_ACCESS_LISTS = "blocks of this fork have no access lists (EIP-7928)"
NO_BUNDLES = "there is no block builder; send the transactions, with evm_setAutomine off"
NO_KEYS = "keys are set at the start (--accounts, --mnemonic); to send from any account use "
NO_KEYS += "anvil_impersonateAccount"
NO_MINERS = "use anvil_setCoinbase, evm_setAutomine and evm_setIntervalMining"
NO_PROTOCOL = "the node has no peer-to-peer protocol"
NO_PROOF_OF_WORK = "this chain has no proof of work"
NO_NETWORK = "the node has no peers"
NO_FILES = "paths of files are not shown over the network"
NO_SERVER = "the server starts and stops with its process"

UNSUPPORTED_METHODS: Mapping[str, str] = {
    "anvil_setRpcUrl": "the URL belongs to the fork: start the node with --fork-url",
    "anvil_setChainId": "the chain id is part of genesis: start the node with --chain-id",
    "anvil_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(anvil_setNextBlockBaseFeePerGas)",
    "hardhat_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(hardhat_setNextBlockBaseFeePerGas)",
    "anvil_setFeeToken": NO_TEMPO,
    "anvil_setValidatorFeeToken": NO_TEMPO,
    "anvil_setFeeAmmLiquidity": NO_TEMPO,
    "anvil_impersonateSignature": "ecrecover returns the signer, as on every chain; to send from "
    "any account use anvil_impersonateAccount",
    "anvil_enableTraces": "debug_traceTransaction traces any mined transaction",
    "anvil_addCapability": NO_WALLET,
    "anvil_setExecutor": NO_WALLET,
    "wallet_getCapabilities": NO_WALLET,
    "wallet_sendTransaction": NO_WALLET,
    "anvil_getBlobByHash": NO_BLOBS,
    "anvil_getBlobsByTransactionHash": NO_BLOBS,
    "anvil_getBlobSidecarsByBlockId": NO_BLOBS,
    "anvil_getBlobByTransactionHash": NO_BLOBS,
    "anvil_getBlobsByBlockId": NO_BLOBS,
    "eth_getBlockAccessList": NO_ACCESS_LISTS,
    "eth_getBlockAccessListRaw": NO_ACCESS_LISTS,
    "eth_sendBundle": NO_BUNDLES,
    "eth_callBundle": NO_BUNDLES,
    "eth_sendRawTransactionConditional": "conditions are for rollups; use eth_sendRawTransaction",
    "debug_traceCallMany": "debug_traceCall traces one call, trace_callMany several in a row",
    "debug_preimage": "preimages of hashes are not stored",
    "hardhat_intervalMine": "use evm_mine",
    "hardhat_getStackTraceFailuresCount": "Solidity stack traces are not supported",
    "eth_getWork": NO_PROOF_OF_WORK,
    "eth_submitWork": NO_PROOF_OF_WORK,
    "eth_submitHashrate": NO_PROOF_OF_WORK,
    "eth_protocolVersion": NO_PROTOCOL,
    "personal_newAccount": NO_KEYS,
    "personal_importRawKey": NO_KEYS,
    "personal_listAccounts": "use eth_accounts",
    "personal_lockAccount": NO_KEYS,
    "personal_unlockAccount": NO_KEYS,
    "personal_sendTransaction": "use eth_sendTransaction",
    "personal_signTransaction": "use eth_signTransaction",
    "evm_addAccount": NO_KEYS,
    "evm_removeAccount": "to revoke anvil_impersonateAccount use anvil_stopImpersonatingAccount",
    "miner_start": NO_MINERS,
    "miner_stop": NO_MINERS,
    "miner_setEtherbase": NO_MINERS,
    "miner_setExtra": NO_MINERS,
    "miner_setGasPrice": NO_MINERS,
    "bzz_hive": NO_PROTOCOL,
    "bzz_info": NO_PROTOCOL,
    "shh_version": NO_PROTOCOL,
    "eth_getCompilers": "the node has no compilers; use solc",
    "admin_addPeer": NO_NETWORK,
    "admin_removePeer": NO_NETWORK,
    "admin_peers": NO_NETWORK,
    "admin_nodeInfo": "use web3_clientVersion and anvil_nodeInfo",
    "testing_buildBlockV1": "blocks are built by evm_mine; eth_simulateV1 executes without mining",
    "admin_datadir": NO_FILES,
    "admin_startHTTP": NO_SERVER,
    "admin_stopHTTP": NO_SERVER,
    "admin_startWS": NO_SERVER,
    "admin_stopWS": NO_SERVER,
}
