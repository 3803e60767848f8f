"""The accounts and slots that a transaction touches, with the values before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth.constants import EMPTY_SHA3

from pyevm_agents.tracing.opcodes import CALLS, CREATES
from pyevm_agents.tracing.touches import (
    TOUCHING_OPCODES,
    get_created_account,
    get_delegate,
    get_touched_account,
    get_touched_slot,
    recover_authorities,
)
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from eth.abc import StateAPI
    from eth_typing import Address, Hash32

    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TransactionStart

PLAIN_CALLS = frozenset({"CALL", "STATICCALL"})


@dataclass(slots=True, kw_only=True)
class TouchedAccount:
    """An account, with the touched slots."""

    balance_wei: int
    nonce: int
    code: bytes
    code_hash: Hash32
    storage: dict[int, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the account is empty (EIP-161)."""
        return not (self.balance_wei or self.nonce or self.code)


class TouchedStateTracer(NoopTracer):
    """Looks up every account and slot when first touched, and again at the end."""

    watched_opcodes = TOUCHING_OPCODES | CREATES

    _state: StateAPI

    def __init__(self, *, with_storage: bool = True, with_after: bool = True) -> None:
        """Create a tracer, with or without slots and final values."""
        self._with_storage = with_storage
        self._with_after = with_after
        self.before: dict[Address, TouchedAccount] = {}
        self.after: dict[Address, TouchedAccount] = {}
        self._just_added: list[tuple[Address, int | None]] = []

    def on_tx_start(self, start: TransactionStart) -> None:
        """Look up the accounts that the transaction itself touches."""
        self._state = start.state
        transaction = start.transaction
        self._add(transaction.sender)
        self._add(start.to)
        self._add(start.state.coinbase)
        for authority in recover_authorities(transaction):
            self._add(authority)

    def on_enter(self, frame: CallFrame) -> None:
        """Look up the callee of the transaction's own call, whose delegation may be new.

        Also look up callees of precompiles, which no opcode names.
        """
        if frame.depth == 0 or (frame.kind in PLAIN_CALLS and frame.to not in self.before):
            self._add_with_delegate(frame.to)

    def on_opcode(self, step: OpcodeStep) -> None:
        """Look up the account or slot that an opcode is about to touch."""
        self._just_added.clear()
        slot = get_touched_slot(step)
        if slot is not None and self._with_storage:
            self._add_slot(step.address, slot)
        account = get_touched_account(step)
        if account is not None:
            if step.op in CALLS:
                self._add_with_delegate(account)
            else:
                self._add(account)
        created = get_created_account(step, self._state)
        if created is not None:
            self._add_created(created)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Drop the touches of a failed opcode, which lacked the gas, and made no call."""
        if step.error is None:
            return
        for account, slot in self._just_added:
            if slot is None:
                self.before.pop(account, None)
            else:
                self.before[account].storage.pop(slot, None)
        self._just_added.clear()

    def on_tx_end(self, gas_used: int) -> None:  # noqa: ARG002 - as in all tracers
        """Look up the final values of everything touched."""
        if not self._with_after:
            return
        for address, before in self.before.items():
            after = _look_up(self._state, address)
            for slot in before.storage:
                after.storage[slot] = self._state.get_storage(address, slot)
            self.after[address] = after

    def _add_with_delegate(self, address: Address) -> None:
        self._add(address)
        delegate = get_delegate(self._state, address)
        if delegate is not None:
            self._add(delegate)

    def _add_created(self, address: Address) -> None:
        self._add(address)

    def _add(self, address: Address) -> None:
        if address not in self.before:
            self.before[address] = _look_up(self._state, address)
            self._just_added.append((address, None))

    def _add_slot(self, address: Address, slot: int) -> None:
        self._add(address)
        storage = self.before[address].storage
        if slot not in storage:
            storage[slot] = self._state.get_storage(address, slot)
            self._just_added.append((address, slot))


def _look_up(state: StateAPI, address: Address) -> TouchedAccount:
    code_hash = state.get_code_hash(address)
    return TouchedAccount(
        balance_wei=state.get_balance(address),
        nonce=state.get_nonce(address),
        code=b"" if code_hash == EMPTY_SHA3 else state.get_code(address),
        code_hash=code_hash,
    )
