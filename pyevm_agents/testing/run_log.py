"""Agent runs of a test: the log that reports and costs read, and the look-up by transaction.

Every `AgentChain` calls `record_runs`. `log` then holds the latest runs, the costs, and the lines
of `console.log` of all chains in this process, until cleared. `find_run` looks a transaction up in
the open chains.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable
from weakref import WeakSet

from eth.exceptions import OutOfGas

from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.agents.events import RunEnded, RunFaulted, StepDecided, ToolReturned
from pyevm_agents.agents.failures import explain_failure, find_starved_call
from pyevm_agents.agents.trace import AgentStep, extract_agent_steps
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.testing.gas_snapshot import ZERO_COST, compute_cost, sum_costs
from pyevm_agents.testing.inputs import format_value, parse_block_hash, parse_transaction_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.agents.events import Event, Purpose
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node import Node
    from pyevm_agents.testing.gas_snapshot import AgentCost

KEPT_RUNS = 64
"""Number of runs that the log holds: the latest ones. A test of Hypothesis makes thousands."""

KEPT_CONSOLE_LINES = 256
"""Number of lines of `console.log` that the log holds: the latest ones."""

NO_NAMES: Mapping[bytes, str] = MappingProxyType({})


@runtime_checkable
class RunSource(Protocol):
    """A chain whose transactions can be looked up. `AgentChain` implements it."""

    @property
    def names(self) -> Mapping[bytes, str]:
        """The names under which contracts were deployed, by address."""

    def find_mined_run(self, transaction_hash: bytes) -> MinedRun | None:
        """Return the run of a mined transaction; None if in no block."""

    def describe_needed_gas(self, transaction_hash: bytes) -> str | None:
        """Return a sentence about the gas that a transaction needed; None if unknown."""

    def list_agent_tools(self, agents: Iterable[Address]) -> tuple[str, ...]:
        """Return the names of the tools of agents, and of the agents among these tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """A transaction or a call in which agents took steps, or which failed before the first."""

    steps: tuple[AgentStep, ...]
    purpose: Purpose = "block"
    transaction_hash: bytes | None = None
    gas_used: int | None = None
    """None if unknown: calls, and transactions that a fault stopped."""

    failure: str | None = None
    """The reason why the transaction reverted or halted; None if it succeeded."""

    not_done: str | None = None
    """The answer of a transaction that an agent undid, since its run is not done; None if it did
    not."""

    fault: str | None = None
    """The engine failure that stopped the run, such as a script without further steps."""

    is_out_of_gas: bool = False
    """Whether the transaction failed because it, or a call in it, ran out of gas."""

    source: RunSource | None = field(default=None, compare=False, repr=False)
    """The chain that executed the run; None if unknown."""

    @property
    def cost(self) -> AgentCost | None:
        """The gas and tokens of the run; None if the gas is unknown."""
        return None if self.gas_used is None else compute_cost(self.steps, self.gas_used)

    @property
    def names(self) -> Mapping[bytes, str]:
        """The names under which contracts were deployed, by address."""
        return NO_NAMES if self.source is None else self.source.names

    def describe_needed_gas(self) -> str | None:
        """Return a sentence about the gas that a run out of gas needed; None if unknown."""
        if self.source is None or self.transaction_hash is None or not self.is_out_of_gas:
            return None
        return self.source.describe_needed_gas(self.transaction_hash)

    def is_same_run(self, other: AgentRun) -> bool:
        """Return whether both have the same transaction, or the same steps if one has none."""
        if self.transaction_hash is None or other.transaction_hash is None:
            return self.steps == other.steps
        return (self.transaction_hash, self.purpose) == (other.transaction_hash, other.purpose)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedRun:
    """The run of a transaction, and the block."""

    run: AgentRun
    block_hash: bytes


def build_run(
    computation: ComputationAPI,
    transaction_hash: bytes,
    gas_used: int,
    source: RunSource | None = None,
    known: KnownContracts = BUNDLED,
) -> AgentRun:
    """Return the run of a mined transaction."""
    is_error = computation.is_error
    return AgentRun(
        steps=extract_agent_steps(computation, known),
        transaction_hash=transaction_hash,
        gas_used=gas_used,
        failure=explain_failure(computation, known) if is_error else None,
        not_done=find_not_done(bytes(computation.output), known) if is_error else None,
        is_out_of_gas=is_error and is_out_of_gas(computation),
        source=source,
    )


