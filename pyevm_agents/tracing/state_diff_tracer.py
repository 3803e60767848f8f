"""What a transaction changed, in Parity's form: `stateDiff`.

    {address: {"balance": "=" or {"+": new} or {"-": old} or {"*": {"from": old, "to": new}},
               "nonce": …, "code": …, "storage": {slot: …}}}

Source: OpenEthereum, `rpc/src/v1/types/trace.rs` and `ethcore/types/src/state_diff.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.tracing.hex import data, quantity, word
from pyevm_agents.tracing.touched_state import TouchedState

if TYPE_CHECKING:
    from pyevm_agents.tracing.touched_state import TouchedAccount

SAME = "="


class StateDifferenceTracer(TouchedState):
    """Shows the accounts that are other than before."""

    def result(self) -> object:
        """Return what changed, by address."""
        return {
            data(address): _difference(before, self.after[address])
            for address, before in sorted(self.before.items())
            if before != self.after[address] and not (before.is_empty and self._is_gone(address))
        }

    def _is_gone(self, address: bytes) -> bool:
        return self.after[address].is_empty  # type: ignore[index]


def _difference(before: TouchedAccount, after: TouchedAccount) -> dict[str, object]:
    if before.is_empty:
        return _whole("+", after)
    if after.is_empty:
        return _whole("-", before)
    return {
        "balance": _change(quantity(before.balance_wei), quantity(after.balance_wei)),
        "nonce": _change(quantity(before.nonce), quantity(after.nonce)),
        "code": _change(data(before.code), data(after.code)),
        "storage": {
            word(slot): _change(word(value), word(after.storage[slot]))
            for slot, value in before.storage.items()
            if value != after.storage[slot]
        },
    }


def _whole(sign: str, account: TouchedAccount) -> dict[str, object]:
    """Return an account that came to be, or that is no more."""
    return {
        "balance": {sign: quantity(account.balance_wei)},
        "nonce": {sign: quantity(account.nonce)},
        "code": {sign: data(account.code)},
        "storage": {
            word(slot): {sign: word(value)} for slot, value in account.storage.items() if value
        },
    }


def _change(before: str, after: str) -> object:
    return SAME if before == after else {"*": {"from": before, "to": after}}
