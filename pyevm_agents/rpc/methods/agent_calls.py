"""`agent_*` methods that show the acts of agents: runs, calls, transfers and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.agents.trace import trace_agents
from pyevm_agents.node.state_view import StateView
from pyevm_agents.rpc.agent_description import DESCRIPTION_GAS, AgentDescriber
from pyevm_agents.rpc.agent_runs import RunSearch
from pyevm_agents.rpc.agent_serializers import serialize_trace
from pyevm_agents.rpc.block_ids import find_first_number, resolve_header
from pyevm_agents.rpc.block_views import resolve_next_view, resolve_view
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.named_calls import NamedCalls
from pyevm_agents.rpc.params import (
    LATEST,
    UINT64,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_hash32,
    parse_quantity,
    parse_text,
)
from pyevm_agents.rpc.replay import trace_at_index
from pyevm_agents.rpc.run_review import RunReview
from pyevm_agents.rpc.serializers import encode_data
from pyevm_agents.rpc.transaction_params import (
    parse_state_overrides,
    parse_text_overrides,
    parse_transaction_request,
)
from pyevm_agents.rpc.value_flow import ValueFlow
from pyevm_agents.rpc.view_calls import ViewCalls
from pyevm_agents.simulation import make_text_override_vm
from pyevm_agents.tracing import CallTree, MuxTracer, TouchedStateTracer, make_traced_vm
from pyevm_agents.tracing.call_names import CallNames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.agents.trace import TracedStep
    from pyevm_agents.chain.calls import AccountOverrides
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.simulation import TextOverride
    from pyevm_agents.tracing import TraceBudget
    from pyevm_agents.vm import AgentVM

    TextOverrides = Mapping[Address, TextOverride]

METHODS = MethodTable()

MAX_RUNS = 1_000
DEFAULT_RUNS = 100
MAX_RUN_BLOCKS = 100_000
"""The most blocks of one request. A block without inference takes some ten microseconds."""

REQUEST_ID_CHARACTERS = 64
"""The most characters of a request's id: each event repeats it. A UUID has 36."""


class EffectTracer(MuxTracer):
    """Collects a transaction's calls, and the touched accounts."""

    def __init__(self, budget: TraceBudget) -> None:
        self.budget = budget
        self.calls, self.state = CallTree(budget), TouchedStateTracer()
        super().__init__({"calls": self.calls, "state": self.state})


def parse_run_limit(value: object, name: str) -> int:
    """Parse the most runs of a response."""
    limit = parse_quantity(value, name, UINT64)
    if not 1 <= limit <= MAX_RUNS:
        raise invalid_param_error(name, value, f"must be 1 to {MAX_RUNS:,} runs")
    return limit


@METHODS.method(
    "agent_getRuns", parse_block_id, parse_block_id, optional(parse_run_limit, DEFAULT_RUNS)
)
def get_runs(rpc: RequestContext, from_block: BlockId, to_block: BlockId, limit: int) -> list[Json]:
    """Return the transactions with agents in a range of blocks: request, answer, gas; newest first.

    Input: the first and the last block; the most runs.
    """
    chain = rpc.node.chain
    first = max(_find_number(rpc, from_block), find_first_number(rpc.node))
    last = min(_find_number(rpc, to_block), chain.head.block_number)
    if last - first >= MAX_RUN_BLOCKS:
        raise RpcError(
            LIMIT_EXCEEDED,
            f"range of {last - first + 1:,} blocks: must be at most {MAX_RUN_BLOCKS:,}; ask for "
            "several ranges",
        )
    search = RunSearch(chain, find_address_names(rpc), rpc.refused_runs)
    return search.find(first, last, limit)


def _find_number(rpc: RequestContext, block: BlockId) -> int:
    """Return the number of a block id; that of a range's end need not be a block of the chain."""
    if block.tag == "earliest":
        return 0
    number = block.number
    return int(resolve_header(rpc.node, block).block_number) if number is None else number


def parse_request_id(value: object, name: str) -> str:
    """Parse a client's id of a request."""
    request_id = parse_text(value, name)
    if len(request_id) > REQUEST_ID_CHARACTERS:
        raise invalid_param_error(
            name, value, f"must be at most {REQUEST_ID_CHARACTERS} characters"
        )
    return request_id


