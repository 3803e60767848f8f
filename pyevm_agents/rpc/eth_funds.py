"""Whether the sender of a call could pay for it: where a price is told, as geth asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.failures import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.calls import AccountOverride, Call
    from pyevm_agents.rpc.blocks import View

    Overrides = Mapping[Address, AccountOverride]

LEAST_GAS = 21_000
"""Gas of a transaction that does nothing."""


def require_funds(at: View, call: Call, overrides: Overrides) -> None:
    """Refuse a call that its sender can't pay for.

    Source: geth, core/state_transition.go, `buyGas`.
    Raises: RpcError: it costs more than the sender has.
    """
    gas = int(at.header.gas_limit) if call.gas is None else call.gas
    want = gas * call.gas_price_wei + call.value_wei
    have = _balance(at, call, overrides) if want else 0
    if have < want:
        raise RpcError(
            SERVER_ERROR,
            "err: insufficient funds for gas * price + value: "
            f"address {to_checksum_address(call.sender)} have {have} want {want} "
            f"(supplied gas {gas})",
        )


def affordable(at: View, call: Call, overrides: Overrides) -> Call:
    """Return a call with no more gas than its sender can pay for.

    Source: geth, eth/gasestimator/gasestimator.go.
    Raises: RpcError: the sender has less than is sent, or than the least gas costs.
    """
    if not (call.gas_price_wei or call.value_wei):
        return call
    have = _balance(at, call, overrides)
    if have < call.value_wei:
        raise RpcError(SERVER_ERROR, "insufficient funds for transfer")
    if not call.gas_price_wei:
        return call
    allowance = (have - call.value_wei) // call.gas_price_wei
    if allowance < LEAST_GAS:
        raise RpcError(SERVER_ERROR, f"gas required exceeds allowance ({allowance})")
    gas = int(at.header.gas_limit) if call.gas is None else call.gas
    return replace(call, gas=min(gas, allowance))


def _balance(at: View, call: Call, overrides: Overrides) -> int:
    told = overrides.get(call.sender)
    if told is not None and told.balance_wei is not None:
        return told.balance_wei
    return int(at.state.get_balance(call.sender))
