"""`eth_callMany`: bundles of calls, each on what those before it left.

Source: reth's and Erigon's form, which anvil has taken over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import view_of
from pyevm_agents.rpc.call_sequence import Sequence
from pyevm_agents.rpc.errors import execution_failed
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import LATEST, BlockId, block, invalid, listed, mapping
from pyevm_agents.rpc.transaction_params import asked, block_override, overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.chain.calls import AccountOverride, BlockOverride
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

MAX_CALLS = 1_000
"""In all bundles together."""

WHOLE_BLOCK = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Calls in one block."""

    calls: tuple[TransactionRequest, ...]
    block: BlockOverride | None


def bundles(value: object, name: str) -> list[Bundle]:
    """Read bundles of calls."""
    read = []
    for index, one in enumerate(listed(value, name)):
        at = f"{name}[{index}]"
        form = mapping(one, at)
        told = form.get("blockOverride")
        calls = listed(form.get("transactions"), f"{at}.transactions")
        read.append(
            Bundle(
                calls=tuple(
                    asked(call, f"{at}.transactions[{place}]") for place, call in enumerate(calls)
                ),
                block=None if told is None else block_override(told, f"{at}.blockOverride"),
            )
        )
    if not read:
        raise invalid(name, value, "bundles are empty; want at least one")
    if (count := sum(len(bundle.calls) for bundle in read)) > MAX_CALLS:
        raise invalid(name, value, f"want at most {MAX_CALLS} calls, not {count}")
    return read


def state_context(value: object, name: str) -> BlockId:
    """Read after which block the calls are."""
    form = mapping(value, name)
    index = form.get("transactionIndex")
    if index is not None and index != WHOLE_BLOCK:
        raise invalid(
            f"{name}.transactionIndex", index, "calls come after a whole block: want -1 or nothing"
        )
    told = form.get("blockNumber")
    return LATEST if told is None else block(told, f"{name}.blockNumber")


@METHODS.method("eth_callMany", bundles, optional(state_context, LATEST), optional(overrides))
def call_many(
    rpc: Rpc,
    bundles: list[Bundle],
    state_context: BlockId,
    state_overrides: Mapping[Address, AccountOverride] | None = None,
) -> list[list[Json]]:
    """Execute bundles of calls, each call on what those before it left; return their outputs."""
    sequence = Sequence(view_of(rpc, state_context), state_overrides)
    return [
        [_tried(rpc, sequence, call, bundle.block) for call in bundle.calls] for bundle in bundles
    ]


def _tried(
    rpc: Rpc, sequence: Sequence, transaction: TransactionRequest, block: BlockOverride | None
) -> Json:
    try:
        result = sequence.call(transaction.to_call(), block=block)
    except ValidationError as error:
        return {"error": f"err: {error}"}
    rpc.node.watchers.printed(result.computation)
    if result.error is not None:
        return {"error": execution_failed(result.error, result.output).message}
    return {"value": serializers.data(result.output)}
