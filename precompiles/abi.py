"""The executor's ABI: calldata to typed request, typed result to return data.

eth_abi follows aliased offsets: 406 KB of calldata can decode to 960 MB. The decoded size is
measured first, and must not exceed the size of the input.

Source: ERC "Interoperable On-chain Agents Standard"; docs/architecture.md#gas-before-work.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.abi_types import AbiType, Kind, strip_marker
from precompiles.errors import Refusal
from precompiles.spec import WORD_BYTES

RUN_NEXT_ITERATION_SELECTOR = bytes.fromhex("7e636a24")
"""runNextIteration(string,string,address[],string[],string[],string)"""

NAME_SELECTOR = bytes.fromhex("06fdde03")
"""name()"""

DESCRIPTION_SELECTOR = bytes.fromhex("7284e416")
"""description()"""

INPUT_DESCRIPTION_SELECTOR = bytes.fromhex("0ef946da")
"""inputDescription()"""

_RESULT_TYPE = "(bool,string,address,((uint8,bytes)[],bytes),string)"


class ParamType(IntEnum):
    """Types of a tool's parameters, at the positions of the ERC's `IERCAgentTool.ParamType`."""

    STRING = 0
    ADDRESS = 1
    BOOL = 2
    INT = 3
    UINT = 4
    STRING_ARRAY = 5
    ADDRESS_ARRAY = 6
    BOOL_ARRAY = 7
    INT_ARRAY = 8
    UINT_ARRAY = 9

    @property
    def abi_type(self) -> str:
        """The Solidity type, such as `uint256[]`."""
        return _ABI_TYPES[self]

    @property
    def words(self) -> str:
        """The type in a prompt, such as `list of positive integers`."""
        return _WORDS[self]


_ABI_TYPES = {
    ParamType.STRING: "string",
    ParamType.ADDRESS: "address",
    ParamType.BOOL: "bool",
    ParamType.INT: "int256",
    ParamType.UINT: "uint256",
    ParamType.STRING_ARRAY: "string[]",
    ParamType.ADDRESS_ARRAY: "address[]",
    ParamType.BOOL_ARRAY: "bool[]",
    ParamType.INT_ARRAY: "int256[]",
    ParamType.UINT_ARRAY: "uint256[]",
}

_WORDS = {
    ParamType.STRING: "text",
    ParamType.ADDRESS: "address",
    ParamType.BOOL: "true or false",
    ParamType.INT: "integer",
    ParamType.UINT: "positive integer",
    ParamType.STRING_ARRAY: "list of texts",
    ParamType.ADDRESS_ARRAY: "list of addresses",
    ParamType.BOOL_ARRAY: "list of true or false",
    ParamType.INT_ARRAY: "list of integers",
    ParamType.UINT_ARRAY: "list of positive integers",
}

_KINDS = {
    Kind.UINT: ParamType.UINT,
    Kind.INT: ParamType.INT,
    Kind.BOOL: ParamType.BOOL,
    Kind.ADDRESS: ParamType.ADDRESS,
}
"""Types of parameters that have the values of an elementary type; of other ones, `STRING`."""

_WORD_RANGES = (range(2**256), range(-(2**255), 2**255))

Value: TypeAlias = str | bool | int | list[str] | list[bool] | list[int]
"""A parameter's value: text, checksummed address, truth value or integer, or a list of one kind."""


class Version(IntEnum):
    """Versions of the ERC that the executor's ABI has; the first draft is 1."""

    FIRST = 1
    SECOND = 2


