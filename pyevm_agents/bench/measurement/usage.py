"""What a transaction used of the executor: the quantities that a schedule puts a price on."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from precompiles.abi import INPUT_DESCRIPTION_SELECTOR, decode_input_description
from precompiles.errors import REFUSALS, error_selector
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.vm import AgentComputation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import ComputationAPI


READS_OF_TOOL = 3
"""`name()`, `description()`, `inputDescription()`."""

UNCHARGED = frozenset(
    {"DelegateCallNotAllowed", "ValueNotAccepted", "CalldataTooLarge", "ReentrantMetadata"}
)
"""Refusals of a call's kind or size, before anything is charged."""

REFUSED_LATE = frozenset({"ContextTooLong", "OutputTooLong"})
"""Refusals after the tools were charged for."""

SELECTOR_BYTES = 4
REFUSALS_BY_SELECTOR = {error_selector(name): name for name in REFUSALS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Counts of a transaction, or of several."""

    calls: int = 0
    """Calls of the executor."""

    input_bytes: int = 0
    """Bytes of calldata and of metadata that those calls took in."""

    tools: int = 0
    parameters: int = 0
    """Tools, and their parameters in all, that those calls read."""

    cold_tokens: int = 0
    warm_tokens: int = 0
    """Tokens of prompts, paid for in full and paid for again."""

    output_tokens: int = 0
    """Tokens of outputs, forced ones among them."""

    forced_tokens: int = 0

    evm_gas: int = 0
    """Gas of everything else: the transaction's own, contracts, tools, reads of metadata."""

    def __add__(self, other: Usage) -> Usage:
        """Return the counts of both."""
        names = [each.name for each in fields(self)]
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})


def iter_executor_calls(computation: ComputationAPI) -> Iterator[ComputationAPI]:
    """Yield the executor's own computations in a tree of them, in order."""
    if computation.msg.code_address == EXECUTOR_ADDRESS:
        yield computation
        return
    for child in computation.children:
        yield from iter_executor_calls(child)


def count_usage(computation: ComputationAPI) -> Usage:
    """Return what the executor was paid for in a computation, without gas.

    A call that was refused counts what it was charged for before. One that ran out of gas counts
    for nothing: all of its gas is burnt, whatever it was spent on.
    """
    total = Usage()
    for call in iter_executor_calls(computation):
        total += _count_input(call) + _count_tokens(call)
    return total


def _count_tokens(call: ComputationAPI) -> Usage:
    """Return the tokens of a call that ran to its end."""
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
    """Return the calldata, the reads and the tools that a call was charged for."""
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
    """Return the name of the refusal that a call ended in; None where it ended in none."""
    if call.is_success or call.error.burns_gas:
        return None
    return REFUSALS_BY_SELECTOR[bytes(call.output[:SELECTOR_BYTES])]


def _count_parameters(read: ComputationAPI) -> int:
    if bytes(read.msg.data) != INPUT_DESCRIPTION_SELECTOR:
        return 0
    return len(decode_input_description(bytes(read.output)))
