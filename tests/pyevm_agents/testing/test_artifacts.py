"""Look-up of compiled contracts, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.artifacts import ArtifactFinder


def write(file: Path, code: str = "0x6001") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"abi": [], "bytecode": code}))
    return file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with artifacts of Foundry and Hardhat, and a folder of tests."""
    (tmp_path / ".git").mkdir()
    write(tmp_path / "out" / "Token.sol" / "Token.json")
    write(tmp_path / "out" / "Token.sol" / "Minter.json")
    write(tmp_path / "out" / "Old.sol" / "Minter.json")
    write(tmp_path / "out" / "build-info" / "Token.json")
    write(tmp_path / "artifacts" / "contracts" / "pools" / "Pool.sol" / "Pool.json")
    write(tmp_path / "artifacts" / "contracts" / "pools" / "Pool.sol" / "Pool.dbg.json")
    (tmp_path / "test" / "agents").mkdir(parents=True)
    return tmp_path


def test_foundry_and_hardhat_are_found_upwards(project: Path) -> None:
    artifacts = ArtifactFinder(root=project / "test" / "agents")
    assert artifacts.find("Token").file == project / "out" / "Token.sol" / "Token.json"
    pool = project / "artifacts" / "contracts" / "pools" / "Pool.sol" / "Pool.json"
    assert artifacts.find("Pool").file == pool
    assert artifacts.find("pools/Pool.sol:Pool").file == pool


def test_nothing_is_looked_for_above_the_repository(project: Path) -> None:
    (project / "test" / ".git").mkdir()
    assert ArtifactFinder(root=project / "test" / "agents").folders == ()


def test_foundrys_own_folder_is_asked_for(project: Path) -> None:
    (project / "foundry.toml").write_text('[profile.default]\nout = "built"\n')
    write(project / "built" / "Vault.sol" / "Vault.json")
    artifacts = ArtifactFinder(root=project)
    assert artifacts.folders == (project / "built", project / "artifacts")
    assert artifacts.find("Vault").file == project / "built" / "Vault.sol" / "Vault.json"


def test_an_unreadable_foundry_file_is_no_obstacle(project: Path) -> None:
    (project / "foundry.toml").write_text("[")
    assert ArtifactFinder(root=project).folders[0] == project / "out"


def test_two_of_a_name_are_refused_with_both(project: Path) -> None:
    artifacts = ArtifactFinder(root=project)
    with pytest.raises(ConfigError, match="2 contracts are called 'Minter'") as raised:
        artifacts.find("Minter")
    assert "\n  Old.sol:Minter  (" in str(raised.value)
    assert "\n  Token.sol:Minter  (" in str(raised.value)
    assert artifacts.find("Old.sol:Minter").file == project / "out" / "Old.sol" / "Minter.json"
    with pytest.raises(ConfigError, match=r"no contract 'en\.sol:Minter'"):
        artifacts.find("en.sol:Minter")


def test_an_interface_of_a_name_is_in_nobodys_way(project: Path) -> None:
    write(project / "out" / "IToken.sol" / "Token.json", code="0x")
    assert ArtifactFinder(root=project).find("Token").file == project / "out/Token.sol/Token.json"


def test_two_compilers_are_told_apart_by_path(project: Path) -> None:
    other = write(project / "out" / "Token.sol" / "Token.0.8.20.json")
    artifacts = ArtifactFinder(root=project)
    with pytest.raises(ConfigError, match=r"Token\.0\.8\.20\.json"):
        artifacts.find("Token")
    assert artifacts.find(other).file == other
    assert artifacts.find("out/Token.sol/Token.0.8.20.json").file == other


def test_folders_that_are_named_are_the_only_ones(project: Path, tmp_path: Path) -> None:
    first = write(tmp_path / "one" / "Vault.json")
    second = write(tmp_path / "two" / "deep" / "Safe.json")
    artifacts = ArtifactFinder([tmp_path / "one", tmp_path / "two"], root=project)
    assert artifacts.find("Vault").file == first
    assert artifacts.find("Safe").file == second
    with pytest.raises(ConfigError, match="no contract 'Token'"):
        artifacts.find("Token")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"artifact folder .*gone: not a folder"):
        ArtifactFinder([tmp_path / "gone"]).find("Token")


def test_contracts_of_ours_are_found_last(project: Path) -> None:
    artifacts = ArtifactFinder(root=project)
    ours = load_artifact("Counter").bytecode.hex()
    assert artifacts.find("Counter").code == ours
    write(project / "out" / "Counter.sol" / "Counter.json")
    again = ArtifactFinder(root=project)
    assert again.find("Counter").code == "6001"
    assert again.find("pyevm_agents:Counter").code == ours
    with pytest.raises(ConfigError, match="no contract 'Nobody'; there are"):
        again.find("pyevm_agents:Nobody")


def test_a_name_that_is_nearly_one_is_told(project: Path) -> None:
    with pytest.raises(ConfigError, match=r"no contract 'tokn'; near are .*Token") as raised:
        ArtifactFinder(root=project).find("tokn")
    assert str(project / "out") in str(raised.value)
    assert "agent_artifacts" in str(raised.value)


def test_where_nothing_is_compiled_it_is_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(ConfigError, match=r"Looked in no folder: .*neither Foundry's out/ nor"):
        ArtifactFinder(root=tmp_path).find("Tokenomics")


def test_a_path_is_checked(tmp_path: Path) -> None:
    artifacts = ArtifactFinder(root=tmp_path)
    with pytest.raises(ConfigError, match=r"there is no artifact .*Token.json"):
        artifacts.find("Token.json")
    (tmp_path / "Token.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"Token.json: must have an `abi`"):
        artifacts.find(Path("Token.json"))
