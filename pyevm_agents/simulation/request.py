"""Request of a simulation: blocks with their calls and account overrides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.chain.calls import BlockOverride

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import WithdrawalAPI
    from eth.vm.forks.prague.transactions import Authorization
    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverride
    from pyevm_agents.chain.transactions import AccessList


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCall:
    """A call: a transaction without a signature. None: derived from the state, or absent."""

    sender: Address
    to: Address | None
    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """Gas limit; None for the rest of the block's gas."""

    nonce: int | None = None
    gas_price_wei: int | None = None
    """If set, the call is a legacy transaction."""

    max_fee_wei: int = 0
    max_priority_fee_wei: int = 0
    access_list: AccessList = ()
    max_blob_fee_wei: int = 0
    blob_hashes: tuple[bytes, ...] | None = None
    """If set (even if empty), the call is a blob transaction."""

    authorizations: tuple[Authorization, ...] | None = None
    """If set, the call is a set-code transaction (EIP-7702)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedBlockRequest(BlockOverride):
    """A block with overrides and calls. None: derived from the parent block."""

    beacon_root: bytes | None = None
    withdrawals: tuple[WithdrawalAPI, ...] = ()
    accounts: Mapping[Address, AccountOverride] = field(default_factory=dict)
    """Account overrides, applied before the block's calls. A precompile that is overridden or moved
    does not exist at its address in this block."""

    calls: tuple[SimulatedCall, ...] = ()
