"""`eth_createAccessList`: what a transaction would touch, to be paid for in advance."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import Revert
from eth_utils import ValidationError

from pyevm_agents.rpc.block_views import next_view
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.failures import SERVER_ERROR
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import BlockId, block
from pyevm_agents.rpc.transaction_params import asked, overrides
from pyevm_agents.tracing import AccessListTracer, traced_vm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.exceptions import VMError
    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverride
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

MAX_ROUNDS = 100
"""Executions until the list stays the same. It grows each time, so it seldom takes three."""


@METHODS.method("eth_createAccessList", asked, optional(block), optional(overrides))
def create_access_list(
    rpc: Rpc,
    transaction: TransactionRequest,
    block: BlockId | None,
    state_overrides: Mapping[Address, AccountOverride] | None,
) -> Json:
    """Return the accounts and slots that a transaction touches, and its gas with that list."""
    at = next_view(rpc, block, transaction.sender, transaction.nonce)
    call = transaction.to_call()
    for _ in range(MAX_ROUNDS):
        tracer = AccessListTracer(call.access_list)
        try:
            result = at.chain.call(
                call,
                header=at.header,
                overrides=state_overrides,
                trace=partial(traced_vm, tracer=tracer),
            )
        except ValidationError as error:
            raise RpcError(SERVER_ERROR, f"err: {error}") from error
        if tracer.access_list() == call.access_list:
            break
        call = replace(call, access_list=tracer.access_list())
    form: Json = {"accessList": tracer.result(), "gasUsed": hex(result.gas_used)}
    if result.error is not None:
        form["error"] = _words(result.error)
    return form


def _words(error: VMError) -> str:
    return "execution reverted" if isinstance(error, Revert) else str(error)
