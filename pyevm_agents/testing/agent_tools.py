"""Tools of agents: those that a prompt offers, and those that contracts on a chain have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import DecodingError
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from precompiles.language_model import Segment
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.chain import Chain

NOBODY = Address(bytes(20))
"""The sender of view calls."""

MAX_AGENTS = 256
"""Number of contracts whose tools are read: nested agents may use each other in a circle."""

TOOLS_HEADING = "\nYou have access to the following tools:\n"
TOOLS_END = "\n\nUse the following format:"
"""Texts around the tools in a prompt. Source: `precompiles.react`."""

UNREADABLE = (DecodingError, ValueError)
"""Raised for an output that is not of the function's type."""


def has_prompt(steps: Iterable[AgentStep]) -> bool:
    """Return whether the prompt of a step is known."""
    return any(step.inference.segments for step in steps)


def is_tool_offered(name: str, steps: Iterable[AgentStep]) -> bool:
    """Return whether the prompt of a step offers a tool with this name."""
    entry = f"\n- {name}: "
    return any(entry in tools for tools in _list_tool_texts(steps))


def list_offered_tools(steps: Iterable[AgentStep]) -> tuple[str, ...]:
    """Return the names of the tools that the prompts of steps offer, for people.

    A name with a colon is cut there.
    """
    entries = (line for tools in _list_tool_texts(steps) for line in tools.split("\n"))
    names = (line[2:].partition(": ")[0] for line in entries if line.startswith("- "))
    return tuple(dict.fromkeys(names))


def _list_tool_texts(steps: Iterable[AgentStep]) -> list[str]:
    """Return the lines that describe tools, with a line break before each."""
    prompts = dict.fromkeys(step.inference.segments for step in steps)
    return [_find_tool_text(segments) for segments in prompts]


def _find_tool_text(segments: Sequence[Segment]) -> str:
    for segment in segments:
        _, heading, rest = segment.text.partition(TOOLS_HEADING)
        if heading:  # The first one: the base prompt, which may contain anything, comes later.
            return "\n" + rest.partition(TOOLS_END)[0]
    return ""


def list_agent_tools(chain: Chain, agents: Iterable[Address]) -> tuple[str, ...]:
    """Return the names of the tools of agents, and of the agents among these tools.

    The latest state of the chain is read. Contracts without `getTools` or `name` are skipped.
    """
    pending, seen, names = [*agents], set[Address](), dict[str, None]()
    while pending and len(seen) < MAX_AGENTS:
        agent = pending.pop(0)
        if agent in seen:
            continue
        seen.add(agent)
        tools = read_tools(chain, agent) or []
        names.update((name, None) for tool in tools if (name := read_name(chain, tool)) is not None)
        pending += tools
    return tuple(names)


def read_tools(chain: Chain, agent: Address) -> list[Address] | None:
    """Return the addresses of an agent's tools; None if the contract has no `getTools`."""
    try:
        tools = call_view(chain, agent, "IERCAgent", "getTools")
    except UNREADABLE:
        return None
    return [Address(to_canonical_address(tool)) for tool in tools]


def read_name(chain: Chain, tool: Address) -> str | None:
    """Return the name in a tool's metadata; None if the contract has no `name`."""
    try:
        return str(call_view(chain, tool, "IERCAgentTool", "name"))
    except UNREADABLE:
        return None


def find_tool(chain: Chain, agent: Address, name: str) -> Address:
    """Return the address of an agent's tool.

    Raises: ConfigError: the contract is not an agent, or has no tool with this name.
    """
    tools = read_tools(chain, agent)
    if tools is None:
        raise ConfigError(f"{to_checksum_address(agent)} is not an agent: it has no getTools()")
    by_name = {str(read_name(chain, tool)): tool for tool in tools}
    if name not in by_name:
        raise ConfigError(
            f"{to_checksum_address(agent)} has no tool {name!r}; its tools are: "
            f"{', '.join(by_name) or 'none'}"
        )
    return by_name[name]


def call_view(chain: Chain, address: Address, contract: str, function: str) -> Any:  # noqa: ANN401 - any type of Solidity's
    """Call a view function without arguments; return the result.

    Input:  the chain; the contract's address; the name of an artifact of this package that has the
            function; the function's name.
    Raises: DecodingError, ValueError: the output is not of the function's type.
    """
    artifact = load_artifact(contract)
    call = Call(to=address, sender=NOBODY, data=artifact.encode_call(function))
    return artifact.decode_result(function, chain.call(call).output)
