"""`trace_*` methods for mined transactions: calls in Parity's flat format.

Source: OpenEthereum's documentation of the trace module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyevm_agents.rpc.block_ids import find_first_number, resolve_number
from pyevm_agents.rpc.codec import encode
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable
from pyevm_agents.rpc.methods.eth_state import require_record
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_hash32,
    parse_list,
    parse_list_of,
    parse_object,
    parse_uint64,
)
from pyevm_agents.rpc.replay import (
    find_mined,
    flatten_calls,
    parity_tracers,
    trace_at_index,
    trace_transactions,
)
from pyevm_agents.tracing import TraceBudget
from pyevm_agents.tracing.call_tracer import NODE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

MAX_BLOCKS = 1_000
"""The most blocks of a filter: each is re-executed."""

MAX_ADDRESSES = 1_000
MODES = ("union", "intersection")


@METHODS.method("trace_transaction", parse_hash32)
def trace_transaction(rpc: RequestContext, transaction_hash: bytes) -> list[Json]:
    """Return the calls of a mined transaction in Parity's flat format."""
    record, index = find_mined(rpc, transaction_hash)
    tracers = parity_tracers(rpc.open_trace_budget())
    return flatten_calls([trace_at_index(rpc, record, index, tracers)])


@METHODS.method("trace_block", parse_block_id)
def trace_block(rpc: RequestContext, number: BlockId) -> list[Json]:
    """Return the calls of a block's transactions in Parity's flat format."""
    tracers = parity_tracers(rpc.open_trace_budget())
    return flatten_calls(trace_transactions(rpc, require_record(rpc, number), tracers))


@METHODS.method("trace_get", parse_hash32, parse_list_of(parse_uint64))
def trace_get(rpc: RequestContext, transaction_hash: bytes, path: list[int]) -> Json | None:
    """Return one call of a mined transaction by `traceAddress`, null if absent."""
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is None:
        return None
    tracers = parity_tracers(rpc.open_trace_budget())
    calls = flatten_calls([trace_at_index(rpc, *match, tracers)])
    return next((call for call in calls if call["traceAddress"] == path), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCriteria:
    """A filter of calls."""

    first: BlockId
    last: BlockId
    senders: frozenset[str] | None
    """Addresses in hexadecimal; None for every address."""

    receivers: frozenset[str] | None
    mode: Literal["union", "intersection"]
    """Whether either or both of senders and receivers must match, if both are given."""

    skipped: int
    count: int | None
    """The most calls to return; None for all."""

    def matches(self, call: Json) -> bool:
        """Return whether a call in Parity's format matches."""
        sender, receiver = get_call_parties(call)
        checks = [
            party in wanted
            for party, wanted in ((sender, self.senders), (receiver, self.receivers))
            if wanted is not None
        ]
        if not checks:
            return True
        return any(checks) if self.mode == "union" else all(checks)


def get_call_parties(call: Json) -> tuple[object, object]:
    """Return sender and receiver of a call in Parity's format; None for a failed creation's."""
    action, result = parse_object(call["action"], "action"), call["result"]
    if call["type"] == "suicide":
        return action["address"], action["refundAddress"]
    if call["type"] == "create":
        created = parse_object(result, "result").get("address") if result is not None else None
        return action["from"], created
    return action["from"], action["to"]


def parse_call_criteria(value: object, name: str) -> CallCriteria:
    """Parse a filter of calls."""
    form = parse_object(value, name)
    known = {"fromBlock", "toBlock", "fromAddress", "toAddress", "after", "count", "mode"}
    if unknown := set(form) - known:
        raise invalid_param_error(name, dict(form), f"unknown field: {', '.join(sorted(unknown))}")
    fields = {key: entry for key, entry in form.items() if entry is not None}
    mode = fields.get("mode", "union")
    if mode not in MODES:
        raise invalid_param_error(f"{name}.mode", mode, "must be union or intersection")

    def parse_number(key: str) -> int | None:
        return parse_uint64(fields[key], f"{name}.{key}") if key in fields else None

    def parse_bound(key: str, default: BlockId) -> BlockId:
        return parse_block_id(fields[key], f"{name}.{key}") if key in fields else default

    return CallCriteria(
        first=parse_bound("fromBlock", BlockId(tag="earliest")),
        last=parse_bound("toBlock", LATEST),
        senders=_parse_addresses(fields.get("fromAddress"), f"{name}.fromAddress"),
        receivers=_parse_addresses(fields.get("toAddress"), f"{name}.toAddress"),
        mode=mode,  # type: ignore[arg-type]
        skipped=parse_number("after") or 0,
        count=parse_number("count"),
    )


def _parse_addresses(value: object, name: str) -> frozenset[str] | None:
    if value is None or value == []:
        return None
    many = parse_list(value, name) if isinstance(value, list) else [value]
    if len(many) > MAX_ADDRESSES:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid params: {name}: {len(many)} values; must be at most {MAX_ADDRESSES}",
        )
    read = (parse_address(item, f"{name}[{index}]") for index, item in enumerate(many))
    return frozenset("0x" + address.hex() for address in read)


@METHODS.method("trace_filter", parse_call_criteria)
def trace_filter(rpc: RequestContext, criteria: CallCriteria) -> list[Json]:
    """Return the calls in a range of blocks that match addresses, in Parity's flat format.

    The first `after` matches are skipped and at most `count` returned, of at most 1,000 blocks.
    """
    head = int(rpc.node.chain.head.block_number)
    earliest = find_first_number(rpc.node)
    first, last = (
        resolve_number(bound, head, earliest) for bound in (criteria.first, criteria.last)
    )
    if first > last:
        raise RpcError(
            INVALID_PARAMS, f"invalid block range params: fromBlock {first} > toBlock {last}"
        )
    last = min(last, head)
    if last - first >= MAX_BLOCKS:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid block range params: {last - first + 1} blocks, {first} to {last}; at most "
            f"{MAX_BLOCKS}: set fromBlock and toBlock",
        )
    end = None if criteria.count is None else criteria.skipped + criteria.count
    budget = rpc.open_trace_budget()
    calls: list[Json] = []
    for call in _iter_calls(rpc, rpc.node.chain.iter_headers(first, last)):
        if end is not None and len(calls) >= end:
            break
        if criteria.matches(call):
            budget.spend(measure_call(call))
            calls.append(call)
    return calls[criteria.skipped :]


def _iter_calls(rpc: RequestContext, headers: Iterable[BlockHeaderAPI]) -> Iterator[Json]:
    for header in headers:
        record = rpc.node.chain.block_with_receipts(header)
        with TraceBudget(pool=rpc.trace_pool) as budget:
            yield from flatten_calls(trace_transactions(rpc, record, parity_tracers(budget)))


def measure_call(call: Json) -> int:
    """Return the memory of a call in Parity's format, in bytes."""
    return NODE_BYTES + len(encode(call))
