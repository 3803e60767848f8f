"""Sequences of simulated calls, each on the state after the one before. Nothing is persisted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.chain.calls import AccountOverride, AccountOverrides
from pyevm_agents.tracing import MuxTracer, TouchedStateTracer, make_traced_vm

if TYPE_CHECKING:
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
        for account, before in touched.before.items():
            after = touched.after[account]
            if after != before:
                override = self._accounts.get(account, AccountOverride())
                self._accounts[account] = _merge_override(override, after)
        return result


def _merge_override(override: AccountOverride, after: TouchedAccount) -> AccountOverride:
    """Return the override of an account that a call changed."""
    if after.is_empty:
        return NO_ACCOUNT
    return AccountOverride(
        balance_wei=after.balance_wei,
        nonce=after.nonce,
        code=after.code,
        storage=override.storage,
        storage_diff={**override.storage_diff, **after.storage},
    )
