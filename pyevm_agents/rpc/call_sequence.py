"""Sequences of simulated calls, each on the state after the one before. Nothing is persisted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.chain.calls import AccountOverride, AccountOverrides
from pyevm_agents.tracing import MuxTracer, TouchedStateTracer, make_traced_vm

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.chain.calls import BlockOverride, Call, CallResult
    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.tracing import Tracer
    from pyevm_agents.tracing.touched_state import TouchedAccount

NO_ACCOUNT = AccountOverride(balance_wei=0, nonce=0, code=b"", storage={})


class CallSequence:
    """Calls in one block's context.

    The changes of a call become state overrides of the next.
    """

    def __init__(
        self,
        at: StateView,
        accounts: AccountOverrides | None = None,
    ) -> None:
        """Start with the state after a block, and with overrides of accounts."""
        self._at = at
        self._accounts = dict(accounts or {})

    @property
    def accounts(self) -> AccountOverrides:
        """The overrides that the next call is executed with."""
        return self._accounts

    def call(
        self, call: Call, *, block: BlockOverride | None = None, tracer: Tracer | None = None
    ) -> CallResult:
        """Execute the next call.

        Input:  the block overrides; a tracer of the call.
        Raises: those of `Chain.call`; the state is then unchanged.
        """
        touched = TouchedStateTracer()
        tracers: dict[str, Tracer] = {"touched": touched}
        if tracer is not None:
            tracers["asked"] = tracer
        result = self._at.chain.call(
            call,
            header=self._at.header,
            overrides=self._accounts,
            block=block,
            trace=partial(make_traced_vm, tracer=MuxTracer(tracers)),
        )
        self._accounts = apply_touched(self._accounts, touched)
        return result


def apply_touched(
    accounts: AccountOverrides, touched: TouchedStateTracer
) -> dict[Address, AccountOverride]:
    """Return overrides with the changes of an execution on top."""
    changed = dict(accounts)
    for account, before in touched.before.items():
        after = touched.after[account]
        if after != before:
            override = accounts.get(account, AccountOverride(keeps_precompile=True))
            changed[account] = _merge_override(override, before, after)
    return changed


def lay_over(below: AccountOverrides, above: AccountOverrides) -> dict[Address, AccountOverride]:
    """Return overrides with others on top."""
    return {**below, **{account: _join(below.get(account), above[account]) for account in above}}


def _join(below: AccountOverride | None, above: AccountOverride) -> AccountOverride:
    if below is None:
        return above
    fields = {name: getattr(above, name) for name in ("balance_wei", "nonce", "code")}
    joined = replace(below, **{k: value for k, value in fields.items() if value is not None})
    joined = replace(
        joined, precompile_to=above.precompile_to, keeps_precompile=above.keeps_precompile
    )
    if above.storage is not None:  # The whole storage.
        return replace(joined, storage=above.storage, storage_diff=above.storage_diff)
    return replace(joined, storage_diff={**below.storage_diff, **above.storage_diff})


def _merge_override(
    override: AccountOverride, before: TouchedAccount, after: TouchedAccount
) -> AccountOverride:
    """Return the override of an account that a call changed."""
    if after.is_empty:
        return replace(
            NO_ACCOUNT,
            precompile_to=override.precompile_to,
            keeps_precompile=override.keeps_precompile,
        )
    return replace(
        override,
        balance_wei=after.balance_wei,
        nonce=after.nonce,
        code=override.code if after.code == before.code else after.code,
        storage_diff={**override.storage_diff, **after.storage},
    )
