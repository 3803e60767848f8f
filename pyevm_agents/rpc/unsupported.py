"""Methods that other nodes have, and why this one has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_FORK = "this node can't fork a remote network: py-evm has all of a chain's state, or none"
NO_WALLET = "the node delegates to nobody; send a type 4 transaction (EIP-7702)"
NO_BLOBS = "blobs are not kept, only their hashes"
NO_TEMPO = "fees are paid in ether alone; this is a method of Tempo networks"
NO_ACCESS_LISTS = "blocks of this fork have no access lists (EIP-7928)"
NO_BUNDLES = "there is no builder to bid at; send the transactions, with evm_setAutomine off"
NO_KEYS = "keys are told at the start (--accounts, --mnemonic); to send in anybody's name use "
NO_KEYS += "anvil_impersonateAccount"
NO_MINERS = "anvil_setCoinbase, evm_setAutomine and evm_setIntervalMining do what a devnet needs"
NO_PROTOCOL = "the node speaks with no other one"
NO_PROOF_OF_WORK = "blocks of this chain need no work"
NO_NETWORK = "the node has no peers"
NO_FILES = "where the node keeps its files is told to nobody over the network"
NO_SERVER = "the server starts and stops with its process"

UNSUPPORTED_METHODS: Mapping[str, str] = {
    "anvil_setRpcUrl": NO_FORK,
    "anvil_setChainId": "the chain id is part of genesis: start the node with --chain-id",
    "anvil_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(anvil_setNextBlockBaseFeePerGas)",
    "hardhat_setMinGasPrice": "not supported when EIP-1559 is active: set the base fee "
    "(hardhat_setNextBlockBaseFeePerGas)",
    "anvil_setFeeToken": NO_TEMPO,
    "anvil_setValidatorFeeToken": NO_TEMPO,
    "anvil_setFeeAmmLiquidity": NO_TEMPO,
    "anvil_impersonateSignature": "ecrecover tells who signed, here as on every chain; to send in "
    "somebody's name use anvil_impersonateAccount",
    "anvil_enableTraces": "debug_traceTransaction traces what was mined, at any time",
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
    "eth_sendRawTransactionConditional": "conditions are a rollup's; send it without",
    "debug_traceCallMany": "debug_traceCall traces one call, trace_callMany several in a row",
    "debug_preimage": "preimages of hashes are not kept",
    "hardhat_intervalMine": "evm_mine makes a block now",
    "hardhat_addCompilationResult": "stack traces of Solidity are not made; revert reasons are",
    "hardhat_getStackTraceFailuresCount": "stack traces of Solidity are not made",
    "eth_getWork": NO_PROOF_OF_WORK,
    "eth_submitWork": NO_PROOF_OF_WORK,
    "eth_submitHashrate": NO_PROOF_OF_WORK,
    "eth_protocolVersion": NO_PROTOCOL,
    "personal_newAccount": NO_KEYS,
    "personal_importRawKey": NO_KEYS,
    "personal_listAccounts": "it is eth_accounts here",
    "personal_lockAccount": NO_KEYS,
    "personal_unlockAccount": NO_KEYS,
    "personal_sendTransaction": "it is eth_sendTransaction here",
    "personal_signTransaction": "it is eth_signTransaction here",
    "evm_addAccount": NO_KEYS,
    "evm_removeAccount": "anvil_stopImpersonatingAccount ends what anvil_impersonateAccount began",
    "miner_start": NO_MINERS,
    "miner_stop": NO_MINERS,
    "miner_setEtherbase": NO_MINERS,
    "miner_setExtra": NO_MINERS,
    "miner_setGasPrice": NO_MINERS,
    "bzz_hive": NO_PROTOCOL,
    "bzz_info": NO_PROTOCOL,
    "shh_version": NO_PROTOCOL,
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
