"""Export of a recorded agent run, which `ReplayAgentExecutor.sol` can replay in any EVM.

    steps = extract_replay_steps(call_frame, trace)  # of `debug_` and `agent_traceTransaction`
    render_json(ReplayExport(name="wallet", source="…", steps=steps))

A step consists of the request from the calldata, the tools' metadata, and the generation. Tokens
and grammar are not exported, since other EVMs have no model. The answers of numeric models are
exported as well, for `ReplayNumericModels.sol`.
`pyevm_agents.recordings.export_solidity` writes the same steps as Solidity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    ParamDescription,
    decode_input_description,
    decode_string,
)
from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.react import parse_history
from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.versions import decode_request, is_interface_question
from pyevm_agents import __version__
from pyevm_agents.agents.iteration_results import decode_iteration
from pyevm_agents.errors import AgentsError
from pyevm_agents.recordings import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.recordings.canonical_json import Json

    Frame = Mapping[str, Any]

FORMAT = "pyevm-agents replay"
VERSION = 1
"""Version of the format; raise it when a field's meaning or place changes."""

EXECUTOR = "0x" + EXECUTOR_ADDRESS.hex()
NUMERIC_MODELS = "0x" + NUMERIC_MODELS_ADDRESS.hex()

CALL_TRACER = {"tracer": "callTracer"}
"""Options of the `debug_traceTransaction` whose result `extract_replay_steps` takes."""

NODE_SOURCE = "Recorded on a node of pyevm-agents."
"""Origin of the steps of a node's transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTool:
    """A tool with metadata."""

    address: str
    """Address when it was recorded; a replay identifies it by its index and its metadata."""

    name: str
    description: str
    parameters: tuple[ParamDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStep:
    """One step of an agent: request, generation and gas."""

    transaction: str
    number: int
    """Number of the step in its transaction, from 1, as in `agent_traceTransaction`."""

    agent: str
    model_id: str
    base_prompt: str
    tools: tuple[ReplayTool, ...]
    agent_reasoning: tuple[str, ...]
    """Reasoning of the run's earlier steps, without the empty entries that an agent appends."""

    tool_results: tuple[str, ...]
    prompt: str
    is_final_answer: bool
    answer: str
    """Empty if a tool is used."""

    tool: int
    """Index of the used tool in `tools`; 0 for a final answer."""

    values: tuple[bytes, ...]
    """`abi.encode` of each argument."""

    reasoning: str
    """Thought, action and action input; empty for a final answer."""

    tokens: Mapping[str, int]
    """Token counts: read cold, read warm, written, forced."""

    prompt_gas: int
    output_gas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericCall:
    """A call of the numeric models' precompile, which always has the same answer."""

    call: bytes
    """Calldata."""

    output: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayExport:
    """The contents of an export."""

    name: str
    source: str
    """Origin of the recording, for readers."""

    steps: tuple[ReplayStep, ...]

    numeric_calls: tuple[NumericCall, ...] = ()
    """Calls of numeric models in the same transactions, which a chain without 0x1a can't answer."""

    @property
    def inference_gas(self) -> int:
        """Gas of all prompts and generations."""
        return sum(step.prompt_gas + step.output_gas for step in self.steps)


def extract_replay_steps(frame: Frame, trace: Frame) -> tuple[ReplayStep, ...]:
    """Extract the steps that agents took in a transaction, in order.

    Input:  results of `debug_traceTransaction` with callTracer and of `agent_traceTransaction`.
    Raises: AgentsError: the two results have different numbers of steps.
    """
    calls, rows = list(_iter_executor_calls(frame)), list(_flatten_steps(trace["steps"]))
    if len(calls) != len(rows):
        raise AgentsError(
            f"transaction {trace['transactionHash']} has {len(calls)} finished calls of the "
            f"executor but {len(rows)} recorded steps: the chain is of an old version, which did "
            "not store generations; run the transaction again"
        )
    return tuple(
        _build_step(trace["transactionHash"], call, step)
        for call, step in zip(calls, rows, strict=True)
    )


def extract_numeric_calls(frame: Frame) -> tuple[NumericCall, ...]:
    """Extract the answered calls of numeric models in a transaction, each once.

    Input:  the result of `debug_traceTransaction` with callTracer.
    """
    return tuple(dict.fromkeys(_iter_numeric_calls(frame)))


