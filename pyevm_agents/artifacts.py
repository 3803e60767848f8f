"""Artifacts of Foundry, Hardhat and solc: the folders that hold them, and their contents."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_abi.exceptions import ABITypeError, ParseError
from eth_abi.grammar import parse
from eth_utils import function_signature_to_4byte_selector
from eth_utils.abi import collapse_if_tuple

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

MAX_ABI_ENTRIES = 4_096
MAX_TYPE_CHARACTERS = 1_024
MAX_NAME_CHARACTERS = 256
MAX_CODE_BYTES = 1 << 20
MAX_GAPS = 4_096
MAX_WALKED_FILES = 100_000
MAX_NESTING = 16
"""Tuples in each other, in a type."""

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_TYPE = re.compile(r"(?!.*\(\))[a-z0-9(),\[\]]+")
_FIXED_SIZE = re.compile(r"\[(?:0[0-9]*|[0-9]{5,})\]")
"""Array sizes of zero, or of more items than any error has."""

CACHED_SELECTORS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDefinition:
    """A custom error of a contract."""

    name: str
    types: tuple[str, ...]
    argument_names: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The name and the types, such as `Undone(uint256)`."""
        return f"{self.name}({','.join(self.types)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGap:
    """Bytes of a runtime code that a deployment fills in: an immutable, or a library's address."""

    start: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractDescription:
    """A contract as people know it: its name, its errors and functions, its runtime code."""

    name: str
    errors: Mapping[bytes, ErrorDefinition] = field(default_factory=dict)
    """By selector."""

    functions: Mapping[bytes, str] = field(default_factory=dict)
    """Signatures, such as `transfer(address,uint256)`, by selector."""

    runtime_code: bytes = b""
    """Empty if unknown, and for interfaces and abstract contracts."""

    gaps: tuple[CodeGap, ...] = ()


# -- contents -- #


def describe_contract(
    name: str, abi: Sequence[object], runtime_code: bytes = b"", gaps: Sequence[CodeGap] = ()
) -> ContractDescription:
    """Return the description of a contract. ABI entries that are malformed are left out."""
    errors, functions = {}, {}
    for entry in abi[:MAX_ABI_ENTRIES]:
        definition = parse_abi_entry(entry)
        if definition is None:
            continue
        kind, error = definition
        selector = _compute_selector(error.signature)
        if kind == "error":
            errors[selector] = error
        else:
            functions[selector] = error.signature
    return ContractDescription(
        name=name,
        errors=errors,
        functions=functions,
        runtime_code=runtime_code,
        gaps=tuple(gaps[:MAX_GAPS]),
    )


def parse_abi_entry(entry: object) -> tuple[str, ErrorDefinition] | None:
    """Return an error's or a function's kind and definition; None for other and malformed ones."""
    # A tuple: a malformed type may be unhashable.
    if not isinstance(entry, Mapping) or entry.get("type") not in ("error", "function"):
        return None
    name, inputs = entry.get("name"), entry.get("inputs", [])
    if not is_contract_name(name) or not isinstance(inputs, list | tuple):
        return None
    types = [_format_type(parameter) for parameter in inputs]
    if None in types or sum(len(text or "") for text in types) > MAX_TYPE_CHARACTERS:
        return None
    definition = ErrorDefinition(
        name=str(name),
        types=tuple(text for text in types if text is not None),
        argument_names=tuple(_format_name(parameter.get("name")) for parameter in inputs),
    )
    return str(entry["type"]), definition


def read_artifact(form: object, name: str) -> ContractDescription | None:
    """Return the contract of an artifact; None if the JSON value is not an artifact.

    Input: the JSON value of an artifact of Foundry or Hardhat, or of a contract in solc's output;
           the contract's name if the artifact has none.
    """
    if not isinstance(form, Mapping) or not isinstance(form.get("abi"), list):
        return None
    own_name = form.get("contractName")
    bytecode: Any = _get_mapping(form, "evm").get("deployedBytecode", form.get("deployedBytecode"))
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


def _parse_code(code: object, gaps: Sequence[CodeGap]) -> bytes:
    """Return runtime code, with zeros in place of libraries; empty if it is malformed."""
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


def is_contract_name(value: object) -> bool:
    """Return whether a value is a Solidity identifier of a reasonable length."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_NAME_CHARACTERS
        and _NAME.fullmatch(value) is not None
    )


def _format_name(value: object) -> str:
    return str(value) if is_contract_name(value) else ""


def _format_type(parameter: object) -> str | None:
    """Return a parameter's type with its tuples written out; None if it is malformed."""
    if not isinstance(parameter, Mapping) or not _is_well_formed(parameter):
        return None
    text = collapse_if_tuple(dict(parameter))
    return text if is_abi_type(text) else None


def _is_well_formed(parameter: Mapping[str, Any], depth: int = 0) -> bool:
    text, components = parameter.get("type"), parameter.get("components", [])
    if not isinstance(text, str) or depth > MAX_NESTING:
        return False
    if not text.startswith("tuple"):
        return True
    return isinstance(components, list) and all(
        isinstance(component, Mapping) and _is_well_formed(component, depth + 1)
        for component in components
    )


@lru_cache(CACHED_SELECTORS)
def is_abi_type(text: str) -> bool:
    """Return whether a text is an ABI type that decoding can handle within bounds."""
    if len(text) > MAX_TYPE_CHARACTERS or not _TYPE.fullmatch(text) or _FIXED_SIZE.search(text):
        return False
    try:
        parse(text).validate()
    except (ABITypeError, ParseError, ValueError):
        return False
    return True


@lru_cache(CACHED_SELECTORS)
def _compute_selector(signature: str) -> bytes:
    return bytes(function_signature_to_4byte_selector(signature))


# -- folders -- #


def find_output_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders with the output of Foundry and Hardhat in a project's folder."""
    foundry, hardhat = folder / _read_foundry_folder(folder), folder / HARDHAT_FOLDER
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
    """Return the name of a contract by its artifact's file name.

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
