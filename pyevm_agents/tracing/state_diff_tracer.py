"""State changes of a transaction in Parity's form: `stateDiff`.

    {address: {"balance": "=" or {"+": new} or {"-": old} or {"*": {"from": old, "to": new}},
               "nonce": …, "code": …, "storage": {slot: …}}}

Source: OpenEthereum, `rpc/src/v1/types/trace.rs` and `ethcore/types/src/state_diff.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.tracing.hex import encode_data, encode_quantity, encode_word
from pyevm_agents.tracing.touched_state import TouchedStateTracer

if TYPE_CHECKING:
    from pyevm_agents.tracing.touched_state import TouchedAccount

SAME = "="


class StateDiffTracer(TouchedStateTracer):
    """Shows the accounts that a transaction changed."""

    def result(self) -> object:
        """Return the changes by address."""
        return {
            encode_data(address): _diff_account(before, self.after[address])
            for address, before in sorted(self.before.items())
            if before != self.after[address] and not (before.is_empty and self._is_gone(address))
        }

    def _is_gone(self, address: bytes) -> bool:
        return self.after[address].is_empty  # type: ignore[index]


def _diff_account(before: TouchedAccount, after: TouchedAccount) -> dict[str, object]:
    if before.is_empty:
        return _serialize_whole_account("+", after)
    if after.is_empty:
        return _serialize_whole_account("-", before)
    return {
        "balance": _serialize_change(
            encode_quantity(before.balance_wei), encode_quantity(after.balance_wei)
        ),
        "nonce": _serialize_change(encode_quantity(before.nonce), encode_quantity(after.nonce)),
        "code": _serialize_change(encode_data(before.code), encode_data(after.code)),
        "storage": {
            encode_word(slot): _serialize_change(
                encode_word(value), encode_word(after.storage[slot])
            )
            for slot, value in before.storage.items()
            if value != after.storage[slot]
        },
    }


def _serialize_whole_account(sign: str, account: TouchedAccount) -> dict[str, object]:
    """Return an account that was created or deleted."""
    return {
        "balance": {sign: encode_quantity(account.balance_wei)},
        "nonce": {sign: encode_quantity(account.nonce)},
        "code": {sign: encode_data(account.code)},
        "storage": {
            encode_word(slot): {sign: encode_word(value)}
            for slot, value in account.storage.items()
            if value
        },
    }


def _serialize_change(before: str, after: str) -> object:
    return SAME if before == after else {"*": {"from": before, "to": after}}
