"""The state that a transaction needs, or changes: geth's prestateTracer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth.constants import EMPTY_SHA3

from pyevm_agents.tracing.events import NoopTracer
from pyevm_agents.tracing.hexadecimal import data, quantity, word
from pyevm_agents.tracing.opcodes import CALLS, CREATES
from pyevm_agents.tracing.touches import (
    TOUCHING_OPCODES,
    authorities,
    created_account,
    delegate_of,
    touched_account,
    touched_slot,
)

if TYPE_CHECKING:
    from eth.abc import StateAPI
    from eth_typing import Address, Hash32

    from pyevm_agents.tracing.events import Beginning, Frame, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class PrestateOptions:
    """What is shown of accounts."""

    diff_mode: bool = False
    """Show what changed, before and after, in place of all that was touched, before."""

    code: bool = True
    storage: bool = True
    include_empty: bool = False
    """Show also accounts that were empty before."""


@dataclass(slots=True, kw_only=True)
class _Account:
    balance_wei: int
    nonce: int
    code: bytes
    code_hash: Hash32
    storage: dict[int, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.balance_wei or self.nonce or self.code)


class PrestateTracer(NoopTracer):
    """Looks up every account and slot when it is touched first."""

    watches = TOUCHING_OPCODES | CREATES

    def __init__(self, options: PrestateOptions | None = None) -> None:
        """Show what the options say."""
        self._options = options or PrestateOptions()
        self._before: dict[Address, _Account] = {}
        self._after: dict[Address, _Account] = {}
        self._just_added: list[tuple[Address, int | None]] = []

    def begin(self, beginning: Beginning) -> None:
        """Look up whom the transaction itself touches."""
        self._state = beginning.state
        transaction = beginning.transaction
        self._add(transaction.sender)
        self._add(beginning.to)
        self._add(beginning.state.coinbase)
        for authority in authorities(transaction):
            self._add(authority)

    def enter(self, frame: Frame) -> None:
        """Look up whose code the transaction's own call runs: an authorisation may just say so."""
        if frame.depth == 0:
            self._add_with_delegate(frame.to)

    def step(self, step: Step) -> None:
        """Look up what an opcode is about to touch."""
        self._just_added.clear()
        slot = touched_slot(step)
        if slot is not None and self._options.storage:
            self._add_slot(step.address, slot)
        account = touched_account(step)
        if account is not None:
            if step.op in CALLS:
                self._add_with_delegate(account)
            else:
                self._add(account)
        created = created_account(step, self._state)
        if created is not None:
            self._add(created)

    def stepped(self, step: Step) -> None:
        """Forget what an opcode had no gas to touch: no call was made since."""
        if step.error is None:
            return
        for account, slot in self._just_added:
            if slot is None:
                self._before.pop(account, None)
            else:
                self._before[account].storage.pop(slot, None)
        self._just_added.clear()

    def end(self, gas_used: int) -> None:
        """Look up how all that was touched ended."""
        del gas_used
        if self._options.diff_mode:
            for address, before in self._before.items():
                after = _look_up(self._state, address)
                for slot in before.storage:
                    after.storage[slot] = self._state.get_storage(address, slot)
                self._after[address] = after

    def result(self) -> object:
        """Return the accounts by address, in diff mode those before and those after."""
        if self._options.diff_mode:
            return self._difference()
        return {
            data(address): self._show(account, account.storage)
            for address, account in self._before.items()
            if self._options.include_empty or not account.is_empty
        }

    def _difference(self) -> object:
        shown_before: dict[str, object] = {}
        shown_after: dict[str, object] = {}
        for address, before in self._before.items():
            after = self._after[address]
            if after == before:
                continue
            changed = {
                slot: value
                for slot, value in before.storage.items()
                if value and value != after.storage[slot]
            }
            if self._options.include_empty or not before.is_empty:
                shown_before[data(address)] = self._show(before, changed)
            if self._state.account_exists(address) or before.is_empty:
                shown_after[data(address)] = self._changes(before, after)
        return {"pre": shown_before, "post": shown_after}

    def _changes(self, before: _Account, after: _Account) -> dict[str, object]:
        """Return what of an account is different now; a slot that was emptied is left out."""
        changes: dict[str, object] = {}
        if after.balance_wei != before.balance_wei:
            changes["balance"] = quantity(after.balance_wei)
        if after.nonce != before.nonce:
            changes["nonce"] = after.nonce
        if after.code_hash != before.code_hash:
            changes["codeHash"] = data(after.code_hash)
            if self._options.code:
                changes["code"] = data(after.code)
        filled = {
            word(slot): word(value)
            for slot, value in after.storage.items()
            if value and value != before.storage[slot]
        }
        if filled:
            changes["storage"] = filled
        return changes

    def _show(self, account: _Account, storage: dict[int, int]) -> dict[str, object]:
        shown: dict[str, object] = {"balance": quantity(account.balance_wei)}
        if account.nonce:
            shown["nonce"] = account.nonce
        if account.code:
            shown["codeHash"] = data(account.code_hash)
            if self._options.code:
                shown["code"] = data(account.code)
        if storage:
            shown["storage"] = {word(slot): word(value) for slot, value in storage.items()}
        return shown

    def _add_with_delegate(self, address: Address) -> None:
        self._add(address)
        delegate = delegate_of(self._state, address)
        if delegate is not None:
            self._add(delegate)

    def _add(self, address: Address) -> None:
        if address not in self._before:
            self._before[address] = _look_up(self._state, address)
            self._just_added.append((address, None))

    def _add_slot(self, address: Address, slot: int) -> None:
        self._add(address)
        storage = self._before[address].storage
        if slot not in storage:
            storage[slot] = self._state.get_storage(address, slot)
            self._just_added.append((address, slot))


def _look_up(state: StateAPI, address: Address) -> _Account:
    code_hash = state.get_code_hash(address)
    return _Account(
        balance_wei=state.get_balance(address),
        nonce=state.get_nonce(address),
        code=b"" if code_hash == EMPTY_SHA3 else state.get_code(address),
        code_hash=code_hash,
    )
