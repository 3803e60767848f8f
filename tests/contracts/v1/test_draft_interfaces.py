"""Identifiers of version 1's interfaces, from the draft's signatures; ERC-165 of each contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import function_abi_to_4byte_selector

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.plain_evm import OWNER, ZERO
from tests.contracts.v1.draft import RUN, RUN_NEXT_ITERATION, interface_id, selector

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Evm

TOOL = interface_id("name()", "description()", "inputDescription()", RUN)
CLIENT = interface_id("handleAgentResult(uint256,string)")
EXECUTOR = interface_id(RUN_NEXT_ITERATION)
TOOL_V2 = interface_id(
    "name()", "description()", "inputDescription()", "run(((uint8,bytes)[],bytes),address)"
)
CLIENT_V2 = interface_id("handleAgentResult(int256,string)")
ORACLE_CLIENT = interface_id("handleAnswer(uint256,uint8,bytes)")
ERC165 = interface_id("supportsInterface(bytes4)")
NONE = b"\xff" * 4
ALL = {TOOL, CLIENT, EXECUTOR, TOOL_V2, CLIENT_V2, ORACLE_CLIENT, ERC165, NONE}
NO_TOOLS: list[str] = []
AGENT = ("some-model", "Some Agent", "Does things", "What to do", NO_TOOLS, 3)
SETTINGS = (ZERO, 1_000_000, 60, 600)
BALANCE = "balance(address asset) returns (uint256)"


@pytest.mark.parametrize(
    ("name", "interface"),
    [
        ("IERCAgentToolV1", TOOL),
        ("IERCAgentClientV1", CLIENT),
        ("IERCAgentExecutorV1", EXECUTOR),
        ("IERCAgentTool", TOOL_V2),
    ],
)
def test_interfaces_have_the_functions_of_the_draft(name: str, interface: bytes) -> None:
    number = 0
    for one in load_artifact(name).abi:
        if one["type"] == "function" and one["name"] != "supportsInterface":
            number ^= int.from_bytes(function_abi_to_4byte_selector(one))
    assert number.to_bytes(4) == interface


@pytest.mark.parametrize(
    ("name", "arguments", "interfaces"),
    [
        ("SimpleAgentV1", (OWNER.address, *AGENT), {TOOL}),
        ("OwnedAgentV1", (OWNER.address, OWNER.address, *AGENT), {TOOL}),
        ("SimpleCallbackAgentV1", (SETTINGS, *AGENT), {TOOL, CLIENT, ORACLE_CLIENT}),
        ("OwnedCallbackAgentV1", (SETTINGS, *AGENT), {TOOL, CLIENT, ORACLE_CLIENT}),
        ("VersionedAccount", (OWNER.address, ZERO, ZERO), {CLIENT, CLIENT_V2}),
        (
            "ContractToolV1",
            ("See", "Sees", OWNER.address, selector("balance(address)"), BALANCE),
            {TOOL},
        ),
        ("ToolV1AsV2", (ZERO, ZERO), {TOOL_V2, CLIENT}),
        ("ToolV2AsV1", (ZERO, ZERO), {TOOL, CLIENT_V2}),
    ],
)
def test_each_contract_supports_its_interfaces_and_no_other(
    evm: Evm, name: str, arguments: tuple[object, ...], interfaces: set[bytes]
) -> None:
    contract = evm.deploy(name, *arguments)
    supported = {one for one in ALL if contract("supportsInterface", one)}
    assert supported == interfaces | {ERC165}


@pytest.mark.parametrize(
    ("name", "tool", "interfaces"),
    [
        ("PinnedTool", "CounterTool", {TOOL_V2, CLIENT_V2}),
        ("PinnedToolV1", "CounterToolV1", {TOOL, CLIENT}),
    ],
)
def test_pins_support_the_interfaces_of_their_version(
    evm: Evm, name: str, tool: str, interfaces: set[bytes]
) -> None:
    contract = evm.deploy(name, evm.deploy(tool).address, ZERO)
    supported = {one for one in ALL if contract("supportsInterface", one)}
    assert supported == interfaces | {ERC165}
