"""Whether the sender of a call could pay for it: where a price is told, as geth asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.node.gas_estimator import balance_of_sender
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.failures import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverride, Call
    from pyevm_agents.node.state_view import StateView

    Overrides = Mapping[Address, AccountOverride]


def require_funds(at: StateView, call: Call, overrides: Overrides) -> None:
    """Refuse a call that its sender can't pay for.

    Source: geth, core/state_transition.go, `buyGas`.
    Raises: RpcError: it costs more than the sender has.
    """
    gas = int(at.header.gas_limit) if call.gas is None else call.gas
    want = gas * call.gas_price_wei + call.value_wei
    have = balance_of_sender(call, at, overrides) if want else 0
    if have < want:
        raise RpcError(
            SERVER_ERROR,
            "err: insufficient funds for gas * price + value: "
            f"address {to_checksum_address(call.sender)} have {have} want {want} "
            f"(supplied gas {gas})",
        )
