"""`trace_*` methods that execute: simulated calls and replayed transactions.

Each returns the requested ones of `trace`, `stateDiff` and `vmTrace`. A simulated call pays no fee,
as in `eth_call`.

Source: OpenEthereum's documentation of the trace module.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyevm_agents.chain.calls import AccountOverrides, Call
from pyevm_agents.chain.transactions import (
    BLOB_TYPE,
    effective_gas_price,
    get_access_list,
    get_authorizations,
    get_transaction_type,
)
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import resolve_next_view, resolve_view
from pyevm_agents.rpc.call_sequence import CallSequence
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.eth_state import require_record
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_block_id,
    parse_data,
    parse_hash32,
    parse_list,
)
from pyevm_agents.rpc.replay import find_mined, trace_at_index, trace_transactions
from pyevm_agents.rpc.transaction_params import (
    decode_transaction,
    parse_block_override,
    parse_state_overrides,
    parse_transaction_request,
)
from pyevm_agents.tracing import (
    PARITY,
    FlatCallTracer,
    MuxTracer,
    StateDiffTracer,
    TraceBudget,
    VmTracer,
    make_traced_vm,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain.calls import BlockOverride
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing import Tracer, TransactionLocation

METHODS = MethodTable()

TRACE, STATE_DIFFERENCE, VM_TRACE = "trace", "stateDiff", "vmTrace"
TRACE_TYPES = (TRACE, STATE_DIFFERENCE, VM_TRACE)

MAX_CALLS = 1_000


class ReplayTracer(MuxTracer):
    """Tracer of the requested trace types of one transaction."""

    def __init__(self, types: frozenset[str], budget: TraceBudget) -> None:
        """Input: the trace types; the budget that a request's tracers share."""
        # Always needed, for the output.
        self._calls = FlatCallTracer(PARITY, budget=budget)
        self._types = types
        tracers: dict[str, Tracer] = {TRACE: self._calls}
        if STATE_DIFFERENCE in types:
            tracers[STATE_DIFFERENCE] = StateDiffTracer()
        if VM_TRACE in types:
            tracers[VM_TRACE] = VmTracer(budget)
        super().__init__(tracers)

    def result(self) -> Json:
        """Return the requested traces; null or an empty list for the others."""
        traces: Json = {STATE_DIFFERENCE: None, VM_TRACE: None}
        for name, tracer in self.tracers.items():
            traces[name] = tracer.result()
        if TRACE not in self._types:
            traces[TRACE] = []
        root = self._calls.root
        return {
            "output": serializers.encode_data(b"" if root is None else root.frame.output),
            **traces,
        }


def parse_trace_types(value: object, name: str) -> frozenset[str]:
    """Parse trace types."""
    types = parse_list(value, name)
    for trace_type in types:
        if trace_type not in TRACE_TYPES:
            raise invalid_param_error(name, trace_type, f"must be {', '.join(TRACE_TYPES)}")
    return frozenset(map(str, types))


def parse_traced_calls(value: object, name: str) -> list[tuple[TransactionRequest, frozenset[str]]]:
    """Parse calls, each with trace types."""
    calls = parse_list(value, name)
    if len(calls) > MAX_CALLS:
        raise invalid_param_error(
            name, calls, f"must be at most {MAX_CALLS} calls, not {len(calls)}"
        )
    read = []
    for index, pair in enumerate(calls):
        at = f"{name}[{index}]"
        match parse_list(pair, at):
            case [call, types]:
                read.append(
                    (
                        parse_transaction_request(call, f"{at}[0]"),
                        parse_trace_types(types, f"{at}[1]"),
                    )
                )
            case other:
                raise invalid_param_error(at, other, "must be a call and a list of trace types")
    return read


