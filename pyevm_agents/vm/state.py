"""A state that notifies a listener, and overrides context values for simulated calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eth.vm.forks.cancun.state import CancunState
from eth_utils import get_extended_debug_logger

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, SignedTransactionAPI, TransactionContextAPI

    from pyevm_agents.vm.interruption import Interruption


class NestedCallError(Exception):
    """A nested call in a call that forbids them. Not a `VMError`: py-evm does not catch it."""


class ExecutionListener(Protocol):
    """Callbacks for transactions and calls, in the executing thread."""

    def on_transaction_start(self, transaction: SignedTransactionAPI) -> None:
        """Handle the start of a transaction or a simulated call."""

    def on_call_end(self, caller: ComputationAPI, call: ComputationAPI) -> None:
        """Handle the return of a nested call to the caller."""

    def on_transaction_end(self, computation: ComputationAPI) -> None:
        """Handle the end of a transaction or a simulated call."""


class WatchedState(CancunState):
    """A state of Cancun or later with a listener and overridable context values."""

    logger = get_extended_debug_logger("eth.vm.state.AgentState")
    """A shared logger: py-evm looks its logger up under a lock at each use."""

    listener: ExecutionListener | None = None
    """The listener of all states of a chain."""

    forbids_nested_calls: bool = False
    """Whether a nested call or creation raises `NestedCallError`."""

    interruption: Interruption | None = None
    """The switch, if any, that ends the executions on this state."""

    shown_base_fee_wei: int | None = None
    """Value of BASEFEE in a simulated call; None for the block's."""

    shown_blob_base_fee_wei: int | None = None
    """Value of BLOBBASEFEE; None for the block's."""

    shown_gas_price_wei: int | None = None
    """Value of GASPRICE in a simulated call, which pays nothing; None for the price paid."""

    shown_blob_hashes: tuple[bytes, ...] = ()
    """Values of BLOBHASH in a simulated call."""

    _retained_bytes: tuple[TransactionContextAPI | None, int] = (None, 0)
    """A transaction, and the size of the calldata that its computations retain."""

    def try_reserve_bytes(
        self, size_bytes: int, transaction: TransactionContextAPI, *, most_bytes: int
    ) -> bool:
        """Reserve part of a transaction's budget of retained calldata; return whether reserved."""
        before, kept_bytes = self._retained_bytes
        kept_bytes = size_bytes + (kept_bytes if before is transaction else 0)
        if kept_bytes > most_bytes:
            return False
        self._retained_bytes = (transaction, kept_bytes)
        return True

    @property
    def base_fee(self) -> int:
        """The value of BASEFEE."""
        fee_wei = self.shown_base_fee_wei
        return super().base_fee if fee_wei is None else fee_wei

    @property
    def blob_base_fee(self) -> int:
        """The value of BLOBBASEFEE."""
        fee_wei = self.shown_blob_base_fee_wei
        return super().blob_base_fee if fee_wei is None else fee_wei

    def costless_execute_transaction(self, transaction: SignedTransactionAPI) -> ComputationAPI:
        """Execute a transaction at a gas price of 0. py-evm's method refunds an unpaid price."""
        self.shown_gas_price_wei = price_wei = transaction.gas_price
        try:
            free = transaction.copy(gas_price=0) if price_wei else transaction
            return self.apply_transaction(free)
        finally:
            self.shown_gas_price_wei = None

    def get_transaction_context(self, transaction: SignedTransactionAPI) -> TransactionContextAPI:
        """Return the values of GASPRICE, ORIGIN and BLOBHASH of a transaction."""
        context = super().get_transaction_context(transaction)
        if self.shown_gas_price_wei is not None:
            context._gas_price = self.shown_gas_price_wei  # type: ignore[attr-defined]  # noqa: SLF001 - has no other way in
        if self.shown_blob_hashes:
            context._blob_versioned_hashes = self.shown_blob_hashes  # type: ignore[attr-defined]  # noqa: SLF001 - so does py-evm
        return context
