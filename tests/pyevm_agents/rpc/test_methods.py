"""The table of all methods."""

from __future__ import annotations

import pytest

from pyevm_agents.rpc.absent import ABSENT
from pyevm_agents.rpc.methods import all_methods, merged
from pyevm_agents.rpc.table import Table

METHODS = all_methods()


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_documented(name: str) -> None:
    description = METHODS[name].description
    assert description.endswith((".", ":")), description


def test_a_name_is_entered_once() -> None:
    first, second = Table(), Table()

    @first.method("eth_one")
    def one(rpc: object) -> None:
        """Do one thing."""

    @second.method("eth_one")
    def other(rpc: object) -> None:
        """Do another."""

    with pytest.raises(TypeError, match="eth_one is both"):
        merged([first, second])


def test_what_is_absent_is_not_there_and_has_a_reason() -> None:
    assert not ABSENT.keys() & METHODS.keys()
    assert all(len(reason) > 10 for reason in ABSENT.values())


ANVILS = """
anvil_addBalance anvil_autoImpersonateAccount anvil_dealERC20 anvil_dropAllTransactions
anvil_dropTransaction anvil_dumpState anvil_enableTraces anvil_getAutomine anvil_getBlobByHash
anvil_getGenesisTime anvil_getIntervalMining anvil_impersonateAccount anvil_increaseTime
anvil_loadState anvil_metadata anvil_mine anvil_mine_detailed anvil_nodeInfo
anvil_removeBlockTimestampInterval anvil_removePoolTransactions anvil_reorg anvil_reset
anvil_revert anvil_rollback anvil_setAutomine anvil_setBalance anvil_setBlockGasLimit
anvil_setBlockTimestampInterval anvil_setChainId anvil_setCode anvil_setCoinbase
anvil_setERC20Allowance anvil_setIntervalMining anvil_setLoggingEnabled anvil_setMinGasPrice
anvil_setNextBlockBaseFeePerGas anvil_setNextBlockPrevRandao anvil_setNextBlockTimestamp
anvil_setNonce anvil_setRpcUrl anvil_setStorageAt anvil_setTime anvil_snapshot
anvil_stopImpersonatingAccount evm_increaseTime evm_mine evm_mine_detailed evm_revert
evm_setAccountNonce evm_setAutomine evm_setBlockGasLimit evm_setIntervalMining
evm_setNextBlockTimestamp evm_setTime evm_snapshot hardhat_addBalance
hardhat_autoImpersonateAccount hardhat_dealERC20 hardhat_dropAllTransactions
hardhat_dropTransaction hardhat_dumpState hardhat_getAutomine hardhat_impersonateAccount
hardhat_loadState hardhat_metadata hardhat_mine hardhat_reset hardhat_setBalance hardhat_setCode
hardhat_setCoinbase hardhat_setLoggingEnabled hardhat_setMinGasPrice
hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setPrevRandao hardhat_setStorageAt
hardhat_stopImpersonatingAccount eth_sendUnsignedTransaction eth_fillTransaction
eth_sendRawTransactionSync eth_sendTransactionSync eth_getTransactionBySenderAndNonce
"""
"""Of anvil 1.7.1 and Hardhat 3.18."""


@pytest.mark.parametrize("name", ANVILS.split())
def test_each_of_anvils_is_there_or_has_a_reason(name: str) -> None:
    assert name in METHODS or name in ABSENT
