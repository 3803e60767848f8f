"""`anvil_*`, `hardhat_*` and `evm_*` methods that mine, set the clock or configure blocks."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import replace
from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.abi.revert_reasons import format_revert
from pyevm_agents.agents.failures import explain_revert, read_revert_context
from pyevm_agents.chain import BlockRecord
from pyevm_agents.node import MiningMode
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    accept_any,
    invalid_param_error,
    parse_address,
    parse_boolean,
    parse_hash32,
    parse_object,
    parse_quantity,
    parse_seconds,
    parse_uint64,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

MAX_MINED_BLOCKS = 100_000
"""The most blocks that one request mines: each takes some milliseconds of the write queue."""


@METHODS.method("evm_mine", optional(accept_any))
def mine(rpc: RequestContext, options: object) -> str:
    """Mine a block, or as many as the option `blocks`; the first at `timestamp`, if given."""
    _mine_with_options(rpc, options)
    return "0x0"


@METHODS.method("evm_mine_detailed", "anvil_mine_detailed", optional(accept_any))
def mine_detailed(rpc: RequestContext, options: object) -> list[Json]:
    """Mine blocks like `evm_mine`; return the blocks, with the output of each transaction."""
    return [
        _serialize_detailed_block(mined, rpc.node.chain.known_contracts)
        for mined in _mine_with_options(rpc, options)
    ]


def _mine_with_options(rpc: RequestContext, options: object) -> list[MinedBlock]:
    form = parse_object(options, "options") if isinstance(options, dict) else {"timestamp": options}
    timestamp = form.get("timestamp")
    at = None if timestamp is None else parse_seconds(timestamp, "timestamp")
    count = form.get("blocks")
    more = 0 if count is None else parse_block_count(count, "blocks") - 1

    first = rpc.node.mine_rehearsed(at)
    if not more:
        return [first]
    mine_more = rpc.node.submit_change(lambda: [rpc.node.mine() for _ in range(more)])
    return [first, *mine_more.result()]


def _serialize_detailed_block(mined: MinedBlock, known: KnownContracts) -> Json:
    record = BlockRecord(block=mined.block, receipts=mined.receipts)
    form = serializers.serialize_block(record, is_full=True)
    transactions = form["transactions"]
    assert isinstance(transactions, list)  # noqa: S101 - as `serializers` writes it
    for transaction, computation in zip(transactions, mined.computations, strict=True):
        output = bytes(computation.output)
        transaction["output"] = serializers.encode_data(output)
        if isinstance(computation.error if computation.is_error else None, Revert):
            transaction["revertReason"] = explain_revert(
                output, read_revert_context(computation), known, write=format_revert
            )
    return form


def parse_block_count(value: object, name: str) -> int:
    """Parse a number of blocks to mine."""
    count = parse_seconds(value, name)
    if count > MAX_MINED_BLOCKS:
        raise invalid_param_error(
            name, value, f"must be at most {MAX_MINED_BLOCKS} blocks at a time"
        )
    return count


@METHODS.method("anvil_mine", optional(parse_block_count, 1), optional(parse_seconds))
def mine_after_intervals(rpc: RequestContext, blocks: int, interval: int | None) -> None:
    """Mine `blocks` blocks; move the time by `interval` seconds, if given, before each."""
    clock = rpc.node.clock

    def compute_time() -> int | None:
        return None if interval is None else clock.compute_time_after(interval)

    _mine_timed(rpc, blocks, compute_time, compute_time)


@METHODS.method("hardhat_mine", optional(parse_block_count, 1), optional(parse_seconds))
def mine_between_intervals(rpc: RequestContext, blocks: int, interval: int | None) -> None:
    """Mine `blocks` blocks, `interval` seconds apart if given, the first at the usual time."""

    def compute_time() -> int | None:
        return None if interval is None else rpc.node.chain.head.timestamp + max(interval, 1)

    _mine_timed(rpc, blocks, lambda: None, compute_time)


def _mine_timed(
    rpc: RequestContext,
    blocks: int,
    compute_first: Callable[[], int | None],
    compute_next: Callable[[], int | None],
) -> None:
    """Mine blocks.

    Input: functions that return a block's timestamp when the one before is there, None for the
           clock's: that of the first block, and that of the others.
    """

    def mine_more() -> None:
        for _ in range(blocks - 1):
            rpc.node.mine(compute_next())

    if blocks:
        rpc.node.mine_rehearsed(rpc.node.submit_change(compute_first).result())
        rpc.node.submit_change(mine_more).result()


@METHODS.method("evm_setAutomine", "anvil_setAutomine", parse_boolean)
def set_automine(rpc: RequestContext, enabled: bool) -> bool:  # noqa: FBT001 - JSON-RPC has places
    """Switch automine, a block for each transaction, on or off."""
    node = rpc.node

    def switch_automine() -> list[Future[MinedBlock | None]]:
        node.set_mining(replace(node.mining, is_automatic=enabled))
        return node.queue_ready() if enabled else []

    wait(node.submit_change(switch_automine).result())  # Their failures are their senders'.
    return True


@METHODS.method("anvil_getAutomine", "hardhat_getAutomine", is_quick=True)
def get_automine(rpc: RequestContext) -> bool:
    """Return whether automine is on."""
    return rpc.node.mining.is_automatic


@METHODS.method("evm_setIntervalMining", "anvil_setIntervalMining", parse_seconds)
def set_interval_mining(rpc: RequestContext, interval: int) -> bool:
    """Mine a block every `interval` seconds, 0 for never; switch automine off, as anvil does."""
    mining = MiningMode(is_automatic=False, interval_seconds=interval)
    rpc.run_exclusive(lambda: rpc.node.set_mining(mining))
    return True


@METHODS.method("anvil_getIntervalMining", is_quick=True)
def get_interval_mining(rpc: RequestContext) -> int | None:
    """Return the interval of interval mining in seconds; null if off."""
    interval = rpc.node.mining.interval_seconds
    return int(interval) if interval else None


@METHODS.method("evm_increaseTime", "anvil_increaseTime", parse_seconds, is_quick=True)
def increase_time(rpc: RequestContext, seconds: int) -> int:
    """Move the chain's clock ahead; return the total offset from the real time, in seconds."""
    return rpc.run_exclusive(lambda: rpc.node.clock.increase(seconds))


