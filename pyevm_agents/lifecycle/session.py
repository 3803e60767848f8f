"""The session of a dry run or an execution: everything that agents do, with the limits.

A refusal of a session stops the run: an agent that catches the error can do nothing more. In an
execution, each write is compared with that of the dry run before the next one begins; a write that
differs stops the run, and no block holds any part of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - read by the JSON codec
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from eth_utils import keccak, to_checksum_address

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.budget import RunCancelledError, RunStoppedError
from pyevm_agents.lifecycle.chain_tools import ChainTool
from pyevm_agents.lifecycle.records import ReceiptType, RunReceipt, build_receipt_id
from pyevm_agents.lifecycle.run_trace import ChainRead, RunTrace, RunWrite, find_trace_difference
from pyevm_agents.lifecycle.untrusted_agents import FAULT_TYPES, describe_exception, note_faults
from pyevm_agents.recordings.canonical_json import Json, encode_canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.lifecycle.budget import BudgetMeter
    from pyevm_agents.lifecycle.chain_tools import HostTool
    from pyevm_agents.lifecycle.envelopes import WriteEnvelope
    from pyevm_agents.lifecycle.local_chain import LocalDraft
    from pyevm_agents.lifecycle.run_trace import ChainToolUse, WriteTrace

T = TypeVar("T")


MAX_SHOWN_CHARACTERS = 200
"""Of a tool's result in the summary of its receipt."""


class DivergenceError(RunStoppedError):
    """An execution differs from the dry run; no part is mined."""


class ProtectedTargetError(RunStoppedError):
    """A run called a contract that must not be changed: a registry, or the run's own treasury."""