@METHODS.method("agent_traceCalls", parse_hash32)
def trace_calls(rpc: RequestContext, transaction_hash: bytes) -> Json:
    """Return a transaction's calls and events with names, transfers, approvals, state changes.

    A run of an agent is compared with the request: `differences` in docs/node.md.

    The transaction is executed again, with the stored generations.
    """
    chain = rpc.node.chain
    match = chain.find_transaction(transaction_hash)
    if match is None:
        raise RpcError(SERVER_ERROR, f"transaction 0x{transaction_hash.hex()} not found: not mined")
    record, index = match
    budget = rpc.open_trace_budget()
    tracer = trace_at_index(rpc, record, index, lambda *_: EffectTracer(budget))
    steps = _find_steps(rpc, transaction_hash, tracer.calls)
    at = StateView(chain, record.block.header)
    return {
        "transactionHash": "0x" + transaction_hash.hex(),
        **review_effects(rpc, at, tracer, steps),
    }


@METHODS.method(
    "agent_traceCall",
    parse_transaction_request,
    optional(parse_block_id),
    optional(parse_state_overrides),
    optional(parse_text_overrides),
    optional(parse_request_id),
)
def trace_call(  # noqa: PLR0913, PLR0917 - parameters of a request, by position
    rpc: RequestContext,
    transaction: TransactionRequest,
    block: BlockId | None,
    state_overrides: AccountOverrides | None,
    text_overrides: TextOverrides | None,
    request_id: str | None,
) -> Json:
    """Return the agents' steps, calls and changes of a simulated call, with other texts if given.

    Input: the call; the block after which it is executed, by default as a new transaction; accounts
           with other values; texts that the executor reads in place of agents' and tools' own; an
           id that the events of `agent_subscribe` repeat.
    """
    at = resolve_next_view(rpc, block, transaction.sender, transaction.nonce)
    budget = rpc.open_trace_budget()
    tracer = EffectTracer(budget)

    def make_vm(vm_class: type[AgentVM]) -> type[AgentVM]:
        reworded = make_text_override_vm(vm_class, text_overrides) if text_overrides else vm_class
        return make_traced_vm(reworded, tracer)

    call = rpc.limit_call(transaction.to_call(), at)
    with rpc.node.chain.agent_events.run("call", request_id):
        result = at.chain.call(call, header=at.header, overrides=state_overrides, trace=make_vm)
    trace = trace_agents(result.computation, result.gas_used, rpc.node.chain.models)
    effects = review_effects(rpc, at, tracer, trace.steps, state_overrides)
    form = serialize_trace(None, trace, find_address_names(rpc))
    found = form["names"]
    assert isinstance(found, dict)  # noqa: S101 - as `serialize_trace` writes it
    return {
        **form,
        **effects,
        "output": encode_data(result.output),
        "names": {**effects["names"], **found},
    }


@METHODS.method("agent_describe", parse_address, optional(parse_block_id, LATEST))
def describe(rpc: RequestContext, address: Address, block: BlockId) -> Json:
    """Return an agent's or a tool's self-description: name, prompt, model, tools, parameters."""
    at = resolve_view(rpc, block)
    state = at.state
    names = AddressNames(known=rpc.node.chain.known_contracts, get_code=state.get_code)
    calls = ViewCalls(rpc=rpc, at=at, gas=DESCRIPTION_GAS)
    return AgentDescriber(calls=calls, names=names).describe(address)


def _find_steps(rpc: RequestContext, transaction_hash: bytes, calls: CallTree) -> list[TracedStep]:
    """Return the steps of a transaction's agents; one without inference is not replayed again."""
    if all(node.frame.to != EXECUTOR_ADDRESS for node, _ in calls.walk_nodes()):
        return []
    trace = rpc.node.chain.find_agent_trace(transaction_hash)
    return [] if trace is None else [*trace.steps]


def review_effects(
    rpc: RequestContext,
    at: StateView,
    tracer: EffectTracer,
    steps: Sequence[TracedStep],
    overrides: AccountOverrides | None = None,
) -> dict[str, Any]:
    """Return a traced transaction's call, transfers, changes, approvals, review, and names in JSON.

    Input: the state of the transaction; its tracer; its agents' steps; the accounts that were other
           ones before it.
    """
    chain = rpc.node.chain
    names = CallNames(names=find_address_names(rpc))
    calls = NamedCalls.build(tracer.calls, names, len(steps), tracer.budget)
    flow = ValueFlow.build(rpc, at, calls, tracer.state, overrides)
    review = RunReview.of_transaction(flow, steps, chain.config.models)
    return {
        "call": calls.serialize(),
        "transfers": flow.serialize_transfers(),
        "changes": flow.serialize_changes(),
        **review.serialize(),
        "names": calls.find_names(pair for step in steps for pair in step.handles),
    }


def find_address_names(rpc: RequestContext) -> AddressNames:
    """Return the names of the chain's addresses."""
    chain = rpc.node.chain
    return AddressNames(known=chain.known_contracts, get_code=chain.code)
