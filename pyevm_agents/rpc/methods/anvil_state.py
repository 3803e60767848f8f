"""`anvil_*`, `hardhat_*` and `evm_*` methods that set state: ether, tokens, code, storage, dumps.

The storage slot of a token balance is found by calls: of the slots that `balanceOf` reads, the one
whose value is returned.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.errors import ConfigError
from pyevm_agents.node.state_dump import decode_dump, dump, load
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    parse_address,
    parse_boolean,
    parse_data,
    parse_quantity,
    parse_slot,
    parse_uint64,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from eth.abc import StateAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

BALANCE_OF = keccak(b"balanceOf(address)")[:4]
ALLOWANCE = keccak(b"allowance(address,address)")[:4]

PROBE = 0x1D0_5EED_0F_A_51_07
"""A balance that no token returns by chance."""

MAX_DUMP_BYTES = 256 * 2**20
"""Limit of a decompressed dump in bytes: 8 MB of gzip can expand a thousandfold."""


@METHODS.method(
    "anvil_setBalance",
    "hardhat_setBalance",
    "evm_setAccountBalance",
    "tenderly_setBalance",
    parse_address,
    parse_quantity,
)
def set_balance(rpc: RequestContext, account: Address, balance: int) -> bool:
    """Set an account's balance, in wei."""
    rpc.run_exclusive(
        lambda: rpc.node.patch_state(lambda state: state.set_balance(account, balance))
    )
    return True


@METHODS.method(
    "anvil_setNonce", "hardhat_setNonce", "evm_setAccountNonce", parse_address, parse_uint64
)
def set_nonce(rpc: RequestContext, account: Address, nonce: int) -> bool:
    """Set an account's nonce."""
    rpc.run_exclusive(lambda: rpc.node.patch_state(lambda state: state.set_nonce(account, nonce)))
    return True


@METHODS.method("anvil_setCode", "hardhat_setCode", "evm_setAccountCode", parse_address, parse_data)
def set_code(rpc: RequestContext, account: Address, code: bytes) -> bool:
    """Set an account's code."""
    rpc.run_exclusive(lambda: rpc.node.patch_state(lambda state: state.set_code(account, code)))
    return True


@METHODS.method(
    "anvil_setStorageAt",
    "hardhat_setStorageAt",
    "evm_setAccountStorageAt",
    parse_address,
    parse_slot,
    parse_slot,
)
def set_storage_at(rpc: RequestContext, account: Address, position: int, value: int) -> bool:
    """Set a storage slot."""
    rpc.run_exclusive(
        lambda: rpc.node.patch_state(lambda state: state.set_storage(account, position, value))
    )
    return True


@METHODS.method(
    "anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance", parse_address, parse_quantity
)
def add_balance(rpc: RequestContext, account: Address, balance: int) -> None:
    """Increase an account's balance, in wei."""

    def change(state: StateAPI) -> None:
        most = 2**256 - 1
        state.set_balance(account, min(state.get_balance(account) + balance, most))

    rpc.run_exclusive(lambda: rpc.node.patch_state(change))


@METHODS.method(
    "anvil_dealERC20",
    "hardhat_dealERC20",
    "anvil_setERC20Balance",
    "hardhat_setERC20Balance",
    parse_address,
    parse_address,
    parse_quantity,
)
def deal_erc20(rpc: RequestContext, account: Address, token: Address, balance: int) -> None:
    """Set an account's balance of an ERC-20 token."""
    asks = BALANCE_OF + _pad_address(account)
    _set_token_slot(rpc, Call(to=token, data=asks), balance, "ERC20 balance")


@METHODS.method(
    "anvil_setERC20Allowance", parse_address, parse_address, parse_address, parse_quantity
)
def set_erc20_allowance(
    rpc: RequestContext, owner: Address, spender: Address, token: Address, amount: int
) -> None:
    """Set a spender's allowance of an owner's ERC-20 token."""
    asks = ALLOWANCE + _pad_address(owner) + _pad_address(spender)
    _set_token_slot(rpc, Call(to=token, data=asks), amount, "ERC20 allowance")


def _pad_address(account: Address) -> bytes:
    return account.rjust(32, b"\0")


def _set_token_slot(rpc: RequestContext, call: Call, value: int, quantity: str) -> None:
    """Set the slot whose value a call of a token returns."""

    def set_slot() -> None:
        token = call.to
        assert token is not None  # noqa: S101 - set by the callers
        slot = _find_slot(rpc.node.chain, call, token)
        if slot is None:
            raise RpcError(
                SERVER_ERROR,
                f"Unable to set {quantity}, no slot found: {serializers.encode_data(token)} does "
                "not return the value of a storage slot",
            )
        rpc.node.patch_state(lambda state: state.set_storage(token, slot, value))

    rpc.node.submit_change(set_slot).result()


def _find_slot(chain: Chain, call: Call, token: Address) -> int | None:
    try:
        for slot in sorted(chain.find_call_slots(call, token)):
            overrides = {token: AccountOverride(storage_diff={slot: PROBE})}
            if chain.call(call, overrides=overrides).output == PROBE.to_bytes(32, "big"):
                return slot
    except RuleError:
        return None
    return None


@METHODS.method("anvil_dumpState", "hardhat_dumpState", optional(parse_boolean))
def dump_state(rpc: RequestContext, preserve_historical_states: bool | None) -> str:  # noqa: ARG001, FBT001 - anvil's
    """Return all accounts and the latest block's header, as gzipped JSON in hex."""
    form = json.dumps(
        rpc.node.submit_change(lambda: dump(rpc.node)).result(), separators=(",", ":")
    )
    return serializers.encode_data(gzip.compress(form.encode(), mtime=0))


@METHODS.method("anvil_loadState", "hardhat_loadState", parse_data)
def load_state(rpc: RequestContext, state: bytes) -> bool:
    """Load a dump's accounts into the latest state, and mine up to its block number and time."""
    try:
        form = decode_dump(state, most_bytes=MAX_DUMP_BYTES)
    except ConfigError as error:
        raise RpcError(
            INVALID_PARAMS, f"invalid params: state: Failed to decode state dump: {error}"
        ) from error
    rpc.node.submit_change(lambda: load(rpc.node, form)).result()
    return True
