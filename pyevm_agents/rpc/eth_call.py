"""`eth_call` and `eth_estimateGas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas, VMError
from eth_utils import ValidationError

from pyevm_agents.calls import Call
from pyevm_agents.rpc import formats
from pyevm_agents.rpc.asked import Asked, asked, block_override, overrides
from pyevm_agents.rpc.blocks import next_view, view_of
from pyevm_agents.rpc.errors import RpcError, WouldWaitError
from pyevm_agents.rpc.eth_funds import affordable, require_funds
from pyevm_agents.rpc.failures import SERVER_ERROR, ExecutionFailedError, execution_failed
from pyevm_agents.rpc.parameters import LATEST, BlockId, block
from pyevm_agents.rpc.table import Table, optional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.calls import AccountOverride, BlockOverride, CallResult
    from pyevm_agents.rpc.blocks import View
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
    transaction: Asked,
    block: BlockId,
    state_overrides: Mapping[Address, AccountOverride] | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Execute a message in a block's context, and keep nothing; return its output."""
    require_chain(rpc, transaction)
    at = view_of(rpc, block)
    sent = call_of(transaction)
    require_funds(at, sent, state_overrides or {})
    try:
        result = _executed(rpc, sent, at, state_overrides, block_override)
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    rpc.node.watchers.printed(result.computation)
    if result.error is not None:
        raise execution_failed(result.error, result.output)
    return formats.data(result.output)


def _executed(
    rpc: Rpc,
    call: Call,
    at: View,
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
    transaction: Asked,
    block: BlockId | None,
    state_overrides: Mapping[Address, AccountOverride] | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Return the least gas limit with which a transaction succeeds, exactly."""
    at = next_view(rpc, block, transaction.sender, transaction.nonce)
    return hex(least_gas_of(rpc, call_of(transaction), at, state_overrides, block_override))


def least_gas_of(
    rpc: Rpc,
    call: Call,
    at: View,
    overrides: Mapping[Address, AccountOverride] | None = None,
    block: BlockOverride | None = None,
) -> int:
    """Return the least gas limit with which a call succeeds.

    Raises: RpcError: it fails with all the gas that it may have.
    """
    wanted = affordable(at, call, overrides or {})
    try:
        with rpc.node.chain.steps.run("estimate"):
            return at.chain.estimate_gas(wanted, header=at.header, overrides=overrides, block=block)
    except ValidationError as error:
        raise RpcError(SERVER_ERROR, f"err: {error}") from error
    except OutOfGas as error:
        most = wanted.gas or at.header.gas_limit
        raise ExecutionFailedError(
            SERVER_ERROR, f"gas required exceeds allowance ({most})"
        ) from error
    except VMError as error:
        result = at.chain.call(wanted, header=at.header, overrides=overrides, block=block)
        raise execution_failed(error, result.output) from error


def require_chain(rpc: Rpc, asked: Asked) -> None:
    """Refuse what is for another chain.

    Raises: RpcError: in geth's words.
    """
    own = rpc.node.chain.config.chain_id
    if asked.chain_id not in (None, own):
        raise RpcError(
            SERVER_ERROR, f"chainId does not match node's (have={asked.chain_id}, want={own})"
        )


def call_of(asked: Asked) -> Call:
    """Return what was asked for as a message."""
    fee = asked.gas_price_wei if asked.gas_price_wei is not None else asked.max_fee_wei
    return Call(
        to=asked.to,
        sender=asked.sender or bytes(20),  # type: ignore[arg-type]
        data=asked.data,
        value_wei=asked.value_wei,
        gas=asked.gas,
        gas_price_wei=fee or 0,
        access_list=asked.access_list or (),
        authorizations=asked.authorizations or (),
        blob_hashes=asked.blob_hashes or (),
    )