def render_json(replay: ReplayExport) -> str:
    """Render a replay as JSON, in the format of chain fixtures.

    A step's fields are those of `RecordedStep` in `ReplayAgentExecutor.sol`, for ethers and viem to
    pass a step unchanged. Those of a numeric call are the arguments of `record` in
    `ReplayNumericModels.sol`; a run without numeric models lacks the section.
    """
    sections: dict[str, Json] = {
        "_info": {
            "comment": replay.source,
            "filledwith": f"pyevm-agents {__version__}",
            "format": FORMAT,
            "name": replay.name,
            "version": VERSION,
        },
        "inferenceGas": replay.inference_gas,
        "steps": [_serialize_step(step) for step in replay.steps],
    }
    if replay.numeric_calls:
        sections["numericCalls"] = [
            {"call": "0x" + each.call.hex(), "output": "0x" + each.output.hex()}
            for each in replay.numeric_calls
        ]
    return canonical_json.serialize(replay.name, sections)


def _iter_executor_calls(frame: Frame) -> Iterator[Frame]:
    """Yield the iterations of the executor that succeeded, in order."""
    if str(frame.get("to", "")).lower() == EXECUTOR:
        if "error" not in frame and not is_interface_question(_parse_hex(frame["input"])):
            yield frame
        return
    for call in frame.get("calls", ()):
        yield from _iter_executor_calls(call)


def _iter_numeric_calls(frame: Frame) -> Iterator[NumericCall]:
    """Yield the calls of numeric models that succeeded, in order."""
    if str(frame.get("to", "")).lower() == NUMERIC_MODELS:
        if "error" not in frame:
            yield NumericCall(call=_parse_hex(frame["input"]), output=_parse_hex(frame["output"]))
        return
    for call in frame.get("calls", ()):
        yield from _iter_numeric_calls(call)


def _flatten_steps(steps: list[Frame]) -> Iterator[Frame]:
    for step in steps:
        yield step
        yield from _flatten_steps(step["steps"])


def _build_step(transaction: str, call: Frame, step: Frame) -> ReplayStep:
    request = decode_request(_parse_hex(call["input"]))
    past = parse_history(request)
    result = decode_iteration(_parse_hex(call["output"]))
    addresses = [str(to_checksum_address(tool_address)) for tool_address in request.tools]
    read = _collect_metadata(call)
    return ReplayStep(
        transaction=transaction,
        number=step["number"],
        agent=step["agent"],
        model_id=request.model_id,
        base_prompt=request.base_prompt,
        tools=tuple(_build_tool(address, read) for address in addresses),
        agent_reasoning=tuple(entry.reasoning for entry in past),
        tool_results=tuple(entry.observation for entry in past),
        prompt=request.prompt,
        is_final_answer=result.is_final_answer,
        answer=result.final_answer,
        tool=0 if result.is_final_answer else addresses.index(result.tool),
        values=tuple(value for _, value in result.params),
        reasoning=result.agent_reasoning,
        tokens=step["tokens"],
        prompt_gas=step["gas"]["prompt"],
        output_gas=step["gas"]["output"],
    )


def _collect_metadata(call: Frame) -> dict[tuple[str, bytes], bytes]:
    """Return the metadata that the executor read, by tool and selector."""
    return {
        (to_checksum_address(view["to"]), _parse_hex(view["input"])): _parse_hex(view["output"])
        for view in call.get("calls", ())
    }


def _build_tool(address: str, read: Mapping[tuple[str, bytes], bytes]) -> ReplayTool:
    return ReplayTool(
        address=address,
        name=decode_string(read[address, NAME_SELECTOR]),
        description=decode_string(read[address, DESCRIPTION_SELECTOR]),
        parameters=decode_input_description(read[address, INPUT_DESCRIPTION_SELECTOR]),
    )


def _serialize_step(step: ReplayStep) -> Json:
    return {
        "transaction": step.transaction,
        "number": step.number,
        "agent": step.agent,
        "modelId": step.model_id,
        "basePrompt": step.base_prompt,
        "tools": [_serialize_tool(tool) for tool in step.tools],
        "agentReasoning": list(step.agent_reasoning),
        "toolResults": list(step.tool_results),
        "prompt": step.prompt,
        "isFinalAnswer": step.is_final_answer,
        "answer": step.answer,
        "tool": step.tool,
        "values": ["0x" + value.hex() for value in step.values],
        "reasoning": step.reasoning,
        "tokens": dict(step.tokens),
        "promptGas": step.prompt_gas,
        "outputGas": step.output_gas,
    }


def _serialize_tool(tool: ReplayTool) -> Json:
    return {
        "address": tool.address,
        "name": tool.name,
        "description": tool.description,
        "parameters": [
            {
                "paramType": int(parameter.param_type),
                "name": parameter.name,
                "description": parameter.description,
            }
            for parameter in tool.parameters
        ],
    }


def _parse_hex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))
