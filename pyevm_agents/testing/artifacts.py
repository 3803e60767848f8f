"""Where compiled contracts are: Foundry's folder, Hardhat's, this package's own, or a path."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.contracts import list_artifacts, load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.compiled_contract import CompiledContract, read_contract
from pyevm_agents.testing.inputs import format_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BUNDLED = "pyevm_agents"
"""What stands before the colon in the name of a contract of ours, where others have one alike."""

FOUNDRY_FILE = "foundry.toml"
FOUNDRY_FOLDER = "out"
HARDHAT_FOLDER = "artifacts"
"""Where the two put what they compile, where nothing else is configured."""

NO_CONTRACTS = frozenset(("build-info", "cache", "node_modules"))
"""Folders of other files."""

DEBUG_SUFFIX = ".dbg.json"
"""Of Hardhat's files that name the input of a compilation."""


class ArtifactFinder:
    """Finds compiled contracts by name. Folders are read once."""

    def __init__(self, folders: Sequence[Path] = (), *, root: Path | None = None) -> None:
        """Take where to look.

        Input:  folders of artifacts, all below them counted; where there are none, Foundry's and
                Hardhat's in `root` or the nearest folder above it that has one; `root` is the
                folder of the moment where None.
        """
        self._configured_folders = tuple(folders)
        self._root = Path.cwd() if root is None else root

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Where names are looked up.

        Raises: ConfigError: a folder that was named is not there.
        """
        for folder in self._configured_folders:
            if not folder.is_dir():
                raise ConfigError(
                    f"the folder of artifacts {folder} is not there: compile the contracts, or "
                    "change agent_artifacts"
                )
        return self._configured_folders or next(
            filter(None, map(_find_output_folders, _iter_parents(self._root))), ()
        )

    def find(self, wanted: str | Path) -> CompiledContract:
        """Return a contract.

        Input:  a name, as `Token`, or `Token.sol:Token` where several files have one; the path of
                an artifact, from the root on.
        Raises: ConfigError: there is none, or there are several.
        """
        if not isinstance(wanted, (str, Path)):
            raise ConfigError(
                f"deploy({format_value(wanted)}): a contract goes by its name or its path"
            )
        if isinstance(wanted, Path) or wanted.endswith(".json"):
            return self._read_path(Path(wanted))
        source, _, name = wanted.rpartition(":")
        if source == BUNDLED:
            return _load_bundled(name)
        files = [file for file in self._files.get(name, ()) if _is_from_source(file, source)]
        candidates = [contract for file in files if (contract := read_contract(file))]
        candidates = [
            candidate for candidate in candidates if candidate.is_deployable
        ] or candidates[:1]
        if len(candidates) > 1:
            raise self._build_ambiguity_error(
                name, [candidate.file for candidate in candidates if candidate.file]
            )
        if candidates:
            return candidates[0]
        if not source and name in list_artifacts():
            return _load_bundled(name)
        raise self._build_unknown_error(wanted, name)

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        files: dict[str, list[Path]] = {}
        for folder in self.folders:
            for file in sorted(folder.rglob("*.json")):
                inside = file.relative_to(folder).parts[:-1]
                if NO_CONTRACTS.isdisjoint(inside) and not file.name.endswith(DEBUG_SUFFIX):
                    # Where Foundry has compiled with several compilers, it is Token.0.8.20.json.
                    files.setdefault(file.name.partition(".")[0], []).append(file)
        return files

    def _read_path(self, path: Path) -> CompiledContract:
        file = self._root / path.expanduser()
        if not file.is_file():
            raise ConfigError(f"there is no artifact {file}: compile the contracts, or check it")
        contract = read_contract(file)
        if contract is None:
            raise ConfigError(
                f"{file} is no artifact: neither Foundry's, Hardhat's nor solc's form has no `abi`"
            )
        return contract

    def _build_ambiguity_error(self, name: str, files: list[Path]) -> ConfigError:
        listed = "".join(f"\n  {file.parent.name}:{name}  ({file})" for file in files)
        return ConfigError(
            f"{len(files)} contracts are called {name!r}; name one with its file, or by its "
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


def _is_from_source(file: Path, source: str) -> bool:
    """Whether an artifact is of a source file, by the folder that it is in."""
    parts = Path(source).parts
    return not parts or file.parent.parts[-len(parts) :] == parts


def _iter_parents(root: Path) -> Iterator[Path]:
    """Yield a folder and those above it, up to the one of its repository."""
    for folder in (root.absolute(), *root.absolute().parents):
        yield folder
        if (folder / ".git").exists():
            return


def _find_output_folders(folder: Path) -> tuple[Path, ...]:
    """Return what Foundry and Hardhat have compiled in a project's folder."""
    foundry, hardhat = folder / _read_foundry_folder(folder), folder / HARDHAT_FOLDER
    is_foundry = foundry.is_dir() and any(foundry.glob("*.sol/*.json"))
    is_hardhat = (hardhat / "contracts").is_dir()
    return tuple(
        output for output, there in ((foundry, is_foundry), (hardhat, is_hardhat)) if there
    )


def _read_foundry_folder(folder: Path) -> str:
    """Return the name of the folder that Foundry compiles into."""
    try:
        form = tomllib.loads((folder / FOUNDRY_FILE).read_text(encoding="utf-8"))
        return str(form["profile"]["default"]["out"])
    except (OSError, ValueError, KeyError, TypeError):
        return FOUNDRY_FOLDER
