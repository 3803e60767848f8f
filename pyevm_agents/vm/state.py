"""A state: who is told how transactions proceed, and what a call that is only tried is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eth.vm.forks.cancun.state import CancunState
from eth_utils import get_extended_debug_logger

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, SignedTransactionAPI, TransactionContextAPI


class NestedCallError(Exception):
    """A call that was to be short calls others. No `VMError`: it leaves py-evm uncaught."""


class ExecutionListener(Protocol):
    """Who is told how transactions and calls proceed, in the thread that executes them."""

    def on_transaction_start(self, transaction: SignedTransactionAPI) -> None:
        """Take note that a transaction, or a call in the form of one, begins."""

    def on_call_end(self, caller: ComputationAPI, call: ComputationAPI) -> None:
        """Take note that a contract's call has returned to it."""

    def on_transaction_end(self, computation: ComputationAPI) -> None:
        """Take note of how it ended."""


class WatchedState(CancunState):
    """A state of Cancun or later: tells how transactions proceed, shows a call what it is told."""

    logger = get_extended_debug_logger("eth.vm.state.AgentState")
    """py-evm's looks its logger up, under a lock, each time that there may be something to log."""

    listener: ExecutionListener | None = None
    """Who is told how transactions proceed; the same for all states of a chain."""

    forbids_nested_calls: bool = False
    """Whether code that calls, or creates, is given up: `NestedCallError`."""

    shown_base_fee_wei: int | None = None
    """What BASEFEE gives in a block that asks for no fee; None for the block's own."""

    shown_blob_base_fee_wei: int | None = None
    """What BLOBBASEFEE gives; None for what follows from the block."""

    shown_gas_price_wei: int | None = None
    """What GASPRICE gives a call that pays nothing; None for what is paid."""

    shown_blob_hashes: tuple[bytes, ...] = ()
    """What BLOBHASH gives a call; a blob transaction has its own."""

    _retained_bytes: tuple[TransactionContextAPI | None, int] = (None, 0)
    """A transaction, and the bytes of its calls' data that are kept."""

    def try_reserve_bytes(
        self, size_bytes: int, transaction: TransactionContextAPI, *, most_bytes: int
    ) -> bool:
        """Whether so much more of a transaction's calls is kept; if so, it counts from now on."""
        before, kept_bytes = self._retained_bytes
        kept_bytes = size_bytes + (kept_bytes if before is transaction else 0)
        if kept_bytes > most_bytes:
            return False
        self._retained_bytes = (transaction, kept_bytes)
        return True

    @property
    def base_fee(self) -> int:
        """What BASEFEE gives."""
        fee_wei = self.shown_base_fee_wei
        return super().base_fee if fee_wei is None else fee_wei

    @property
    def blob_base_fee(self) -> int:
        """What BLOBBASEFEE gives."""
        fee_wei = self.shown_blob_base_fee_wei
        return super().blob_base_fee if fee_wei is None else fee_wei

    def costless_execute_transaction(self, transaction: SignedTransactionAPI) -> ComputationAPI:
        """Execute a transaction that pays nothing. py-evm's gives back what nobody has paid."""
        self.shown_gas_price_wei = price_wei = transaction.gas_price
        try:
            free = transaction.copy(gas_price=0) if price_wei else transaction
            return self.apply_transaction(free)
        finally:
            self.shown_gas_price_wei = None

    def get_transaction_context(self, transaction: SignedTransactionAPI) -> TransactionContextAPI:
        """Return what a transaction's code can ask about it."""
        context = super().get_transaction_context(transaction)
        if self.shown_gas_price_wei is not None:
            context._gas_price = self.shown_gas_price_wei  # type: ignore[attr-defined]  # noqa: SLF001 - has no other way in
        if self.shown_blob_hashes:
            context._blob_versioned_hashes = self.shown_blob_hashes  # type: ignore[attr-defined]  # noqa: SLF001 - so does py-evm
        return context
