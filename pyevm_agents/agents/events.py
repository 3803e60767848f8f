"""Events of agents during execution, for a log or a subscription.

    stop = chain.agent_events.listen(print)
    with chain.agent_events.run("call"):
        chain.call(…)                    # emits an event for each step, in this thread
    stop()

Only executions inside of `run` emit events, not replays and drafts. A listener is called in the
executing thread, must return at once, and receives steps that may later be reverted. Events have no
influence on execution, and no time.
"""

from __future__ import annotations

import itertools
import logging
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from eth.exceptions import VMError

from precompiles.abi import ToolUse
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.agents.trace import decode_tool_result, extract_decision
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import ComputationAPI, SignedTransactionAPI
    from eth_typing import Address

    from precompiles.executor import Inference, PromptCharged
    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.agents.trace import StepDecision

    EventListener = Callable[["Event"], None]

log = logging.getLogger(__name__)

Purpose: TypeAlias = Literal["block", "call", "estimate"]
"""The purpose of an execution. Of an estimate, only the first try emits events: it has all the gas,
and the model's generations are cached from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLocation:
    """The location of a step: transaction, agent, number."""

    run: int
    """A unique number of the transaction or call."""

    purpose: Purpose
    transaction_hash: bytes | None
    """None for a call and an estimate."""

    step: int
    """The number in `agent_traceTransaction`, which counts nested agents' steps, too; from 1."""

    depth: int
    """The number of agents around this one."""

    agent: Address
    """The caller of the executor."""

    request_id: str | None = None
    """The id that the client gave its request, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A model received a request."""

    location: StepLocation
    charge: PromptCharged


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgressed:
    """A model read or generated further tokens."""

    location: StepLocation
    is_writing: bool
    done: int
    total: int
    """Tokens of the prompt, or the output limit."""

    text: str
    """The text generated up to now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDecided:
    """A model decided: on a tool that the agent calls next, or on the final answer."""

    location: StepLocation
    decision: StepDecision
    inference: Inference


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailed:
    """A request to a model failed: the gas ended, or a limit was reached."""

    location: StepLocation
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned:
    """The tool of a step returned."""

    location: StepLocation
    observation: str | None
    """The tool's answer; None if it reverted."""

    failure: str | None = None
    """The reason why the tool reverted or halted; None if it returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A transaction with agents ended."""

    location: StepLocation
    """The location of its last step."""

    failure: str | None
    """The reason of its failure; None if it succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFaulted:
    """The host failed: the transaction has no result, and no block contains it."""

    location: StepLocation
    reason: str


Event: TypeAlias = (
    StepStarted | StepProgressed | StepDecided | StepFailed | ToolReturned | RunEnded | RunFaulted
)


@dataclass(slots=True)
class _Agent:
    """A contract that called the executor, while the contract's own call lasts."""

    call_depth: int
    location: StepLocation
    is_thinking: bool = True
    tool: Address | None = None
    """The tool that it calls next."""


@dataclass(slots=True)
class _Run:
    purpose: Purpose
    request_id: str | None = None
    number: int = 0
    transaction_hash: bytes | None = None
    is_reported: bool = False
    last: StepLocation | None = None
    """The latest step of the current transaction."""

    agents: list[_Agent] = field(default_factory=list)
    """The agents whose calls last, the innermost last."""


