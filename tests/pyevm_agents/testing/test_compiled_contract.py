"""Reading and linking of artifacts of Foundry, Hardhat and solc."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.compiled_contract import CompiledContract, read_contract

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = "0x" + "57" * 20
HOLE = "__$0123456789abcdef0123456789abcdef01$__"[:40]
CODE = "0x6001" + HOLE + "6002" + HOLE
LINKS = {"src/Maths.sol": {"Maths": [{"start": 2, "length": 20}, {"start": 24, "length": 20}]}}
LINKED = bytes.fromhex("6001" + "57" * 20 + "6002" + "57" * 20)


def read(folder: Path, form: object) -> CompiledContract:
    file = folder / "Vault.json"
    file.write_text(json.dumps(form))
    found = read_contract(file)
    assert found is not None
    return found


FORMS: dict[str, Any] = {
    "Foundry": {"abi": [], "bytecode": {"object": CODE, "linkReferences": LINKS}},
    "Hardhat": {"abi": [], "contractName": "Vault", "bytecode": CODE, "linkReferences": LINKS},
    "solc": {
        "abi": [],
        "evm": {"bytecode": {"object": CODE.removeprefix("0x"), "linkReferences": LINKS}},
    },
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("name", ["Maths", "src/Maths.sol:Maths"])
def test_libraries_are_linked(tmp_path: Path, kind: str, name: str) -> None:
    contract = read(tmp_path, FORMS[kind])
    assert contract.name == "Vault"
    assert contract.build_creation_data((), {}, {name: LIBRARY}) == LINKED


@pytest.mark.parametrize("kind", FORMS)
def test_a_library_that_is_not_linked_is_named(tmp_path: Path, kind: str) -> None:
    contract = read(tmp_path, FORMS[kind])
    with pytest.raises(ConfigError, match=r"Vault needs the library Maths of src/Maths.sol"):
        contract.build_creation_data((), {}, {})
    with pytest.raises(ConfigError, match=r"Vault is not linked to Math; its libraries: Maths"):
        contract.build_creation_data((), {}, {"Math": LIBRARY})


def test_a_contract_of_ours_is_read() -> None:
    from pyevm_agents.testing.artifacts import ArtifactFinder  # noqa: PLC0415 - finds it

    found = ArtifactFinder().find("pyevm_agents:DemoToken")
    wanted = load_artifact("DemoToken").encode_creation("Dollar", "USD", 6, 10)
    assert (
        found.build_creation_data(("Dollar", "USD"), {"decimals": 6, "totalSupply": 10}, {})
        == wanted
    )


@pytest.mark.parametrize("form", [[], {}, {"abi": {}}, {"id": "1", "output": {}}, "abi"])
def test_what_is_no_artifact_is_none(tmp_path: Path, form: object) -> None:
    file = tmp_path / "Vault.json"
    file.write_text(json.dumps(form))
    assert read_contract(file) is None


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "Vault.json"
    file.write_text("{")
    with pytest.raises(ConfigError, match=r"Vault.json can't be read: .*compile it again"):
        read_contract(file)


@pytest.mark.parametrize("code", ["", "0x"])
def test_an_interface_is_not_deployed(tmp_path: Path, code: str) -> None:
    contract = read(tmp_path, {"abi": [], "bytecode": {"object": code}})
    assert not contract.is_deployable
    with pytest.raises(ConfigError, match="Vault can't be deployed: it has no code"):
        contract.build_creation_data((), {}, {})
