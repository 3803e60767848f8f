"""`eth_callMany`: bundles of calls, each on the state after the one before.

Source: reth, Erigon and anvil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.node.listeners import find_warning
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import resolve_view
from pyevm_agents.rpc.call_sequence import CallSequence
from pyevm_agents.rpc.errors import execution_error
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_block_id,
    parse_list,
    parse_object,
)
from pyevm_agents.rpc.transaction_params import (
    parse_block_override,
    parse_state_overrides,
    parse_transaction_request,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from pyevm_agents.chain.calls import AccountOverrides, BlockOverride, Call
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

MAX_CALLS = 1_000
"""The most calls of all bundles together."""

WHOLE_BLOCK = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBundle:
    """Calls in the context of one block."""

    calls: tuple[TransactionRequest, ...]
    block: BlockOverride | None


def parse_bundles(value: object, name: str) -> list[CallBundle]:
    """Parse bundles of calls."""
    read = []
    for index, item in enumerate(parse_list(value, name)):
        at = f"{name}[{index}]"
        form = parse_object(item, at)
        block = form.get("blockOverride")
        calls = parse_list(form.get("transactions"), f"{at}.transactions")
        read.append(
            CallBundle(
                calls=tuple(
                    parse_transaction_request(call, f"{at}.transactions[{place}]")
                    for place, call in enumerate(calls)
                ),
                block=None if block is None else parse_block_override(block, f"{at}.blockOverride"),
            )
        )
    if not read:
        raise invalid_param_error(name, value, "must be at least one bundle")
    if (count := sum(len(bundle.calls) for bundle in read)) > MAX_CALLS:
        raise invalid_param_error(name, value, f"must be at most {MAX_CALLS} calls, not {count}")
    return read


def parse_state_context(value: object, name: str) -> BlockId:
    """Parse the block after which the calls are simulated."""
    form = parse_object(value, name)
    index = form.get("transactionIndex")
    if index is not None and index != WHOLE_BLOCK:
        raise invalid_param_error(
            f"{name}.transactionIndex", index, "must be -1 (calls follow a whole block) or none"
        )
    number = form.get("blockNumber")
    return LATEST if number is None else parse_block_id(number, f"{name}.blockNumber")


@METHODS.method(
    "eth_callMany",
    parse_bundles,
    optional(parse_state_context, LATEST),
    optional(parse_state_overrides),
)
def call_many(
    rpc: RequestContext,
    bundles: list[CallBundle],
    state_context: BlockId,
    state_overrides: AccountOverrides | None = None,
) -> list[list[Json]]:
    """Simulate bundles of calls, each on the state after the one before; return the outputs."""
    at = resolve_view(rpc, state_context)
    sequence = CallSequence(at, state_overrides)
    return [
        [
            _try_call(rpc, sequence, rpc.limit_call(call.to_call(), at, bundle.block), bundle.block)
            for call in bundle.calls
        ]
        for bundle in bundles
    ]


def _try_call(
    rpc: RequestContext,
    sequence: CallSequence,
    call: Call,
    block: BlockOverride | None,
) -> Json:
    try:
        result = sequence.call(call, block=block)
    except RuleError as error:
        return {"error": f"err: {error}"}
    rpc.node.listeners.on_console_log(result.computation)
    rpc.node.listeners.on_warning(find_warning(result.computation))
    if result.error is not None:
        return {
            "error": execution_error(
                result.error,
                result.output,
                read_revert_context(result.computation),
                rpc.node.chain.known_contracts,
            ).message
        }
    return {"value": serializers.encode_data(result.output)}
