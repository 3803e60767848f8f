"""Artifacts of Foundry, Hardhat and solc, and everything that is not one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyevm_agents.abi.artifacts import (
    CodeGap,
    find_output_folders,
    iter_artifact_files,
    read_artifact,
    read_contracts,
)
from pyevm_agents.abi.values import is_abi_type, parse_abi_entry

if TYPE_CHECKING:
    from pathlib import Path

UNDONE = {"type": "error", "name": "Undone", "inputs": [{"name": "why", "type": "uint256"}]}
SEND = {
    "type": "function",
    "name": "send",
    "inputs": [
        {
            "name": "order",
            "type": "tuple[]",
            "components": [
                {"name": "to", "type": "address"},
                {"name": "tag", "type": "tuple", "components": [{"name": "", "type": "bytes4"}]},
            ],
        }
    ],
}
ABI = [UNDONE, SEND, {"type": "event", "name": "Done", "inputs": []}]
REFERENCES = {"7": [{"start": 1, "length": 2}]}
LINKS = {"Lib.sol": {"Lib": [{"start": 4, "length": 1}]}}
CODE = "0x6000006000__60"

FORMS = {
    "Foundry": {
        "abi": ABI,
        "deployedBytecode": {
            "object": CODE,
            "immutableReferences": REFERENCES,
            "linkReferences": LINKS,
        },
    },
    "Hardhat": {
        "contractName": "Vault",
        "abi": ABI,
        "deployedBytecode": CODE,
        "deployedLinkReferences": LINKS,
        "immutableReferences": REFERENCES,
        "linkReferences": {"Lib.sol": {"Lib": [{"start": 0, "length": 1}]}},
    },
    "solc": {
        "abi": ABI,
        "evm": {
            "deployedBytecode": {
                "object": CODE.removeprefix("0x"),
                "immutableReferences": REFERENCES,
                "linkReferences": LINKS,
            }
        },
    },
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_artifacts_of_three_compilers_are_read_alike(form: object) -> None:
    form = json.loads(json.dumps(form).replace("6000__60", "60__0060"))
    contract = read_artifact(form, "Vault")
    assert contract is not None
    assert contract.name == "Vault"
    assert [error.signature for error in contract.errors.values()] == ["Undone(uint256)"]
    assert [function.signature for function in contract.functions.values()] == [
        "send((address,(bytes4))[])"
    ]
    assert [event.signature for event in contract.events.values()] == ["Done()"]
    assert contract.runtime_code == bytes.fromhex("60000060000060")
    assert contract.gaps == (CodeGap(start=1, length=2), CodeGap(start=4, length=1))


def contracts_of(form: object) -> list[tuple[str, bytes, int]]:
    """Return the names, the runtime codes and the numbers of functions of a form's contracts."""
    return [(c.name, c.runtime_code, len(c.functions)) for c in read_contracts(form, "File")]


SOLC = {"a.sol": {"Vault": {"abi": ABI, "evm": {"deployedBytecode": {"object": "60"}}}}}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"contracts": SOLC, "sources": {}}, [("Vault", b"\x60", 1)]),
        ({"input": {}, "output": {"contracts": SOLC}}, [("Vault", b"\x60", 1)]),
        (
            {"contracts": {"a.sol:Vault": {"abi": ABI, "bin-runtime": "6001"}}, "version": "0.8"},
            [("Vault", b"\x60\x01", 1)],
        ),
        (ABI, [("File", b"", 1)]),
        ({"abi": ABI, "contractName": "Shop"}, [("Shop", b"", 1)]),
        ([], []),
        ([1, {"type": "other"}], []),
        ({"contracts": {"a.sol": {"not a name": {"abi": ABI}, "Vault": 1}}}, []),
        ({"contracts": []}, []),
        ({"name": "package", "dependencies": {}}, []),
        (7, []),
    ],
)
def test_the_outputs_of_compilers_have_contracts(form: object, expected: object) -> None:
    assert contracts_of(form) == expected


KEYS = (
    *("abi", "type", "name", "inputs", "components", "evm", "object", "start", "length"),
    *("deployedBytecode", "immutableReferences", "linkReferences"),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("tuple"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner | st.sampled_from(["error", "function", "0x60"]),
            max_size=5,
        )
    ),
)


@example(form={}, entry={"type": []})
@given(form=values, entry=values)
def test_foreign_json_is_no_artifact_and_no_failure(form: object, entry: object) -> None:
    read_contracts(form, "X")
    read_contracts({"contracts": form}, "X")
    read_artifact({"abi": [entry, form], "deployedBytecode": form}, "X")
    parse_abi_entry(entry)


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("uint256", True),
        ("(address,bytes4[])[3]", True),
        ("uint257", False),
        ("uint256[0]", False),
        ("uint256[100000]", False),
        ("()[9]", False),
        ("(uint256", False),
        ("", False),
        ("(" * 2_000, False),
    ],
)
def test_types_that_cannot_be_decoded_are_refused(text: str, *, is_right: bool) -> None:
    assert is_abi_type(text) == is_right


def test_output_folders_are_those_of_foundry_and_hardhat(tmp_path: Path) -> None:
    assert find_output_folders(tmp_path) == ()
    (tmp_path / "foundry.toml").write_text('[profile.default]\nout = "build"\n')
    for name in (
        "build/Vault.sol/Vault.json",
        "build/build-info/1.json",
        "artifacts/contracts/Vault.sol/Vault.json",
        "artifacts/contracts/Vault.sol/Vault.dbg.json",
        "artifacts/cache/x.json",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    folders = find_output_folders(tmp_path)
    assert folders == (tmp_path / "build", tmp_path / "artifacts")
    assert [file.name for folder in folders for file in iter_artifact_files(folder)] == [
        "Vault.json",
        "Vault.json",
    ]
