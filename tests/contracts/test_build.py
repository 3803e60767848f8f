"""The committed artifacts in `contracts/build/`, against expectations written by hand."""

from __future__ import annotations

import json
import re
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import event_abi_to_log_topic, function_abi_to_4byte_selector
from eth_utils.abi import get_abi_input_types, get_abi_output_types

from precompiles.errors import REFUSALS, error_selector
from tests.contracts.artifact_files import ARTIFACT_NAMES, CONTRACTS, SOURCES, artifact_file

if TYPE_CHECKING:
    from tests.samples import Sample

TOOL_SELECTORS = {
    "name()": "06fdde03",
    "description()": "7284e416",
    "inputDescription()": "0ef946da",
    "run(((uint8,bytes)[],bytes),address)": "2ed0a6f5",
}
INTERFACE_SELECTORS = {
    "IERCAgentTool": TOOL_SELECTORS,
    "IERCAgentExecutor": {
        "runNextIteration(string,string,address[],string[],string[],string)": "7e636a24"
    },
    "IERCAgentClient": {"handleAgentResult(int256,string)": "36d21840"},
    "ToolResultConverter": {"convertToString(bytes)": "c4154330"},
    "Pool": {
        "deploy(address,uint256)": "4956eaf0",
        "withdraw(address,uint256)": "f3fef3a3",
        "balance(address)": "e3d670d7",
    },
}
ERROR_SELECTORS = {
    "ExecutorUnavailable()": "a7924385",
    "ValueNotAccepted(uint256)": "583718dd",
    "DelegateCallNotAllowed()": "0d89438e",
    "UnknownSelector(bytes4)": "c2a825f5",
    "CalldataTooLarge(uint256,uint256)": "06018a9f",
    "MalformedCalldata(string)": "acbc1d18",
    "InvalidUtf8(string)": "93ba7d89",
    "UnknownModel(string)": "453151b3",
    "TooManyTools(uint256,uint256)": "c3c9e253",
    "ToolWithoutCode(address)": "1cca3436",
    "ToolMetadataFailed(address,bytes4,bytes)": "e7a51c30",
    "ToolMetadataTooLarge(address,bytes4,uint256,uint256)": "95bf3e64",
    "MalformedToolMetadata(address,bytes4,string)": "3e7a6529",
    "DuplicateToolName(string)": "8d4c44dc",
    "DuplicateParameterName(address,string)": "7e5e4565",
    "HistoryLengthMismatch(uint256,uint256)": "05b287b1",
    "MalformedHistory(uint256,string)": "45467508",
    "ContextTooLong(uint256,uint256,uint256,uint256)": "1a35a2e9",
    "OutputTooLong(uint256)": "4116e212",
    "CallDepthExceeded()": "0c3687bb",
    "ReentrantMetadata()": "f9c0bab4",
}
PARAM_TYPES = [
    "STRING",
    "ADDRESS",
    "BOOL",
    "INT",
    "UINT",
    "STRING_ARRAY",
    "ADDRESS_ARRAY",
    "BOOL_ARRAY",
    "INT_ARRAY",
    "UINT_ARRAY",
]
ITERATION_RESULT = "(bool,string,address,((uint8,bytes)[],bytes),string)"
# keccak of AgentRunResult(int256,address,string[],string)
RUN_EVENT_TOPIC = "acc2c26fc587b3896c67ae18ba81a38e10f42b3744366add9bc28252e4e0e819"
CODE_SIZE_LIMIT_BYTES = 24_576  # EIP-170
INITCODE_SIZE_LIMIT_BYTES = 49_152  # EIP-3860
KEYS = [
    "abi",
    "bytecode",
    "compiler",
    "contractName",
    "deployedBytecode",
    "deployedSourceMap",
    "immutableReferences",
    "sourceMap",
    "sourceName",
    "sources",
]


def selectors(name: str, element_type: str) -> dict[str, str]:
    """Return signature to selector for every function or error of a contract's ABI."""
    return {
        f"{e['name']}({','.join(get_abi_input_types(e))})": function_abi_to_4byte_selector(e).hex()
        for e in artifact_file(name)["abi"]
        if e["type"] == element_type
    }


def element(name: str, element_name: str) -> Any:  # noqa: ANN401 - an entry of the ABI's JSON
    return next(e for e in artifact_file(name)["abi"] if e.get("name") == element_name)


