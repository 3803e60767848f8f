"""The registry of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.methods.registry import collect_methods, merge_tables
from pyevm_agents.rpc.unsupported import UNSUPPORTED_METHODS
from scripts import list_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

METHODS = collect_methods()


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_documented(name: str) -> None:
    description = METHODS[name].description
    assert description.endswith((".", ":")), description


def test_a_name_is_entered_once() -> None:
    first, second = MethodTable(), MethodTable()

    @first.method("eth_one")
    def one(rpc: object) -> None:
        """Do one thing."""

    @second.method("eth_one")
    def other(rpc: object) -> None:
        """Do another."""

    with pytest.raises(TypeError, match="eth_one: registered by"):
        merge_tables([first, second])


def test_what_is_absent_is_not_there_and_has_a_reason() -> None:
    assert not UNSUPPORTED_METHODS.keys() & METHODS.keys()
    assert all(len(reason) > 10 for reason in UNSUPPORTED_METHODS.values())


ANVILS = """
anvil_addBalance anvil_autoImpersonateAccount anvil_dealERC20 anvil_dropAllTransactions
anvil_dropTransaction anvil_dumpState anvil_getAutomine anvil_getBlobByHash
anvil_getBlobsByTransactionHash anvil_getGenesisTime anvil_getIntervalMining
anvil_impersonateAccount anvil_impersonateSignature anvil_increaseTime anvil_loadState
anvil_metadata anvil_mine anvil_mine_detailed anvil_nodeInfo anvil_removeBlockTimestampInterval
anvil_removePoolTransactions anvil_reorg anvil_reset anvil_revert anvil_rollback anvil_setAutomine
anvil_setBalance anvil_setBlockGasLimit anvil_setBlockTimestampInterval anvil_setChainId
anvil_setCode anvil_setCoinbase anvil_setERC20Allowance anvil_setERC20Balance
anvil_setFeeAmmLiquidity anvil_setFeeToken anvil_setIntervalMining anvil_setLoggingEnabled
anvil_setMinGasPrice anvil_setNextBlockBaseFeePerGas anvil_setNextBlockTimestamp anvil_setNonce
anvil_setRpcUrl anvil_setStorageAt anvil_setTime anvil_setValidatorFeeToken anvil_snapshot
anvil_stopImpersonatingAccount debug_codeByHash debug_dbGet debug_getRawTransaction
debug_traceBlockByHash debug_traceBlockByNumber debug_traceCall debug_traceTransaction
erigon_getHeaderByNumber eth_accounts eth_blobBaseFee eth_blockNumber eth_call eth_chainId
eth_coinbase eth_config eth_createAccessList eth_estimateGas eth_feeHistory eth_fillTransaction
eth_gasPrice eth_getAccount eth_getAccountInfo eth_getBalance eth_getBlockByHash
eth_getBlockByNumber eth_getBlockReceipts eth_getBlockTransactionCountByHash
eth_getBlockTransactionCountByNumber eth_getCode eth_getFilterChanges eth_getFilterLogs
eth_getLogs eth_getProof eth_getRawTransactionByBlockHashAndIndex
eth_getRawTransactionByBlockNumberAndIndex eth_getRawTransactionByHash eth_getStorageAt
eth_getStorageValues eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex
eth_getTransactionByHash eth_getTransactionBySenderAndNonce eth_getTransactionCount
eth_getTransactionReceipt eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex
eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber eth_getWork eth_hashrate
eth_maxPriorityFeePerGas eth_networkId eth_newBlockFilter eth_newFilter
eth_newPendingTransactionFilter eth_protocolVersion eth_requestAccounts eth_sendRawTransaction
eth_sendRawTransactionSync eth_sendTransaction eth_sendTransactionSync eth_sendUnsignedTransaction
eth_sign eth_signTransaction eth_signTypedData eth_signTypedData_v3 eth_signTypedData_v4
eth_simulateV1 eth_submitHashrate eth_submitWork eth_subscribe eth_syncing eth_uninstallFilter
eth_unsubscribe evm_increaseTime evm_mine evm_mine_detailed evm_revert evm_setAccountNonce
evm_setAutomine evm_setBlockGasLimit evm_setIntervalMining evm_setNextBlockTimestamp evm_setTime
evm_snapshot hardhat_addBalance hardhat_autoImpersonateAccount hardhat_dealERC20
hardhat_dropAllTransactions hardhat_dropTransaction hardhat_dumpState hardhat_getAutomine
hardhat_impersonateAccount hardhat_loadState hardhat_metadata hardhat_mine hardhat_reset
hardhat_setBalance hardhat_setCode hardhat_setCoinbase hardhat_setLoggingEnabled
hardhat_setMinGasPrice hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setStorageAt
hardhat_stopImpersonatingAccount net_listening net_version ots_getApiLevel ots_getBlockDetails
ots_getBlockDetailsByHash ots_getBlockTransactions ots_getContractCreator
ots_getInternalOperations ots_getTransactionBySenderAndNonce ots_getTransactionError ots_hasCode
ots_searchTransactionsAfter ots_searchTransactionsBefore ots_traceTransaction personal_sign
tenderly_addBalance tenderly_setBalance trace_block trace_filter trace_replayBlockTransactions
trace_transaction txpool_content txpool_inspect txpool_status web3_clientVersion web3_sha3
"""
"""Methods of anvil 1.7.1: a call without parameters does not return method not found."""

ANVIL_MAINS = """
anvil_addCapability anvil_enableTraces anvil_getBlobByTransactionHash
anvil_getBlobSidecarsByBlockId anvil_getBlobsByBlockId anvil_setExecutor
anvil_setNextBlockPrevRandao debug_executionWitness debug_getRawBlock debug_getRawHeader
debug_getRawReceipts debug_traceBlock eth_baseFee eth_callMany eth_getBlockAccessList
eth_getHeaderByHash eth_getHeaderByNumber eth_sendBundle eth_sendRawTransactionConditional
trace_call trace_callMany trace_get trace_rawTransaction trace_replayTransaction
txpool_contentFrom wallet_getCapabilities wallet_sendTransaction
"""
"""Methods of anvil's main branch in August 2026, and of older releases."""

