"""`evm_*`, `anvil_*` and `hardhat_*`: what a development node may do and no chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.chain import Record
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import Mining
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import reason
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import (
    address,
    anything,
    boolean,
    data,
    hash32,
    invalid,
    mapping,
    quantity,
    seconds,
    slot,
    uint64,
)

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

QUICKLY_UNDONE_BLOCKS = 16
"""Going back by more is no work for the server's loop: each undone block is read and told of."""

MAX_MINED_BLOCKS = 100_000
"""Blocks that one request makes at most: each takes some milliseconds, and all others wait."""


@METHODS.method("evm_snapshot", "anvil_snapshot", is_quick=True)
def snapshot(rpc: Rpc) -> str:
    """Keep everything as it is; return an id for `evm_revert`, never given twice."""
    return hex(rpc.change(rpc.node.history.snapshot))


@METHODS.method("evm_revert", "anvil_revert", quantity, is_quick=True)
def revert(rpc: Rpc, snapshot_id: int) -> bool:
    """Go back to a snapshot; it and later ones are used up. False where there is none."""
    if rpc.node.history.blocks_since(snapshot_id) > QUICKLY_UNDONE_BLOCKS:
        rpc.require_patience()
    try:
        rpc.change(lambda: rpc.node.history.revert(snapshot_id))
    except ConfigError:
        return False
    return True


@METHODS.method("evm_mine", optional(anything))
def mine(rpc: Rpc, options: object) -> str:
    """Make a block; of the time, or the options' `timestamp` and number of `blocks`."""
    _mine_as_told(rpc, options)
    return "0x0"


@METHODS.method("evm_mine_detailed", "anvil_mine_detailed", optional(anything))
def mine_detailed(rpc: Rpc, options: object) -> list[Json]:
    """Make blocks as `evm_mine` does; return them, with the output of each transaction."""
    return [_detailed(mined) for mined in _mine_as_told(rpc, options)]


def _mine_as_told(rpc: Rpc, options: object) -> list[MinedBlock]:
    told = mapping(options, "options") if isinstance(options, dict) else {"timestamp": options}
    timestamp = told.get("timestamp")
    at = None if timestamp is None else seconds(timestamp, "timestamp")
    count = told.get("blocks")
    more = 0 if count is None else few(count, "blocks") - 1

    def work() -> list[MinedBlock]:
        return [rpc.node.mine(at), *(rpc.node.mine() for _ in range(more))]

    return rpc.node.do(work).result()


def _detailed(mined: MinedBlock) -> Json:
    record = Record(block=mined.block, receipts=mined.receipts)
    form = serializers.block_json(record, is_full=True)
    transactions = form["transactions"]
    assert isinstance(transactions, list)  # noqa: S101 - as `formats` writes it
    for transaction, computation in zip(transactions, mined.computations, strict=True):
        output = bytes(computation.output)
        transaction["output"] = serializers.data(output)
        if isinstance(computation.error if computation.is_error else None, Revert):
            transaction["revertReason"] = reason(output)
    return form


def few(value: object, name: str) -> int:
    """Read how many blocks to make."""
    count = seconds(value, name)
    if count > MAX_MINED_BLOCKS:
        raise invalid(name, value, f"want at most {MAX_MINED_BLOCKS} blocks at a time")
    return count


@METHODS.method("anvil_mine", "hardhat_mine", optional(few, 1), optional(seconds))
def mine_blocks(rpc: Rpc, blocks: int, interval: int | None) -> None:
    """Make so many blocks, each so many seconds after its parent where told."""

    def work() -> None:
        for index in range(blocks):
            at = None
            if interval is not None and index > 0:
                at = rpc.node.chain.head.timestamp + max(interval, 1)
            rpc.node.mine(at)

    rpc.node.do(work).result()


@METHODS.method("evm_setAutomine", "anvil_setAutomine", boolean)
def set_automine(rpc: Rpc, enabled: bool) -> bool:  # noqa: FBT001 - JSON-RPC has places
    """Make a block for each transaction, or not."""
    node = rpc.node

    def work() -> None:
        node.set_mining(replace(node.mining, is_automatic=enabled))
        if enabled and node.pending.choose(node.next_block.header()):
            node.mine()

    node.do(work).result()
    return True


@METHODS.method("anvil_getAutomine", "hardhat_getAutomine", is_quick=True)
def get_automine(rpc: Rpc) -> bool:
    """Return whether each transaction gets a block."""
    return rpc.node.mining.is_automatic


@METHODS.method("evm_setIntervalMining", "anvil_setIntervalMining", seconds)
def set_interval_mining(rpc: Rpc, interval: int) -> bool:
    """Make a block so often, in seconds, 0 for never; and none for each transaction, as anvil."""
    mining = Mining(is_automatic=False, interval_seconds=interval)
    rpc.change(lambda: rpc.node.set_mining(mining))
    return True


