"""The sources of a compiled contract: their hashes at compilation, and the files on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from eth_utils import keccak

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FOUNDRY_CONFIG = "foundry.toml"
HARDHAT_CONFIGS = tuple(f"hardhat.config.{suffix}" for suffix in ("js", "ts", "cjs", "mjs", "cts"))
PACKAGE_FOLDERS = frozenset(("dist-packages", "node_modules", "site-packages"))
"""Folders of installed packages, whose sources are not the user's."""

HARDHAT_3_PREFIX = "project/"
"""Before the paths of a project's own sources, in the compiler's input of Hardhat 3."""

CACHED_BUILDS = 16
CACHED_HASHES = 4_096


class StaleArtifactWarning(UserWarning):
    """A source file of a contract changed after the contract was compiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The sources that an artifact was compiled from."""

    target: str
    """The file that defines the contract, as the compiler names it."""

    hashes: Mapping[str, str]
    """The keccak256 of each source, by its path from the root."""

    root: Path | None
    """The project's folder; None if the sources are not on disk."""

    build_command: str

    @property
    def is_deleted(self) -> bool:
        """Whether the project no longer has the file that defines the contract."""
        return self.root is not None and not (self.root / self.target).is_file()

    def describe_changes(self) -> str | None:
        """Return a phrase about the sources that differ from those compiled; None if all are equal.

        A missing file counts only in an existing folder: dependencies may not be installed.
        """
        if self.root is None:
            return None
        changed, deleted = [], []
        for path, expected in self.hashes.items():
            file = self.root / path
            if not file.is_file():
                deleted += [path] if file.parent.is_dir() else []
            elif expected.removeprefix("0x") not in _hash_file(file, file.stat().st_mtime_ns):
                changed.append(path)
        phrases = [
            f"{', '.join(paths)} {verb}"
            for paths, verb in ((changed, "changed"), (deleted, "was deleted"))
            if paths
        ]
        return " and ".join(phrases) or None


def read_source_files(form: Mapping[str, Any], file: Path) -> SourceFiles | None:
    """Return the sources of an artifact; None if not named.

    Input: the JSON value of an artifact of Foundry, Hardhat or solc; the file.
    """
    is_hardhat = str(form.get("_format", "")).startswith("hh")
    if is_hardhat:
        metadata = _read_hardhat_metadata(form, file)
    else:
        metadata = _parse_metadata(form.get("metadata") or form.get("rawMetadata"))
    match metadata:
        case {"settings": {"compilationTarget": dict(targets)}, "sources": dict(sources)}:
            pass
        case _:
            return None
    hashes = {
        _get_path(form, name): source["keccak256"]
        for name, source in sources.items()
        if isinstance(source, dict) and isinstance(source.get("keccak256"), str)
    }
    return SourceFiles(
        target=_get_path(form, next(iter(targets), "")),
        hashes=hashes,
        root=_find_root(file, hashes),
        build_command="npx hardhat compile" if is_hardhat else "forge build",
    )


def _get_path(form: Mapping[str, Any], name: str) -> str:
    """Return the path of a source by the compiler's name."""
    return name.removeprefix(HARDHAT_3_PREFIX) if "inputSourceName" in form else name


def _parse_metadata(metadata: object) -> object:
    """Return solc's metadata, which artifacts have as text or as an object."""
    if not isinstance(metadata, str):
        return metadata
    try:
        return orjson.loads(metadata)
    except ValueError:
        return None


def _read_hardhat_metadata(form: Mapping[str, Any], file: Path) -> object:
    """Return solc's metadata of a contract from the build info of Hardhat 2 or 3."""
    try:
        if isinstance(form.get("buildInfoId"), str):
            folder = next(
                parent / "build-info" for parent in file.parents if (parent / "build-info").is_dir()
            )
            build = folder / f"{form['buildInfoId']}.output.json"
        else:
            debug = orjson.loads(file.with_suffix(".dbg.json").read_bytes())
            build = (file.parent / debug["buildInfo"]).resolve()
        contracts = _read_build(build, build.stat().st_mtime_ns)
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return None
    source = form.get("inputSourceName", form.get("sourceName"))
    return _parse_metadata(contracts.get((source, form.get("contractName"))))


@lru_cache(CACHED_BUILDS)
def _read_build(file: Path, modified_ns: int) -> dict[tuple[Any, Any], object]:
    """Return the metadata of a compilation's contracts, by source and name."""
    del modified_ns  # A part of the cache's key.
    contracts = orjson.loads(file.read_bytes())["output"]["contracts"]
    return {
        (source, name): contract.get("metadata")
        for source, by_name in contracts.items()
        for name, contract in by_name.items()
    }


@lru_cache(CACHED_HASHES)
def _hash_file(file: Path, modified_ns: int) -> tuple[str, str]:
    """Return the keccak256 of a file, and of the file with the line ends that Foundry hashes."""
    del modified_ns  # A part of the cache's key.
    content = file.read_bytes()
    return keccak(content).hex(), keccak(content.replace(b"\r\n", b"\n")).hex()


def _find_root(file: Path, sources: Mapping[str, str]) -> Path | None:
    """Return the nearest folder above an artifact that is a project, or has one of the sources."""
    configs = (FOUNDRY_CONFIG, *HARDHAT_CONFIGS)
    for folder in _iter_own_parents(file):
        if any((folder / name).is_file() for name in (*configs, *sources)):
            return folder
    return None


def _iter_own_parents(file: Path) -> Iterator[Path]:
    """Yield the folders above a file, up to that of the repository or of installed packages."""
    for folder in file.absolute().parents:
        if folder.name in PACKAGE_FOLDERS:
            return
        yield folder
        if (folder / ".git").exists():
            return
