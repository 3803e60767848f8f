"""What agents did in each transaction and call of a test: for reports, costs and assertions.

Every `AgentChain` calls `record_runs`; `log` then has the runs and the cost of all chains of this
process, since it was cleared.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.agents.events import RunEnded, RunFaulted, StepDecided, ToolReturned
from pyevm_agents.agents.revert_reasons import explain_failure
from pyevm_agents.agents.trace import AgentStep, extract_agent_steps
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.testing.gas_snapshot import ZERO_COST, compute_cost, sum_costs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import ComputationAPI

    from pyevm_agents.agents.events import Event, Purpose
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node import Node
    from pyevm_agents.testing.gas_snapshot import AgentCost

KEPT_RUNS = 64
"""The latest ones; a test of Hypothesis makes thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """A transaction or a call in which agents took steps."""

    steps: tuple[AgentStep, ...]
    purpose: Purpose = "block"
    transaction_hash: bytes | None = None
    gas_used: int | None = None
    """None where it is not known: of calls, and of what never ended."""

    failure: str | None = None
    """Why it reverted or halted."""

    fault: str | None = None
    """Why it has no end: the host failed, a script ended, a cassette lacks the prompt."""

    @property
    def cost(self) -> AgentCost | None:
        """What it cost; None where its gas is not known."""
        return None if self.gas_used is None else compute_cost(self.steps, self.gas_used)

    def is_same_run(self, other: AgentRun) -> bool:
        """Whether both are what was done in one transaction, or the same steps."""
        if self.transaction_hash is None or other.transaction_hash is None:
            return self.steps == other.steps
        return (self.transaction_hash, self.purpose) == (other.transaction_hash, other.purpose)


def build_run(computation: ComputationAPI, transaction_hash: bytes, gas_used: int) -> AgentRun:
    """Return what agents did in a mined transaction."""
    failure = explain_failure(computation) if computation.is_error else None
    return AgentRun(
        steps=extract_agent_steps(computation),
        transaction_hash=transaction_hash,
        gas_used=gas_used,
        failure=failure,
    )


class RunLog:
    """The latest runs, and what all of them cost. Nodes tell it in their own threads."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._runs: deque[AgentRun] = deque(maxlen=KEPT_RUNS)
        self._cost = ZERO_COST
        self._count = 0
        self._depth = 0
        self._example = (0, 0)
        """How many runs there were before and after the latest example."""

    @property
    def runs(self) -> tuple[AgentRun, ...]:
        """The latest runs, in order."""
        with self._lock:
            return tuple(self._runs)

    @property
    def count(self) -> int:
        """How many there were."""
        return self._count

    @property
    def cost(self) -> AgentCost:
        """What all transactions with steps of agents cost since `reset_cost`, undone ones too."""
        return self._cost

    def add(self, run: AgentRun) -> None:
        """Take note of a run."""
        with self._lock:
            self._runs.append(run)
            self._count += 1
            if run.cost is not None:
                self._cost = sum_costs((self._cost, run.cost))

    @contextmanager
    def track_example(self) -> Iterator[None]:
        """Take note of an example of Hypothesis: what the one just before it did is forgotten.

        A test that fails ends with the example that it fails with.
        """
        with self._lock:
            before, after = self._example
            if not self._depth and after == self._count:
                for _ in range(min(after - before, len(self._runs))):
                    self._runs.pop()
                self._count = before
            self._depth += 1
            start_count = self._count
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                self._example = (start_count, self._count)

    def reset_cost(self) -> None:
        """Count what is spent from now on."""
        with self._lock:
            self._cost = ZERO_COST

    def clear(self) -> None:
        """Begin anew."""
        with self._lock:
            self._runs.clear()
            self._cost, self._count = ZERO_COST, 0
            self._example = (0, 0)


log = RunLog()
"""Of all chains in this process: a test may have several, in fixtures of any scope."""


def record_runs(node: Node, into: RunLog = log) -> None:
    """Take note of what agents do on a node, as long as it is there."""
    unfinished = _UnminedRuns(into)

    def add_block(block: MinedBlock) -> None:
        before = 0
        for transaction, receipt, computation in zip(
            block.block.transactions, block.receipts, block.computations, strict=True
        ):
            run = build_run(computation, bytes(transaction.hash), receipt.gas_used - before)
            before = receipt.gas_used
            if run.steps:
                into.add(run)

    node.listeners.add(NodeListener(on_mined=add_block))
    node.chain.agent_events.listen(unfinished.handle_event)


@dataclass(slots=True)
class _UnminedRuns:
    """Puts together what no block holds: calls, estimates that failed, and what has no end."""

    into: RunLog
    _steps: dict[int, list[AgentStep]] = field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Take note of what an agent does."""
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
            steps[index] = replace(steps[index], observation=event.observation)

    def _finish_run(self, event: RunEnded | RunFaulted) -> None:
        steps, purpose = self._steps.pop(event.location.run, []), event.location.purpose
        failure = event.failure if isinstance(event, RunEnded) else None
        fault = event.reason if isinstance(event, RunFaulted) else None
        is_mined = purpose == "block" and fault is None and steps
        is_tried = purpose == "estimate" and fault is None and failure is None
        if not (is_mined or is_tried):
            self.into.add(
                AgentRun(
                    steps=tuple(steps),
                    purpose=purpose,
                    transaction_hash=event.location.transaction_hash,
                    failure=failure,
                    fault=fault,
                )
            )


def _build_step(event: StepDecided) -> AgentStep:
    words, place = event.decision, event.location
    return AgentStep(
        agent=place.agent,
        depth=place.depth,
        thought=words.thought,
        action=words.action,
        action_input=words.action_input,
        observation=None,
        answer=words.answer,
        inference=event.inference,
    )