class HostToolError(AgentsError):
    """A tool of the host failed, or is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostToolUse:
    """A use of a tool of the host: an API call, or a computation."""

    step_id: str
    name: str
    arguments: Mapping[str, Json]
    result: Json = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """The outcome of a write, for the agent."""

    receipt_id: str
    is_success: bool
    failure: str | None
    output: bytes
    """Of the target."""

    is_skipped: bool
    """Whether an earlier run of the task made the write, so that it was not made again."""

    tool_uses: tuple[ChainToolUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """The dry run that a session compares with, and refused contracts."""

    expected: RunTrace | None = None
    """The trace of the dry run; None for a dry run."""

    recorded: tuple[HostToolUse, ...] = ()
    """The tool uses of the dry run, whose results an execution reads back."""

    protected: frozenset[bytes] = frozenset()
    """Contracts that no run may call where they could change."""

    refused_targets: frozenset[bytes] = frozenset()
    """Contracts that no write may name: those of the envelope, which are called with each write."""


@dataclass(slots=True, kw_only=True)
class _Position:
    step_id: str | None = None
    writes_in_step: dict[str, int] = field(default_factory=dict)


class RunSession:
    """The chain and the tools of a run; agents have an `AgentSession` of this one."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        draft: LocalDraft,
        meter: BudgetMeter,
        *,
        run_id: str,
        limits: SessionLimits,
        tools: Mapping[str, HostTool],
        envelope: WriteEnvelope,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin.

        Input:
            draft: the block that the run becomes.
            meter: the run's budget.
            run_id: for receipts.
            limits: the dry run to compare with, and refused contracts.
            tools: of the host, by name.
            envelope: of the writes.
            is_cancelled: whether the operator has cancelled the run.
        """
        self._draft = draft
        self._meter = meter
        self._run_id = run_id
        self._limits = limits
        self._tools = tools
        self._envelope = envelope
        self._is_cancelled = is_cancelled
        self._position = _Position()
        self._writes: list[WriteTrace] = []
        self._outcomes: list[WriteOutcome] = []
        self._reads: list[ChainRead] = []
        self._uses: list[HostToolUse] = []
        self._receipts: list[RunReceipt] = []
        self._stop: RunStoppedError | None = None
        self._fault: Exception | None = None

    # -- for agents -- #

    @property
    def receipt_ids(self) -> tuple[str, ...]:
        """The IDs of all receipts so far, in order."""
        return tuple(receipt.receipt_id for receipt in self._receipts)

    def write(self, target: bytes, data: bytes = b"", *, value_wei: int = 0) -> WriteOutcome:
        """Call a contract to change the chain, or transfer wei.

        Output: also of a call that reverted.
        Raises: RunStoppedError: a limit, the operator, or a difference from the dry run.
                ValueError: not an address of 20 bytes, bytes, and wei.
        """
        step_id = self._require_step()
        require_call(target, data, value_wei)
        number = self._position.writes_in_step.get(step_id, 0)
        write = RunWrite(
            step_id=step_id, number=number, target=target, value_wei=value_wei, data=data
        )
        with_treasury = self._envelope.wrap(write)
        self._require_unprotected({target}, self._limits.protected | self._limits.refused_targets)
        self._spend(onchain_writes=1)
        trace = self._ask_chain(partial(self._draft.send, write, with_treasury))
        trace = replace(trace, failure=self._envelope.explain(trace))
        self._position.writes_in_step[step_id] = number + 1
        self._require_expected(trace)
        self._require_unprotected(self._draft.touched_addresses, self._limits.protected)
        self._spend(gas_wei=trace.gas_wei, tool_calls=len(trace.tool_uses))
        self._writes.append(trace)
        outcome = self._add_write_receipts(trace)
        self._outcomes.append(outcome)
        return outcome

    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract to read the chain after the run's writes so far.

        Raises: CallFailedError: the call failed. RunStoppedError, ValueError: see `write`.
        """
        step_id = self._require_step()
        require_call(target, data)
        self._spend()
        output = self._ask_chain(partial(self._draft.call, target, data))
        read = ChainRead(
            step_id=step_id, target=target, data_hash=keccak(data), output_hash=keccak(output)
        )
        expected = self._limits.expected
        at = len(self._reads)
        if expected is not None and expected.reads[at : at + 1] != (read,):
            self._divert(f"read {at + 1} of {to_checksum_address(target)} differs")
        self._reads.append(read)
        return output

    def use_tool(self, name: str, **arguments: Json) -> Json:
        """Use a tool of the host.

        A tool that reads the chain reads the draft at hand, after the writes so far: that of the
        dry run, or that of the execution. Of other tools an execution gets the dry run's results.

        Raises: HostToolError: the tool failed, or is unknown. RunStoppedError: see `write`.
                ValueError: arguments that are not JSON.
        """
        step_id = self._require_step()
        arguments = copy_json(arguments)
        self._spend(tool_calls=1)
        use = self._find_use(step_id, name, arguments)
        self._uses.append(use)
        shown = use.error or str(use.result)
        self._add_receipt(ReceiptType.API, name, f"{name}: {shown[:MAX_SHOWN_CHARACTERS]}")
        if use.error is not None:
            raise HostToolError(f"tool {name}: {use.error}")
        return copy_json(use.result)

    def rehearse(self, target: bytes, data: bytes, sender: bytes | None = None) -> WriteTrace:
        """Return what a call would do after the run's writes so far, without doing it.

        Input:  the call; the caller, None for the run's own account.
        Raises: RunStoppedError, ValueError: see `write`.
        """
        self._require_step()
        require_call(target, data)
        self._spend()
        return self._ask_chain(partial(self._draft.rehearse, target, data, sender))

    def find_write(self, target: bytes, data: bytes) -> WriteOutcome | None:
        """Return the outcome of the first write of the run with this target and data, if any."""
        for trace, outcome in zip(self._writes, self._outcomes, strict=True):
            if (trace.write.target, trace.write.data) == (target, data):
                return outcome
        return None

    # -- for the executor -- #

    @property
    def trace(self) -> RunTrace:
        """Everything that was done on the chain so far."""
        return RunTrace(writes=tuple(self._writes), reads=tuple(self._reads))

    @property
    def tool_uses(self) -> tuple[HostToolUse, ...]:
        """The uses of the host's tools so far."""
        return tuple(self._uses)

    @property
    def receipts(self) -> tuple[RunReceipt, ...]:
        """The receipts so far."""
        return tuple(self._receipts)

    @property
    def stop(self) -> RunStoppedError | None:
        """Why the run must not go on; None for a run that may."""
        return self._stop

    @property
    def fault(self) -> Exception | None:
        """The fault of the host that a call of an agent met; None if none did."""
        return self._fault

    @property
    def meter(self) -> BudgetMeter:
        """The meter that is spent from."""
        return self._meter

    def begin_step(self, step_id: str) -> None:
        """Let agents act, for one step.

        Raises: RunStoppedError: see `write`.
        """
        self._require_running()
        self._position.step_id = step_id
        self._spend(steps=1)

    def end_step(self) -> None:
        """Refuse everything until the next step."""
        self._position.step_id = None

    def swap_meter(self, meter: BudgetMeter) -> BudgetMeter:
        """Spend from another meter: that of a child run, or the parent's again."""
        before, self._meter = self._meter, meter
        return before

    def swap_step(self, step_id: str | None) -> str | None:
        """Act for another step: one of a child run, or the parent's again."""
        before, self._position.step_id = self._position.step_id, step_id
        return before

    def require_complete(self) -> None:
        """Accept the end of an execution.

        Raises: RunStoppedError: less than the dry run was done, or the run was stopped.
        """
        self._require_running()
        self._spend()
        expected = self._limits.expected
        if expected is not None and len(self._uses) != len(self._limits.recorded):
            self._divert(f"{len(self._uses)} uses of tools: the dry run made "
                         f"{len(self._limits.recorded)}")  # fmt: skip
        if expected is not None and self.trace.compute_digest() != expected.compute_digest():
            made, wanted = len(self._writes), len(expected.writes)
            self._divert(f"{made} writes and {len(self._reads)} reads: the dry run made {wanted} "
                         f"and {len(expected.reads)}")  # fmt: skip

    # -- inside -- #

    def _ask_chain(self, call: Callable[[], T]) -> T:
        """Return the draft's result; keep a fault of the host, even one that the agent catches."""
        try:
            return note_faults(call)()
        except FAULT_TYPES as error:
            self._fault = error
            raise

    def _require_running(self) -> None:
        if self._stop is not None:
            raise self._stop
        if self._is_cancelled():
            self._halt(RunCancelledError(f"run {self._run_id}: was cancelled"))

    def _require_step(self) -> str:
        self._require_running()
        if self._position.step_id is None:
            self._halt(DivergenceError("session: acts outside of a step of the plan"))
        assert self._position.step_id is not None  # noqa: S101 - as checked
        return self._position.step_id

    def _spend(
        self, *, steps: int = 0, tool_calls: int = 0, onchain_writes: int = 0, gas_wei: int = 0
    ) -> None:
        try:
            self._meter.spend(
                steps=steps, tool_calls=tool_calls, onchain_writes=onchain_writes, gas_wei=gas_wei
            )
        except RunStoppedError as error:
            self._halt(error)

    def _require_unprotected(
        self, targets: set[bytes] | frozenset[bytes], protected: frozenset[bytes]
    ) -> None:
        if found := sorted(targets & protected):
            self._halt(
                ProtectedTargetError(
                    f"contract {to_checksum_address(found[0])}: no run may change it; it holds "
                    "identities, trust records or the run's own limits"
                )
            )

    def _require_expected(self, trace: WriteTrace) -> None:
        expected = self._limits.expected
        if expected is None:
            return
        difference = find_trace_difference(expected.writes, trace, len(self._writes))
        if difference is not None:
            self._divert(difference)

    def _divert(self, difference: str) -> None:
        """Stop at a difference from the dry run, of any cause."""
        self._halt(DivergenceError(f"{difference}; the execution is not that of the dry run"))

    def _halt(self, error: RunStoppedError) -> None:
        self._stop = error
        raise error

    def _find_use(self, step_id: str, name: str, arguments: Mapping[str, Json]) -> HostToolUse:
        if self._limits.expected is None:
            return self._run_tool(step_id, name, arguments)
        at = len(self._uses)
        recorded = self._limits.recorded[at : at + 1]
        wanted = (step_id, name, dict(arguments))
        if [(each.step_id, each.name, dict(each.arguments)) for each in recorded] != [wanted]:
            self._divert(f"tool use {at + 1}, {name}: differs")
        if isinstance(self._tools.get(name), ChainTool):
            return self._run_tool(step_id, name, arguments)
        return recorded[0]

    def _run_tool(self, step_id: str, name: str, arguments: Mapping[str, Json]) -> HostToolUse:
        result, failure = None, None
        if name in self._tools:
            try:
                result = copy_json(self._ask_tool(self._tools[name], copy_json(arguments)))
            except Exception as error:
                if self._fault is not None:  # A fault of the chain is no result.
                    raise
                failure = describe_exception(error)
        else:
            failure = f"unknown; there are {', '.join(sorted(self._tools)) or 'none'}"
        return HostToolUse(
            step_id=step_id, name=name, arguments=arguments, result=result, error=failure
        )

    def _ask_tool(self, tool: HostTool, arguments: Mapping[str, Json]) -> Json:
        if isinstance(tool, ChainTool):
            return self._ask_chain(partial(tool.read, self._draft, arguments))
        return tool(arguments)

    def _add_write_receipts(self, trace: WriteTrace) -> WriteOutcome:
        write = trace.write
        state = "succeeded" if trace.is_success else f"failed: {trace.failure}"
        receipt_id = self._add_receipt(
            ReceiptType.TRANSACTION,
            "0x" + trace.transaction_hash.hex(),
            f"{write.step_id}: call of {to_checksum_address(write.target)} {state}",
        )
        for use in trace.tool_uses:
            shown = (use.observation or "reverted")[:MAX_SHOWN_CHARACTERS]
            self._add_receipt(ReceiptType.TOOL, use.name, f"{use.name} {use.arguments}: {shown}")
        read = self._envelope.read_output(trace.output) if trace.is_success else None
        return WriteOutcome(
            receipt_id=receipt_id,
            is_success=trace.is_success,
            failure=trace.failure,
            output=trace.output if read is None else read.output,
            is_skipped=read is not None and read.is_skipped,
            tool_uses=trace.tool_uses,
        )

    def _add_receipt(self, kind: ReceiptType, ref: str, summary: str) -> str:
        number = 1 + sum(receipt.type is kind for receipt in self._receipts)
        receipt_id = build_receipt_id(self._run_id, kind, number)
        self._receipts.append(
            RunReceipt(receipt_id=receipt_id, type=kind, ref=ref, summary=summary)
        )
        return receipt_id


