"""The look-up of compiled contracts: of Foundry, Hardhat and this package, and by path."""

from __future__ import annotations

import sys
import warnings
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.abi.artifacts import find_output_folders, get_contract_name, iter_artifact_files
from pyevm_agents.abi.bundled import list_artifacts, load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.compiled_contract import CompiledContract, read_contract
from pyevm_agents.testing.inputs import format_value
from pyevm_agents.testing.source_files import StaleArtifactWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BUNDLED = "pyevm_agents"
"""The prefix, before a colon, of this package's own contracts."""


class ArtifactFinder:
    """Finds compiled contracts by name. Folders are listed once."""

    def __init__(self, folders: Sequence[Path] = (), *, root: Path | None = None) -> None:
        """Name folders, without reading.

        Input: folders of artifacts, with subfolders; if empty, the output of Foundry and Hardhat in
               `root` or the nearest folder above that has any; `root` is the working folder by
               default.
        """
        self._configured_folders = tuple(folders)
        self._root = Path.cwd() if root is None else root
        self._checked: set[Path] = set()

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """The folders of artifacts.

        Raises: ConfigError: a configured folder does not exist.
        """
        for folder in self._configured_folders:
            if not folder.is_dir():
                raise ConfigError(
                    f"artifact folder {folder}: not a folder; compile the contracts, or change "
                    "agent_artifacts"
                )
        return self._configured_folders or next(
            filter(None, map(find_output_folders, _iter_parents(self._root))), ()
        )

    def find(self, wanted: str | Path) -> CompiledContract:
        """Return a contract.

        Input:  a name, such as `Token`; with a part of the source's path if several contracts have
                the name, such as `v2/Token.sol:Token`; or the path of an artifact, relative to the
                root.
        Raises: ConfigError: no contract has the name, or several do.
        Warns:  StaleArtifactWarning: a source changed after the compilation; once per artifact.
        """
        if not isinstance(wanted, (str, Path)):
            raise ConfigError(
                f"deploy({format_value(wanted)}): must be a contract's name or the path of its "
                "artifact"
            )
        if isinstance(wanted, Path) or wanted.endswith(".json"):
            return self._check(self._read_path(Path(wanted)))
        source, _, name = wanted.rpartition(":")
        if source == BUNDLED:
            return _load_bundled(name)
        candidates = _select_candidates(
            [contract for file in self._files.get(name, ()) if (contract := read_contract(file))],
            source,
        )
        if len(candidates) > 1:
            raise self._build_ambiguity_error(name, candidates)
        if candidates:
            return self._check(candidates[0])
        if not source and name in list_artifacts():
            return _load_bundled(name)
        raise self._build_unknown_error(wanted, name)

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        files: dict[str, list[Path]] = {}
        for folder in self.folders:
            for file in iter_artifact_files(folder):
                files.setdefault(get_contract_name(file), []).append(file)
        return files

    def _check(self, contract: CompiledContract) -> CompiledContract:
        """Return a contract; warn, once, if sources changed since the compilation."""
        file, sources = contract.file, contract.sources
        if file is None or sources is None or file in self._checked:
            return contract
        changes = sources.describe_changes()
        if changes is not None:
            warnings.warn(
                f"stale artifact of {contract.name}: {changes} after it was compiled; run "
                f"{sources.build_command} ({file})",
                StaleArtifactWarning,
                stacklevel=_count_own_frames(),
            )
        self._checked.add(file)  # Not before: a filter may turn the warning into an error.
        return contract

    def _read_path(self, path: Path) -> CompiledContract:
        file = self._root / path.expanduser()
        if not file.is_file():
            raise ConfigError(f"there is no artifact {file}: compile the contracts, or check it")
        contract = read_contract(file)
        if contract is None:
            raise ConfigError(
                f"artifact {file}: must have an `abi`, in the form of Foundry, Hardhat or solc"
            )
        return contract

    def _build_ambiguity_error(self, name: str, contracts: list[CompiledContract]) -> ConfigError:
        files = [contract.file for contract in contracts if contract.file]
        names = [f"{_get_source(contract)}:{name}" for contract in contracts]
        if len({*names}) < len(names):  # Of several compilers or profiles.
            names = [
                str(file.relative_to(self._root) if file.is_relative_to(self._root) else file)
                for file in files
            ]
        listed = "".join(f"\n  {label}  ({file})" for label, file in zip(names, files, strict=True))
        return ConfigError(
            f"{len(names)} contracts are called {name!r}; deploy one by its source or by its "
            f"path:{listed}"
        )

    def _build_unknown_error(self, wanted: str, name: str) -> ConfigError:
        names = sorted({*self._files, *list_artifacts()})
        by_lower = {known_name.lower(): known_name for known_name in names}
        near = [by_lower[lower_name] for lower_name in get_close_matches(name.lower(), by_lower)]
        looked = ", ".join(map(str, self.folders)) or (
            f"no folder: {self._root} and those above it have neither Foundry's out/ nor "
            "Hardhat's artifacts/"
        )
        hint = f"; near are {', '.join(near)}" if near else ""
        return ConfigError(
            f"there is no contract {wanted!r}{hint}. Looked in {looked}; and among the "
            f"{len(list_artifacts())} contracts of pyevm-agents. Compile it, give its path, or set "
            "agent_artifacts in pytest's configuration"
        )


def _load_bundled(name: str) -> CompiledContract:
    artifact = load_artifact(name)
    return CompiledContract(
        name=name, abi=artifact.abi, code=artifact.bytecode.hex(), links=(), file=None
    )


def _select_candidates(contracts: list[CompiledContract], source: str) -> list[CompiledContract]:
    """Return the contracts of a source, without those that others take precedence over.

    Deployable ones take precedence over interfaces, and those with a source over those whose source
    was deleted.
    """
    contracts = [contract for contract in contracts if _is_from_source(contract, source)]
    exact = [contract for contract in contracts if _get_source(contract) == source]
    existing = [
        contract
        for contract in exact or contracts
        if contract.sources is None or not contract.sources.is_deleted
    ]
    contracts = existing or exact or contracts
    return [contract for contract in contracts if contract.is_deployable] or contracts[:1]


def _get_source(contract: CompiledContract) -> str:
    """Return the path of a contract's source; the artifact's folder if the path is unknown."""
    if contract.sources is not None:
        return contract.sources.target
    return "" if contract.file is None else contract.file.parent.name


def _is_from_source(contract: CompiledContract, source: str) -> bool:
    """Return whether a contract's source, or the folder of the artifact, ends in a path."""
    parts = Path(source).parts
    folders = () if contract.file is None else contract.file.parent.parts
    return not parts or parts in {
        Path(_get_source(contract)).parts[-len(parts) :],
        folders[-len(parts) :],
    }


def _iter_parents(root: Path) -> Iterator[Path]:
    """Yield a folder and those above, up to the repository's."""
    for folder in (root.absolute(), *root.absolute().parents):
        yield folder
        if (folder / ".git").exists():
            return


def _count_own_frames() -> int:
    """Return the stack level, for a warning of the calling function, of the test's frame."""
    level, frame = 0, sys._getframe(1)  # noqa: SLF001 - as `warnings` does
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(BUNDLED):
        level, frame = level + 1, frame.f_back
    return level + 1
