"""Database rows of agent traces: a version byte, then RLP.

    trace   = [failure?, gas_used, usage, [step, ...]]
    usage   = [cold, warm, output and forced tokens, prompt gas, output gas]
    step    = [agent, depth, model, continues_prompt, prompt, thought, action?, action_input?,
               answer?, observation?, usage, [gap, token_index, chosen, other]?, seconds?,
               [[handle, address], ...], tool?, failure?, is_cached, surprisal?]
    failure = [halt?, revert data, starved call?, [model, ...]]

`x?` is a list of at most one item. Texts are UTF-8, floats are IEEE 754 in 8 bytes. The prompt of
an agent's step usually begins with the whole prompt of the previous step at the same depth: then
`continues_prompt` is true, and only the rest is written.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import rlp
from rlp.exceptions import DecodingError, DeserializationError
from rlp.sedes import Binary, CountableList, List, big_endian_int, boolean

from precompiles.language_model import Confidence, Margin
from pyevm_agents.agents.failures import Failure, RevertContext
from pyevm_agents.agents.trace import AgentTrace, InferenceUsage, StepDecision, TracedStep
from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = b"\x04"
"""First byte of a row. It changes with the encoding; rows of other versions are not read."""


class _Text:
    """Sedes of a text. A script may contain half of a surrogate pair."""

    @staticmethod
    def serialize(text: str) -> bytes:
        return text.encode("utf-8", "surrogatepass")

    @staticmethod
    def deserialize(encoded: object) -> str:
        if not isinstance(encoded, bytes):
            raise DeserializationError("a text must be bytes", encoded)
        try:
            return encoded.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DeserializationError(str(error), encoded) from error


class _Integer:
    """Sedes of a whole number. Unlike `big_endian_int`, rejects a list."""

    @staticmethod
    def serialize(number: int) -> bytes:
        encoded: bytes = big_endian_int.serialize(number)
        return encoded

    @staticmethod
    def deserialize(encoded: object) -> int:
        if not isinstance(encoded, bytes):
            raise DeserializationError("a number must be bytes", encoded)
        return int(big_endian_int.deserialize(encoded))


class _Float:
    """Sedes of a float, without rounding."""

    @staticmethod
    def serialize(number: float) -> bytes:
        return struct.pack(">d", number)

    @staticmethod
    def deserialize(encoded: object) -> float:
        if not isinstance(encoded, bytes) or len(encoded) != struct.calcsize(">d"):
            raise DeserializationError("a float must be 8 bytes", encoded)
        (number,) = struct.unpack(">d", encoded)
        return float(number)


def _make_optional(sedes: object) -> CountableList:
    return CountableList(sedes, max_length=1)


_USAGE = List([_Integer] * 6)
_FAILURE = List([_make_optional(_Text), Binary(), _make_optional(_Text), CountableList(_Text)])
_MARGIN = List([_Float, _Integer, _Text, _Text])
_STEP = List(
    [
        Binary.fixed_length(20),
        _Integer,
        _Text,
        boolean,
        _Text,
        _Text,
        *[_make_optional(_Text)] * 4,
        _USAGE,
        _make_optional(_MARGIN),
        _make_optional(_Float),
        CountableList(List([_Text, _Text])),
        _make_optional(Binary.fixed_length(20)),
        _make_optional(_FAILURE),
        boolean,
        _make_optional(_Integer),
    ]
)
_TRACE = List([_make_optional(_FAILURE), _Integer, _USAGE, CountableList(_STEP)])


def encode_trace(trace: AgentTrace) -> bytes:
    """Return the row of a trace."""
    usage = _list_usage_fields(trace.usage)
    fields = (_failure_fields(trace.failure), trace.gas_used, usage, [*_step_fields(trace.steps)])
    return VERSION + bytes(rlp.encode(fields, sedes=_TRACE))


def decode_trace(row: bytes) -> AgentTrace | None:
    """Return the trace in a row; None if the row is of another version.

    Raises: EngineFault: the row is damaged: `encode_trace` never writes that.
    """
    if row[:1] != VERSION:
        return None
    try:
        failure, gas_used, usage, steps = rlp.decode(row[1:], sedes=_TRACE)
    except (DecodingError, DeserializationError) as error:
        raise _damaged_row_error(str(error)) from error
    trace = AgentTrace(
        failure=_read_failure(*failure[0]) if failure else None,
        gas_used=gas_used,
        usage=_read_usage(*usage),
        steps=tuple(_read_steps(steps)),
    )
    if encode_trace(trace) != row:
        raise _damaged_row_error("not in canonical form")
    return trace


def _list_usage_fields(usage: InferenceUsage) -> list[int]:
    return [
        usage.cold_tokens,
        usage.warm_tokens,
        usage.output_tokens,
        usage.forced_tokens,
        usage.prompt_gas,
        usage.output_gas,
    ]


def _read_usage(  # noqa: PLR0913, PLR0917 - in the row's order
    cold_tokens: int,
    warm_tokens: int,
    output_tokens: int,
    forced_tokens: int,
    prompt_gas: int,
    output_gas: int,
) -> InferenceUsage:
    return InferenceUsage(
        cold_tokens=cold_tokens,
        warm_tokens=warm_tokens,
        output_tokens=output_tokens,
        forced_tokens=forced_tokens,
        prompt_gas=prompt_gas,
        output_gas=output_gas,
    )


def _step_fields(steps: Sequence[TracedStep]) -> Iterator[list[Any]]:
    prompts: dict[int, str] = {}
    for step in steps:
        before = prompts.get(step.depth, "")
        prompts[step.depth] = step.prompt
        continues_prompt = step.prompt.startswith(before)
        margin, words = step.margin, step.decision
        yield [
            step.agent,
            step.depth,
            step.model,
            continues_prompt,
            step.prompt[len(before) :] if continues_prompt else step.prompt,
            words.thought,
            _as_list(words.action),
            _as_list(words.action_input),
            _as_list(words.answer),
            _as_list(step.observation),
            _list_usage_fields(step.usage),
            []
            if margin is None
            else [[margin.gap, margin.token_index, margin.chosen, margin.other]],
            _as_list(step.seconds),
            [list(pair) for pair in step.handles],
            _as_list(step.tool),
            _failure_fields(step.tool_failure),
            step.is_cached,
            [] if step.confidence is None else [step.confidence.surprisal],
        ]


def _read_steps(steps: Sequence[Sequence[Any]]) -> Iterator[TracedStep]:
    prompts: dict[int, str] = {}
    for fields in steps:
        agent, depth, model, continues_prompt, prompt, thought = fields[:6]
        action, action_input, answer, observation, usage, margin, seconds = fields[6:13]
        handles, tool, failure, is_cached, surprisal = fields[13:]
        prompts[depth] = prompts.get(depth, "") + prompt if continues_prompt else prompt
        yield TracedStep(
            agent=agent,
            depth=depth,
            model=model,
            prompt=prompts[depth],
            decision=StepDecision(
                thought=thought,
                action=_from_list(action),
                action_input=_from_list(action_input),
                answer=_from_list(answer),
            ),
            handles=tuple((handle, address) for handle, address in handles),
            tool=_from_list(tool),
            tool_failure=_read_failure(*failure[0]) if failure else None,
            observation=_from_list(observation),
            usage=_read_usage(*usage),
            margin=_read_margin(*margin[0]) if margin else None,
            seconds=_from_list(seconds),
            is_cached=is_cached,
            confidence=Confidence(surprisal=surprisal[0]) if surprisal else None,
        )


def _failure_fields(failure: Failure | None) -> list[list[Any]]:
    if failure is None:
        return []
    context = failure.context
    return [[_as_list(failure.halt), failure.data, _as_list(context.starved), [*context.models]]]


def _read_failure(
    halt: Sequence[str], data: bytes, starved: Sequence[str], models: Sequence[str]
) -> Failure:
    context = RevertContext(starved=_from_list(starved), models=tuple(models))
    return Failure(halt=_from_list(halt), data=data, context=context)


def _read_margin(gap: float, token_index: int, chosen: str, other: str) -> Margin:
    return Margin(gap=gap, token_index=token_index, chosen=chosen, other=other)


def _as_list(value: object) -> list[object]:
    return [] if value is None else [value]


def _from_list(values: Sequence[Any]) -> Any:  # noqa: ANN401 - of the type that the sedes has read
    return values[0] if values else None


def _damaged_row_error(reason: str) -> EngineFault:
    return EngineFault(f"row of an agent trace is damaged ({reason}): start a new chain")
