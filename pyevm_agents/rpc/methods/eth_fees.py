"""`eth_*` methods for fees."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pyevm_agents.chain.transactions import BLOB_GAS, effective_gas_price
from pyevm_agents.errors import RemoteFault
from pyevm_agents.node.transaction_defaults import (
    DEFAULT_PRIORITY_FEE_WEI,
    compute_next_base_fee,
    suggest_gas_price,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import resolve_header
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    BlockId,
    invalid_param_error,
    parse_block_id,
    parse_list_of,
    parse_seconds,
)
from pyevm_agents.rpc.remote_blocks import parse_remote_number, request_remote

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

MAX_HISTORY_BLOCKS = 1_024
"""The most blocks of a fee history. Source: geth."""

MAX_PERCENTILES = 100

NEXT_BLOCK_FIELDS = frozenset({"baseFeePerGas", "baseFeePerBlobGas"})
"""Fields of a fee history with an entry for the block after the newest one."""


@METHODS.method("eth_gasPrice")
def gas_price(rpc: RequestContext) -> str:
    """Return the suggested gas price of a legacy transaction, in wei."""
    return hex(suggest_gas_price(rpc.node))


@METHODS.method("eth_maxPriorityFeePerGas", is_quick=True)
def max_priority_fee_per_gas(rpc: RequestContext) -> str:  # noqa: ARG001 - the signature of a method
    """Return the suggested priority fee per gas, in wei."""
    return hex(DEFAULT_PRIORITY_FEE_WEI)


@METHODS.method("eth_baseFee")
def base_fee(rpc: RequestContext) -> str:
    """Return the next block's base fee per gas, in wei."""
    return hex(compute_next_base_fee(rpc.node))


@METHODS.method("eth_blobBaseFee")
def blob_base_fee(rpc: RequestContext) -> str:
    """Return the next block's base fee per blob gas, in wei."""
    return hex(_get_blob_base_fee(rpc, rpc.node.next_block.build_header()))


def parse_percentile(value: object, name: str) -> float:
    """Parse a percentile."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:  # noqa: PLR2004 - per cent
        raise invalid_param_error(name, value, "must be a percentile from 0 to 100")
    return float(value)


@METHODS.method(
    "eth_feeHistory", parse_seconds, parse_block_id, optional(parse_list_of(parse_percentile))
)
def fee_history(
    rpc: RequestContext,
    block_count: int,
    newest_block: BlockId,
    reward_percentiles: list[float] | None,
) -> Json:
    """Return the base fees, gas-used ratios and priority fees of a range of blocks."""
    percentiles = reward_percentiles or []
    if len(percentiles) > MAX_PERCENTILES or percentiles != sorted(percentiles):
        raise invalid_param_error(
            "rewardPercentiles",
            percentiles,
            f"must be at most {MAX_PERCENTILES}, in ascending order",
        )
    newest = resolve_header(rpc.node, newest_block)
    last = newest.block_number - (1 if newest_block.tag == "pending" else 0)
    first = last + 1 - min(block_count, MAX_HISTORY_BLOCKS, last + 1)
    fork = rpc.node.fork
    if fork is None or first > fork.origin.block_number:
        return _build_local_history(rpc, first, last, percentiles)
    fork_block = fork.origin.block_number
    remote = _request_history(fork, first, fork_block, percentiles)
    return _join_histories(remote, _build_local_history(rpc, fork_block + 1, last, percentiles))


def _build_local_history(
    rpc: RequestContext, first: int, last: int, percentiles: list[float]
) -> Json:
    chain, head = rpc.node.chain, rpc.node.chain.head
    is_head = last >= head.block_number
    headers = chain.headers(first, last if is_head else last + 1)
    newest = headers[-1] if headers else head
    following = rpc.node.next_block.build_header(newest) if is_head else headers.pop()
    records = [chain.block_with_receipts(header) for header in headers]
    fees = [int(header.as_dict().get("base_fee_per_gas") or 0) for header in headers]
    most_blob_gas = chain.fork.blobs.maximum * BLOB_GAS
    form: Json = {
        "oldestBlock": hex(first),
        "baseFeePerGas": [hex(fee) for fee in [*fees, int(following.base_fee_per_gas or 0)]],
        # A block gas limit may be set to 0.
        "gasUsedRatio": [header.gas_used / max(header.gas_limit, 1) for header in headers],
        "baseFeePerBlobGas": [
            hex(_get_blob_base_fee(rpc, header)) for header in (*headers, following)
        ],
        "blobGasUsedRatio": [
            int(header.as_dict().get("blob_gas_used") or 0) / most_blob_gas for header in headers
        ],
    }
    if percentiles:
        form["reward"] = [
            _compute_rewards(record, fee, percentiles)
            for record, fee in zip(records, fees, strict=True)
        ]
    return form


def _request_history(fork: RemoteFork, first: int, last: int, percentiles: list[float]) -> Json:
    """Return the fee history of blocks of the remote chain, unverified.

    Raises: RpcError: the remote node's error. RemoteFault: no answer, or another range.
    """
    count = last + 1 - first
    params = [hex(count), hex(last), *([percentiles] if percentiles else [])]
    history = request_remote(fork, "eth_feeHistory", params)
    form = history if isinstance(history, dict) else {}
    fees = form.get("baseFeePerGas")
    is_whole = isinstance(fees, list) and len(fees) == count + 1
    if not is_whole or parse_remote_number(form, "oldestBlock") != first:
        raise RemoteFault(
            f"remote chain at {fork.host}: eth_feeHistory: the result has not the {count} blocks "
            f"up to {last}; request fewer blocks"
        )
    return form


def _join_histories(remote: Json, local: Json) -> Json:
    """Return the history of remote blocks and of the local blocks that follow.

    Fields in only one of the two, such as those of blobs, are omitted.
    """
    joined: Json = {"oldestBlock": remote["oldestBlock"]}
    for name, values in local.items():
        earlier = remote.get(name)
        if isinstance(values, list) and isinstance(earlier, list):
            count = len(earlier) - (1 if name in NEXT_BLOCK_FIELDS else 0)
            joined[name] = [*earlier[:count], *values]
    return joined


def _get_blob_base_fee(rpc: RequestContext, header: BlockHeaderAPI) -> int:
    if "excess_blob_gas" not in header.as_dict():
        return 0
    return int(rpc.node.chain.state(header).blob_base_fee)


def _compute_rewards(record: BlockRecord, base_fee: int, percentiles: list[float]) -> list[str]:
    """Return the priority fees at percentiles of a block's gas, as geth computes them."""
    before, paid = 0, []
    for transaction, receipt in zip(record.block.transactions, record.receipts, strict=True):
        tip = effective_gas_price(transaction, base_fee) - base_fee
        paid.append((tip, receipt.gas_used - before))
        before = receipt.gas_used
    if not paid:
        return [serializers.encode_quantity(0) for _ in percentiles]
    paid.sort()
    rewards = []
    for wanted in percentiles:
        threshold = int(record.block.header.gas_used * wanted / 100)
        totals = itertools.accumulate(gas for _, gas in paid)
        tips = (tip for (tip, _), total in zip(paid, totals, strict=True) if total >= threshold)
        rewards.append(serializers.encode_quantity(next(tips)))
    return rewards
