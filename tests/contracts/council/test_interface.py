"""The council's ABI is that of ERC-8033, written by hand from its text."""

from __future__ import annotations

from typing import Any

from eth_utils import event_abi_to_log_topic, function_abi_to_4byte_selector, keccak
from eth_utils.abi import collapse_if_tuple

from pyevm_agents.abi.bundled import load_artifact

CAPABILITIES = "(string[],string[])"
FUNCTIONS = {
    f"createRequest(string,uint256,uint256,uint256,address,string,{CAPABILITIES})": "payable",
    "commit(uint256,bytes32)": "payable",
    "reveal(uint256,bytes,uint256)": "nonpayable",
    "aggregate(uint256,bytes,address[],bytes)": "nonpayable",
    "distributeRewards(uint256)": "nonpayable",
    "getResolution(uint256)": "view",
    "initiateDispute(uint256,string)": "payable",
    "resolveDispute(uint256,bool,bytes,address[])": "nonpayable",
    "getRequest(uint256)": "view",
    "getCommits(uint256)": "view",
    "getReveals(uint256)": "view",
}
OUTPUTS = {
    "createRequest": ["uint256"],
    "getResolution": ["bytes", "bool"],
    "getRequest": [
        f"(address,uint256,address,uint256,uint256,uint256,string,string,{CAPABILITIES})"
    ],
    "getCommits": ["address[]", "bytes32[]"],
    "getReveals": ["address[]", "bytes[]"],
}
EVENTS = [
    "RequestCreated(uint256,address,string,uint256,uint256,uint256)",
    "AgentCommitted(uint256,address,bytes32)",
    "AgentRevealed(uint256,address,bytes)",
    "JudgeSelected(uint256,address)",
    "ResolutionFinalized(uint256,bytes)",
    "RewardsDistributed(uint256,address[],uint256[])",
    "ResolutionFailed(uint256,string)",
    "DisputeInitiated(uint256,address,string)",
    "DisputeWindowOpened(uint256,uint256)",
    "DisputeResolved(uint256,bool,bytes)",
]
REQUEST_MEMBERS = [
    "requester",
    "reward",
    "rewardToken",
    "bondAmount",
    "numInfoAgents",
    "deadline",
    "query",
    "specifications",
    "requiredCapabilities",
]


def entries(contract: str, kind: str) -> list[Any]:
    return [entry for entry in load_artifact(contract).abi if entry["type"] == kind]


def test_functions_are_those_of_the_erc() -> None:
    expected = {keccak(text=signature)[:4]: how for signature, how in FUNCTIONS.items()}
    for contract in ("IAgentCouncilOracle", "AgentCouncilOracle"):
        found = {
            function_abi_to_4byte_selector(one): one["stateMutability"]
            for one in entries(contract, "function")
        }
        assert expected.items() <= found.items()
    assert len(entries("IAgentCouncilOracle", "function")) == len(FUNCTIONS)


def test_results_are_those_of_the_erc() -> None:
    for one in entries("IAgentCouncilOracle", "function"):
        outputs = [collapse_if_tuple(output) for output in one["outputs"]]
        assert outputs == OUTPUTS.get(one["name"], [])
        if one["name"] == "getRequest":
            members = [member["name"] for member in one["outputs"][0]["components"]]
            assert members == REQUEST_MEMBERS


def test_events_are_those_of_the_erc() -> None:
    expected = {keccak(text=signature) for signature in EVENTS}
    assert {event_abi_to_log_topic(e) for e in entries("IAgentCouncilOracle", "event")} == expected
    ours = entries("AgentCouncilOracle", "event")
    assert {event_abi_to_log_topic(one) for one in ours} >= expected
    for one in entries("IAgentCouncilOracle", "event"):
        assert [member["indexed"] for member in one["inputs"]] == [True] + [False] * (
            len(one["inputs"]) - 1
        )


def test_the_implementation_fits_into_a_contract() -> None:
    for contract in ("AgentCouncilOracle", "CouncilRules", "CouncilVerdicts"):
        assert load_artifact(contract).bytecode