HARDHATS = """
debug_traceCall debug_traceTransaction eth_accounts eth_blobBaseFee eth_blockNumber eth_call
eth_chainId eth_coinbase eth_estimateGas eth_feeHistory eth_gasPrice eth_getBalance
eth_getBlockByHash eth_getBlockByNumber eth_getBlockTransactionCountByHash
eth_getBlockTransactionCountByNumber eth_getCode eth_getFilterChanges eth_getFilterLogs
eth_getLogs eth_getProof eth_getStorageAt eth_getTransactionByBlockHashAndIndex
eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionCount
eth_getTransactionReceipt eth_maxPriorityFeePerGas eth_newBlockFilter eth_newFilter
eth_newPendingTransactionFilter eth_pendingTransactions eth_sendRawTransaction eth_sendTransaction
eth_sign eth_signTypedData_v4 eth_subscribe eth_syncing eth_uninstallFilter eth_unsubscribe
evm_increaseTime evm_mine evm_revert evm_setAutomine evm_setBlockGasLimit evm_setIntervalMining
evm_setNextBlockTimestamp evm_snapshot hardhat_addCompilationResult hardhat_dropTransaction
hardhat_getAutomine hardhat_getStackTraceFailuresCount hardhat_impersonateAccount
hardhat_intervalMine hardhat_metadata hardhat_mine hardhat_setBalance hardhat_setCode
hardhat_setCoinbase hardhat_setLoggingEnabled hardhat_setMinGasPrice
hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setPrevRandao hardhat_setStorageAt
hardhat_stopImpersonatingAccount net_version web3_clientVersion web3_sha3
"""
"""Methods of Hardhat 3.18."""

GANACHES = """
bzz_hive bzz_info debug_storageRangeAt debug_traceTransaction eth_accounts eth_blockNumber
eth_call eth_chainId eth_coinbase eth_estimateGas eth_feeHistory eth_gasPrice eth_getBalance
eth_getBlockByHash eth_getBlockByNumber eth_getBlockTransactionCountByHash
eth_getBlockTransactionCountByNumber eth_getCode eth_getCompilers eth_getFilterChanges
eth_getFilterLogs eth_getLogs eth_getProof eth_getStorageAt eth_getTransactionByBlockHashAndIndex
eth_getTransactionByBlockNumberAndIndex eth_getTransactionByHash eth_getTransactionCount
eth_getTransactionReceipt eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex
eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber eth_getWork eth_hashrate
eth_maxPriorityFeePerGas eth_mining eth_newBlockFilter eth_newFilter
eth_newPendingTransactionFilter eth_protocolVersion eth_sendRawTransaction eth_sendTransaction
eth_sign eth_signTransaction eth_signTypedData eth_signTypedData_v4 eth_submitHashrate
eth_submitWork eth_subscribe eth_syncing eth_uninstallFilter eth_unsubscribe evm_addAccount
evm_increaseTime evm_mine evm_removeAccount evm_revert evm_setAccountBalance evm_setAccountCode
evm_setAccountNonce evm_setAccountStorageAt evm_setTime evm_snapshot miner_setEtherbase
miner_setExtra miner_setGasPrice miner_start miner_stop net_listening net_peerCount net_version
personal_importRawKey personal_listAccounts personal_lockAccount personal_newAccount
personal_sendTransaction personal_signTransaction personal_unlockAccount rpc_modules shh_version
txpool_content web3_clientVersion web3_sha3
"""
"""Methods of ganache 7.9.2."""


@pytest.mark.parametrize("names", [ANVILS, ANVIL_MAINS, HARDHATS, GANACHES])
def test_each_of_other_nodes_is_there_or_has_a_reason(names: str) -> None:
    assert [
        name for name in names.split() if name not in METHODS and name not in UNSUPPORTED_METHODS
    ] == []


def test_namespaces_are_those_of_the_methods(serve: Callable[..., Served]) -> None:
    modules = serve().ask("rpc_modules")
    assert set(modules) == {name.split("_")[0] for name in METHODS}
    assert set(modules.values()) == {"1.0"}


def test_the_document_is_what_the_table_says() -> None:
    written = list_methods.FILE.read_text(encoding="utf-8")
    assert written == list_methods.document(), "run `python -m scripts.list_methods`"
    assert all(f"| `{name}` |" in written for name in (*METHODS, *UNSUPPORTED_METHODS))
    assert written.index("## agent") < written.index("## eth") < written.index("## anvil")
