"""Balances end at 2^256 - 1 wei: a transfer beyond fails its call, and fees fill up to it.

No chain with a real supply reaches the bound, so no rule names it. A development node sets any
balance, and py-evm would raise an error that is none of the EVM's. Source: revm, which anvil uses:
`OverflowPayment` is a halt of the call, and rewards saturate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.constants import UINT_256_MAX
from eth.exceptions import VMError

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, MessageAPI, StateAPI, TransactionContextAPI
    from eth_typing import Address


class BalanceOverflowError(VMError):
    """A transfer would raise a balance above 2^256 - 1 wei; the call has no effect."""


def is_overflowing(state: StateAPI, message: MessageAPI) -> bool:
    """Whether the value of a call or a creation is more than the receiver can hold."""
    if not message.value or not message.should_transfer_value:
        return False
    receiver = message.storage_address
    return receiver != message.sender and _would_overflow(state, receiver, message.value)


def fail_call(
    state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
) -> ComputationAPI:
    """Return the computation of a call whose value overflows: it takes all gas of the call."""
    with state.get_computation(message, transaction_context) as computation:
        raise BalanceOverflowError(f"balance overflow: a transfer of {message.value} wei")
    return computation


def require_room(state: StateAPI, sender: Address, receiver: Address) -> None:
    """Fail the call that moves the whole balance of `sender`, as SELFDESTRUCT does, if too much.

    Raises: BalanceOverflowError: the receiver cannot hold it.
    """
    value = state.get_balance(sender)
    if receiver != sender and _would_overflow(state, receiver, value):
        raise BalanceOverflowError(f"balance overflow: a transfer of {value} wei")


def credit(state: StateAPI, account: Address, wei: int) -> None:
    """Add a fee or a refund to a balance, as far as the balance can hold it."""
    state.set_balance(account, min(state.get_balance(account) + wei, UINT_256_MAX))


def _would_overflow(state: StateAPI, receiver: Address, wei: int) -> bool:
    return state.get_balance(receiver) + wei > UINT_256_MAX
