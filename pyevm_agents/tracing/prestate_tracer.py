"""The state that a transaction reads or changes: geth's prestateTracer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.tracing.hex import encode_data, encode_quantity, encode_word
from pyevm_agents.tracing.opcodes import SELFDESTRUCT
from pyevm_agents.tracing.touched_state import TouchedStateTracer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.tracing.touched_state import TouchedAccount
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TransactionStart


@dataclass(frozen=True, slots=True, kw_only=True)
class PrestateOptions:
    """Options of geth's prestateTracer."""

    diff_mode: bool = False
    """Show the changes (before and after), instead of everything touched (before)."""

    code: bool = True
    storage: bool = True
    include_empty: bool = False
    """Include accounts that were empty before."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises: ConfigError: options that exclude each other.
        """
        if self.diff_mode and self.include_empty:
            raise ConfigError("prestateTracer: cannot use diffMode with includeEmpty")


class PrestateTracer(TouchedStateTracer):
    """geth's prestateTracer."""

    def __init__(self, options: PrestateOptions | None = None) -> None:
        self._options = options or PrestateOptions()
        super().__init__(with_storage=self._options.storage, with_after=self._options.diff_mode)
        self._created: set[Address] = set()
        self._destroyed: set[Address] = set()
        """Accounts that the transaction creates and destroys (EIP-6780)."""

    def on_tx_start(self, start: TransactionStart) -> None:
        """Look up the callee's delegate: geth does so before the authorizations are applied."""
        super().on_tx_start(start)
        if start.is_create:
            self._created.add(start.to)
        else:
            self._add_with_delegate(start.to)

    def on_enter(self, frame: CallFrame) -> None:
        """Look up callees of precompiles; the transaction's own callee is known."""
        if frame.depth:
            super().on_enter(frame)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Record the destruction of an account that was created, even if undone later."""
        super().on_opcode_end(step)
        if step.op == SELFDESTRUCT and step.error is None and step.address in self._created:
            self._destroyed.add(step.address)

    def _add_created(self, address: Address) -> None:
        super()._add_created(address)
        self._created.add(address)

    def result(self) -> object:
        """Return the accounts by address; in diff mode, those before and those after."""
        if self._options.diff_mode:
            return self._serialize_diff()
        return {
            encode_data(address): self._serialize_account(account, account.storage)
            for address, account in self.before.items()
            if self._options.include_empty or not account.is_empty
        }

    def _serialize_diff(self) -> object:
        shown_before: dict[str, object] = {}
        shown_after: dict[str, object] = {}
        for address, before in self.before.items():
            after = self.after[address]
            if address in self._destroyed and not before.is_empty:
                shown_before[encode_data(address)] = self._serialize_account(before, before.storage)
            if address in self._destroyed or after == before:
                continue
            changed = {
                slot: value
                for slot, value in before.storage.items()
                if value and value != after.storage[slot]
            }
            if not before.is_empty:
                shown_before[encode_data(address)] = self._serialize_account(before, changed)
            if self._state.account_exists(address) or before.is_empty:
                shown_after[encode_data(address)] = self._serialize_changes(before, after)
        return {"pre": shown_before, "post": shown_after}

    def _serialize_changes(
        self, before: TouchedAccount, after: TouchedAccount
    ) -> dict[str, object]:
        """Return the changed fields of an account; cleared slots are omitted, as in geth."""
        changes: dict[str, object] = {}
        if after.balance_wei != before.balance_wei:
            changes["balance"] = encode_quantity(after.balance_wei)
        if after.nonce != before.nonce:
            changes["nonce"] = after.nonce
        if after.code_hash != before.code_hash:
            changes["codeHash"] = encode_data(after.code_hash)
            if self._options.code:
                changes["code"] = encode_data(after.code)
        filled = {
            encode_word(slot): encode_word(value)
            for slot, value in after.storage.items()
            if value and value != before.storage[slot]
        }
        if filled:
            changes["storage"] = filled
        return changes

    def _serialize_account(
        self, account: TouchedAccount, storage: Mapping[int, int]
    ) -> dict[str, object]:
        form: dict[str, object] = {"balance": encode_quantity(account.balance_wei)}
        if account.nonce:
            form["nonce"] = account.nonce
        if account.code:
            form["codeHash"] = encode_data(account.code_hash)
            if self._options.code:
                form["code"] = encode_data(account.code)
        if storage:
            form["storage"] = {
                encode_word(slot): encode_word(value) for slot, value in storage.items()
            }
        return form
