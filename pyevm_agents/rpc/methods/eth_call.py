"""`eth_call`, `eth_estimateGas` and `eth_createAccessList`.

The sender of a call with a gas price must be able to pay, as in geth.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import Revert
from eth_utils import to_checksum_address

from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.chain.calls import AccountOverride
from pyevm_agents.node.gas_limits import estimate_gas as estimate_gas_limit
from pyevm_agents.node.gas_limits import estimate_if_short, get_sender_balance
from pyevm_agents.node.listeners import find_warning, warn_of_missing_code
from pyevm_agents.node.transaction_defaults import require_chain_id
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import resolve_next_view, resolve_view
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError, WouldBlockError, execution_error
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import LATEST, BlockId, parse_block_id
from pyevm_agents.rpc.transaction_params import (
    parse_block_override,
    parse_state_overrides,
    parse_transaction_request,
)
from pyevm_agents.tracing import AccessListTracer, make_traced_vm

if TYPE_CHECKING:
    from eth.exceptions import VMError
    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverrides, BlockOverride, Call, CallResult
    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json


METHODS = MethodTable()

MAX_ROUNDS = 100
"""The most executions until the list is stable. It grows with each, so three are rare."""


@METHODS.method(
    "eth_call",
    parse_transaction_request,
    optional(parse_block_id, LATEST),
    optional(parse_state_overrides),
    optional(parse_block_override),
    is_quick=True,
)
def call(
    rpc: RequestContext,
    transaction: TransactionRequest,
    block: BlockId,
    state_overrides: AccountOverrides | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Simulate a call in the context of a block; return the output."""
    require_chain_id(rpc.node, transaction)
    at = resolve_view(rpc, block)
    sent = rpc.limit_call(transaction.to_call(), at, block_override)
    require_funds(at, sent, state_overrides or {})
    result = _execute_call(rpc, sent, at, state_overrides, block_override)
    rpc.node.listeners.on_console_log(result.computation)
    rpc.node.listeners.on_warning(find_warning(result.computation))
    if result.error is not None:
        raise execution_error(
            result.error,
            result.output,
            read_revert_context(result.computation),
            rpc.node.chain.known_contracts,
        )
    return serializers.encode_data(result.output)


def _execute_call(
    rpc: RequestContext,
    call: Call,
    at: StateView,
    overrides: AccountOverrides | None,
    block: BlockOverride | None,
) -> CallResult:
    """Simulate a call; if the thread may not wait, only a cheap one.

    Raises: WouldBlockError: the call is not cheap. RuleError: the call is invalid.
    """
    if not rpc.may_wait:
        is_unmodified = overrides is None and block is None
        short = at.chain.call_if_cheap(call, header=at.header) if is_unmodified else None
        if short is None:
            raise WouldBlockError
        return short
    with rpc.node.chain.agent_events.run("call"):
        return at.chain.call(call, header=at.header, overrides=overrides, block=block)


@METHODS.method(
    "eth_estimateGas",
    parse_transaction_request,
    optional(parse_block_id),
    optional(parse_state_overrides),
    optional(parse_block_override),
    is_quick=True,
)
def estimate_gas(
    rpc: RequestContext,
    transaction: TransactionRequest,
    block: BlockId | None,
    state_overrides: AccountOverrides | None = None,
    block_override: BlockOverride | None = None,
) -> str:
    """Return the exact least gas limit with which a transaction succeeds.

    Without a gas price, the execution sees the suggested one, which the sender need not afford.
    """
    at = resolve_next_view(rpc, block, transaction.sender, transaction.nonce)
    call = rpc.limit_call(transaction.to_call(), at, block_override)
    accounts = dict(state_overrides or {})
    if transaction.sender is None:
        _fund_sender(accounts, call, at)
    base_fee = None if block_override is None else block_override.base_fee_wei
    if base_fee is None:
        base_fee = int(at.header.base_fee_per_gas or 0)
    price = transaction.find_price_wei(base_fee)
    if not rpc.may_wait:
        is_unmodified = not accounts and block_override is None
        short = estimate_if_short(call, at, price) if is_unmodified else None
        if short is None:
            raise WouldBlockError
        rpc.node.listeners.on_warning(find_warning(short.computation))
        return hex(short.gas)
    gas = estimate_gas_limit(rpc.node, call, at, accounts, block_override, price_wei=price)
    rpc.node.listeners.on_warning(find_call_warning(at, call, accounts))
    return hex(gas)


def _fund_sender(accounts: dict[Address, AccountOverride], call: Call, at: StateView) -> None:
    """Give the sender that a request does not name the ether for it, as anvil does."""
    gas = int(at.header.gas_limit) if call.gas is None else call.gas
    want = call.value_wei + gas * call.gas_price_wei
    if get_sender_balance(call, at, accounts) < want:
        override = accounts.get(call.sender, AccountOverride(keeps_precompile=True))
        accounts[call.sender] = replace(override, balance_wei=want)


def find_call_warning(at: StateView, call: Call, overrides: AccountOverrides) -> str | None:
    """Return the warning about an estimated call: calldata for an address without code."""
    state = at.state
    if call.to is None or not call.data or call.to in state.computation_class.get_precompiles():
        return None
    override = overrides.get(call.to)
    code = None if override is None else override.code
    if code is None:
        code = state.get_code(call.to)
    return None if code else warn_of_missing_code(call.to)


def require_funds(at: StateView, call: Call, overrides: AccountOverrides) -> None:
    """Require a sender with the ether for a call.

    Source: geth, core/state_transition.go, `buyGas`.
    Raises: RpcError: the call costs more than the sender's balance.
    """
    gas = int(at.header.gas_limit) if call.gas is None else call.gas
    want = gas * call.gas_price_wei + call.value_wei
    have = get_sender_balance(call, at, overrides) if want else 0
    if have < want:
        raise RpcError(
            SERVER_ERROR,
            "err: insufficient funds for gas * price + value: "
            f"address {to_checksum_address(call.sender)} have {have} want {want} "
            f"(supplied gas {gas})",
        )


@METHODS.method(
    "eth_createAccessList",
    parse_transaction_request,
    optional(parse_block_id),
    optional(parse_state_overrides),
)
def create_access_list(
    rpc: RequestContext,
    transaction: TransactionRequest,
    block: BlockId | None,
    state_overrides: AccountOverrides | None,
) -> Json:
    """Return the access list of a transaction, and the gas with that list."""
    at = resolve_next_view(rpc, block, transaction.sender, transaction.nonce)
    call = rpc.limit_call(transaction.to_call(), at)
    for _ in range(MAX_ROUNDS):
        tracer = AccessListTracer(call.access_list)
        result = at.chain.call(
            call,
            header=at.header,
            overrides=state_overrides,
            trace=partial(make_traced_vm, tracer=tracer),
        )
        if tracer.to_access_list() == call.access_list:
            break
        call = replace(call, access_list=tracer.to_access_list())
    form: Json = {"accessList": tracer.result(), "gasUsed": hex(result.gas_used)}
    if result.error is not None:
        form["error"] = _describe_error(result.error)
    return form


def _describe_error(error: VMError) -> str:
    return "execution reverted" if isinstance(error, Revert) else str(error)
