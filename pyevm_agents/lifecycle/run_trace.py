"""The trace of a run: writes, with the caused calls, logs, generations and storage.

A dry run and the execution must share the trace's digest. Gas is no part of the digest: a slot that
another account has written in between changes the price of a step, and no effect of the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import keccak

from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.lifecycle.json_codec import compute_json_digest
from pyevm_agents.vm import AgentComputation
from pyevm_agents.vm.stack_depth import iter_computations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import ComputationAPI

    from pyevm_agents.recordings.canonical_json import Json


TRACE_PARTS = {
    "write": "target, value or data",
    "is_success": "outcome",
    "generations": "generation of the model",
    "calls": "call",
    "logs": "log",
    "storage": "storage",
    "output": "output",
}
"""Members of a trace that are compared, with their names in messages; causes before effects."""


def hash_id(text: str) -> bytes:
    """Return the 32 bytes that stand for a task, run or step ID in contracts."""
    return keccak(text.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWrite:
    """A call of an agent, to change the chain."""

    step_id: str
    number: int
    """Of the write in its step, from 0 on. Task, step and number are the key of a write."""

    target: bytes
    value_wei: int
    data: bytes

    def compute_hash(self) -> bytes:
        """Return the hash of the write by the treasury's rule (`hashWrite`)."""
        words = (hash_id(self.step_id), self.target, self.value_wei, keccak(self.data))
        return keccak(encode(["bytes32", "address", "uint256", "bytes32"], words))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRead:
    """A call that an agent made to read the chain."""

    step_id: str
    target: bytes
    data_hash: bytes
    output_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainToolUse:
    """A tool that an agent's contract used in a write."""

    tool: bytes
    name: str
    arguments: str
    observation: str | None
    """None if the tool reverted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTrace:
    """Effects of a write, as digests, and values that the lifecycle counts."""

    write: RunWrite
    is_success: bool
    failure: str | None
    output: bytes
    calls: bytes
    logs: bytes
    generations: bytes
    storage: bytes
    """Digests of the message calls, the logs, the models' generations and the changed slots."""

    tool_uses: tuple[ChainToolUse, ...]
    gas_used: int
    gas_wei: int
    transaction_hash: bytes
    """Of the draft; that of the block if this became one. No part of the digest."""

    def compute_digest(self) -> bytes:
        """Return the digest of everything but gas and the text of a failure."""
        return compute_json_digest(
            [
                self.write.compute_hash(),
                self.write.number,
                self.is_success,
                keccak(self.output),
                self.calls,
                self.logs,
                self.generations,
                self.storage,
            ]
        )

    def find_difference(self, other: WriteTrace) -> str | None:
        """Return the first part in which another trace differs; None if none does."""
        for name, part in TRACE_PARTS.items():
            if getattr(self, name) != getattr(other, name):
                return part
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrace:
    """Everything that a run did on the chain, in order."""

    writes: tuple[WriteTrace, ...] = ()
    reads: tuple[ChainRead, ...] = ()

    def compute_digest(self) -> bytes:
        """Return the digest that a dry run and the execution share."""
        writes = [trace.compute_digest() for trace in self.writes]
        return compute_json_digest([writes, self.reads])

    def compute_writes_digest(self) -> bytes:
        """Return the digest of the writes by the treasury's rule (`hashWrites`)."""
        digest = bytes(32)
        for trace in self.writes:
            digest = keccak(digest + trace.write.compute_hash())
        return digest

    @property
    def gas_wei(self) -> int:
        """The price of all writes."""
        return sum(trace.gas_wei for trace in self.writes)


def build_write_trace(  # noqa: PLR0913 - keyword arguments
    write: RunWrite,
    computation: ComputationAPI,
    storage: Mapping[bytes, Mapping[int, int]],
    *,
    transaction_hash: bytes,
    gas: tuple[int, int],
    failure: str | None,
) -> WriteTrace:
    """Return the trace of a transaction.

    Input:
        write: of the agent.
        computation: of the transaction.
        storage: final values of the changed slots.
        transaction_hash: of the transaction.
        gas: used, and the price in wei.
        failure: the reason of a failure, if any.
    """
    steps = extract_agent_steps(computation)
    return WriteTrace(
        write=write,
        is_success=bool(computation.is_success),
        failure=failure,
        output=bytes(computation.output),
        calls=compute_json_digest(
            [_describe_call(each) for each in iter_computations(computation)]
        ),
        logs=compute_json_digest(_describe_logs(computation)),
        generations=compute_json_digest(_describe_generations(computation)),
        storage=compute_json_digest(
            [
                [address, [[hex(slot), hex(value)] for slot, value in sorted(slots.items())]]
                for address, slots in sorted(storage.items())
            ]
        ),
        tool_uses=tuple(
            ChainToolUse(
                tool=bytes(step.tool),
                name=step.action or "",
                arguments=step.action_input or "",
                observation=step.observation,
            )
            for step in steps
            if step.tool is not None
        ),
        gas_used=gas[0],
        gas_wei=gas[1],
        transaction_hash=transaction_hash,
    )


def list_changing_calls(computation: ComputationAPI) -> set[bytes]:
    """Return the addresses that a transaction called, where a call could change state."""
    return {
        bytes(call.msg.storage_address)
        for call in iter_computations(computation)
        if not call.msg.is_static
    }


def _describe_call(call: ComputationAPI) -> list[Json]:
    message = call.msg
    address = bytes(message.storage_address)
    return [
        message.depth,
        "create" if message.is_create else "static" if message.is_static else "call",
        "0x" + bytes(message.sender).hex(),
        "0x" + address.hex(),
        "0x" + bytes(message.code_address or b"").hex(),
        hex(message.value),
        "0x" + keccak(bytes(message.data)).hex(),
        "0x" + keccak(bytes(call.output)).hex(),
        not call.is_error,
    ]


def _describe_logs(computation: ComputationAPI) -> list[Json]:
    if computation.is_error:
        return []
    return [
        ["0x" + address.hex(), [hex(topic) for topic in topics], "0x" + data.hex()]
        for address, topics, data in computation.get_log_entries()
    ]


def _describe_generations(computation: ComputationAPI) -> list[Json]:
    return [
        [prompt, generation.text, list(generation.tokens), generation.is_complete]
        for call in iter_computations(computation)
        if isinstance(call, AgentComputation) and call.generation is not None
        for prompt, generation in [call.generation]
    ]


def find_trace_difference(expected: Sequence[WriteTrace], given: WriteTrace, at: int) -> str | None:
    """Return how the write at a place differs from the dry run's; None if equal."""
    if at >= len(expected):
        return f"write {at + 1}: the dry run made {len(expected)}"
    difference = expected[at].find_difference(given)
    return None if difference is None else f"write {at + 1}: another {difference}"
