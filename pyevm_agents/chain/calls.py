"""Calls: messages that are executed without a signature, and overrides of state and block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from eth.constants import ZERO_ADDRESS
from eth.vm.forks.berlin.constants import (
    ACCESS_LIST_ADDRESS_COST_EIP_2930,
    ACCESS_LIST_STORAGE_KEY_COST_EIP_2930,
)
from eth.vm.forks.prague.constants import PER_EMPTY_ACCOUNT_BASE_COST, SET_CODE_TRANSACTION_TYPE
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address
from eth_utils import to_checksum_address

from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import (
        BlockHeaderAPI,
        ComputationAPI,
        SignedTransactionAPI,
        StateAPI,
        TransactionBuilderAPI,
        UnsignedTransactionAPI,
    )
    from eth.exceptions import VMError
    from eth.vm.forks.prague.transactions import Authorization

    from pyevm_agents.vm import Interruption

Precompile: TypeAlias = "Callable[[ComputationAPI], Any]"
AccountOverrides: TypeAlias = "Mapping[Address, AccountOverride]"


class InvalidCallError(RuleError):
    """A call can't be executed as its overrides or its type demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A message to execute without a signature, nonce or fee."""

    to: Address | None
    sender: Address = ZERO_ADDRESS
    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """Gas limit; None for the block's."""

    gas_price_wei: int = 0
    """The value of GASPRICE; nothing is paid."""

    access_list: tuple[tuple[Address, tuple[int, ...]], ...] = ()
    """Addresses and slots that are warm from the start (EIP-2930)."""

    authorizations: tuple[Authorization, ...] = ()
    """Delegations of accounts to code (EIP-7702)."""

    blob_hashes: tuple[bytes, ...] = ()
    """The values of BLOBHASH (EIP-4844)."""

    interruption: Interruption | None = None
    """Ends the execution from another thread; None for a call that always runs to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call."""

    output: bytes
    gas_used: int
    """Gas of the call as a transaction: with intrinsic gas, less refunds."""
    error: VMError | None
    computation: ComputationAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOverride:
    """Override of an account for one call. None: unchanged."""

    balance_wei: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    storage: Mapping[int, int] | None = None
    """The whole storage: other slots are empty."""

    storage_diff: Mapping[int, int] = field(default_factory=dict)
    """Single slots; others are unchanged."""

    precompile_to: Address | None = None
    """The address at which the precompile of this account is found instead."""

    keeps_precompile: bool = False
    """Whether a precompile of the account stays where it is: the account is as a call or a block
    left it, and not as a client wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOverride:
    """Override of the block for one call. None: unchanged."""

    number: int | None = None
    timestamp_seconds: int | None = None
    gas_limit: int | None = None
    coinbase: Address | None = None
    prev_randao: bytes | None = None
    base_fee_wei: int | None = None
    """The value of BASEFEE in a call with a gas price; without one it is 0, as in geth."""

    blob_base_fee_wei: int | None = None

    def apply_to(self, header: BlockHeaderAPI) -> BlockHeaderAPI:
        """Return a header with the overrides applied; if there are none, the same object."""
        fields: dict[str, object] = {
            "block_number": self.number,
            "timestamp": self.timestamp_seconds,
            "gas_limit": self.gas_limit,
            "coinbase": self.coinbase,
            "mix_hash": self.prev_randao,
            "base_fee_per_gas": self.base_fee_wei,
        }
        changes = {name: value for name, value in fields.items() if value is not None}
        return header.copy(**changes) if changes else header


def apply_overrides(state: StateAPI, accounts: Mapping[Address, AccountOverride]) -> None:
    """Apply account overrides to a state."""
    for address, override in accounts.items():
        if override.balance_wei is not None:
            state.set_balance(address, override.balance_wei)
        if override.nonce is not None:
            state.set_nonce(address, override.nonce)
        if override.code is not None:
            state.set_code(address, override.code)
        if override.storage is not None:
            state.delete_storage(address)
        for slot, value in {**(override.storage or {}), **override.storage_diff}.items():
            state.set_storage(address, slot, value)
    if accounts:
        state.lock_changes()


def move_precompiles(
    fork: Mapping[Address, Precompile], accounts: AccountOverrides
) -> dict[Address, Precompile]:
    """Return the precompiles by address: one with any override is not there, or elsewhere.

    Input:  the fork's precompiles; the overrides.
    Source: geth, internal/ethapi/override, `StateOverride.Apply`.
    Raises: InvalidCallError: an account to move is no precompile, or the new address is in use.
    """
    told = {
        address: override for address, override in accounts.items() if not override.keeps_precompile
    }
    moves = {
        address: override.precompile_to
        for address, override in told.items()
        if override.precompile_to is not None
    }
    for address, to in moves.items():
        if address not in fork:
            raise InvalidCallError(f"account {to_checksum_address(address)} is not a precompile")
        if to in told:
            raise InvalidCallError(f"account {to_checksum_address(to)} is already overridden")
    kept = {address: code for address, code in fork.items() if address not in told}
    return kept | {to: fork[address] for address, to in moves.items()}


class CallTransaction(SpoofTransaction):
    """A call as a transaction, whose copy at another price shares all parts."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - py-evm's
        """Return and keep an attribute of the call, or of the target: neither changes."""
        if name.startswith("__"):  # What copies and pickles ask for.
            raise AttributeError(name)
        value = vars(self)[name] = super().__getattr__(name)
        return value

    def copy(self, **changes: Any) -> CallTransaction:  # noqa: ANN401 - py-evm's
        """Return a copy with other values in some fields."""
        if changes.keys() != {"gas_price"}:
            return super().copy(**changes)
        price = changes["gas_price"]
        prices = dict.fromkeys(("gas_price", "max_fee_per_gas", "max_priority_fee_per_gas"), price)
        return CallTransaction(self.spoof_target, **{**self.overrides, **prices})


def as_spoofed_transaction(
    call: Call, builder: type[TransactionBuilderAPI], *, nonce: int, gas: int
) -> SignedTransactionAPI:
    """Return a call as an unsigned transaction of the sender, for `costless_execute`."""
    unsigned: UnsignedTransactionAPI = builder.create_unsigned_transaction(
        nonce=nonce,
        gas_price=call.gas_price_wei,
        gas=gas,
        to=call.to or Address(b""),
        value=call.value_wei,
        data=call.data,
    )
    overrides: dict[str, object] = {"from_": call.sender}
    if call.access_list:
        overrides["access_list"] = call.access_list
    if call.authorizations:
        overrides["type_id"] = SET_CODE_TRANSACTION_TYPE
        overrides["authorization_list"] = call.authorizations
    listed_slots = sum(len(slots) for _, slots in call.access_list)
    overrides["intrinsic_gas"] = (
        unsigned.intrinsic_gas
        + ACCESS_LIST_ADDRESS_COST_EIP_2930 * len(call.access_list)
        + ACCESS_LIST_STORAGE_KEY_COST_EIP_2930 * listed_slots
        + PER_EMPTY_ACCOUNT_BASE_COST * len(call.authorizations)
    )
    return CallTransaction(unsigned, **overrides)  # type: ignore[return-value]