@METHODS.method(
    "evm_setNextBlockTimestamp",
    "anvil_setNextBlockTimestamp",
    "hardhat_setNextBlockTimestamp",
    parse_seconds,
    is_quick=True,
)
def set_next_block_timestamp(rpc: RequestContext, timestamp: int) -> None:
    """Set the timestamp of the next block, in Unix seconds."""
    rpc.run_exclusive(lambda: rpc.node.clock.set_next(timestamp))


@METHODS.method("evm_setTime", "anvil_setTime", parse_seconds, is_quick=True)
def set_time(rpc: RequestContext, timestamp: int) -> int:
    """Set the chain's clock, in Unix seconds; return the change, in seconds."""
    return rpc.run_exclusive(lambda: rpc.node.clock.set_now(timestamp))


@METHODS.method(
    "anvil_setBlockTimestampInterval", "evm_setBlockTimestampInterval", parse_seconds, is_quick=True
)
def set_block_timestamp_interval(rpc: RequestContext, interval: int) -> None:
    """Set each block's timestamp `interval` seconds after the parent's, not by the real time."""
    rpc.run_exclusive(lambda: rpc.node.clock.set_interval(interval))


@METHODS.method(
    "anvil_removeBlockTimestampInterval", "evm_removeBlockTimestampInterval", is_quick=True
)
def remove_block_timestamp_interval(rpc: RequestContext) -> bool:
    """Follow the real time again; return whether an interval was set."""

    def clear_interval() -> bool:
        was_set = rpc.node.clock.settings.interval_seconds is not None
        rpc.node.clock.set_interval(None)
        return was_set

    return rpc.run_exclusive(clear_interval)


@METHODS.method("evm_setBlockGasLimit", "anvil_setBlockGasLimit", parse_uint64, is_quick=True)
def set_block_gas_limit(rpc: RequestContext, gas_limit: int) -> bool:
    """Set the gas limit of all following blocks."""

    def override_gas_limit() -> None:
        rpc.node.next_block.fixed = replace(rpc.node.next_block.fixed, gas_limit=gas_limit)

    rpc.run_exclusive(override_gas_limit)
    return True


@METHODS.method(
    "anvil_setNextBlockBaseFeePerGas",
    "hardhat_setNextBlockBaseFeePerGas",
    parse_quantity,
    is_quick=True,
)
def set_next_base_fee(rpc: RequestContext, base_fee: int) -> None:
    """Set the base fee of the next block, in wei."""
    rpc.run_exclusive(lambda: rpc.node.next_block.override_next(base_fee_wei=base_fee))


@METHODS.method("anvil_setCoinbase", "hardhat_setCoinbase", parse_address, is_quick=True)
def set_coinbase(rpc: RequestContext, account: Address) -> None:
    """Set the fee recipient of all following blocks."""

    def override_coinbase() -> None:
        rpc.node.next_block.fixed = replace(rpc.node.next_block.fixed, coinbase=account)

    rpc.run_exclusive(override_coinbase)


@METHODS.method(
    "hardhat_setPrevRandao", "anvil_setNextBlockPrevRandao", parse_hash32, is_quick=True
)
def set_prev_randao(rpc: RequestContext, prev_randao: bytes) -> bool:
    """Set the PREVRANDAO value of the next block."""
    rpc.run_exclusive(lambda: rpc.node.next_block.override_next(prev_randao=prev_randao))
    return True


@METHODS.method("anvil_getGenesisTime")
def get_genesis_time(rpc: RequestContext) -> int:
    """Return the timestamp of block 0, or of the fork block, in Unix seconds."""
    chain = rpc.node.chain
    return int(chain.header(chain.first_number).timestamp)