@METHODS.method(
    "trace_call",
    parse_transaction_request,
    parse_trace_types,
    optional(parse_block_id, LATEST),
    optional(parse_state_overrides),
    optional(parse_block_override),
)
def trace_call(  # noqa: PLR0913, PLR0917 - JSON-RPC has places
    rpc: RequestContext,
    transaction: TransactionRequest,
    trace_types: frozenset[str],
    block: BlockId,
    state_overrides: AccountOverrides | None = None,
    block_override: BlockOverride | None = None,
) -> Json:
    """Simulate a call; return the requested traces: calls, state differences, opcodes."""
    at = resolve_view(rpc, block)
    call = rpc.limit_call(transaction.to_call(), at, block_override)
    tracer = ReplayTracer(trace_types, rpc.open_trace_budget())
    at.chain.call(
        call,
        header=at.header,
        overrides=state_overrides,
        block=block_override,
        trace=partial(make_traced_vm, tracer=tracer),
    )
    return tracer.result()


@METHODS.method("trace_callMany", parse_traced_calls, optional(parse_block_id, LATEST))
def trace_call_many(
    rpc: RequestContext, calls: list[tuple[TransactionRequest, frozenset[str]]], block: BlockId
) -> list[Json]:
    """Simulate calls, each on the state after the one before; return their requested traces."""
    at = resolve_view(rpc, block)
    sequence = CallSequence(at)
    budget = rpc.open_trace_budget()
    results = []
    for index, (transaction, types) in enumerate(calls):
        call = rpc.limit_call(transaction.to_call(), at)
        tracer = ReplayTracer(types, budget)
        try:
            sequence.call(call, tracer=tracer)
        except RuleError as error:
            raise RpcError(SERVER_ERROR, f"err: calls[{index}]: {error}") from error
        results.append(tracer.result())
    return results


@METHODS.method("trace_rawTransaction", parse_data, parse_trace_types)
def trace_raw_transaction(
    rpc: RequestContext, transaction: bytes, trace_types: frozenset[str]
) -> Json:
    """Simulate a signed transaction in the next block without sending it; return the traces."""
    read = decode_transaction(transaction, rpc.node.chain.transaction_builder)
    at = resolve_next_view(rpc, None, read.sender, read.nonce)
    call = _build_transaction_call(read, int(at.header.base_fee_per_gas or 0))
    call = rpc.limit_call(call, at)
    tracer = ReplayTracer(trace_types, rpc.open_trace_budget())
    at.chain.call(call, header=at.header, trace=partial(make_traced_vm, tracer=tracer))
    return tracer.result()


@METHODS.method("trace_replayTransaction", parse_hash32, parse_trace_types)
def trace_replay_transaction(
    rpc: RequestContext, transaction_hash: bytes, trace_types: frozenset[str]
) -> Json:
    """Replay a mined transaction; return the requested traces."""
    budget = rpc.open_trace_budget()

    def make_tracer(place: TransactionLocation, logs_before: int) -> ReplayTracer:
        del place, logs_before
        return ReplayTracer(trace_types, budget)

    return trace_at_index(rpc, *find_mined(rpc, transaction_hash), make_tracer).result()


@METHODS.method("trace_replayBlockTransactions", parse_block_id, parse_trace_types)
def trace_replay_block_transactions(
    rpc: RequestContext, number: BlockId, trace_types: frozenset[str]
) -> list[Json]:
    """Replay a block's transactions; return the requested traces of each."""
    budget = rpc.open_trace_budget()

    def make_tracer(place: TransactionLocation, logs_before: int) -> ReplayTracer:
        del place, logs_before
        return ReplayTracer(trace_types, budget)

    record = require_record(rpc, number)
    return [
        tracer.result() | {"transactionHash": serializers.encode_data(transaction.hash)}
        for transaction, tracer in zip(
            record.block.transactions, trace_transactions(rpc, record, make_tracer), strict=True
        )
    ]


def _build_transaction_call(transaction: SignedTransactionAPI, base_fee_wei: int) -> Call:
    """Return a signed transaction as a call of the sender."""
    is_blob = get_transaction_type(transaction) == BLOB_TYPE
    return Call(
        to=transaction.to or None,
        sender=transaction.sender,
        data=transaction.data,
        value_wei=transaction.value,
        gas=transaction.gas,
        gas_price_wei=effective_gas_price(transaction, base_fee_wei),
        access_list=tuple(
            (address, tuple(slots)) for address, slots in get_access_list(transaction)
        ),
        authorizations=tuple(get_authorizations(transaction)),
        blob_hashes=tuple(transaction.blob_versioned_hashes) if is_blob else (),
    )
