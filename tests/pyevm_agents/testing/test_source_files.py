"""Stale artifacts: a source that changed after it was compiled is reported."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import keccak

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing import StaleArtifactWarning
from pyevm_agents.testing.artifacts import ArtifactFinder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.testing.chain import AgentChain

BASE = "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0; contract B {}"
BASE_HASH = "0xff59512e540fdbb24710cefb38ffed3716b5e7942e480d00b6c52a9b9f0809d8"
"""As solc 0.8.37 has it in the metadata of a contract that imports this source."""

DERIVED = "import './Base.sol'; contract Token is B {}\n"
EDITED = DERIVED.replace("{}", "{ uint256 public x; }")


def metadata(target: str, name: str, sources: dict[str, str]) -> dict[str, Any]:
    """Return solc's metadata of a contract."""
    hashes = {path: "0x" + keccak(text=text).hex() for path, text in sources.items()}
    return {
        "settings": {"compilationTarget": {target: name}},
        "sources": {path: {"keccak256": value, "urls": []} for path, value in hashes.items()},
        "version": 1,
    }


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def find(root: Path, wanted: str | Path = "Token") -> list[str]:
    """Return the warnings about a contract."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ArtifactFinder(root=root).find(wanted)
    assert {warning.category for warning in caught} <= {StaleArtifactWarning}
    return [str(warning.message) for warning in caught]


def write_foundry(root: Path) -> None:
    """Write a project of Foundry with a contract and its base, as compiled."""
    (root / ".git").mkdir()
    write(root / "foundry.toml", "")
    sources = {"src/Token.sol": DERIVED, "src/Base.sol": BASE}
    for path, text in sources.items():
        write(root / path, text)
    form = metadata("src/Token.sol", "Token", sources)
    assert form["sources"]["src/Base.sol"]["keccak256"] == BASE_HASH
    artifact = {"abi": [], "bytecode": {"object": "0x6001"}, "metadata": form}
    write(root / "out" / "Token.sol" / "Token.json", artifact)


def write_hardhat_2(root: Path) -> None:
    """Write the same as a project of Hardhat 2."""
    (root / ".git").mkdir()
    write(root / "hardhat.config.js", "")
    library = "@openzeppelin/contracts/Ownable.sol"
    sources = {"contracts/Token.sol": DERIVED, "contracts/Base.sol": BASE}
    for path, text in sources.items():
        write(root / path, text)
    form = metadata("contracts/Token.sol", "Token", {**sources, library: "contract Ownable {}"})
    folder = root / "artifacts" / "contracts" / "Token.sol"
    write(
        folder / "Token.json",
        {
            "_format": "hh-sol-artifact-1",
            "contractName": "Token",
            "sourceName": "contracts/Token.sol",
            "abi": [],
            "bytecode": "0x6001",
        },
    )
    write(
        folder / "Token.dbg.json",
        {"_format": "hh-sol-dbg-1", "buildInfo": "../../build-info/0ab1.json"},
    )
    contracts = {"contracts/Token.sol": {"Token": {"metadata": json.dumps(form)}}}
    write(root / "artifacts" / "build-info" / "0ab1.json", {"output": {"contracts": contracts}})


def write_hardhat_3(root: Path) -> None:
    """Write the same as a project of Hardhat 3."""
    (root / ".git").mkdir()
    write(root / "hardhat.config.ts", "")
    sources = {"contracts/Token.sol": DERIVED, "contracts/Base.sol": BASE}
    for path, text in sources.items():
        write(root / path, text)
    named = {f"project/{path}": text for path, text in sources.items()}
    library = {"npm/@openzeppelin/contracts@5.0.2/Ownable.sol": "contract Ownable {}"}
    form = metadata("project/contracts/Token.sol", "Token", {**named, **library})
    write(
        root / "artifacts" / "contracts" / "Token.sol" / "Token.json",
        {
            "_format": "hh3-artifact-1",
            "contractName": "Token",
            "sourceName": "contracts/Token.sol",
            "inputSourceName": "project/contracts/Token.sol",
            "buildInfoId": "solc-0_8_28-0ab1",
            "abi": [],
            "bytecode": "0x6001",
        },
    )
    contracts = {"project/contracts/Token.sol": {"Token": {"metadata": json.dumps(form)}}}
    build = root / "artifacts" / "build-info"
    write(build / "solc-0_8_28-0ab1.output.json", {"output": {"contracts": contracts}})


LAYOUTS = [
    (write_foundry, "src", "forge build"),
    (write_hardhat_2, "contracts", "npx hardhat compile"),
    (write_hardhat_3, "contracts", "npx hardhat compile"),
]


@pytest.mark.parametrize(("write_project", "folder", "command"), LAYOUTS)
def test_an_edited_source_is_reported_with_the_command_that_compiles_it(
    tmp_path: Path, write_project: Callable[[Path], None], folder: str, command: str
) -> None:
    write_project(tmp_path)
    assert find(tmp_path) == []
    write(tmp_path / folder / "Token.sol", EDITED)
    (message,) = find(tmp_path)
    assert message.startswith(
        f"stale artifact of Token: {folder}/Token.sol changed after it was compiled; run {command}"
    )
    write(tmp_path / folder / "Base.sol", BASE + "\n")
    (message,) = find(tmp_path)
    assert f"{folder}/Token.sol, {folder}/Base.sol changed" in message


@pytest.mark.parametrize(("write_project", "folder", "command"), LAYOUTS)
def test_a_deleted_source_is_reported(
    tmp_path: Path, write_project: Callable[[Path], None], folder: str, command: str
) -> None:
    write_project(tmp_path)
    (tmp_path / folder / "Base.sol").unlink()
    (message,) = find(tmp_path)
    assert f"{folder}/Base.sol was deleted after it was compiled; run {command}" in message


def test_other_line_ends_are_no_change_to_foundry(tmp_path: Path) -> None:
    write_foundry(tmp_path)
    (tmp_path / "src" / "Base.sol").write_bytes(BASE.replace("\n", "\r\n").encode())
    assert find(tmp_path) == []


@pytest.mark.parametrize(("write_project", "folder", "command"), LAYOUTS)
def test_artifacts_without_sources_on_disk_are_not_reported(
    tmp_path: Path, write_project: Callable[[Path], None], folder: str, command: str
) -> None:
    del command
    package = tmp_path / "site-packages" / "vault"
    package.mkdir(parents=True)
    write_project(package)
    for file in (package / folder).iterdir():
        file.unlink()
    (package / folder).rmdir()
    assert find(package) == []


def test_an_installed_package_is_not_compared_with_the_project_around_it(tmp_path: Path) -> None:
    write_foundry(tmp_path)
    form = metadata("src/Vault.sol", "Vault", {"src/Vault.sol": "contract Vault {}"})
    artifact = {"abi": [], "bytecode": {"object": "0x6001"}, "metadata": form}
    installed = tmp_path / ".venv" / "site-packages" / "vault" / "out" / "Vault.sol" / "Vault.json"
    assert find(tmp_path, write(installed, artifact)) == []


@pytest.mark.parametrize("metadata_form", ["", "{", {"sources": []}, None, 7])
def test_unknown_metadata_is_ignored(tmp_path: Path, metadata_form: object) -> None:
    write_foundry(tmp_path)
    artifact = {"abi": [], "bytecode": {"object": "0x6001"}, "metadata": metadata_form}
    write(tmp_path / "out" / "Token.sol" / "Token.json", artifact)
    write(tmp_path / "src" / "Token.sol", EDITED)
    assert find(tmp_path) == []


@pytest.mark.parametrize("removed", ["Token.dbg.json", "0ab1.json"])
def test_hardhats_artifact_without_its_build_info_is_not_reported(
    tmp_path: Path, removed: str
) -> None:
    write_hardhat_2(tmp_path)
    (file,) = tmp_path.rglob(removed)
    file.unlink()
    write(tmp_path / "contracts" / "Token.sol", EDITED)
    assert find(tmp_path) == []


def test_a_contract_is_reported_once_and_at_the_line_that_deploys_it(
    agent_chain: AgentChain, tmp_path: Path
) -> None:
    write_foundry(tmp_path)
    write(tmp_path / "src" / "Token.sol", EDITED)
    agent_chain.artifacts = ArtifactFinder(root=tmp_path)
    with pytest.warns(StaleArtifactWarning) as caught:
        agent_chain.deploy("Token")
    (warning,) = caught
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent_chain.deploy("Token")


def test_a_warning_that_is_an_error_is_raised_each_time(tmp_path: Path) -> None:
    write_foundry(tmp_path)
    write(tmp_path / "src" / "Token.sol", EDITED)
    artifacts = ArtifactFinder(root=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(StaleArtifactWarning):
                artifacts.find("Token")


# -- several contracts of one name -- #


def write_billing(root: Path, source: str, artifact: str) -> Path:
    text = f"contract Billing {{}} // {source}"
    write(root / source, text)
    form = metadata(source, "Billing", {source: text})
    return write(
        root / "out" / artifact, {"abi": [], "bytecode": {"object": "0x6001"}, "metadata": form}
    )


def test_contracts_of_one_name_are_listed_by_their_sources(tmp_path: Path) -> None:
    write(tmp_path / "foundry.toml", "")
    first = write_billing(tmp_path, "src/Billing.sol", "Billing.sol/Billing.json")
    second = write_billing(tmp_path, "src/v2/Billing.sol", "v2/Billing.sol/Billing.json")
    artifacts = ArtifactFinder(root=tmp_path)
    with pytest.raises(ConfigError, match="2 contracts are called 'Billing'") as raised:
        artifacts.find("Billing")
    assert f"\n  src/Billing.sol:Billing  ({first})" in str(raised.value)
    assert f"\n  src/v2/Billing.sol:Billing  ({second})" in str(raised.value)
    assert artifacts.find("src/Billing.sol:Billing").file == first
    assert artifacts.find("src/v2/Billing.sol:Billing").file == second
    assert artifacts.find("v2/Billing.sol:Billing").file == second


def test_artifacts_of_one_source_are_listed_by_their_paths(tmp_path: Path) -> None:
    write(tmp_path / "foundry.toml", "")
    write_billing(tmp_path, "src/Billing.sol", "Billing.sol/Billing.json")
    legacy = write_billing(tmp_path, "src/Billing.sol", "Billing.sol/Billing.legacy.json")
    artifacts = ArtifactFinder(root=tmp_path)
    with pytest.raises(ConfigError) as raised:
        artifacts.find("Billing")
    label = "out/Billing.sol/Billing.legacy.json"
    assert f"\n  {label}  (" in str(raised.value)
    assert artifacts.find(label).file == legacy


def test_an_artifact_of_a_deleted_source_does_not_stand_in_the_way(tmp_path: Path) -> None:
    write(tmp_path / "foundry.toml", "")
    first = write_billing(tmp_path, "src/Billing.sol", "Billing.sol/Billing.json")
    write_billing(tmp_path, "src/v2/Billing.sol", "v2/Billing.sol/Billing.json")
    (tmp_path / "src" / "v2" / "Billing.sol").unlink()
    assert ArtifactFinder(root=tmp_path).find("Billing").file == first