def test_every_source_file_has_the_artifact_of_its_name() -> None:
    assert [path.stem for path in sorted(SOURCES, key=lambda path: path.stem)] == ARTIFACT_NAMES


@pytest.mark.parametrize("name", ARTIFACT_NAMES)
def test_artifact_is_well_formed(name: str) -> None:
    form = artifact_file(name)
    assert list(form) == KEYS
    assert form["contractName"] == name
    assert (CONTRACTS.parent / form["sourceName"]).is_file()
    assert form["bytecode"].startswith("0x")
    assert len(bytes.fromhex(form["bytecode"][2:])) <= INITCODE_SIZE_LIMIT_BYTES
    assert len(bytes.fromhex(form["deployedBytecode"][2:])) <= CODE_SIZE_LIMIT_BYTES
    # Every file that the source maps name is listed; the compiler's own, without a name, are not.
    for source in form["sources"].values():
        assert source.startswith("@openzeppelin/") or (CONTRACTS.parent / source).is_file()
    pinned = json.loads((CONTRACTS / "package.json").read_text())["devDependencies"]["solc"]
    assert form["compiler"]["version"].startswith(f"{pinned}+commit.")


@pytest.mark.parametrize("interface", INTERFACE_SELECTORS)
def test_interface_has_the_functions_of_the_erc(interface: str) -> None:
    assert selectors(interface, "function") == INTERFACE_SELECTORS[interface]


@pytest.mark.parametrize(
    "tool",
    ["SimpleSmartContractTool", "AgentOnlyTool", "TokenInfoTool", "SimpleAgent", "WalletAgent"],
)
def test_tools_and_agents_have_the_functions_of_a_tool(tool: str) -> None:
    assert selectors(tool, "function").items() >= TOOL_SELECTORS.items()


def test_param_types_have_the_positions_of_the_erc() -> None:
    source = (CONTRACTS / "interfaces" / "IERCAgentTool.sol").read_text()
    body = re.search(r"enum ParamType \{(.*?)\}", source, re.DOTALL)
    assert body is not None
    assert [value.strip() for value in body[1].split(",")] == PARAM_TYPES


def test_results_have_the_shape_of_the_erc() -> None:
    assert get_abi_output_types(element("IERCAgentExecutor", "runNextIteration")) == [
        ITERATION_RESULT
    ]
    assert get_abi_output_types(element("IERCAgentTool", "run")) == ["int256", "string"]
    assert get_abi_output_types(element("IERCAgentTool", "inputDescription")) == [
        "((uint8,string,string)[])"
    ]


def test_run_event_is_that_of_the_erc() -> None:
    event = element("WalletAgent", "AgentRunResult")
    assert event_abi_to_log_topic(event).hex() == RUN_EVENT_TOPIC
    assert [(i["name"], i["type"], i["indexed"]) for i in event["inputs"]] == [
        ("runId", "int256", True),
        ("requester", "address", False),
        ("executionSteps", "string[]", False),
        ("answer", "string", False),
    ]


def test_executor_errors_are_declared_in_solidity() -> None:
    assert selectors("IAgentExecutorErrors", "error") == ERROR_SELECTORS


def test_executor_errors_are_the_same_in_python() -> None:
    python = {f"{n}({','.join(types)})": error_selector(n).hex() for n, types in REFUSALS.items()}
    assert python == ERROR_SELECTORS


def test_lock_file_names_no_registry() -> None:
    lock = json.loads((CONTRACTS / "package-lock.json").read_text())
    assert not [p for p, package in lock["packages"].items() if "resolved" in package]


@pytest.mark.sample(count=0, seed=0)
def test_the_artifacts_are_those_of_the_sources(sample: Sample) -> None:
    """Compare the digest of sources, compiler and artifacts; `make evidence` compiles as well."""
    files = [*SOURCES, CONTRACTS / "build.js", CONTRACTS / "package-lock.json"]
    files += (CONTRACTS / "build").iterdir()
    names = sorted(file.relative_to(CONTRACTS).as_posix() for file in files)
    lines = [f"{sha256((CONTRACTS / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    digest = sha256("".join(lines).encode()).hexdigest()
    recorded = (CONTRACTS / "build.sha256").read_text().strip()
    assert recorded == digest, "run `make contracts`, and commit contracts/build and build.sha256"
    for _ in range(sample.count):
        subprocess.run(["node", "build.js", "--check"], cwd=CONTRACTS, check=True)
        sample.figures["compilations"] = sample.count
