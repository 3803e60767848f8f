"""Functions, events and errors of ERC-8004's registries, against the reference's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eth_utils import event_abi_to_log_topic, function_abi_to_4byte_selector, keccak
from eth_utils.abi import collapse_if_tuple, get_abi_input_types, get_abi_output_types

from pyevm_agents.abi.bundled import load_artifact

REFERENCE = Path(__file__).parent / "erc8004_abi.txt"
NAMES = ("IdentityRegistry", "ReputationRegistry", "ValidationRegistry")

UPGRADES = {
    *("UPGRADE_INTERFACE_VERSION", "initialize", "owner", "proxiableUUID", "renounceOwnership"),
    *("transferOwnership", "upgradeToAndCall"),
    *("Initialized", "OwnershipTransferred", "Upgraded"),
    *("AddressEmptyCode", "ERC1967InvalidImplementation", "ERC1967NonPayable", "FailedCall"),
    *("InvalidInitialization", "NotInitializing", "OwnableInvalidOwner"),
    *("OwnableUnauthorizedAccount", "UUPSUnauthorizedCallContext"),
    "UUPSUnsupportedProxiableUUID",
}
"""Of the reference's owner and upgrades, which ours have not."""

SIGNATURE_ERRORS = {
    "ECDSAInvalidSignature",
    "ECDSAInvalidSignatureLength",
    "ECDSAInvalidSignatureS",
}
"""In the reference's ABI, but no function of it reverts with them."""

ADDITIONS = {
    "IdentityRegistry": {"function isAuthorizedOrOwner(address,uint256) view (bool)"},
    "ReputationRegistry": set(),
    "ValidationRegistry": set(),
}
"""In the reference's source, and not in its ABI files."""

SELECTORS = {
    "IdentityRegistry": {
        "register()": "1aa3a008",
        "register(string)": "f2c298be",
        "register(string,(string,bytes)[])": "8ea42286",
        "setAgentURI(uint256,string)": "0af28bd3",
        "getMetadata(uint256,string)": "cb4799f2",
        "setMetadata(uint256,string,bytes)": "466648da",
        "getAgentWallet(uint256)": "00339509",
        "setAgentWallet(uint256,address,uint256,bytes)": "2d1ef5ae",
        "unsetAgentWallet(uint256)": "3fddcf19",
        "isAuthorizedOrOwner(address,uint256)": "d95e72be",
        "eip712Domain()": "84b0196e",
        "getVersion()": "0d8e6e2c",
        "ownerOf(uint256)": "6352211e",
        "tokenURI(uint256)": "c87b56dd",
    },
    "ReputationRegistry": {
        "getIdentityRegistry()": "bc4d861b",
        "giveFeedback(uint256,int128,uint8,string,string,string,string,bytes32)": "3c036a7e",
        "revokeFeedback(uint256,uint64)": "4ab3ca99",
        "appendResponse(uint256,address,uint64,string,bytes32)": "c2349ab2",
        "getLastIndex(uint256,address)": "f2d81759",
        "readFeedback(uint256,address,uint64)": "232b0810",
        "getSummary(uint256,address[],string,string)": "81bbba58",
        "readAllFeedback(uint256,address[],string,string,bool)": "d9d84224",
        "getResponseCount(uint256,address,uint64,address[])": "6e04cacd",
        "getClients(uint256)": "42dd519c",
        "getVersion()": "0d8e6e2c",
    },
    "ValidationRegistry": {
        "getIdentityRegistry()": "bc4d861b",
        "validationRequest(address,uint256,string,bytes32)": "aaf400c4",
        "validationResponse(bytes32,uint8,string,bytes32,string)": "3d659a96",
        "getValidationStatus(bytes32)": "ff2febfc",
        "getSummary(uint256,address[],string)": "1b7cabd6",
        "getAgentValidations(uint256)": "8d5d0c2d",
        "getValidatorRequests(address)": "4bf3158c",
        "getVersion()": "0d8e6e2c",
    },
}

EVENTS = {
    "IdentityRegistry": {
        "Registered": "Registered(uint256,string,address)",
        "MetadataSet": "MetadataSet(uint256,string,string,bytes)",
        "URIUpdated": "URIUpdated(uint256,string,address)",
    },
    "ReputationRegistry": {
        "NewFeedback": "NewFeedback(uint256,address,uint64,int128,uint8,string,string,string,"
        "string,string,bytes32)",
        "FeedbackRevoked": "FeedbackRevoked(uint256,address,uint64)",
        "ResponseAppended": "ResponseAppended(uint256,address,uint64,address,string,bytes32)",
    },
    "ValidationRegistry": {
        "ValidationRequest": "ValidationRequest(address,uint256,string,bytes32)",
        "ValidationResponse": "ValidationResponse(address,uint256,bytes32,uint8,string,bytes32,"
        "string)",
    },
}


def read_reference() -> dict[str, set[str]]:
    """Return the lines of the reference's ABIs by contract, without owner and upgrades."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in REFERENCE.read_text().splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            found[name] = set()
        elif line and not line.startswith("#"):
            entry = line.partition(" ")[2].partition("(")[0]
            if entry not in UPGRADES | SIGNATURE_ERRORS:
                found[name].add(line)
    return found


def describe(entry: Any) -> str:  # noqa: ANN401 - an entry of an ABI
    """Return an entry of an ABI as a line of the reference's file."""
    if entry["type"] == "function":
        types = f"{entry['name']}({','.join(get_abi_input_types(entry))})"
        outputs = ",".join(get_abi_output_types(entry))
        return f"function {types} {entry['stateMutability']} ({outputs})"
    inputs = (
        collapse_if_tuple(one) + (" indexed" if one.get("indexed") else "")
        for one in entry["inputs"]
    )
    return f"{entry['type']} {entry['name']}({','.join(inputs)})"


@pytest.mark.parametrize("name", NAMES)
def test_the_abi_is_that_of_the_reference(name: str) -> None:
    own = {describe(entry) for entry in load_artifact(name).abi if entry["type"] != "constructor"}
    for function in ("name()", "symbol()"):  # pure, as the names are in the code
        if (line := f"function {function} pure (string)") in own:
            own = own - {line} | {line.replace("pure", "view")}
    assert own == read_reference()[name] | ADDITIONS[name]


@pytest.mark.parametrize("name", NAMES)
def test_selectors_are_those_of_the_reference(name: str) -> None:
    selectors = {
        f"{entry['name']}({','.join(get_abi_input_types(entry))})": (
            function_abi_to_4byte_selector(entry).hex()
        )
        for entry in load_artifact(name).abi
        if entry["type"] == "function"
    }
    assert {each: selectors[each] for each in SELECTORS[name]} == SELECTORS[name]


@pytest.mark.parametrize("name", NAMES)
def test_topics_are_those_of_the_reference(name: str) -> None:
    topics = {
        entry["name"]: event_abi_to_log_topic(entry)
        for entry in load_artifact(name).abi
        if entry["type"] == "event"
    }
    for event, signature in EVENTS[name].items():
        assert topics[event] == keccak(text=signature)
