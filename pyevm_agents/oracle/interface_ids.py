"""ERC-165 identifiers of the interfaces of callback execution."""

from __future__ import annotations

from eth_utils import function_abi_to_4byte_selector

from pyevm_agents.contracts import load_artifact

SELECTOR_BYTES = 4
INVALID_INTERFACE = b"\xff" * SELECTOR_BYTES
"""No contract supports it. Source: ERC-165."""


def compute_interface_id(interface: str) -> bytes:
    """Return the ERC-165 identifier of an interface: its own functions' selectors, combined."""
    parents = {"IChallengeableOracle": "IAgentOracle", "IAgentOracle": "IERC165"}
    own = _list_selectors(interface)
    if (parent := parents.get(interface)) is not None:
        own -= _list_selectors(parent)
    number = 0
    for selector in own:
        number ^= int.from_bytes(selector)
    return number.to_bytes(4)


def _list_selectors(interface: str) -> set[bytes]:
    if interface == "IERC165":
        return {bytes.fromhex("01ffc9a7")}
    abi = load_artifact(interface).abi
    return {function_abi_to_4byte_selector(each) for each in abi if each["type"] == "function"}