def is_out_of_gas(computation: ComputationAPI) -> bool:
    """Return whether a failed transaction, or the call that caused the failure, ran out of gas."""
    return isinstance(computation.error, OutOfGas) or find_starved_call(computation) is not None


# -- the log -- #


class RunLog:
    """The latest runs, and the cost of all runs. Thread-safe."""

    def __init__(self) -> None:
        """Create an empty log."""
        self._lock = threading.Lock()
        self._runs: deque[AgentRun] = deque(maxlen=KEPT_RUNS)
        self._console_lines: deque[str] = deque(maxlen=KEPT_CONSOLE_LINES)
        self._cost = ZERO_COST
        self._count = 0
        self._depth = 0
        self._example = (0, 0)
        """Number of runs before and after the latest example."""

    @property
    def runs(self) -> tuple[AgentRun, ...]:
        """The latest runs, in order."""
        with self._lock:
            return tuple(self._runs)

    @property
    def console_lines(self) -> tuple[str, ...]:
        """The latest lines that contracts printed with `console.log`, in order."""
        with self._lock:
            return tuple(self._console_lines)

    @property
    def count(self) -> int:
        """Number of runs, including those that are no longer in `runs`."""
        return self._count

    @property
    def cost(self) -> AgentCost:
        """Cost of all mined transactions with agent steps since `reset_cost`.

        Transactions that were rolled back are included.
        """
        return self._cost

    def add(self, run: AgentRun) -> None:
        """Record a run."""
        with self._lock:
            self._runs.append(run)
            self._count += 1
            if run.cost is not None and run.steps:
                self._cost = sum_costs((self._cost, run.cost))

    def add_console_line(self, line: str) -> None:
        """Record a line that a contract printed with `console.log`."""
        with self._lock:
            self._console_lines.append(line)

    @contextmanager
    def track_example(self) -> Iterator[None]:
        """Record an example of Hypothesis; drop the runs of the previous example.

        The last example of a test that fails is the failing one.
        """
        with self._lock:
            before, after = self._example
            if not self._depth and after == self._count:
                for _ in range(min(after - before, len(self._runs))):
                    self._runs.pop()
                self._count = before
                self._console_lines.clear()
            self._depth += 1
            start_count = self._count
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                self._example = (start_count, self._count)

    def reset_cost(self) -> None:
        """Set the cost to zero."""
        with self._lock:
            self._cost = ZERO_COST

    def clear(self) -> None:
        """Drop all runs, lines and costs."""
        with self._lock:
            self._runs.clear()
            self._console_lines.clear()
            self._cost, self._count = ZERO_COST, 0
            self._example = (0, 0)


log = RunLog()
"""The log of all chains in this process: a test may use several, in fixtures of any scope."""


def record_runs(node: Node, into: RunLog = log, *, source: RunSource | None = None) -> None:
    """Record the runs of a node's transactions and calls from now on.

    Transactions that fail without an agent step are recorded too: an agent may have run out of gas
    before the first step.

    Input: the node; the log; the chain that the runs belong to, for names and gas estimates.
    """
    unfinished = _UnminedRuns(into, source)

    def add_block(block: MinedBlock) -> None:
        before = 0
        for transaction, receipt, computation in zip(
            block.block.transactions, block.receipts, block.computations, strict=True
        ):
            gas_used = receipt.gas_used - before
            run = build_run(
                computation,
                bytes(transaction.hash),
                gas_used,
                source,
                node.chain.known_contracts,
            )
            before = receipt.gas_used
            if run.steps or run.failure is not None:
                into.add(run)

    node.listeners.add(NodeListener(on_mined=add_block, on_console_log=into.add_console_line))
    node.chain.agent_events.listen(unfinished.handle_event)


