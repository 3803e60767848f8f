"""Names of contracts, errors and functions, per chain."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector as selector_of

from pyevm_agents.abi.artifacts import CodeGap, ContractDescription, describe_contract
from pyevm_agents.abi.bundled import load_artifact_form
from pyevm_agents.abi.known_contracts import ArtifactFolders, KnownContracts, normalize_code
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.abi.values import ErrorDefinition, compute_topic
from pyevm_agents.agents.failures import Failure, RevertContext
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

METADATA = bytes.fromhex("a2646970667358") + b"\x12" * 44
METADATA += len(METADATA).to_bytes(2, "big")
OTHER_METADATA = METADATA.replace(b"\x12", b"\x34")


def error_entry(name: str, *types: str) -> dict[str, Any]:
    inputs = [{"name": f"a{at}", "type": text} for at, text in enumerate(types)]
    return {"type": "error", "name": name, "inputs": inputs}


def contract(name: str, code: bytes, *abi: object) -> ContractDescription:
    return describe_contract(name, abi, code)


def write_artifact(folder: Path, name: str, code: bytes, *abi: object) -> Path:
    file = folder / f"{name}.sol" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    form = {"abi": abi, "deployedBytecode": {"object": "0x" + code.hex()}}
    file.write_text(json.dumps(form))
    return file


def watch(*folders: Path, root: Path | None = None) -> KnownContracts:
    """Return known contracts whose look-ups wait for a whole scan, each time."""
    known = KnownContracts()
    known.watch(ArtifactFolders(folders, root=root, wait_seconds=None, rescan_seconds=0))
    return known


def test_two_chains_of_one_process_do_not_share_names() -> None:
    data = selector_of("Undone(uint256)") + encode(["uint256"], [7])
    here, there = KnownContracts(), KnownContracts()
    here.add(contract("Shop", b"\x60", error_entry("Undone", "uint256")))
    assert decode_revert(data, here) == "Undone(a0=7)"
    assert decode_revert(data, there) == "0x" + data.hex()
    assert (here.find_name(b"\x60"), there.find_name(b"\x60")) == ("Shop", None)


def test_bundled_contracts_are_known_by_code_error_and_function() -> None:
    form = load_artifact_form("CounterTool")
    known = KnownContracts()
    assert known.find_name(bytes.fromhex(form["deployedBytecode"][2:])) == "CounterTool"
    assert known.find_function(selector_of("description()")) == "description()"
    assert known.find_errors(selector_of("UnknownModel(string)"))[0][1].name == "UnknownModel"
    assert known.find_name(b"") is None


@pytest.mark.parametrize(
    ("deployed", "is_same"),
    [
        pytest.param(b"\x60" + b"\x99" * 4 + b"\x01" + METADATA, True, id="immutable"),
        pytest.param(b"\x60" + b"\x99" * 4 + b"\x01" + OTHER_METADATA, True, id="metadata"),
        pytest.param(b"\x60" + b"\x99" * 4 + b"\x01", True, id="no metadata"),
        pytest.param(b"\x61" + b"\x99" * 4 + b"\x01" + METADATA, False, id="other code"),
        pytest.param(b"\x60" + b"\x99" * 5 + b"\x01" + METADATA, False, id="other length"),
    ],
)
def test_code_is_compared_without_immutables_and_metadata(
    deployed: bytes, *, is_same: bool
) -> None:
    known = KnownContracts()
    code = b"\x60" + bytes(4) + b"\x01" + METADATA
    known.add(describe_contract("Vault", [], code, [CodeGap(start=1, length=4)]))
    assert known.find_name(deployed) == ("Vault" if is_same else None)


def test_a_deployed_library_is_found_with_its_own_address_in_its_code() -> None:
    known = KnownContracts()
    known.add(contract("Lib", b"\x73" + bytes(20) + b"\x30\x14"))
    assert known.find_name(b"\x73" + b"\xaa" * 20 + b"\x30\x14") == "Lib"


@pytest.mark.parametrize("code", [b"", b"\x00", b"\x00\x00", b"\xa1\x00\x01", b"\xff" * 40])
def test_code_without_metadata_is_whole(code: bytes) -> None:
    assert normalize_code(code) == code


def collide(*definitions: tuple[str, ErrorDefinition]) -> tuple[KnownContracts, bytes]:
    """Return contracts whose errors have one selector, and a revert with it."""
    selector = b"\xab\xcd\xef\x01"
    known = KnownContracts()
    known.add(
        *(
            ContractDescription(name=name, errors={selector: error}, runtime_code=name.encode())
            for name, error in definitions
        )
    )
    return known, selector + encode(["uint256"], [5])


def error(name: str, *types: str) -> ErrorDefinition:
    return ErrorDefinition(name=name, types=types, argument_names=("",) * len(types))


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        pytest.param([], "Second(5) or First(5)", id="unknown contract"),
        pytest.param([b"A"], "First(5)", id="the one of the contract"),
        pytest.param([b"B", b"A"], "Second(5)", id="the innermost"),
        pytest.param([b"\x00", b"A"], "First(5)", id="the next that is known"),
    ],
)
def test_of_two_errors_with_one_selector_the_contracts_own_is_shown(
    codes: Sequence[bytes], text: str
) -> None:
    known, data = collide(("A", error("First", "uint256")), ("B", error("Second", "uint256")))
    assert decode_revert(data, known, codes=codes) == text
    failure = Failure(data=data, context=RevertContext(codes=tuple(codes)))
    assert failure.explain(known) == text
    assert failure.without_codes().explain(known, codes) == text


def test_an_error_that_does_not_fit_the_data_is_not_shown() -> None:
    known, data = collide(("A", error("First", "string")), ("B", error("Second", "uint256")))
    assert decode_revert(data, known) == "Second(5)"


def test_shared_bytes_of_arrays_are_not_decoded() -> None:
    known = KnownContracts()
    known.add(contract("Bomb", b"", error_entry("Bomb", "bytes[]")))
    offsets = [32 * 2_000] * 2_000
    words = [32, len(offsets), *offsets, 32 * 2_000, *[0] * 2_000]
    data = selector_of("Bomb(bytes[])") + b"".join(word.to_bytes(32, "big") for word in words)
    assert decode_revert(data, known) == "0x" + data.hex()


def test_at_most_so_many_contracts_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyevm_agents.abi.known_contracts.MAX_CONTRACTS", 2)
    known = KnownContracts()
    known.add(contract("A", b"a"), contract("B", b"b"))
    known.add(contract("A", b"a"))  # In place of the first.
    with pytest.raises(ConfigError, match="3 known contracts: must be at most 2; restart the node"):
        known.add(contract("C", b"c"))


# -- folders -- #


def test_folders_are_read_when_a_look_up_needs_them_and_again_when_they_change(
    tmp_path: Path,
) -> None:
    known = watch(tmp_path)
    assert known.find_name(b"\x60\x01") is None
    write_artifact(tmp_path, "Vault", b"\x60\x01", error_entry("Undone"))
    assert known.find_name(b"\x60\x01") == "Vault"
    assert decode_revert(selector_of("Undone()"), known) == "Undone()"
    file = write_artifact(tmp_path, "Vault", b"\x60\x02\x03", error_entry("Failed"))
    os.utime(file, ns=(1, 1))
    assert decode_revert(selector_of("Failed()"), known) == "Failed()"
    assert known.find_name(b"\x60\x02\x03") == "Vault"
    assert known.find_name(b"\x60\x01") is None


def test_those_in_folders_come_before_bundled_ones_in_the_first_look_up(tmp_path: Path) -> None:
    signatures = {"error": "UnknownModel(string)", "function": "run(bytes,address)"}
    for kind, signature in signatures.items():
        name, _, types = signature.partition("(")
        inputs = [
            {"name": f"own{at}", "type": text, "indexed": False}
            for at, text in enumerate(types.removesuffix(")").split(","))
        ]
        folder = tmp_path / kind
        write_artifact(folder, "Own", b"\x60", {"type": kind, "name": name, "inputs": inputs})
    selector = selector_of(signatures["error"])
    assert watch(tmp_path).find_errors(selector)[0][0] == "Own"
    data = selector + encode(["string"], ["x"])
    assert decode_revert(data, watch(tmp_path)) == "UnknownModel(own0='x')"
    function = watch(tmp_path).find_function_definition(selector_of(signatures["function"]))
    assert function is not None
    assert function.argument_names == ("own0", "own1")


def test_added_contracts_come_before_those_in_folders(tmp_path: Path) -> None:
    write_artifact(tmp_path, "Old", b"\x60\x01")
    known = watch(tmp_path)
    assert known.find_name(b"\x60\x01") == "Old"
    known.add(contract("New", b"\x60\x01"))
    assert known.find_name(b"\x60\x01") == "New"


def test_foreign_and_broken_files_are_skipped(tmp_path: Path) -> None:
    write_artifact(tmp_path, "Vault", b"\x60\x01")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "foreign.json").write_text('{"abi": 1}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    folders = ArtifactFolders([tmp_path])
    assert folders.load() == 1


def test_a_projects_folder_is_searched_for_output(tmp_path: Path) -> None:
    known = watch(root=tmp_path)
    assert known.find_name(b"\x60\x01") is None
    write_artifact(tmp_path / "out", "Vault", b"\x60\x01")
    assert known.find_name(b"\x60\x01") == "Vault"


def test_named_folders_must_hold_artifacts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere: no such file or folder; compile the contr"):
        ArtifactFolders([tmp_path / "nowhere"]).load()
    (tmp_path / "foreign.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"holds no artifact of Foundry, Hardhat or solc"):
        ArtifactFolders([tmp_path]).load()


def test_a_contracts_own_function_takes_precedence() -> None:
    def entry(argument: str) -> dict[str, Any]:
        inputs = [{"name": argument, "type": "uint256"}]
        return {"type": "function", "name": "add", "inputs": inputs}

    known = KnownContracts()
    known.add(contract("One", b"\x60", entry("first")), contract("Two", b"\x61", entry("second")))
    selector = selector_of("add(uint256)")
    for name, argument in (("One", "first"), ("Two", "second")):
        function = known.find_function_definition(selector, name)
        assert function is not None
        assert function.argument_names == (argument,)
    assert known.find_function_definition(selector) is not None
    assert known.find_function_definition(b"\x00" * 4) is None


def test_events_of_one_signature_differ_by_their_topics() -> None:
    def entry(indexed: list[bool]) -> dict[str, Any]:
        inputs = [{"name": "", "type": "address", "indexed": each} for each in indexed]
        return {"type": "event", "name": "Moved", "inputs": inputs}

    known = KnownContracts()
    known.add(contract("A", b"\x60", entry([True, False])))
    known.add(contract("B", b"\x61", entry([True, True])))
    topic = compute_topic("Moved(address,address)")
    found = [known.find_event(topic, topics) for topics in (1, 2, 3)]
    assert [None if event is None else event.indexed for event in found] == [
        None,
        (True, False),
        (True, True),
    ]
    transfer = known.find_event(compute_topic("Transfer(address,address,uint256)"), 3)
    assert transfer is not None  # Of a bundled contract.


def test_a_named_file_holds_contracts(tmp_path: Path) -> None:
    abi = tmp_path / "Shop.json"
    abi.write_text(json.dumps([error_entry("Undone", "uint256")]))
    known = watch(abi)
    assert [name for name, _ in known.find_errors(selector_of("Undone(uint256)"))] == ["Shop"]
    assert ArtifactFolders([abi]).load() == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", r"artifacts .*bad\.json: not JSON: unexpected end of data.*compile the contracts"),
        ("{}", r"artifacts .*bad\.json: holds no artifact of Foundry, Hardhat or solc, and no ABI"),
    ],
)
def test_a_file_without_contracts_is_refused_by_name(
    tmp_path: Path, text: str, reason: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    with pytest.raises(ConfigError, match=reason):
        ArtifactFolders([bad]).load()


def test_files_that_cannot_be_read_are_listed(tmp_path: Path) -> None:
    write_artifact(tmp_path, "Vault", b"\x60\x01")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "foreign.json").write_text("{}")
    folders = ArtifactFolders([tmp_path])
    assert folders.load() == 1
    [(file, reason)] = folders.list_problems().items()
    assert file.name == "broken.json"
    assert reason.startswith("not JSON: ")