@METHODS.method("evm_increaseTime", "anvil_increaseTime", seconds, is_quick=True)
def increase_time(rpc: Rpc, seconds: int) -> int:
    """Move the chain's time ahead; return by how much it is ahead of the world's, in seconds."""
    return rpc.change(lambda: rpc.node.clock.increase(seconds))


@METHODS.method(
    "evm_setNextBlockTimestamp",
    "anvil_setNextBlockTimestamp",
    "hardhat_setNextBlockTimestamp",
    seconds,
    is_quick=True,
)
def set_next_block_timestamp(rpc: Rpc, timestamp: int) -> None:
    """Give the next block its time."""
    node = rpc.node
    rpc.change(lambda: node.clock.set_next(timestamp, node.chain.head.timestamp))


@METHODS.method("evm_setTime", "anvil_setTime", seconds, is_quick=True)
def set_time(rpc: Rpc, timestamp: int) -> int:
    """Let it be that time now; return by how much the chain moved, in seconds."""
    return rpc.change(lambda: rpc.node.clock.set_now(timestamp))


@METHODS.method("evm_setBlockGasLimit", "anvil_setBlockGasLimit", uint64, is_quick=True)
def set_block_gas_limit(rpc: Rpc, gas_limit: int) -> bool:
    """Give every block from now on that gas limit."""

    def work() -> None:
        rpc.node.next_block.fixed = replace(rpc.node.next_block.fixed, gas_limit=gas_limit)

    rpc.change(work)
    return True


@METHODS.method(
    "anvil_setNextBlockBaseFeePerGas", "hardhat_setNextBlockBaseFeePerGas", quantity, is_quick=True
)
def set_next_base_fee(rpc: Rpc, base_fee: int) -> None:
    """Give the next block its base fee, in wei."""
    rpc.change(lambda: rpc.node.next_block.tell(base_fee_wei=base_fee))


@METHODS.method("anvil_setCoinbase", "hardhat_setCoinbase", address, is_quick=True)
def set_coinbase(rpc: Rpc, account: Address) -> None:
    """Give every block from now on that fee recipient."""

    def work() -> None:
        rpc.node.next_block.fixed = replace(rpc.node.next_block.fixed, coinbase=account)

    rpc.change(work)


@METHODS.method("hardhat_setPrevRandao", "anvil_setNextBlockPrevRandao", hash32, is_quick=True)
def set_prev_randao(rpc: Rpc, prev_randao: bytes) -> bool:
    """Give the next block what PREVRANDAO gives."""
    rpc.change(lambda: rpc.node.next_block.tell(prev_randao=prev_randao))
    return True


# -- accounts -- #


@METHODS.method(
    "anvil_setBalance",
    "hardhat_setBalance",
    "evm_setAccountBalance",
    "tenderly_setBalance",
    address,
    quantity,
)
def set_balance(rpc: Rpc, account: Address, balance: int) -> bool:
    """Give an account its balance, in wei."""
    rpc.change(lambda: rpc.node.modify(lambda state: state.set_balance(account, balance)))
    return True


@METHODS.method("anvil_setNonce", "hardhat_setNonce", "evm_setAccountNonce", address, uint64)
def set_nonce(rpc: Rpc, account: Address, nonce: int) -> bool:
    """Give an account its nonce."""
    rpc.change(lambda: rpc.node.modify(lambda state: state.set_nonce(account, nonce)))
    return True


@METHODS.method("anvil_setCode", "hardhat_setCode", "evm_setAccountCode", address, data)
def set_code(rpc: Rpc, account: Address, code: bytes) -> bool:
    """Give an account its code."""
    rpc.change(lambda: rpc.node.modify(lambda state: state.set_code(account, code)))
    return True


@METHODS.method(
    "anvil_setStorageAt", "hardhat_setStorageAt", "evm_setAccountStorageAt", address, slot, slot
)
def set_storage_at(rpc: Rpc, account: Address, position: int, value: int) -> bool:
    """Give a storage slot its value."""
    rpc.change(lambda: rpc.node.modify(lambda state: state.set_storage(account, position, value)))
    return True


@METHODS.method("anvil_impersonateAccount", "hardhat_impersonateAccount", address, is_quick=True)
def impersonate_account(rpc: Rpc, account: Address) -> bool:
    """Send in an account's name from now on, without its key."""
    rpc.change(lambda: rpc.node.keys.impersonate(account))
    return True


@METHODS.method(
    "anvil_stopImpersonatingAccount", "hardhat_stopImpersonatingAccount", address, is_quick=True
)
def stop_impersonating_account(rpc: Rpc, account: Address) -> bool:
    """Send in its name no longer."""
    rpc.change(lambda: rpc.node.keys.stop_impersonating(account))
    return True


@METHODS.method(
    "anvil_autoImpersonateAccount", "hardhat_autoImpersonateAccount", boolean, is_quick=True
)
def auto_impersonate(rpc: Rpc, enabled: bool) -> bool:  # noqa: FBT001 - JSON-RPC has places
    """Send in anybody's name, or not."""

    def work() -> None:
        rpc.node.keys.impersonates_all = enabled

    rpc.change(work)
    return True