class AgentEventBus:
    """Sends events of agents to listeners. Thread-safe."""

    def __init__(self, known: KnownContracts = BUNDLED) -> None:
        """Create a bus without listeners.

        Input: the contracts whose errors are known.
        """
        self._known = known
        self._lock = threading.Lock()
        self._listeners: tuple[EventListener, ...] = ()
        self._numbers = itertools.count(1)
        self._here: ContextVar[_Run | None] = ContextVar("run", default=None)
        """Copied into another thread by `pyevm_agents.vm.stack_depth`."""

    def listen(self, listener: EventListener) -> Callable[[], None]:
        """Add a listener; return a function that removes the listener.

        A second call of that function does nothing.
        """
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._lock:
                self._listeners = tuple(entry for entry in self._listeners if entry is not listener)

        return stop

    @contextmanager
    def run(self, purpose: Purpose, request_id: str | None = None) -> Iterator[None]:
        """Emit events for executions in this thread inside of `with`.

        Input: the purpose; the client's id of the request, which the events repeat.
        """
        run = _Run(purpose, request_id)
        before = self._here.set(run)
        try:
            yield
        except (VMError, RuleError):
            raise  # The transaction ended or is invalid: the host did not fail.
        except Exception as error:
            if run.last is not None:
                self._emit(RunFaulted(location=run.last, reason=str(error)))
            raise
        finally:
            self._here.reset(before)

    def on_progress(self, *, is_writing: bool, done: int, total: int, text: str) -> None:
        """Emit the progress of a model in this thread: `StepProgressed`."""
        run = self._run
        if run is not None and run.agents and run.agents[-1].is_thinking:
            place = run.agents[-1].location
            self._emit(
                StepProgressed(
                    location=place, is_writing=is_writing, done=done, total=total, text=text
                )
            )

    # -- callbacks of the executor: `precompiles.executor.ExecutorObserver` -- #

    def on_prompt(self, computation: ComputationAPI, prompt: PromptCharged) -> None:
        """Start an agent's step: `StepStarted`."""
        run = self._run
        if run is None or not run.is_reported:
            return
        call_depth = computation.msg.depth - 1
        if not run.agents or run.agents[-1].call_depth < call_depth:
            depth = len(run.agents)
        else:
            depth = len(run.agents) - 1
            run.agents.pop()
        run.last = StepLocation(
            run=run.number,
            purpose=run.purpose,
            transaction_hash=run.transaction_hash,
            step=1 if run.last is None else run.last.step + 1,
            depth=depth,
            agent=computation.msg.sender,
            request_id=run.request_id,
        )
        run.agents.append(_Agent(call_depth, run.last))
        self._emit(StepStarted(location=run.last, charge=prompt))

    def on_generation(
        self, computation: ComputationAPI, request: GenerationRequest, generation: Generation
    ) -> None:
        """Do nothing: an unpaid output is not an event."""

    def on_result(self, computation: ComputationAPI, inference: Inference) -> None:  # noqa: ARG002 - the protocol's
        """End an agent's step with the result: `StepDecided`."""
        run = self._run
        if run is None or not run.agents or not run.agents[-1].is_thinking:
            return
        agent, result = run.agents[-1], inference.result
        agent.is_thinking = False
        agent.tool = result.tool if isinstance(result, ToolUse) else None
        self._emit(
            StepDecided(
                location=agent.location, decision=extract_decision(inference), inference=inference
            )
        )

    # -- callbacks of the VM: `pyevm_agents.vm.ExecutionListener` -- #

    def on_transaction_start(self, transaction: SignedTransactionAPI) -> None:
        """Start a transaction."""
        run = self._run
        if run is None:
            return
        is_repeated = run.purpose == "estimate" and run.number > 0
        run.is_reported = bool(self._listeners) and not is_repeated
        run.number = next(self._numbers)
        run.transaction_hash = transaction.hash if run.purpose == "block" else None
        run.last, run.agents = None, []

    def on_call_end(self, caller: ComputationAPI, call: ComputationAPI) -> None:
        """End a contract's call: `StepFailed`, or `ToolReturned`."""
        run = self._run
        if run is None or not run.agents:
            return
        depth = caller.msg.depth
        while run.agents and run.agents[-1].call_depth > depth:
            run.agents.pop()
        if not run.agents or run.agents[-1].call_depth != depth:
            return
        agent = run.agents[-1]
        if agent.is_thinking:
            if call.msg.code_address == EXECUTOR_ADDRESS:
                self._on_step_failure(run, agent, call)
        elif agent.tool is not None and call.msg.to == agent.tool:
            agent.tool = None
            self._emit(
                ToolReturned(
                    location=agent.location,
                    observation=decode_tool_result(call),
                    failure=explain_failure(call, self._known) if call.is_error else None,
                )
            )

    def on_transaction_end(self, computation: ComputationAPI) -> None:
        """End a transaction: `RunEnded`."""
        run = self._run
        if run is None or run.last is None:
            return
        failure = explain_failure(computation, self._known) if computation.is_error else None
        self._emit(RunEnded(location=run.last, failure=failure))
        run.last, run.agents = None, []

    # -- inside -- #

    @property
    def _run(self) -> _Run | None:
        return self._here.get()

    def _on_step_failure(self, run: _Run, agent: _Agent, call: ComputationAPI) -> None:
        agent.is_thinking = False
        self._emit(StepFailed(location=agent.location, reason=explain_failure(call, self._known)))
        # `agent_traceTransaction` does not count it: the next step has its number.
        run.last = replace(agent.location, step=agent.location.step - 1)

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                log.exception(
                    "Who is told of agents' steps failed: this is a bug, please report it"
                )
