"""Export of a recorded run as a Solidity library: a function that loads it, and one per step."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from eth_abi import decode
from eth_utils import to_checksum_address

from precompiles.abi import ParamType
from precompiles.escaping import escape_line
from precompiles.numeric_abi import RunRequest, decode_numeric_request
from pyevm_agents import __version__
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyevm_agents.recordings.export import NumericCall, ReplayExport, ReplayStep, ReplayTool

CONTRACTS = "@pyevm-agents/contracts"
"""Import path of our contracts, as remapped in their README."""

NAME = re.compile("[A-Za-z_$][A-Za-z0-9_$]*")
RESERVED = re.compile(
    r"(u?int|bytes|u?fixed)[0-9x]*|abstract|address|after|alias|anonymous|apply|as|assembly|auto|"
    r"bool|break|byte|calldata|case|catch|constant|constructor|continue|contract|copyof|default|"
    r"define|delete|do|else|emit|enum|event|external|fallback|false|final|for|function|hex|if|"
    r"immutable|implements|import|in|indexed|inline|interface|internal|is|let|library|macro|"
    r"mapping|match|memory|modifier|mutable|new|null|of|override|partial|payable|pragma|private|"
    r"promise|public|pure|receive|reference|relocatable|return|returns|sealed|sizeof|static|"
    r"storage|string|struct|super|supports|switch|this|throw|true|try|type|typedef|typeof|"
    r"unchecked|unicode|using|var|view|virtual|while"
)
"""Reserved words. Source: Solidity's documentation, "Reserved Keywords", and its grammar."""

TAKEN = re.compile(
    r"_|abi|load|loadModels|(step|tools)[0-9]+|RecordedStep|RecordedTool|ReplayAgentExecutor|"
    r"IERCAgentTool|AgentReplay|ReplayNumericModels"
)
"""Names that the library imports or declares."""

DEFAULT_NAME = "AgentRun"

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAST_OF_FOUR_DIGITS = 0xFFFF

_HEAD = """\
// SPDX-License-Identifier: CC0-1.0
// Written by `pyevm-agents export-replay` ({program}).
// {source}
pragma solidity ^0.8.20;

import {{IERCAgentTool}} from "{contracts}/interfaces/IERCAgentTool.sol";
import {{
    RecordedStep, RecordedTool, ReplayAgentExecutor
}} from "{contracts}/test/ReplayAgentExecutor.sol";
{imports}
/// @title What a model said, to be said again in any EVM: `AgentReplay.install(); {name}.load();`
library {name} {{
    /// @notice How many steps were recorded.
    uint256 internal constant STEPS = {steps};

    /// @notice Gas that their prompts and words cost. It was charged where they were recorded.
    uint256 internal constant INFERENCE_GAS = {gas};
"""

_NUMERIC_IMPORTS = """\
import {{AgentReplay}} from "{contracts}/test/AgentReplay.sol";
import {{ReplayNumericModels}} from "{contracts}/test/ReplayNumericModels.sol";
"""

_LOAD = """
    /// @notice Gives the steps to the executor at 0x19.
    function load() internal {
        load(ReplayAgentExecutor(address(0x19)));
    }
"""

_LOAD_WITH_MODELS = """
    /// @notice Gives the steps to the executor at 0x19, and the numeric models' answers to 0x1a.
    function load() internal {
        load(ReplayAgentExecutor(address(0x19)));
        loadModels(AgentReplay.installModels());
    }
"""

_LOAD_STEPS = """
    /// @notice Gives the steps to an executor.
    function load(ReplayAgentExecutor executor) internal {
"""


def render_solidity(replay: ReplayExport, *, contracts: str = CONTRACTS) -> str:
    """Render a replay as Solidity.

    Input:  the replay, whose name becomes the library's; the import path of our contracts.
    """
    return "".join(_SolidityLibrary(replay, contracts).iter_lines())


def require_library_name(name: str) -> None:
    """Require a name that a library of recorded steps can have.

    Raises: ConfigError: Solidity would reject it.
    """
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise ConfigError(f"library name {name!r}: must be a Solidity identifier; pass another")
    if TAKEN.fullmatch(name):
        raise ConfigError(f"library name {name!r}: used inside the library; pass another")


