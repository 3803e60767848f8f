r"""Both versions of the executor's ABI, by selector; version 1 is that of the ERC's first draft.

Version 1 differs from version 2 in the ABI alone. Version 1 has a name and a description of the
agent in place of a base prompt, the observations inside `agentReasoning`, and the whole calldata of
the tool's `run` as `toolInput`. Both become the same `IterationRequest` and the same steps: equal
prompts cost equal gas but for the calldata.

Source: the first draft of the ERC, "Agent executor contract" and "Agent executor precompile".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles import abi
from precompiles.abi import (
    FinalAnswer,
    IterationRequest,
    MalformedAbiError,
    Version,
    decode_bounded,
    decode_text,
)
from precompiles.errors import Refusal
from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from precompiles.abi import ToolUse

RUN_NEXT_ITERATION_V1_SELECTOR = bytes.fromhex("b8d10615")
"""runNextIteration(string,string,string,address[],string[],string)"""

RUN_V1_SELECTOR = bytes.fromhex("ecb94c0c")
"""run(((uint8,bytes)[]),address): the function of a version-1 tool"""

SUPPORTS_INTERFACE_SELECTOR = bytes.fromhex("01ffc9a7")
"""supportsInterface(bytes4)"""

INTERFACE_IDS = frozenset(
    (
        SUPPORTS_INTERFACE_SELECTOR,
        abi.RUN_NEXT_ITERATION_SELECTOR,
        RUN_NEXT_ITERATION_V1_SELECTOR,
    )
)
"""ERC-165 identifiers of the executor's interfaces: its own, and those of both executors, which
have one function each. An identifier is the XOR of the selectors of an interface."""

REQUEST_V1_TYPES = ("string", "string", "string", "address[]", "string[]", "string")
"""Types of the arguments of version 1's `runNextIteration`."""

NO_HANDLER = bytes(20)
"""The `resultHandler` of a synchronous run."""

_ID_BYTES = 4
_INPUT_V1_TYPE = "((uint8,bytes)[])"
_RESULT_V1_TYPE = "(bool,string,address,bytes,string)"


def find_version(calldata: bytes) -> Version:
    """Return the version of a request by selector.

    Raises: Refusal: UnknownSelector.
    """
    selector = calldata[:4]
    if selector == abi.RUN_NEXT_ITERATION_SELECTOR:
        return Version.SECOND
    if selector == RUN_NEXT_ITERATION_V1_SELECTOR:
        return Version.FIRST
    raise Refusal("UnknownSelector", selector.ljust(4, b"\0"))


def decode_request(calldata: bytes) -> IterationRequest:
    """Decode the calldata of `runNextIteration` of either version.

    Raises: Refusal: UnknownSelector, MalformedCalldata, InvalidUtf8.
    """
    if find_version(calldata) is Version.SECOND:
        return abi.decode_request(calldata)
    return _decode_request_v1(calldata[4:])


def encode_result(result: ToolUse | FinalAnswer, version: Version) -> bytes:
    """Encode an `AgentIterationResult` of a version.

    Output: of version 1, ABI of one tuple (bool isFinalAnswer, string finalAnswer, address tool,
            bytes toolInput, string agentReasoning). `toolInput` is the calldata of the tool's
            `run(Input, address)`, with `resultHandler` 0.
    Source: the first draft, `AgentIterationResult`; `abi.encode_result` for version 2.
    """
    if version is Version.SECOND:
        return abi.encode_result(result)
    if isinstance(result, FinalAnswer):
        return encode([_RESULT_V1_TYPE], [(True, result.answer, bytes(20), b"", "")])
    params = abi.encode_params(result)
    tool_input = RUN_V1_SELECTOR + encode([_INPUT_V1_TYPE, "address"], [(params,), NO_HANDLER])
    return encode([_RESULT_V1_TYPE], [(False, "", result.tool, tool_input, result.agent_reasoning)])


def is_interface_question(calldata: bytes) -> bool:
    """Return whether calldata are those of `supportsInterface`."""
    return calldata[:4] == SUPPORTS_INTERFACE_SELECTOR


def answer_interface_question(calldata: bytes) -> bytes:
    """Return the output of `supportsInterface(bytes4)`: a word with a truth value.

    Raises: Refusal: MalformedCalldata: no argument, or bytes other than 0 after the four.
    Source: ERC-165.
    """
    word = calldata[4 : 4 + WORD_BYTES]
    if len(word) < WORD_BYTES:
        raise Refusal("MalformedCalldata", f"reads past the end: byte {len(calldata)}")
    if any(word[_ID_BYTES:]):
        raise Refusal("MalformedCalldata", "a value does not fit its ABI type")
    return int(word[:_ID_BYTES] in INTERFACE_IDS).to_bytes(WORD_BYTES, "big")


def _decode_request_v1(body: bytes) -> IterationRequest:
    """Decode the arguments of version 1.

    The draft builds the prompt of the description. The name is checked, and nothing reads it.

    Input: ABI (string modelId, string agentName, string agentDescription, address[] tools,
           string[] agentReasoning, string prompt)
    """
    layout = ("bytes", "bytes", "bytes", "address[]", "bytes[]", "bytes")
    try:
        values = decode_bounded(layout, body)
    except MalformedAbiError as error:
        raise Refusal("MalformedCalldata", str(error)) from error
    model_id, agent_name, agent_description, tools, agent_reasoning, prompt = values
    request = IterationRequest(
        version=Version.FIRST,
        model_id=decode_text("modelId", model_id),
        base_prompt=decode_text("agentDescription", agent_description),
        tools=tuple(Address(to_canonical_address(tool)) for tool in tools),
        agent_reasoning=tuple(decode_text("agentReasoning", entry) for entry in agent_reasoning),
        tool_results=(),
        prompt=decode_text("prompt", prompt),
    )
    decode_text("agentName", agent_name)
    return request
