"""What is simulated: blocks with their calls, and what accounts are said to be."""

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
    """A transaction without a signature. None: what follows from the state, or nothing."""

    sender: Address
    to: Address | None
    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """What is left of the block where None."""

    nonce: int | None = None
    gas_price_wei: int | None = None
    """With it the transaction is a legacy one."""

    max_fee_wei: int = 0
    max_priority_fee_wei: int = 0
    access_list: AccessList = ()
    max_blob_fee_wei: int = 0
    blob_hashes: tuple[bytes, ...] | None = None
    """With them it is a blob transaction, be they none."""

    authorizations: tuple[Authorization, ...] | None = None
    """With them it sets code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedBlockRequest(BlockOverride):
    """A block and what is told of it. None: what follows from its parent."""

    beacon_root: bytes | None = None
    withdrawals: tuple[WithdrawalAPI, ...] = ()
    accounts: Mapping[Address, AccountOverride] = field(default_factory=dict)
    """What accounts are said to be from the block's start on; those moved or overridden are no
    precompiles in it."""

    moved_precompiles: Mapping[Address, Address] = field(default_factory=dict)
    """Where precompiles are in this block."""

    calls: tuple[SimulatedCall, ...] = ()
