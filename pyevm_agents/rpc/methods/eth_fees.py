"""`eth_*` methods for fees."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pyevm_agents.chain.transactions import BLOB_GAS, effective_gas_price
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

if TYPE_CHECKING:
    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

MAX_HISTORY_BLOCKS = 1_024
"""The most blocks of a fee history. Source: geth."""

MAX_PERCENTILES = 100


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
    return hex(_get_blob_base_fee(rpc, None))


def parse_percentile(value: object, name: str) -> float:
    """Parse a percentile."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:  # noqa: PLR2004 - per cent
        raise invalid_param_error(name, value, "want a percentile from 0 to 100")
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
            "rewardPercentiles", percentiles, f"want at most {MAX_PERCENTILES}, in ascending order"
        )
    newest = resolve_header(rpc.node, newest_block)
    last = min(newest.block_number, rpc.node.chain.head.block_number)
    count = min(block_count, MAX_HISTORY_BLOCKS, last + 1)
    headers = [rpc.node.chain.header(number) for number in range(last + 1 - count, last + 1)]
    records = [rpc.node.chain.block_with_receipts(header) for header in headers]
    fees = [int(header.as_dict().get("base_fee_per_gas") or 0) for header in headers]
    most_blob_gas = rpc.node.chain.fork.blobs.maximum * BLOB_GAS
    form: Json = {
        "oldestBlock": hex(last + 1 - count),
        "baseFeePerGas": [hex(fee) for fee in [*fees, _get_next_base_fee(rpc, last)]],
        # A block gas limit may be set to 0.
        "gasUsedRatio": [header.gas_used / max(header.gas_limit, 1) for header in headers],
        "baseFeePerBlobGas": [
            *(hex(_get_blob_base_fee(rpc, header.block_number)) for header in headers),
            hex(
                _get_blob_base_fee(
                    rpc, last + 1 if last < rpc.node.chain.head.block_number else None
                )
            ),
        ],
        "blobGasUsedRatio": [
            int(header.as_dict().get("blob_gas_used") or 0) / most_blob_gas for header in headers
        ],
    }
    if reward_percentiles:
        form["reward"] = [
            _compute_rewards(record, fee, percentiles)
            for record, fee in zip(records, fees, strict=True)
        ]
    return form


def _get_next_base_fee(rpc: RequestContext, last: int) -> int:
    if last < rpc.node.chain.head.block_number:
        return int(rpc.node.chain.header(last + 1).base_fee_per_gas or 0)
    return compute_next_base_fee(rpc.node)


def _get_blob_base_fee(rpc: RequestContext, number: int | None) -> int:
    chain = rpc.node.chain
    header = rpc.node.next_block.build_header() if number is None else chain.header(number)
    if "excess_blob_gas" not in header.as_dict():
        return 0
    return int(chain.state(header).blob_base_fee)


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
