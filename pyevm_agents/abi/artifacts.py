"""Artifacts of Foundry, Hardhat and solc: folders of artifacts, and the contents."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.values import (
    MAX_ABI_ENTRIES,
    ErrorDefinition,
    EventDefinition,
    FunctionDefinition,
    compute_topic,
    is_contract_name,
    parse_abi_entry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOUNDRY_FILE = "foundry.toml"
FOUNDRY_FOLDER = "out"
HARDHAT_FOLDER = "artifacts"
"""Default output folders of Foundry and Hardhat."""

OTHER_FOLDERS = frozenset(("build-info", "cache", "node_modules"))
"""Folders without artifacts."""

DEBUG_SUFFIX = ".dbg.json"
"""Of Hardhat's files that name the input of a compilation."""

MAX_CODE_BYTES = 1 << 20
MAX_GAPS = 4_096
MAX_WALKED_FILES = 100_000
MAX_FILE_CONTRACTS = 4_096
"""The most contracts of one file of a compiler's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGap:
    """Bytes of a runtime code that a deployment fills in: an immutable, or a library's address."""

    start: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractDescription:
    """The name, the ABI and the runtime code of a contract."""

    name: str
    errors: Mapping[bytes, ErrorDefinition] = field(default_factory=dict)
    """By selector."""

    functions: Mapping[bytes, FunctionDefinition] = field(default_factory=dict)
    """By selector."""

    events: Mapping[bytes, EventDefinition] = field(default_factory=dict)
    """By first topic, the hash of the signature."""

    runtime_code: bytes = b""
    """Empty if unknown, and for interfaces and abstract contracts."""

    gaps: tuple[CodeGap, ...] = ()


# -- contents -- #


def describe_contract(
    name: str, abi: Sequence[object], runtime_code: bytes = b"", gaps: Sequence[CodeGap] = ()
) -> ContractDescription:
    """Return the description of a contract. ABI entries that are malformed are left out."""
    errors: dict[bytes, ErrorDefinition] = {}
    functions: dict[bytes, FunctionDefinition] = {}
    events: dict[bytes, EventDefinition] = {}
    for entry in abi[:MAX_ABI_ENTRIES]:
        definition = parse_abi_entry(entry)
        if definition is None:
            continue
        topic = compute_topic(definition.signature)
        match definition:
            case ErrorDefinition():
                errors[topic[:SELECTOR_BYTES]] = definition
            case FunctionDefinition():
                functions[topic[:SELECTOR_BYTES]] = definition
            case EventDefinition():
                events[topic] = definition
    return ContractDescription(
        name=name,
        errors=errors,
        functions=functions,
        events=events,
        runtime_code=runtime_code,
        gaps=tuple(gaps[:MAX_GAPS]),
    )


def read_artifact(form: object, name: str) -> ContractDescription | None:
    """Return the contract of an artifact; None if the JSON value is not an artifact.

    Input: the JSON value of an artifact of Foundry or Hardhat, or of a contract in solc's output;
           the contract's name if the artifact has none.
    """
    if not isinstance(form, Mapping) or not isinstance(form.get("abi"), list):
        return None
    own_name = form.get("contractName")
    bytecode: Any = _get_mapping(form, "evm").get("deployedBytecode", form.get("deployedBytecode"))
    if bytecode is None:
        bytecode = form.get("bin-runtime")
    # Hardhat has the code and the references next to each other; Foundry and solc nest them.
    references = bytecode if isinstance(bytecode, Mapping) else form
    code = bytecode.get("object") if isinstance(bytecode, Mapping) else bytecode
    links = references.get("linkReferences", form.get("deployedLinkReferences"))
    if not isinstance(bytecode, Mapping):
        links = form.get("deployedLinkReferences")
    gaps = [*_iter_gaps(references.get("immutableReferences"))]
    for by_name in links.values() if isinstance(links, Mapping) else ():
        gaps += _iter_gaps(by_name)
    return describe_contract(
        str(own_name) if is_contract_name(own_name) else name,
        form["abi"],
        _parse_code(code, gaps),
        gaps,
    )


