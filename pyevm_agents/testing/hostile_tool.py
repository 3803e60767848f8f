"""Replacement of a tool by `contracts/test/HostileTool.sol`, which misbehaves.

The tool's address gets the code of a `HostileTool`. The tool's own code moves to another address,
from which it is delegate-called for all that the fault does not replace. The tool keeps storage and
callers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import is_address, keccak, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.script_steps import STEP_TYPES
from pyevm_agents.testing.agent_tools import NOBODY, UNREADABLE, call_view, find_tool
from pyevm_agents.testing.inputs import format_value, parse_address, require_whole_number

if TYPE_CHECKING:
    from eth.abc import StateAPI

    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.inputs import AddressLike

USES_SLOT = int.from_bytes(keccak(b"pyevm-agents.HostileTool.uses"))
"""The slot of the tool's storage in which `HostileTool.sol` counts uses."""


class FaultKind(IntEnum):
    """The behaviour of a faulty tool. Source: `HostileTool.Fault`."""

    RETURN = 0
    REVERT = 1
    BURN_GAS = 2
    REENTER = 3
    CHANGE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The behaviour of a faulty tool, made by a function of `faults`."""

    kind: FaultKind
    payload: bytes = b""
    target: Address = NOBODY
    selector: bytes = bytes(4)


def install_fault(chain: AgentChain, address: Address, fault: Fault, *, after: int) -> None:
    """Install a fault in the tool at an address, which starts after a number of uses.

    Raises:
        ConfigError: the address has no code, or that of a contract which is not a tool.
    """
    if not isinstance(fault, Fault):
        raise ConfigError(_describe_wrong_fault(fault))
    require_whole_number("tool(.., after=…)", after, what="a number of uses")
    if not _is_tool(chain, address):
        raise ConfigError(
            f"contract {to_checksum_address(address)}: must be a tool, with inputDescription(); "
            "a fault changes what `run` does"
        )
    original, payload_code = (
        _derive_address(address, "original"),
        _derive_address(address, "payload"),
    )
    creation = load_artifact("HostileTool").encode_creation(
        to_checksum_address(original),
        int(fault.kind),
        after,
        to_checksum_address(payload_code),
        to_checksum_address(fault.target),
        fault.selector,
    )
    hostile = chain.chain.call(Call(to=None, sender=NOBODY, data=creation)).output

    def change(state: StateAPI) -> None:
        # The code at the address of a tool that is already faulty is not the tool's own.
        code = state.get_code(original) or state.get_code(address)
        state.set_code(original, code)
        state.set_code(payload_code, b"\0" + fault.payload)
        state.set_code(address, hostile)
        state.set_storage(address, USES_SLOT, 0)

    chain.node.submit_change(lambda: chain.node.patch_state(change)).result()


def remove_fault(chain: AgentChain, address: Address) -> None:
    """Remove the fault of the tool at an address."""
    original = _derive_address(address, "original")

    def change(state: StateAPI) -> None:
        code = state.get_code(original)
        if code:
            state.set_code(address, code)
            state.delete_account(original)
            state.delete_account(_derive_address(address, "payload"))
            state.set_storage(address, USES_SLOT, 0)

    chain.node.submit_change(lambda: chain.node.patch_state(change)).result()


def resolve_tool_address(
    chain: AgentChain, tool: AddressLike, agent: AddressLike | None
) -> Address:
    """Return the address of a tool by contract, address or name.

    Raises:
        ConfigError: the agent has no tool of the name, or a name is given without an agent.
    """
    if not isinstance(tool, str) or is_address(tool):
        return parse_address(tool)
    if agent is None:
        raise ConfigError(f"tool {tool!r}: must be an address; or name the agent as well: of=agent")
    return find_tool(chain.chain, parse_address(agent), tool)


def _is_tool(chain: AgentChain, address: Address) -> bool:
    """Return whether a contract has `inputDescription`; true for a faulty tool, too.

    Raises:
        ConfigError: the address has no code.
    """
    if not chain.chain.code(address):
        raise ConfigError(
            f"there is no contract at {to_checksum_address(address)}: deploy the tool first"
        )
    try:
        call_view(chain.chain, address, "IERCAgentTool", "inputDescription")
    except UNREADABLE:
        return False
    return True


def _describe_wrong_fault(fault: object) -> str:
    if callable(fault):
        name = getattr(fault, "__name__", format_value(fault))
        return f"fault {name}: must be called, as {name}()"
    if isinstance(fault, STEP_TYPES):
        return (
            f"{format_value(fault)} is what a model does: model.script(…); a tool's are in `faults`"
        )
    return f"fault {format_value(fault)}: must be one of `faults`, as faults.reverts()"


def _derive_address(address: Address, what: str) -> Address:
    """Return the address for a part of a faulty tool's code."""
    return Address(keccak(b"pyevm-agents.HostileTool." + what.encode() + address)[-20:])
