"""`eth_call` and `eth_estimateGas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.node.gas_estimator import estimate_gas as estimate_gas_limit
from pyevm_agents.node.transaction_defaults import require_chain_id
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import next_view, view_of
from pyevm_agents.rpc.errors import RpcError, WouldWaitError
from pyevm_agents.rpc.failures import SERVER_ERROR, execution_failed
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.methods.eth_funds import require_funds
from pyevm_agents.rpc.params import LATEST, BlockId, block
from pyevm_agents.rpc.transaction_params import asked, block_override, overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverride, BlockOverride, Call, CallResult
    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc

METHODS = Table()


@METHODS.method(
    "eth_call",
    asked,
    optional(block, LATEST),
    optional(overrides),
    optional(block_override),
    is_quick=True,
)
def call(
    rpc: Rpc,
    transaction: TransactionRequest,
    block: BlockId,
    state_overrides: Mapping[Address, AccountOverride] | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Execute a message in a block's context, and keep nothing; return its output."""
    require_chain_id(rpc.node, transaction)
    at = view_of(rpc, block)
    sent = transaction.to_call()
    require_funds(at, sent, state_overrides or {})
    try:
        result = _executed(rpc, sent, at, state_overrides, block_override)
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    rpc.node.watchers.printed(result.computation)
    if result.error is not None:
        raise execution_failed(result.error, result.output)
    return serializers.data(result.output)


def _executed(
    rpc: Rpc,
    call: Call,
    at: StateView,
    overrides: Mapping[Address, AccountOverride] | None,
    block: BlockOverride | None,
) -> CallResult:
    """Execute a call; where the thread may not wait, only one that is short.

    Raises: WouldWaitError: it is not. ValidationError: no block could hold it.
    """
    if not rpc.may_wait:
        is_as_it_is = overrides is None and block is None
        short = at.chain.call_if_short(call, header=at.header) if is_as_it_is else None
        if short is None:
            raise WouldWaitError
        return short
    with rpc.node.chain.steps.run("call"):
        return at.chain.call(call, header=at.header, overrides=overrides, block=block)


@METHODS.method(
    "eth_estimateGas",
    asked,
    optional(block),
    optional(overrides),
    optional(block_override),
)
def estimate_gas(
    rpc: Rpc,
    transaction: TransactionRequest,
    block: BlockId | None,
    state_overrides: Mapping[Address, AccountOverride] | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Return the least gas limit with which a transaction succeeds, exactly."""
    at = next_view(rpc, block, transaction.sender, transaction.nonce)
    call = transaction.to_call()
    return hex(estimate_gas_limit(rpc.node, call, at, state_overrides, block_override))
