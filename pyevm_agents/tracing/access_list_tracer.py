"""Access lists for `eth_createAccessList`: the accounts and slots that a transaction touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.tracing.hex import encode_data, encode_word
from pyevm_agents.tracing.touches import (
    TOUCHING_OPCODES,
    get_touched_account,
    get_touched_slot,
    recover_authorities,
)
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth_typing import Address

    from pyevm_agents.tracing.tracer import OpcodeStep, TransactionStart


class AccessListTracer(NoopTracer):
    """Collects accounts and slots, in the order of first use.

    Excludes accounts that are warm anyway, but not the slots of these: the sender, the callee or
    created contract, precompiles, and signers of authorizations. A list changes the gas, and thus
    may change the touched accounts and slots: repeat the trace with the resulting list until
    stable.
    """

    watched_opcodes = TOUCHING_OPCODES

    def __init__(self, known: Iterable[tuple[Address, Iterable[int]]] = ()) -> None:
        """Start with the access list that the transaction already has."""
        self._slots: dict[Address, dict[int, None]] = {}
        self._known = list(known)
        self._excluded_addresses: frozenset[Address] = frozenset()

    def on_tx_start(self, start: TransactionStart) -> None:
        """Determine the excluded accounts."""
        transaction = start.transaction
        self._excluded_addresses = start.precompiles | {
            transaction.sender,
            start.to,
            *recover_authorities(transaction),
        }
        for address, slots in self._known:
            self._add(address)
            for slot in slots:
                self._slots.setdefault(address, {})[slot] = None

    def on_opcode(self, step: OpcodeStep) -> None:
        """Add the account or slot that an opcode is about to touch."""
        slot = get_touched_slot(step)
        if slot is not None:
            self._slots.setdefault(step.address, {})[slot] = None
        account = get_touched_account(step)
        if account is not None:
            self._add(account)

    def to_access_list(self) -> tuple[tuple[Address, tuple[int, ...]], ...]:
        """Return the list in the form of a transaction's field."""
        return tuple((address, tuple(slots)) for address, slots in self._slots.items())

    def result(self) -> object:
        """Return the list as encoded in JSON-RPC."""
        return [
            {"address": encode_data(address), "storageKeys": [encode_word(slot) for slot in slots]}
            for address, slots in self.to_access_list()
        ]

    def _add(self, address: Address) -> None:
        if address not in self._excluded_addresses:
            self._slots.setdefault(address, {})
