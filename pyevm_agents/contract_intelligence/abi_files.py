"""ABIs in files: alone, in an artifact, in a compiler's output, in a Foundry or Hardhat project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import orjson

from pyevm_agents.abi.artifacts import (
    DEBUG_SUFFIX,
    MAX_FILE_CONTRACTS,
    find_output_folders,
    get_contract_name,
    iter_artifact_files,
    iter_output_forms,
    read_artifact,
)
from pyevm_agents.abi.values import parse_abi_entry
from pyevm_agents.contract_intelligence.function_abi import ContractInterface, read_interface
from pyevm_agents.contract_intelligence.human_readable_abi import expand_entry
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyevm_agents.abi.artifacts import ContractDescription

MAX_FILE_BYTES = 256 << 20
"""Bytes of a file that is read. Build infos of large projects have some 100 MB."""

SHOWN_NAMES = 8
"""Names of contracts in a message."""


def read_abi_file(path: Path, contract: str | None = None) -> ContractInterface:
    """Return the interface that a file describes.

    Input:  the file; the name of the contract, for a file with several.
    Raises: ConfigError: the file has no ABI, or several and no name is given.
    """
    form = _read_json(path)
    single = read_interface(form, name=contract or get_contract_name(path), source="file")
    if single is not None:
        return single
    forms = {}
    if isinstance(form, Mapping):
        forms = {name: each for each, name in iter_output_forms(form)}
    if not forms:
        raise ConfigError(
            f"{path}: has no ABI; pass a JSON file with an ABI, or with an artifact of Foundry, "
            "Hardhat, Truffle or solc"
        )
    if contract is None and len(forms) > 1:
        raise ConfigError(
            f"{path}: has {len(forms)} contracts; name one with --contract: {_list_names(forms)}"
        )
    name = next(iter(forms)) if contract is None else contract
    found = read_interface(forms.get(name), name=name, source="file")
    if found is None:
        raise ConfigError(f"{path}: has no contract {name}; {_suggest(name, forms)}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractAbi:
    """A contract of a file: name, ABI, and runtime code if the file has any."""

    name: str
    entries: tuple[object, ...]
    """In JSON, as compilers write it."""

    description: ContractDescription


def read_abis(path: Path) -> tuple[ContractAbi, ...]:
    """Return all contracts that a file describes, for texts that name their errors.

    Raises: ConfigError: the file has no ABI.
    """
    form, own = _read_json(path), get_contract_name(path)
    forms: list[tuple[object, str]] = [({"abi": form} if isinstance(form, list) else form, own)]
    if isinstance(form, Mapping) and "abi" not in form:
        forms = [*iter_output_forms(form)][:MAX_FILE_CONTRACTS]
    found = [_read_abi(each, name) for each, name in forms]
    read = tuple(each for each in found if each is not None)
    if not read:
        raise ConfigError(
            f"{path}: has no ABI; pass a JSON file with an ABI, or with an artifact of Foundry, "
            "Hardhat, Truffle or solc"
        )
    return read


def _read_abi(form: object, name: str) -> ContractAbi | None:
    if not isinstance(form, Mapping) or not isinstance(form.get("abi"), list):
        return None
    entries = [expand_entry(each) for each in form["abi"]]
    description = read_artifact({**form, "abi": entries}, name)
    if description is None:
        return None
    kept = tuple(each for each in entries if parse_abi_entry(each) is not None)
    return ContractAbi(name=description.name, entries=kept, description=description)


def read_project(folder: Path, contract: str) -> ContractInterface:
    """Return the interface of a compiled contract of a Foundry or a Hardhat project.

    Input:  the project's folder; the contract's name, or `File.sol:Name` where several files have
            one of that name.
    Raises: ConfigError: the project is not compiled, or has no contract or several of the name.
    """
    outputs = find_output_folders(folder)
    if not outputs:
        raise ConfigError(
            f"{folder}: must have out/ or artifacts/ of a compiled project; run `forge build` or "
            "`npx hardhat compile` there"
        )
    source, _, name = contract.rpartition(":")
    files = [file for output in outputs for file in iter_artifact_files(output)]
    named = [file for file in files if get_contract_name(file) == name]
    matches = [file for file in named if _is_from(file, source)]
    if not matches:
        raise ConfigError(
            f"{folder}: has no contract {contract}; {_suggest(name, map(get_contract_name, files))}"
        )
    forms = {file: _read_json(file) for file in matches}
    if (
        len({orjson.dumps(_get_abi(form), option=orjson.OPT_SORT_KEYS) for form in forms.values()})
        > 1
    ):
        choices = ", ".join(f"{file.parent.name}:{name}" for file in matches[:SHOWN_NAMES])
        raise ConfigError(
            f"{folder}: has {len(matches)} contracts {name}; name one with --contract: {choices}"
        )
    file = matches[0]
    artifact = forms[file]
    if isinstance(artifact, Mapping):
        artifact = {**_read_build_info(file, name), **artifact}
    found = read_interface(artifact, name=name, source="project")
    if found is None:
        raise ConfigError(f"{file}: not an artifact; compile the project again")
    return found


def _is_from(file: Path, source: str) -> bool:
    return not source or file.parent.as_posix().endswith(source)


def _get_abi(form: object) -> object:
    return form.get("abi") if isinstance(form, Mapping) else None


def _read_build_info(file: Path, name: str) -> Mapping[str, Any]:
    """Return a contract's entry in Hardhat's build info, with the comments that artifacts lack."""
    try:
        link = orjson.loads(file.with_name(f"{name}{DEBUG_SUFFIX}").read_bytes())
        info = (file.parent / str(link["buildInfo"])).resolve()
        outputs = orjson.loads(info.read_bytes())["output"]["contracts"]
        form = outputs[orjson.loads(file.read_bytes())["sourceName"]][name]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    keys = ("devdoc", "userdoc", "metadata")
    return {key: form[key] for key in keys if isinstance(form, Mapping) and key in form}


def _read_json(path: Path) -> object:
    try:
        size_bytes = path.stat().st_size
        content = path.read_bytes() if size_bytes <= MAX_FILE_BYTES else None
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    if content is None:
        raise ConfigError(f"{path}: must have at most {MAX_FILE_BYTES >> 20} MiB")
    try:
        return orjson.loads(content)
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON; pass a file with an ABI or an artifact") from error


def _suggest(name: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {_list_names(names)}"


def _list_names(names: Iterable[str]) -> str:
    found: Sequence[str] = [clean_text(name, 80) for name in names]
    more = f" and {len(found) - SHOWN_NAMES} more" if len(found) > SHOWN_NAMES else ""
    return ", ".join(found[:SHOWN_NAMES]) + more