@dataclass(slots=True)
class _UnminedRuns:
    """Collects the steps of calls, failed estimates, and runs that a fault stopped."""

    into: RunLog
    source: RunSource | None = None
    _steps: dict[int, list[AgentStep]] = field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Record an agent event."""
        match event:
            case StepDecided():
                self._steps.setdefault(event.location.run, []).append(_build_step(event))
            case ToolReturned():
                self._add_observation(event)
            case RunEnded() | RunFaulted():
                self._finish_run(event)
            case _:
                pass

    def _add_observation(self, event: ToolReturned) -> None:
        steps, index = self._steps.get(event.location.run, []), event.location.step - 1
        if index < len(steps):
            steps[index] = replace(
                steps[index], observation=event.observation, tool_failure=event.failure
            )

    def _finish_run(self, event: RunEnded | RunFaulted) -> None:
        steps, purpose = self._steps.pop(event.location.run, []), event.location.purpose
        failure = event.failure if isinstance(event, RunEnded) else None
        fault = event.reason if isinstance(event, RunFaulted) else None
        # `add_block` records mined transactions; a call repeats a successful estimate.
        is_mined = purpose == "block" and fault is None
        is_tried = purpose == "estimate" and fault is None and failure is None
        if not (is_mined or is_tried):
            self.into.add(
                AgentRun(
                    steps=tuple(steps),
                    purpose=purpose,
                    transaction_hash=event.location.transaction_hash,
                    failure=failure,
                    fault=fault,
                    source=self.source,
                )
            )


def _build_step(event: StepDecided) -> AgentStep:
    decision, location = event.decision, event.location
    return AgentStep(
        agent=location.agent,
        depth=location.depth,
        thought=decision.thought,
        action=decision.action,
        action_input=decision.action_input,
        observation=None,
        answer=decision.answer,
        inference=event.inference,
    )


# -- the look-up -- #

Subject: TypeAlias = "Mapping[str, object] | bytes | str | AgentRun | Sequence[AgentStep]"
"""A receipt, a transaction hash, a run, or the steps of a run."""

open_sources: WeakSet[RunSource] = WeakSet()
"""The chains of this process that are not closed."""


def find_run(subject: Subject, source: RunSource | None = None) -> AgentRun:
    """Return the agent run of a transaction.

    Input:  a receipt, a transaction hash, a run or steps; the chain that holds the transaction,
            None to look in all open chains.
    Raises: ConfigError: the subject is not a transaction, no chain has the transaction, or several
        do and agents did something else on each.
    """
    if isinstance(subject, AgentRun):
        return subject
    if isinstance(subject, (bytes, str)):
        return _find_mined_run(subject, None, source)
    if isinstance(subject, Mapping):
        transaction_hash = subject.get("transactionHash")
        if isinstance(transaction_hash, (bytes, str)):
            return _find_mined_run(transaction_hash, subject.get("blockHash"), source)
    else:
        items = subject if isinstance(subject, Sequence) else ()
        steps = tuple(item for item in items if isinstance(item, AgentStep))
        if steps and len(steps) == len(items):
            return AgentRun(steps=steps, source=source)
    raise ConfigError(
        f"{format_value(subject)} is not a transaction: give its receipt, its hash, or agent steps"
    )


def _find_mined_run(
    transaction_hash: bytes | str, receipt_block: object, source: RunSource | None
) -> AgentRun:
    wanted = parse_transaction_hash(transaction_hash)
    block_hash = None if receipt_block is None else parse_block_hash(receipt_block)
    sources = (source,) if source is not None else tuple(open_sources)
    known = [mined for chain in sources if (mined := chain.find_mined_run(wanted)) is not None]
    matching = [mined for mined in known if block_hash in {None, mined.block_hash}]
    if not matching:
        raise _build_unknown_error(wanted, source, len(sources), has_other_block=bool(known))
    first, *others = (mined.run for mined in matching)
    if any(run != first for run in others):
        raise ConfigError(
            f"{len(matching)} open chains have a transaction 0x{wanted.hex()}, and agents did "
            "something else on each; say which: assert_agent(receipt, chain)"
        )
    return first


def _build_unknown_error(
    wanted: bytes, source: RunSource | None, count: int, *, has_other_block: bool
) -> ConfigError:
    chains = "the chain" if source is not None else f"any of {pluralize(count, 'open chain')}"
    if has_other_block:
        return ConfigError(
            f"transaction 0x{wanted.hex()} is in another block of {chains} than its receipt says: "
            "the receipt is of another chain, or of a block that was rolled back"
        )
    return ConfigError(
        f"no block of {chains} has a transaction 0x{wanted.hex()}; check that it was mined and not "
        "rolled back"
    )