def read_contracts(form: object, name: str) -> tuple[ContractDescription, ...]:
    """Return the contracts of a compiler's output; none if the JSON value is something else.

    Input: the JSON value of an artifact of Foundry or Hardhat, of an ABI alone, or of solc's output
           (`--standard-json`, `--combined-json`, Hardhat's build info); the name of a contract
           whose form has none.
    """
    if isinstance(form, list):
        is_abi = any(parse_abi_entry(entry) is not None for entry in form[:MAX_ABI_ENTRIES])
        return (describe_contract(name, form),) if is_abi else ()
    single = read_artifact(form, name)
    if single is not None:
        return (single,)
    if not isinstance(form, Mapping):
        return ()
    found = (read_artifact(*pair) for pair in iter_output_forms(form))
    return tuple(islice(filter(None, found), MAX_FILE_CONTRACTS))


def iter_output_forms(form: Mapping[str, Any]) -> Iterator[tuple[object, str]]:
    """Yield the forms and the names of the contracts in solc's output, or in a build info."""
    contracts = _get_mapping(_get_mapping(form, "output"), "contracts")
    for file, by_name in (contracts or _get_mapping(form, "contracts")).items():
        path, colon, name = file.rpartition(":")
        if colon and path and is_contract_name(name) and isinstance(by_name, Mapping):
            yield by_name, name  # --combined-json has one key for a file and a contract.
        elif isinstance(by_name, Mapping):
            yield from ((each, key) for key, each in by_name.items() if is_contract_name(key))


def _parse_code(code: object, gaps: Sequence[CodeGap]) -> bytes:
    """Return runtime code, with zeros in place of libraries; empty if malformed."""
    if not isinstance(code, str) or len(code) > 2 * MAX_CODE_BYTES:
        return b""
    digits = code.removeprefix("0x")
    for gap in gaps:  # Placeholders of libraries are not hexadecimal.
        start, end = 2 * gap.start, 2 * (gap.start + gap.length)
        digits = digits[:start] + "0" * len(digits[start:end]) + digits[end:]
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""


def _iter_gaps(references: object) -> Iterator[CodeGap]:
    """Yield the places in `{id: [{"start": …, "length": …}, …]}`."""
    lists = references.values() if isinstance(references, Mapping) else ()
    for places in lists:
        for place in places if isinstance(places, list) else ():
            match place:
                case {"start": int(start), "length": int(length)} if (
                    min(start, length) >= 0 and max(start, length) <= MAX_CODE_BYTES
                ):
                    yield CodeGap(start=start, length=length)
                case _:
                    pass


def _get_mapping(form: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = form.get(key)
    return value if isinstance(value, Mapping) else {}


# -- folders -- #


def list_output_folders(folder: Path) -> tuple[Path, Path]:
    """Return the folders that Foundry and Hardhat write to in a project's folder."""
    return folder / _read_foundry_folder(folder), folder / HARDHAT_FOLDER


def find_output_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders with the output of Foundry and Hardhat in a project's folder."""
    foundry, hardhat = list_output_folders(folder)
    is_foundry = foundry.is_dir() and any(foundry.glob("*.sol/*.json"))
    is_hardhat = (hardhat / "contracts").is_dir()
    return tuple(
        output for output, exists in ((foundry, is_foundry), (hardhat, is_hardhat)) if exists
    )


def iter_artifact_files(folder: Path) -> Iterator[Path]:
    """Yield the JSON files below a folder that may be artifacts, in order.

    A folder with more than `MAX_WALKED_FILES` other files is left unfinished.
    """
    left_files = MAX_WALKED_FILES
    for parent, folders, files in os.walk(folder):
        left_files -= len(files) + 1
        if left_files < 0:
            return
        folders[:] = sorted(name for name in folders if name not in OTHER_FOLDERS)
        for name in sorted(files):
            if name.endswith(".json") and not name.endswith(DEBUG_SUFFIX):
                yield Path(parent, name)


def get_contract_name(file: Path) -> str:
    """Return the name of a contract by the artifact's file name.

    Foundry writes `Token.0.8.20.json` if a project has several versions of the compiler.
    """
    return file.name.partition(".")[0]


def _read_foundry_folder(folder: Path) -> str:
    """Return the name of the folder that Foundry compiles into."""
    try:
        form = tomllib.loads((folder / FOUNDRY_FILE).read_text(encoding="utf-8"))
        return str(form["profile"]["default"]["out"])
    except (OSError, ValueError, KeyError, TypeError):
        return FOUNDRY_FOLDER