class AgentSession:
    """The chain and the tools of a run, for the agents."""

    def __init__(self, session: RunSession) -> None:
        self._session = session

    @property
    def receipt_ids(self) -> tuple[str, ...]:
        """The IDs of all receipts so far, in order."""
        return self._session.receipt_ids

    def write(self, target: bytes, data: bytes = b"", *, value_wei: int = 0) -> WriteOutcome:
        """Call a contract to change the chain; see `RunSession.write`."""
        return self._session.write(target, data, value_wei=value_wei)

    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract to read the chain; see `RunSession.call`."""
        return self._session.call(target, data)

    def use_tool(self, name: str, **arguments: Json) -> Json:
        """Use a tool of the host; see `RunSession.use_tool`."""
        return self._session.use_tool(name, **arguments)

    def find_write(self, target: bytes, data: bytes) -> WriteOutcome | None:
        """Return the first write with this target and data; see `RunSession.find_write`."""
        return self._session.find_write(target, data)


def require_call(target: bytes, data: bytes, value_wei: int = 0) -> None:
    """Accept a call that a transaction can make.

    Raises: ValueError: not an address, bytes, and wei.
    """
    if not isinstance(target, bytes) or len(target) != ADDRESS_BYTES:
        raise ValueError(f"target {target!r:.80}: must be an address of {ADDRESS_BYTES} bytes")
    if not isinstance(data, bytes):
        raise ValueError(f"data of a {type(data).__name__}: must be bytes")  # noqa: TRY004 - as documented
    if not isinstance(value_wei, int) or value_wei < 0:
        raise ValueError(f"value {value_wei!r:.80}: must be wei, from 0 on")


def copy_json(value: T) -> T:
    """Return a value as read from the store: no other name can change the copy.

    Raises: ValueError: not JSON.
    """
    try:
        copied: T = json.loads(encode_canonical(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"a {type(value).__name__}: must be JSON: {error}") from error
    return copied