class MalformedAbiError(Exception):
    """Bytes are not the ABI encoding of the expected types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRequest:
    """The arguments of `runNextIteration`, decoded."""

    model_id: str
    base_prompt: str
    tools: tuple[Address, ...]
    agent_reasoning: tuple[str, ...]
    tool_results: tuple[str, ...]
    """None in version 1, where each entry of `agent_reasoning` ends with its observation."""

    prompt: str
    version: Version = Version.SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamDescription:
    """One parameter of a tool, as given by `inputDescription()`."""

    param_type: ParamType
    name: str
    description: str

    values: range | tuple[str, ...] | None = None
    """The values that the description states of an argument, or of a list's items: integers, or
    texts in JSON. None: it states none."""

    abi_type: AbiType | None = None
    """The type in the description's marker: of an integer, or of a typed text; of a list, that of
    its items. None without a marker."""

    @property
    def kind(self) -> ParamType:
        """The type; of a list, the type of the items."""
        return ParamType(self.param_type % ParamType.STRING_ARRAY)

    @property
    def text_type(self) -> AbiType | None:
        """The type of a typed text, or of a list's typed texts; None for other parameters."""
        return self.abi_type if self.kind is ParamType.STRING else None

    @property
    def limits(self) -> range | tuple[str, ...] | None:
        """The values of an argument, or of a list's items; None: all of the type.

        The values that the description states, else the range of the marker.
        """
        if self.values is not None or self.abi_type is None or self.text_type is not None:
            return self.values
        numbers = self.abi_type.numbers
        return None if numbers in _WORD_RANGES else numbers

    @property
    def leaf_kinds(self) -> tuple[ParamType, ...]:
        """The kinds of values that an argument has: one, or those of a typed text's leaves."""
        if self.text_type is None:
            return (self.kind,)
        return tuple(_KINDS.get(leaf.kind, ParamType.STRING) for leaf in self.text_type.leaves)

    @property
    def plain_description(self) -> str:
        """The description without the marker."""
        return self.description if self.abi_type is None else strip_marker(self.description)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call of a tool, with values in the order of `inputDescription()`."""

    tool: Address
    param_types: tuple[ParamType, ...]
    values: tuple[Value, ...]
    agent_reasoning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalAnswer:
    """The final answer of an agent run."""

    answer: str


def decode_request(calldata: bytes) -> IterationRequest:
    """Decode the calldata of version 2's `runNextIteration`; `versions.py` has both versions.

    Input:  selector and ABI (string modelId, string basePrompt, address[] tools,
            string[] agentReasoning, string[] toolResults, string prompt)
    Raises: Refusal: UnknownSelector, MalformedCalldata, InvalidUtf8.
    Source: ERC, `IERCAgentExecutor.runNextIteration`.
    """
    selector, body = calldata[:4], calldata[4:]
    if selector != RUN_NEXT_ITERATION_SELECTOR:
        raise Refusal("UnknownSelector", selector.ljust(4, b"\0"))
    layout = ("bytes", "bytes", "address[]", "bytes[]", "bytes[]", "bytes")
    try:
        values = decode_bounded(layout, body)
    except MalformedAbiError as error:
        raise Refusal("MalformedCalldata", str(error)) from error
    model_id, base_prompt, tools, agent_reasoning, tool_results, prompt = values
    return IterationRequest(
        model_id=decode_text("modelId", model_id),
        base_prompt=decode_text("basePrompt", base_prompt),
        tools=tuple(Address(to_canonical_address(tool)) for tool in tools),
        agent_reasoning=tuple(decode_text("agentReasoning", entry) for entry in agent_reasoning),
        tool_results=tuple(decode_text("toolResults", entry) for entry in tool_results),
        prompt=decode_text("prompt", prompt),
    )


def decode_string(data: bytes) -> str:
    """Decode one ABI `string`, the return data of `name()` and `description()`.

    Raises: MalformedAbiError; UnicodeDecodeError.
    """
    (value,) = decode_bounded(("bytes",), data)
    return bytes(value).decode()


def decode_input_description(data: bytes) -> tuple[ParamDescription, ...]:
    """Decode an ABI `InputDescription`, the return data of `inputDescription()`.

    Raises: MalformedAbiError; UnicodeDecodeError.
    """
    (((params),),) = decode_bounded(("((uint8,bytes,bytes)[])",), data)
    for param_type, _, _ in params:
        if param_type > max(ParamType):
            raise MalformedAbiError(f"ParamType {param_type} is not one of 0 to {max(ParamType)}")
    return tuple(
        ParamDescription(
            param_type=ParamType(param_type), name=name.decode(), description=description.decode()
        )
        for param_type, name, description in params
    )


def encode_result(result: ToolUse | FinalAnswer) -> bytes:
    """Encode an `AgentIterationResult`.

    Output: ABI of one tuple (bool isFinalAnswer, string finalAnswer, address tool,
            Input toolInput, string agentReasoning). `ParamValue.value` is `abi.encode` of the
            single value, `abiEncodedParams` is `abi.encode` of all of them.
    Source: ERC, `AgentIterationResult`, `IERCAgentTool.Input`.
    """
    if isinstance(result, FinalAnswer):
        done = (True, result.answer, bytes(20), ((), b""), "")
        return encode([_RESULT_TYPE], [done])
    types = [param_type.abi_type for param_type in result.param_types]
    tool_input = (encode_params(result), encode(types, result.values))
    step = (False, "", result.tool, tool_input, result.agent_reasoning)
    return encode([_RESULT_TYPE], [step])


def encode_params(result: ToolUse) -> list[tuple[int, bytes]]:
    """Return the members of each `ParamValue`: the type, and `abi.encode` of the single value."""
    return [
        (int(param_type), encode([param_type.abi_type], [value]))
        for param_type, value in zip(result.param_types, result.values, strict=True)
    ]


def decode_bounded(types: tuple[str, ...], data: bytes) -> tuple[Any, ...]:
    """Decode ABI data; the decoded size must not exceed the size of the data.

    Raises: MalformedAbiError: not the ABI of `types`, or with aliased offsets.
    """
    _SizeMeter(data).measure_tuple(0, types)
    try:
        return decode(types, data)
    except DecodingError as error:
        # eth_abi's messages change with its version, and revert data is consensus.
        raise MalformedAbiError("a value does not fit its ABI type") from error


class _SizeMeter:
    """Sums the bytes that decoding would produce; raises above the size of the input."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left_bytes = len(data)

    def measure_tuple(self, base: int, types: tuple[str, ...]) -> None:
        """Measure a tuple whose head starts at `base`."""
        for index, abi_type in enumerate(types):
            self._measure_value(base, base + index * WORD_BYTES, abi_type)

    def _measure_value(self, base: int, head: int, abi_type: str) -> None:
        word = self._read_word(head)
        self._take(WORD_BYTES)
        if not _is_dynamic(abi_type):
            return
        start = base + word
        if abi_type.endswith("[]"):
            self._measure_array(start, abi_type[:-2])
        elif abi_type == "bytes":
            size_bytes = self._read_word(start)
            self._take(WORD_BYTES + -(-size_bytes // WORD_BYTES) * WORD_BYTES)
        else:
            self.measure_tuple(start, _split_members(abi_type))

    def _measure_array(self, start: int, item_type: str) -> None:
        count = self._read_word(start)
        self._take(WORD_BYTES)
        first = start + WORD_BYTES
        if count * WORD_BYTES > self._left_bytes:
            raise MalformedAbiError(
                f"an array of {count} items does not fit in {len(self._data)} bytes"
            )
        self.measure_tuple(first, (item_type,) * count)

    def _read_word(self, at: int) -> int:
        if at + WORD_BYTES > len(self._data):
            raise MalformedAbiError(f"reads past the end: byte {at} of {len(self._data)}")
        return int.from_bytes(self._data[at : at + WORD_BYTES], "big")

    def _take(self, size_bytes: int) -> None:
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise MalformedAbiError(f"decodes to more than its own {len(self._data)} bytes")


def _is_dynamic(abi_type: str) -> bool:
    # Every tuple of this ABI holds an array or bytes.
    return abi_type.endswith(("[]", ")")) or abi_type == "bytes"


def _split_members(tuple_type: str) -> tuple[str, ...]:
    members, depth, start = [], 0, 1
    for position, character in enumerate(tuple_type):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (character == "," and depth == 1) or depth == 0:
            members.append(tuple_type[start:position])
            start = position + 1
    return tuple(members)


def decode_text(field: str, value: bytes) -> str:
    """Decode a string argument.

    Raises: Refusal: InvalidUtf8, with the argument's name.
    """
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Refusal("InvalidUtf8", field) from error
