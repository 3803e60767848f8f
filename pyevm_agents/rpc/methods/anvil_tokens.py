"""`anvil_*` and `hardhat_*` that give accounts ether, tokens and allowances.

Where a token keeps a balance is found by asking it: a call of `balanceOf` tells which slots it
reads, and the right one is that whose value is the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import ValidationError, keccak

from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.failures import SERVER_ERROR
from pyevm_agents.rpc.method_table import Table
from pyevm_agents.rpc.params import address, quantity

if TYPE_CHECKING:
    from eth.abc import StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain
    from pyevm_agents.rpc.context import Rpc

METHODS = Table()

BALANCE_OF = keccak(b"balanceOf(address)")[:4]
ALLOWANCE = keccak(b"allowance(address,address)")[:4]

PROBE = 0x1D0_5EED_0F_A_51_07
"""A balance that no token answers by chance."""


@METHODS.method("anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance", address, quantity)
def add_balance(rpc: Rpc, account: Address, balance: int) -> None:
    """Give an account so much more, in wei."""

    def change(state: StateAPI) -> None:
        most = 2**256 - 1
        state.set_balance(account, min(state.get_balance(account) + balance, most))

    rpc.change(lambda: rpc.node.modify(change))


@METHODS.method(
    "anvil_dealERC20",
    "hardhat_dealERC20",
    "anvil_setERC20Balance",
    "hardhat_setERC20Balance",
    address,
    address,
    quantity,
)
def deal_erc20(rpc: Rpc, account: Address, token: Address, balance: int) -> None:
    """Give an account its balance of a token."""
    asks = BALANCE_OF + _word(account)
    _set_answer(rpc, Call(to=token, data=asks), balance, "ERC20 balance")


@METHODS.method("anvil_setERC20Allowance", address, address, address, quantity)
def set_erc20_allowance(
    rpc: Rpc, owner: Address, spender: Address, token: Address, amount: int
) -> None:
    """Let somebody spend so much of an account's token."""
    asks = ALLOWANCE + _word(owner) + _word(spender)
    _set_answer(rpc, Call(to=token, data=asks), amount, "ERC20 allowance")


def _word(account: Address) -> bytes:
    return account.rjust(32, b"\0")


def _set_answer(rpc: Rpc, call: Call, value: int, what: str) -> None:
    """Set the slot that a call of a token answers with."""

    def work() -> None:
        token = call.to
        assert token is not None  # noqa: S101 - whom is asked
        slot = _slot_of(rpc.node.chain, call, token)
        if slot is None:
            raise RpcError(
                SERVER_ERROR,
                f"Unable to set {what}, no slot found: {serializers.data(token)} answers with none "
                "of its slots as it is",
            )
        rpc.node.modify(lambda state: state.set_storage(token, slot, value))

    rpc.node.do(work).result()


def _slot_of(chain: Chain, call: Call, token: Address) -> int | None:
    try:
        for slot in sorted(chain.slots_of_call(call, token)):
            told = {token: AccountOverride(storage_diff={slot: PROBE})}
            if chain.call(call, overrides=told).output == PROBE.to_bytes(32, "big"):
                return slot
    except ValidationError:
        return None
    return None
