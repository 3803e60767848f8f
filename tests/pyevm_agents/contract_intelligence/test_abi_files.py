"""ABIs in files and in projects of Foundry and Hardhat."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.contract_intelligence import abi_files
from pyevm_agents.contract_intelligence.abi_files import read_abi_file, read_project
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.contract_intelligence.exchange import (
    find_openzeppelin_artifact,
    find_uniswap_artifact,
)

if TYPE_CHECKING:
    from pathlib import Path

ABI = [{"type": "function", "name": "f", "inputs": [{"name": "p", "type": "uint8"}], "outputs": []}]
OTHER_ABI = [{**ABI[0], "name": "g"}]
DEVDOC = {"methods": {"f(uint8)": {"details": "Does it.", "params": {"p": "How many."}}}}


def write(path: Path, form: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(form if isinstance(form, str) else json.dumps(form))
    return path


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (ABI, "Given"),
        ({"abi": ABI, "bytecode": {"object": "0x"}}, "Given"),  # Foundry
        ({"_format": "hh-sol-artifact-1", "contractName": "Own", "abi": ABI}, "Own"),  # Hardhat
        ({"contractName": "Own", "abi": ABI, "metadata": "{}", "networks": {}}, "Own"),  # Truffle
        ({"contracts": {"A.sol": {"Own": {"abi": ABI, "evm": {}}}}}, "Own"),  # solc
        ({"contracts": {"A.sol:Own": {"abi": ABI, "bin": ""}}}, "Own"),  # solc --combined-json
        ({"output": {"contracts": {"A.sol": {"Own": {"abi": ABI}}}}}, "Own"),  # build info
    ],
)
def test_every_form_of_a_file(tmp_path: Path, form: object, name: str) -> None:
    interface = read_abi_file(write(tmp_path / "Given.json", form))
    assert (interface.name, interface.source) == (name, "file")
    assert [function.signature for function in interface.functions] == ["f(uint8)"]


def test_real_artifacts() -> None:
    router = read_abi_file(find_uniswap_artifact("v2-periphery", "UniswapV2Router02"))
    assert (router.name, len(router.functions)) == ("UniswapV2Router02", 24)
    governor = read_abi_file(find_openzeppelin_artifact("Governor"))
    assert governor.name == "Governor"
    assert governor.warnings == ()


def test_a_contract_of_several_is_named(tmp_path: Path) -> None:
    contracts = {"A": {"abi": ABI, "devdoc": DEVDOC}, "B": {"abi": OTHER_ABI}}
    path = write(tmp_path / "all.json", {"contracts": {"A.sol": contracts}})
    assert read_abi_file(path, "B").functions[0].name == "g"
    [function] = read_abi_file(path, "A").functions
    assert (function.description, function.parameters[0].description) == ("Does it.", "How many.")
    with pytest.raises(ConfigError, match=r"has 2 contracts; name one with --contract: A, B"):
        read_abi_file(path)
    with pytest.raises(ConfigError, match=r"has no contract C; there are A, B"):
        read_abi_file(path, "C")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\udcff", "not JSON"),
        ("{}", "has no ABI; pass a JSON file"),
        ("5", "has no ABI"),
        ('{"abi": 5}', "has no ABI"),
        ('{"contracts": {"A.sol": {}}}', "has no ABI"),
        ('{"contracts": {"A.sol": {"A": {"abi": 5}}}}', "has no contract A"),
    ],
)
def test_a_file_without_an_abi(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=message):
        read_abi_file(path)


def test_a_file_that_is_missing_or_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_abi_file(tmp_path / "none.json")
    path = write(tmp_path / "a.json", ABI)
    monkeypatch.setattr(abi_files, "MAX_FILE_BYTES", path.stat().st_size)
    assert read_abi_file(path).functions
    monkeypatch.setattr(abi_files, "MAX_FILE_BYTES", path.stat().st_size - 1)
    with pytest.raises(ConfigError, match="must have at most"):
        read_abi_file(path)


def build_hardhat(folder: Path, *, has_info: bool = True) -> Path:
    """Write a compiled Hardhat project; its artifacts have no comments, its build info has."""
    output = folder / "artifacts/contracts/Token.sol"
    source = "contracts/Token.sol"
    artifact = {"contractName": "Token", "sourceName": source, "abi": ABI}
    write(output / "Token.json", artifact)
    write(output / "Token.dbg.json", {"buildInfo": "../../build-info/1.json"})
    if has_info:
        contracts = {source: {"Token": {"abi": ABI, "devdoc": DEVDOC}}}
        write(folder / "artifacts/build-info/1.json", {"output": {"contracts": contracts}})
    return folder


def build_foundry(folder: Path) -> Path:
    """Write a compiled Foundry project."""
    metadata: Any = {"output": {"devdoc": DEVDOC}}
    write(folder / "out/Token.sol/Token.json", {"abi": ABI, "metadata": metadata})
    return folder


@pytest.mark.parametrize("build", [build_foundry, build_hardhat])
def test_a_project_with_comments(tmp_path: Path, build: Any) -> None:  # noqa: ANN401 - a builder
    interface = read_project(build(tmp_path), "Token")
    assert (interface.name, interface.source) == ("Token", "project")
    assert interface.functions[0].description == "Does it."
    with pytest.raises(ConfigError, match=r"has no contract Toke; did you mean Token\?"):
        read_project(tmp_path, "Toke")
    with pytest.raises(ConfigError, match=r"has no contract Vault; there are Token"):
        read_project(tmp_path, "Vault")


def test_a_project_without_its_build_info(tmp_path: Path) -> None:
    interface = read_project(build_hardhat(tmp_path, has_info=False), "Token")
    assert interface.functions[0].description == ""


def test_contracts_of_one_name(tmp_path: Path) -> None:
    build_foundry(tmp_path)
    same = write(tmp_path / "out/Copy.sol/Token.json", {"abi": ABI})
    assert read_project(tmp_path, "Token").functions[0].name == "f"
    write(same, {"abi": OTHER_ABI})
    with pytest.raises(ConfigError, match=r"has 2 contracts Token; .*Copy.sol:Token"):
        read_project(tmp_path, "Token")
    assert read_project(tmp_path, "Copy.sol:Token").functions[0].name == "g"


def test_a_project_that_is_not_compiled(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run `forge build` or `npx hardhat compile`"):
        read_project(tmp_path, "Token")
    build_foundry(tmp_path)
    write(tmp_path / "out/Bad.sol/Bad.json", {"abi": "none"})
    with pytest.raises(ConfigError, match="not an artifact; compile the project again"):
        read_project(tmp_path, "Bad")
