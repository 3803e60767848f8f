"""Gas limits of calls and transactions, capped to the gas that the senders can pay for.

Source: geth, eth/gasestimator/gasestimator.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas, VMError

from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.node.errors import (
    AllowanceError,
    ExecutionFailedError,
    InvalidRequestError,
    OutOfGasError,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from pyevm_agents.chain.calls import AccountOverrides, BlockOverride, Call
    from pyevm_agents.chain.simulator import GasEstimate
    from pyevm_agents.node.node import Node
    from pyevm_agents.node.state_view import StateView


LEAST_GAS = 21_000
"""Gas of a plain transfer, the least of any transaction."""


def estimate_gas(  # noqa: PLR0913 - keyword arguments
    node: Node,
    call: Call,
    view: StateView,
    overrides: AccountOverrides | None = None,
    block: BlockOverride | None = None,
    *,
    price_wei: int | None = None,
) -> int:
    """Return the least gas limit with which a call succeeds.

    Input:  price_wei: the gas price that the execution sees, which the sender need not afford; None
            for the call's. A contract that refunds its caller's fee spends gas by it.
    Raises: RequestError: the call fails with all the gas allowed, or can't be executed.
            EngineFault: the host failed.
    """
    capped = _set_price(cap_gas(call, view, overrides or {}), price_wei)
    header = view.header
    try:
        with node.chain.agent_events.run("estimate"):
            return view.chain.estimate_gas(capped, header=header, overrides=overrides, block=block)
    except RuleError as error:
        raise InvalidRequestError(f"err: {error}") from error
    except OutOfGas as error:
        raise OutOfGasError(error, capped.gas or header.gas_limit) from error
    except VMError as error:
        result = view.chain.call(capped, header=header, overrides=overrides, block=block)
        context = read_revert_context(result.computation)
        raise ExecutionFailedError(error, result.output, context) from error


def estimate_if_short(call: Call, view: StateView, price_wei: int) -> GasEstimate | None:
    """Estimate as `estimate_gas` does if `SHORT_GAS` is enough; otherwise return None.

    Raises: RequestError: see `estimate_gas`.
    """
    capped = _set_price(cap_gas(call, view, {}), price_wei)
    try:
        return view.chain.estimate_if_short(capped, header=view.header)
    except RuleError as error:
        raise InvalidRequestError(f"err: {error}") from error


def _set_price(call: Call, price_wei: int | None) -> Call:
    return call if price_wei is None else replace(call, gas_price_wei=price_wei)


def cap_gas(call: Call, view: StateView, overrides: AccountOverrides) -> Call:
    """Return a call with the gas capped to the amount that the sender can pay for.

    Raises: AllowanceError: the balance is below the value, or below the price of `LEAST_GAS`.
    """
    if not (call.gas_price_wei or call.value_wei):
        return call
    have = get_sender_balance(call, view, overrides)
    if have < call.value_wei:
        raise AllowanceError("insufficient funds for transfer")
    if not call.gas_price_wei:
        return call
    allowance = (have - call.value_wei) // call.gas_price_wei
    if allowance < LEAST_GAS:
        raise AllowanceError(f"gas required exceeds allowance ({allowance})")
    gas = int(view.header.gas_limit) if call.gas is None else call.gas
    return replace(call, gas=min(gas, allowance))


def get_sender_balance(call: Call, view: StateView, overrides: AccountOverrides) -> int:
    """Return the balance of a call's sender in wei, with overrides applied."""
    override = overrides.get(call.sender)
    if override is not None and override.balance_wei is not None:
        return override.balance_wei
    return int(view.state.get_balance(call.sender))
