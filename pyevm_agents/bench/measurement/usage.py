"""A transaction's usage of the executor: the quantities that a schedule prices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from precompiles.abi import INPUT_DESCRIPTION_SELECTOR, decode_input_description
from precompiles.errors import REFUSALS, error_selector
from precompiles.spec import EXECUTOR_ADDRESS, SELECTOR_BYTES
from precompiles.typed_texts import attach_types
from pyevm_agents.vm import AgentComputation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import ComputationAPI


READS_OF_TOOL = 3
"""`name()`, `description()`, `inputDescription()`."""

UNCHARGED = frozenset(
    {"DelegateCallNotAllowed", "ValueNotAccepted", "CalldataTooLarge", "ReentrantMetadata"}
)
"""Refusals of a call's kind or size, before any charge."""

REFUSED_LATE = frozenset({"ContextTooLong", "OutputTooLong"})
"""Refusals after the charge for tools."""

REFUSALS_BY_SELECTOR = {error_selector(name): name for name in REFUSALS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of one or several transactions."""

    calls: int = 0
    """Calls of the executor."""

    input_bytes: int = 0
    """Bytes of those calls' calldata and metadata."""

    tools: int = 0
    parameters: int = 0
    """Parameters of all tools that those calls read."""

    cold_tokens: int = 0
    warm_tokens: int = 0
    """Prompt tokens charged at the full and at the warm price."""

    output_tokens: int = 0
    """Output tokens, including forced ones."""

    forced_tokens: int = 0

    evm_gas: int = 0
    """All other gas: the transaction's own, contracts, tools, reads of metadata."""

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of both."""
        names = [each.name for each in fields(self)]
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})


def iter_executor_calls(computation: ComputationAPI) -> Iterator[ComputationAPI]:
    """Yield the executor's computations in a tree of computations, in order."""
    if computation.msg.code_address == EXECUTOR_ADDRESS:
        yield computation
        return
    for child in computation.children:
        yield from iter_executor_calls(child)


def count_usage(computation: ComputationAPI) -> Usage:
    """Return the paid usage of the executor in a computation, without gas.

    A refused call counts usage up to the refusal. A call that ran out of gas counts nothing: all
    gas is burnt.
    """
    total = Usage()
    for call in iter_executor_calls(computation):
        total += _count_input(call) + _count_tokens(call)
    return total


def _count_tokens(call: ComputationAPI) -> Usage:
    """Return the tokens of a call that ran to the end."""
    done = call.inference if isinstance(call, AgentComputation) else None
    if done is None:
        return Usage()
    return Usage(
        cold_tokens=done.cold_tokens,
        warm_tokens=done.warm_tokens,
        output_tokens=done.output_tokens,
        forced_tokens=done.forced_tokens,
    )


def _count_input(call: ComputationAPI) -> Usage:
    """Return the charged calldata, reads and tools of a call."""
    reason = _get_refusal_name(call)
    if call.is_error and (reason is None or reason in UNCHARGED):
        return Usage()
    read_bytes = sum(len(read.output) for read in call.children if read.is_success)
    if reason == "ToolMetadataTooLarge":
        read_bytes -= len(call.children[-1].output)
    counts = Usage(calls=1, input_bytes=len(call.msg.data) + read_bytes)
    if reason is not None and reason not in REFUSED_LATE:
        return counts
    return counts + Usage(
        tools=len(call.children) // READS_OF_TOOL,
        parameters=sum(map(_count_parameters, call.children)),
    )


def _get_refusal_name(call: ComputationAPI) -> str | None:
    """Return the name of the refusal that ended a call; None if not refused."""
    if call.is_success or call.error.burns_gas:
        return None
    return REFUSALS_BY_SELECTOR[bytes(call.output[:SELECTOR_BYTES])]


def _count_parameters(read: ComputationAPI) -> int:
    """Return the number of parameters, in which each leaf of a typed text counts as one."""
    if bytes(read.msg.data) != INPUT_DESCRIPTION_SELECTOR:
        return 0
    parameters = attach_types(decode_input_description(bytes(read.output)))
    return sum(len(parameter.leaf_kinds) for parameter in parameters)
