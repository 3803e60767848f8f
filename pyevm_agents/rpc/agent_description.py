"""Self-description of an agent or a tool: name, prompt, model, tools and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

from precompiles.abi import MalformedAbiError, decode_input_description
from precompiles.spec import MAX_TOOLS, WORD_BYTES
from pyevm_agents.rpc.view_calls import compute_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from precompiles.abi import ParamDescription
    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.rpc.view_calls import ViewCalls

DESCRIPTION_GAS = 2_000_000
"""Gas of a read, as the executor gives. Source: `precompiles.gas`, `metadata_read_gas`."""

NAME_GAS = 200_000
"""Gas of the read of a tool's name, which is short."""

ENTRIES = {"instruct": "instruct(string)", "ask": "ask(string,address)"}
"""Functions that ask an agent, beside the `run` of every tool."""

TOOL_V1_INTERFACE = bytes.fromhex("963930c3")
"""ERC-165 identifier of `IERCAgentToolV1`. Source: the ERC's first draft, `IERCAgentTool`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescriber:
    """Reads agents and tools in one state."""

    calls: ViewCalls
    names: AddressNames

    def describe(self, address: Address) -> Json:
        """Return a contract's self-description as an agent or a tool; null where absent.

        Output: `parameters` with Solidity types, and descriptions with the markers of types;
                `basePrompt`, of a version-1 agent the description; `entry`, the function that runs
                an agent, `runV1` for the `run` of version 1.
        """
        parameters, tools = self._read_parameters(address), self._read_tools(address)
        name = self.calls.read_text(address, "name()")
        description = self.calls.read_text(address, "description()")
        is_v1 = self._is_v1(address)
        prompt = description if is_v1 else self.calls.read_text(address, "basePrompt()")
        is_agent = prompt is not None and tools is not None
        is_tool = name is not None and parameters is not None
        return {
            "address": to_checksum_address(address),
            "kind": "agent" if is_agent else "tool" if is_tool else None,
            "contract": self.names.find_contract(address),
            "name": name,
            "description": description,
            "basePrompt": prompt if is_agent or not is_v1 else None,
            "model": self.calls.read_text(address, "modelId()") if is_agent else None,
            "iterations": self.calls.read_integer(address, "agentMaxIterations()")
            if is_agent
            else None,
            "tools": [self._describe_tool(tool) for tool in tools or ()] if is_agent else None,
            "parameters": None if parameters is None else _serialize_parameters(parameters),
            "entry": self._find_entry(address, is_tool=is_tool, is_v1=is_v1) if is_agent else None,
        }

    def _is_v1(self, address: Address) -> bool:
        """Return whether a contract is a version-1 tool or agent, by ERC-165."""
        identifier = TOOL_V1_INTERFACE.ljust(WORD_BYTES, b"\0")
        return bool(self.calls.read_value(address, "supportsInterface(bytes4)", "bool", identifier))

    def _describe_tool(self, tool: Address) -> Json:
        return {
            "address": to_checksum_address(tool),
            "name": replace(self.calls, gas=NAME_GAS).read_text(tool, "name()"),
            "contract": self.names.find_contract(tool),
        }

    def _read_parameters(self, address: Address) -> tuple[ParamDescription, ...] | None:
        output = self.calls.call(address, "inputDescription()")
        if output is None:
            return None
        try:
            return decode_input_description(output)
        except (MalformedAbiError, UnicodeDecodeError):
            return None

    def _read_tools(self, address: Address) -> list[Address] | None:
        """Return an agent's tools, at most as many as the executor accepts."""
        tools = self.calls.read_value(address, "getTools()", "address[]")
        if not isinstance(tools, tuple):
            return None
        return [to_canonical_address(tool) for tool in islice(tools, MAX_TOOLS)]

    def _find_entry(self, address: Address, *, is_tool: bool, is_v1: bool) -> str | None:
        """Return the function that runs an agent. Any tool has `run`, a proxy's included."""
        code = self.names.get_code(address)
        found = (name for name, text in ENTRIES.items() if compute_selector(text) in code)
        run = "runV1" if is_v1 else "run"
        return next(found, run if is_tool else None)


def _serialize_parameters(parameters: Sequence[ParamDescription]) -> list[Json]:
    return [
        {
            "name": parameter.name,
            "type": parameter.param_type.abi_type,
            "description": parameter.description,
        }
        for parameter in parameters
    ]
