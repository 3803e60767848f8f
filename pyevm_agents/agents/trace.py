"""Traces of a transaction's agents, read from the tree of computations.

Nothing is executed again. A step is a finished call of the executor; the observation is the output
of the agent's next call of the tool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from eth_abi import decode
from eth_abi.exceptions import DecodingError

from precompiles.abi import FinalAnswer, ToolUse
from precompiles.language_model import NAT
from precompiles.react import extract_thought
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.agents.failures import Failure, read_failure
from pyevm_agents.vm import AgentComputation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from precompiles.executor import Inference
    from precompiles.language_model import Confidence, LanguageModel, Margin, Segment
    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.models.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep:
    """One step of an agent: a thought, then a tool's use or the final answer."""

    agent: Address
    """The caller of the executor."""

    depth: int
    """The number of agents around this one."""

    thought: str
    action: str | None
    """The tool's name; None for a final answer."""

    action_input: str | None
    """The tool's arguments as JSON, with checksummed addresses; None for a final answer."""

    observation: str | None
    """The tool's answer; None if it reverted, and for a final answer."""

    answer: str | None
    """The final answer; None for a tool's use."""

    inference: Inference

    tool_revert: Failure | None = None
    """The failure of the tool's call; None if it succeeded, and for a final answer."""

    evm_gas: int | None = None
    """The gas of the executor's call and of the tool's, without that of prompts and outputs, also
    those of nested agents, and without the agent's own code; None if it is unknown."""

    tool: Address | None = None
    """The address of the tool; None for a final answer."""

    tool_failure: str | None = None
    """The reason why the tool reverted or halted; None if it returned."""

    @property
    def margin(self) -> Margin | None:
        """The step's closest decision; None if the model made none, or reports none."""
        return self.inference.margin

    @property
    def confidence(self) -> Confidence | None:
        """How sure the model was; None in the free format, and for a model without weights."""
        return self.inference.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDecision:
    """The decision of a model in a step; see the fields of `AgentStep`."""

    thought: str
    action: str | None = None
    action_input: str | None = None
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceUsage:
    """Tokens and gas of one inference, or of several together."""

    cold_tokens: int
    warm_tokens: int
    output_tokens: int
    forced_tokens: int
    prompt_gas: int
    output_gas: int

    @property
    def is_decided(self) -> bool:
        """Whether the rules decided each step, as `Inference.is_decided` has it."""
        return not (self.cold_tokens or self.warm_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """A step of an agent as a chain stores it: without the executor's types."""

    agent: Address
    """The caller of the executor."""

    depth: int
    """The number of agents that this one is nested in."""

    model: str
    prompt: str
    """The prompt, with handles in place of addresses."""

    handles: tuple[tuple[str, str], ...] = ()
    """(handle, checksummed address) of each address in the prompt."""

    decision: StepDecision
    tool: Address | None = None
    """The address of the tool; None for a final answer."""

    observation: str | None
    """The tool's answer; None if it reverted, and for a final answer."""

    tool_failure: Failure | None = None
    """The failure of the tool's call; None if it succeeded, and for a final answer."""

    usage: InferenceUsage
    margin: Margin | None
    """The step's closest decision; None if the model made none, or does not report it."""

    seconds: float | None
    """Duration of the inference that computed the generation; None if it is unknown, or if the
    rules decided the step."""

    is_cached: bool = False
    """Whether the generation was cached, so that the transaction cost no inference."""

    confidence: Confidence | None = None
    """How sure the model was; None in the free format, and for a model without weights."""


class HasMargin(Protocol):
    """A step whose closest decision may be known."""

    @property
    def margin(self) -> Margin | None:
        """The step's closest decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTrace:
    """The steps, tokens and gas of a transaction's agents."""

    failure: Failure | None
    """The failure of the transaction; None if it succeeded."""

    gas_used: int
    """Gas of the whole transaction, as in its receipt."""

    usage: InferenceUsage
    """Total of all inferences. A transaction to the executor itself has one, and no steps."""

    steps: tuple[TracedStep, ...]
    """In order: a nested agent's steps follow the step of the outer agent that used it."""


@runtime_checkable
class HasTimings(Protocol):
    """A language model that keeps the timings of the last generations."""

    def get_timing(self, segments: tuple[Segment, ...]) -> Timing | None:
        """Return the timing of a prompt's last generation; None if unknown."""


def extract_decision(inference: Inference) -> StepDecision:
    """Return the decision of an inference."""
    result, thought = inference.result, extract_thought(inference.text)
    if isinstance(result, FinalAnswer):
        return StepDecision(thought=thought, answer=result.answer)
    _, action_line, input_line = result.agent_reasoning.split("\n")
    return StepDecision(
        thought=thought,
        action=action_line.removeprefix("Action: "),
        action_input=input_line.removeprefix("Action Input: "),
    )


def serialize_confidence(confidence: Confidence | None) -> dict[str, object]:
    """Return the field `confidence` of a step in JSON, in nats; no field in the free format."""
    if confidence is None:
        return {}
    return {"confidence": {"surprisal": round(confidence.surprisal / NAT, 4)}}


def decode_tool_result(call: ComputationAPI) -> str | None:
    """Return the answer of a tool's call; None for a revert or no answer."""
    if call.is_error:
        return None
    try:
        _, text = decode(["int256", "string"], call.output)
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return None
    return str(text)


def find_closest_step(steps: Sequence[HasMargin]) -> int | None:
    """Return the index of the step with the closest decision; the first of equals."""
    gaps = [(step.margin.gap, index) for index, step in enumerate(steps) if step.margin is not None]
    return min(gaps)[1] if gaps else None


def extract_agent_steps(
    computation: ComputationAPI, known: KnownContracts = BUNDLED
) -> tuple[AgentStep, ...]:
    """Return the steps of all agents in a transaction, in order.

    A nested agent's steps follow the step of the outer agent that made the call.

    Input: the transaction's computation; the contracts whose errors are known.
    """
    return tuple(_iter_steps(computation, 0, known))


def extract_inferences(computation: ComputationAPI) -> tuple[Inference, ...]:
    """Return the inferences of a transaction, in order; those that the rules decided as well.

    A transaction to the executor itself has one, without an agent's step.
    """
    own = _get_inference(computation)
    if own is not None:
        return (own,)
    return tuple(step.inference for step in extract_agent_steps(computation))


def trace_agents(
    computation: ComputationAPI, gas_used: int, models: Mapping[str, LanguageModel]
) -> AgentTrace:
    """Return the trace of a transaction's agents.

    Input: the transaction's computation; the gas in the receipt; the chain's models, for the
           duration of each generation.
    """
    return AgentTrace(
        failure=_store_failure(read_failure(computation)),
        gas_used=gas_used,
        usage=sum_usage(extract_inferences(computation)),
        steps=tuple(_trace_step(step, models) for step in extract_agent_steps(computation)),
    )


def sum_usage(inferences: Iterable[Inference]) -> InferenceUsage:
    """Return the tokens and gas of inferences together."""
    batch = tuple(inferences)
    return InferenceUsage(
        cold_tokens=sum(inference.cold_tokens for inference in batch),
        warm_tokens=sum(inference.warm_tokens for inference in batch),
        output_tokens=sum(inference.output_tokens for inference in batch),
        forced_tokens=sum(inference.forced_tokens for inference in batch),
        prompt_gas=sum(inference.prompt_gas for inference in batch),
        output_gas=sum(inference.output_gas for inference in batch),
    )


def get_timing(inference: Inference, models: Mapping[str, LanguageModel]) -> Timing | None:
    """Return the timing of an inference; None if unknown, or if the rules decided."""
    if inference.is_decided:
        return None
    model = models.get(inference.model)
    return model.get_timing(inference.segments) if isinstance(model, HasTimings) else None


def _trace_step(step: AgentStep, models: Mapping[str, LanguageModel]) -> TracedStep:
    inference, timing = step.inference, get_timing(step.inference, models)
    return TracedStep(
        agent=step.agent,
        depth=step.depth,
        model=inference.model,
        prompt="".join(segment.text for segment in inference.segments),
        handles=inference.handles,
        decision=StepDecision(
            thought=step.thought,
            action=step.action,
            action_input=step.action_input,
            answer=step.answer,
        ),
        tool=step.tool,
        observation=step.observation,
        tool_failure=_store_failure(step.tool_revert),
        usage=sum_usage([inference]),
        margin=step.margin,
        seconds=None if timing is None else timing.seconds,
        is_cached=timing is not None and timing.is_cached,
        confidence=step.confidence,
    )


def _store_failure(failure: Failure | None) -> Failure | None:
    return None if failure is None else failure.without_codes()


def _iter_steps(
    computation: ComputationAPI, depth: int, known: KnownContracts
) -> Iterator[AgentStep]:
    children = computation.children
    is_agent = any(_get_inference(child) for child in children)
    for index, child in enumerate(children):
        inference = _get_inference(child)
        if inference is None:
            yield from _iter_steps(child, depth + is_agent, known)
            continue
        yield _build_step(computation, depth, inference, children[index:], known)


def _build_step(
    computation: ComputationAPI,
    depth: int,
    inference: Inference,
    calls: Sequence[ComputationAPI],
    known: KnownContracts,
) -> AgentStep:
    """Return the step of an executor's call, with the agent's later calls."""
    decision, result = extract_decision(inference), inference.result
    tool = result.tool if isinstance(result, ToolUse) else None
    used = None if tool is None else _find_tool_call(tool, calls[1:])
    failure = None if used is None else read_failure(used)
    return AgentStep(
        agent=computation.msg.storage_address,
        depth=depth,
        thought=decision.thought,
        action=decision.action,
        action_input=decision.action_input,
        observation=None if used is None else decode_tool_result(used),
        answer=decision.answer,
        inference=inference,
        evm_gas=_evm_gas(calls[0]) + (0 if used is None else _evm_gas(used)),
        tool=tool,
        tool_failure=None if failure is None else failure.explain(known),
        tool_revert=failure,
    )


def _find_tool_call(tool: Address, later: Sequence[ComputationAPI]) -> ComputationAPI | None:
    """Return the first call of the tool after the step."""
    return next((call for call in later if call.msg.to == tool), None)


def _evm_gas(call: ComputationAPI) -> int:
    """Return the gas of a call without that of prompts and outputs inside, also reverted ones."""
    word_gas, pending = 0, [call]
    while pending:
        computation = pending.pop()
        inference = _get_inference(computation)
        if inference is not None:
            word_gas += inference.prompt_gas + inference.output_gas
        pending += computation.children
    return call.get_gas_used() - word_gas


def _get_inference(computation: ComputationAPI) -> Inference | None:
    return computation.inference if isinstance(computation, AgentComputation) else None