class _SolidityLibrary:
    """A library, in which repeated texts and tool lists are constants."""

    def __init__(self, replay: ReplayExport, contracts: str) -> None:
        self._replay = replay
        self._contracts = contracts
        self._tools = list(dict.fromkeys(step.tools for step in replay.steps if step.tools))
        texts = Counter(text for step in replay.steps for text in _iter_texts(step))
        again = [text for text, count in texts.items() if count > 1 and text]
        self._names = {text: f"TEXT_{number}" for number, text in enumerate(again, start=1)}

    def iter_lines(self) -> Iterable[str]:
        replay = self._replay
        yield _HEAD.format(
            program=f"pyevm-agents {__version__}",
            source=_escape_comment(replay.source),
            contracts=self._contracts,
            imports=_NUMERIC_IMPORTS.format(contracts=self._contracts)
            if replay.numeric_calls
            else "",
            name=replay.name,
            steps=len(replay.steps),
            gas=replay.inference_gas,
        )
        if self._names:
            yield "\n"
        for text, name in self._names.items():
            yield f"    string private constant {name} = {quote_solidity(text)};\n"
        yield _LOAD_WITH_MODELS if replay.numeric_calls else _LOAD
        yield _LOAD_STEPS
        for number in range(1, len(replay.steps) + 1):
            yield f"        executor.record(step{number}());\n"
        yield "    }\n"
        for number, step in enumerate(replay.steps, start=1):
            yield from self._render_step(number, step)
        for number, tools in enumerate(self._tools, start=1):
            yield from self._render_tools(number, tools)
        yield from _render_numeric_calls(replay.numeric_calls)
        yield "}\n"

    def _render_step(self, number: int, step: ReplayStep) -> Iterable[str]:
        yield f"""
    /// @notice Step {step.number} of transaction {step.transaction},
    ///   by agent {step.agent}: {_format_token_counts(step.tokens)}.
    function step{number}() internal pure returns (RecordedStep memory step) {{
        step.modelId = {self._render_text(step.model_id)};
        step.basePrompt = {self._render_text(step.base_prompt)};
"""
        if step.tools:
            yield f"        step.tools = tools{self._tools.index(step.tools) + 1}();\n"
        for field, texts in (
            ("agentReasoning", step.agent_reasoning),
            ("toolResults", step.tool_results),
        ):
            if texts:
                yield f"        step.{field} = new string[]({len(texts)});\n"
            for index, text in enumerate(texts):
                yield f"        step.{field}[{index}] = {self._render_text(text)};\n"
        yield f"        step.prompt = {self._render_text(step.prompt)};\n"
        if step.is_final_answer:
            yield "        step.isFinalAnswer = true;\n"
            yield f"        step.answer = {self._render_text(step.answer)};\n"
        else:
            yield from self._render_tool_use(step)
        yield f"        step.promptGas = {step.prompt_gas};\n"
        yield f"        step.outputGas = {step.output_gas};\n    }}\n"

    def _render_tool_use(self, step: ReplayStep) -> Iterable[str]:
        parameters = step.tools[step.tool].parameters
        yield f"        step.tool = {step.tool}; // {_escape_comment(step.tools[step.tool].name)}\n"
        yield f"        step.values = new bytes[]({len(step.values)});\n"
        for index, (parameter, value) in enumerate(zip(parameters, step.values, strict=True)):
            expression = _render_encoding(parameter.param_type, value)
            comment = _escape_comment(parameter.name)
            yield f"        step.values[{index}] = {expression}; // {comment}\n"
        yield f"        step.reasoning = {self._render_text(step.reasoning)};\n"

    def _render_tools(self, number: int, tools: Sequence[ReplayTool]) -> Iterable[str]:
        yield f"""
    function tools{number}() private pure returns (RecordedTool[] memory tools) {{
        tools = new RecordedTool[]({len(tools)});
"""
        for index, tool in enumerate(tools):
            place = f"        tools[{index}]"
            yield f"{place}.name = {self._render_text(tool.name)}; // {tool.address}\n"
            yield f"{place}.description = {self._render_text(tool.description)};\n"
            if tool.parameters:
                count = len(tool.parameters)
                yield f"{place}.parameters = new IERCAgentTool.ParamDescription[]({count});\n"
            for at, parameter in enumerate(tool.parameters):
                yield (
                    f"{place}.parameters[{at}] = IERCAgentTool.ParamDescription(\n"
                    f"            IERCAgentTool.ParamType.{parameter.param_type.name}, "
                    f"{self._render_text(parameter.name)}, "
                    f"{self._render_text(parameter.description)}\n"
                    "        );\n"
                )
        yield "    }\n"

    def _render_text(self, text: str) -> str:
        return self._names.get(text) or quote_solidity(text)


def _render_numeric_calls(calls: Sequence[NumericCall]) -> Iterable[str]:
    if not calls:
        return
    yield """
    /// @notice Gives the answers of numeric models to a contract.
    function loadModels(ReplayNumericModels models) internal {
"""
    for each in calls:
        request = decode_numeric_request(each.call)
        function = "runModel" if isinstance(request, RunRequest) else "describeModel"
        yield f"        // {function}: {_escape_comment(request.model_id)}\n"
        yield f'        models.record(hex"{each.call.hex()}", hex"{each.output.hex()}");\n'
    yield "    }\n"


def quote_solidity(text: str) -> str:
    r"""Quote a text as a Solidity literal, with special characters escaped."""
    written = "".join(map(_escape_character, text))
    return f'"{written}"' if written.isascii() else f'unicode"{written}"'


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    is_plain = unicodedata.category(character)[0] not in "CZ" or character == " "
    code = ord(character)
    if is_plain and (character.isascii() or code > 0x9F):  # noqa: PLR2004 - the last control
        return character
    if code <= _LAST_OF_FOUR_DIGITS:
        return f"\\u{code:04x}"
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _format_token_counts(tokens: Mapping[str, int]) -> str:
    read = f"{tokens['cold']} tokens read cold, {tokens['warm']} warm"
    return f"{read}, {tokens['output']} written"


def _escape_comment(text: str) -> str:
    """Escape a text, which then can't end a comment or change the direction of writing."""
    return escape_line(text).encode("ascii", "backslashreplace").decode()


def _render_encoding(param_type: ParamType, value: bytes) -> str:
    """Return a Solidity expression for a value's ABI encoding."""
    if param_type >= ParamType.STRING_ARRAY:
        return f'hex"{value.hex()}"'
    (plain,) = decode([param_type.abi_type], value)
    if param_type is ParamType.ADDRESS:
        return f"abi.encode(address({to_checksum_address(plain)}))"
    if param_type is ParamType.STRING:
        return f"abi.encode({quote_solidity(plain)})"
    if param_type is ParamType.BOOL:
        return f"abi.encode({json.dumps(plain)})"
    return f"abi.encode({param_type.abi_type}({plain}))"


def _iter_texts(step: ReplayStep) -> Iterable[str]:
    """Yield the long texts of a step."""
    yield step.base_prompt
    yield step.prompt
    yield step.reasoning
    yield from step.agent_reasoning
    yield from step.tool_results
