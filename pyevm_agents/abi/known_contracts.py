"""Known contracts: names of contracts, errors and functions, for texts that people read.

    known = KnownContracts()
    known.add(describe_contract("Vault", abi, runtime_code))
    known.find_name(chain.code(address))      # "Vault"

Each chain has separate known contracts. A contract is recognized by the runtime code, as in
Foundry's traces: compared without the compiler's metadata, immutables and library addresses.
"""

from __future__ import annotations

import logging
import threading
import time  # noqa: TID251 - how often folders are scanned; no block depends on it
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import orjson
from lru import LRU

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.abi.artifacts import (
    ContractDescription,
    find_output_folders,
    get_contract_name,
    iter_artifact_files,
    list_output_folders,
    read_artifact,
    read_contracts,
)
from pyevm_agents.abi.bundled import list_artifacts, load_artifact_form
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyevm_agents.abi.artifacts import CodeGap
    from pyevm_agents.abi.values import ErrorDefinition, EventDefinition, FunctionDefinition

log = logging.getLogger(__name__)

MAX_CONTRACTS = 4_096
"""The most contracts that are added to a chain, and that are read from folders."""

MAX_FILE_BYTES = 16 << 20
MAX_TOTAL_BYTES = 512 << 20
MAX_SCAN_SECONDS = 10.0
"""Bounds of one scan of artifact folders."""

RESCAN_SECONDS = 2.0
"""The least time between two scans."""

WAIT_SECONDS = 0.25
"""The longest time that a look-up waits for a scan. The scan continues in its thread."""

CACHED_CODES = 512
METADATA_LENGTH_BYTES = 2
CBOR_MAPS = range(0xA1, 0xA9)
"""First bytes of CBOR maps with one to eight entries, as compilers append them."""

LIBRARY_START = 0x73
"""PUSH20: the code of a deployed library starts with its own address."""


class _Index:
    """Contracts by the selectors of their errors and functions, and by the length of their code."""

    def __init__(self, contracts: Iterable[ContractDescription] = ()) -> None:
        self.contracts: tuple[ContractDescription, ...] = tuple(contracts)
        self.errors: dict[bytes, list[tuple[str, ErrorDefinition]]] = {}
        self.functions: dict[bytes, list[tuple[str, FunctionDefinition]]] = {}
        self.events: dict[bytes, list[tuple[str, EventDefinition]]] = {}
        self.codes: dict[int, list[tuple[bytes, ContractDescription]]] = {}
        for contract in self.contracts:
            for selector, error in contract.errors.items():
                self.errors.setdefault(selector, []).append((contract.name, error))
            for selector, function in contract.functions.items():
                self.functions.setdefault(selector, []).append((contract.name, function))
            for topic, event in contract.events.items():
                self.events.setdefault(topic, []).append((contract.name, event))
            if contract.runtime_code:
                bare = normalize_code(contract.runtime_code, contract.gaps)
                self.codes.setdefault(len(bare), []).append((bare, contract))

    def find_name(self, bare_code: bytes) -> str | None:
        """Return the name of the contract with a code, given without metadata."""
        for known_code, contract in self.codes.get(len(bare_code), ()):
            if known_code == _clear_gaps(bare_code, contract.gaps):
                return contract.name
        return None


class KnownContracts:
    """The contracts that a chain's texts name. Thread-safe.

    Added contracts take precedence over those in artifact folders, and these over the bundled ones.
    """

    def __init__(self) -> None:
        """Know the bundled contracts alone."""
        self._lock = threading.Lock()
        self._added: dict[tuple[str, bytes], ContractDescription] = {}
        self._index = _Index()
        self._folders: ArtifactFolders | None = None
        self._names: LRU[bytes, tuple[object, str | None]] = LRU(CACHED_CODES)

    def add(self, *contracts: ContractDescription) -> None:
        """Add contracts. A contract of the same name and code is replaced.

        Raises: ConfigError: more than `MAX_CONTRACTS`. None is added.
        """
        with self._lock:
            added = {
                **self._added,
                **{(entry.name, entry.runtime_code): entry for entry in contracts},
            }
            if len(added) > MAX_CONTRACTS:
                raise ConfigError(
                    f"{len(added):,} known contracts: must be at most {MAX_CONTRACTS:,}; restart "
                    "the node to forget the earlier ones"
                )
            self._added = added
            self._index = _Index(reversed(added.values()))

    def watch(self, folders: ArtifactFolders) -> None:
        """Look contracts up in artifact folders, too."""
        self._folders = folders

    def find_errors(self, selector: bytes) -> tuple[tuple[str, ErrorDefinition], ...]:
        """Return the errors of a selector with their contracts' names, first in precedence first.

        Errors of one signature are returned once.
        """
        self._start_scan()
        if not self._list_errors(selector):
            self._refresh()
        by_signature: dict[str, tuple[str, ErrorDefinition]] = {}
        for name, error in self._list_errors(selector):
            by_signature.setdefault(error.signature, (name, error))
        return tuple(by_signature.values())

    def find_own_error(self, selector: bytes, contract: str) -> ErrorDefinition | None:
        """Return the error that a contract declares under a selector."""
        return next(
            (error for name, error in self._list_errors(selector) if name == contract), None
        )

    def find_function(self, selector: bytes) -> str | None:
        """Return the signature of a selector; None if unknown or ambiguous."""
        function = self.find_function_definition(selector)
        return None if function is None else function.signature

    def find_function_definition(
        self, selector: bytes, contract: str | None = None
    ) -> FunctionDefinition | None:
        """Return the function of a selector; None if unknown or ambiguous.

        Input: the selector; the name of the called contract, whose own function takes precedence.
        """
        self._start_scan()
        indexes = self._list_indexes()
        for index in indexes:
            for name, function in index.functions.get(selector, ()):
                if name == contract:
                    return function
        for index in indexes:
            functions = [function for _, function in index.functions.get(selector, ())]
            if functions:
                is_one = len({function.signature for function in functions}) == 1
                return functions[0] if is_one else None
        return None

    def find_event(
        self, topic: bytes, topics: int, contract: str | None = None
    ) -> EventDefinition | None:
        """Return the event of a log; None if unknown.

        Input: the first topic; the number of topics, which differs between events of one signature;
               the name of the contract that logs, whose own event takes precedence.
        """
        self._start_scan()
        events = [
            (name, event)
            for index in self._list_indexes()
            for name, event in index.events.get(topic, ())
            if sum(event.indexed) == topics - 1
        ]
        own = (event for name, event in events if name == contract)
        return next(own, events[0][1] if events else None)

    def find_name(self, code: bytes) -> str | None:
        """Return the name of the contract with a runtime code; None if unknown."""
        if not code:
            return None
        name = self._look_up(code)
        if name is None and self._refresh():
            name = self._look_up(code)
        return name

    def _look_up(self, code: bytes) -> str | None:
        indexes = self._list_indexes()
        with self._lock:
            version, name = self._names.get(code, (None, None))
        if version == indexes:
            return name
        bare = normalize_code(code)
        name = next(filter(None, (index.find_name(bare) for index in indexes)), None)
        with self._lock:
            self._names[code] = (indexes, name)
        return name

    def _list_errors(self, selector: bytes) -> list[tuple[str, ErrorDefinition]]:
        return [entry for index in self._list_indexes() for entry in index.errors.get(selector, ())]

    def _list_indexes(self) -> tuple[_Index, ...]:
        folders = self._folders
        found = () if folders is None else (folders.index,)
        return (self._index, *found, _load_bundled())

    def _start_scan(self) -> None:
        """Read folders that were never read: their names come before those of bundled contracts."""
        if self._folders is not None and not self._folders.is_scanned:
            self._folders.refresh()

    def _refresh(self) -> bool:
        return self._folders is not None and self._folders.refresh()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundArtifacts:
    """What a scan of artifact folders found."""

    contracts: int
    places: tuple[Path, ...]
    """The files and folders that were read; without any, those that were looked for."""

    is_complete: bool
    """Whether the scan has ended."""


class ArtifactFolders:
    """Contracts in folders of artifacts, scanned in a thread for a look-up."""

    def __init__(
        self,
        folders: Sequence[Path] = (),
        *,
        root: Path | None = None,
        wait_seconds: float | None = WAIT_SECONDS,
        rescan_seconds: float = RESCAN_SECONDS,
    ) -> None:
        """Name folders. None is read yet.

        Input: the folders; a project's folder, whose Foundry and Hardhat output is read, too; how
            long a look-up waits for a scan, None for the scan's end; the least time between two
            scans.
        """
        self.index = _Index()
        self._given_folders, self._root = tuple(folders), root
        self._wait_seconds, self._rescan_seconds = wait_seconds, rescan_seconds
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[tuple[int, int], _FileContents]] = {}
        self._scan: threading.Thread | None = None
        self._scanned_at = float("-inf")

    def load(self) -> int:
        """Read the named folders and files now; return the number of contracts.

        Raises: ConfigError: one does not exist, or holds no contract.
        """
        for folder in self._given_folders:
            if not folder.exists():
                raise ConfigError(
                    f"artifacts {folder}: no such file or folder; compile the contracts, or name "
                    "another with --artifacts"
                )
        self.scan()
        problems = self.list_problems()
        for folder in self._given_folders:
            if not any(file.is_relative_to(folder) for file in self._list_artifacts()):
                bad = [pair for pair in problems.items() if pair[0].is_relative_to(folder)]
                nothing = "holds no artifact of Foundry, Hardhat or solc, and no ABI"
                file, reason = bad[0] if bad else (folder, nothing)
                raise ConfigError(
                    f"artifacts {file}: {reason}; compile the contracts, or name others with "
                    "--artifacts"
                )
        return len(self.index.contracts)

    def list_problems(self) -> dict[Path, str]:
        """Return the reasons why files could not be read, by file."""
        return {
            file: contents.problem
            for file, (_, contents) in self._read.items()
            if contents.problem is not None
        }

    def _list_artifacts(self) -> list[Path]:
        return [file for file, (_, contents) in self._read.items() if contents.contracts]

    @property
    def is_scanned(self) -> bool:
        """Whether a scan has begun."""
        return self._scanned_at != float("-inf")

    def refresh(self) -> bool:
        """Start a scan unless the last one is recent; wait for the end, but not for long.

        Output: whether the contracts changed.
        """
        before = self.index
        with self._lock:
            thread = self._scan
            if thread is None or not thread.is_alive():
                if time.monotonic() < self._scanned_at + self._rescan_seconds:
                    return False
                thread = threading.Thread(target=self.scan, name="artifacts", daemon=True)
                self._scan = thread
                self._scanned_at = time.monotonic()
                thread.start()
        thread.join(self._wait_seconds)
        return self.index is not before

    def count_found(self, wait_seconds: float) -> FoundArtifacts:
        """Return what a scan finds, or has found after this time; the scan continues."""
        self.refresh()
        if self._scan is not None:
            self._scan.join(wait_seconds)
        places = self._list_places()
        if not places and self._root is not None:
            places = list_output_folders(self._root)
        return FoundArtifacts(
            contracts=len(self.index.contracts),
            places=places,
            is_complete=self._scan is None or not self._scan.is_alive(),
        )

    def scan(self) -> None:
        """Read the files that changed since the last scan."""
        deadline = time.monotonic() + MAX_SCAN_SECONDS
        read: dict[Path, tuple[tuple[int, int], _FileContents]] = {}
        left_bytes = MAX_TOTAL_BYTES
        for file in islice(self._iter_files(), MAX_CONTRACTS):
            try:
                status = file.stat()
                version = (status.st_mtime_ns, status.st_size)
                known = self._read.get(file)
                if known is None or known[0] != version:
                    left_bytes -= status.st_size
                    if left_bytes < 0 or time.monotonic() > deadline:
                        break
                    known = (version, _read_file(file, status.st_size))
                read[file] = known
            except OSError:
                continue
        if read != self._read:
            self._read = read
            found = [contract for _, contents in read.values() for contract in contents.contracts]
            self.index = _Index(found[:MAX_CONTRACTS])
            log.debug("%d contracts in %d files", len(found), len(read))
        self._scanned_at = time.monotonic()

    def _list_places(self) -> tuple[Path, ...]:
        folders = dict.fromkeys(self._given_folders)
        if self._root is not None:
            folders |= dict.fromkeys(find_output_folders(self._root))
        return tuple(folders)

    def _iter_files(self) -> Iterable[Path]:
        for folder in self._list_places():
            if folder.is_file():
                yield folder
            else:
                yield from iter_artifact_files(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileContents:
    """The contracts of a file."""

    contracts: tuple[ContractDescription, ...] = ()
    problem: str | None = None
    """The reason why the file can't be read."""


def _read_file(file: Path, size_bytes: int) -> _FileContents:
    """Return the contracts of a file; none for other files."""
    if size_bytes > MAX_FILE_BYTES:
        return _FileContents(problem=f"{size_bytes:,} bytes: must be at most {MAX_FILE_BYTES:,}")
    try:
        form = orjson.loads(file.read_bytes())
    except ValueError as error:
        return _FileContents(problem=f"not JSON: {error}")
    return _FileContents(contracts=read_contracts(form, get_contract_name(file)))


@cache
def _load_bundled() -> _Index:
    forms = ((name, load_artifact_form(name)) for name in list_artifacts())
    contracts = (read_artifact(form, name) for name, form in forms)
    return _Index(contract for contract in contracts if contract is not None)


# -- runtime code -- #


def normalize_code(code: bytes, gaps: Sequence[CodeGap] = ()) -> bytes:
    """Return runtime code without the compiler's metadata, with zeros in the gaps.

    The address at the start of a library's code is a gap.
    """
    size_bytes = int.from_bytes(code[-METADATA_LENGTH_BYTES:], "big")
    end = len(code) - METADATA_LENGTH_BYTES - size_bytes
    if size_bytes and end > 0 and code[end] in CBOR_MAPS:
        code = code[:end]
    return _clear_gaps(code, gaps)


def _clear_gaps(code: bytes, gaps: Sequence[CodeGap]) -> bytes:
    if code[:1] == bytes([LIBRARY_START]):
        code = code[:1] + bytes(ADDRESS_BYTES) + code[1 + ADDRESS_BYTES :]
    if not gaps:
        return code
    cleared = bytearray(code)
    for gap in gaps:
        place = slice(gap.start, gap.start + gap.length)
        cleared[place] = bytes(len(cleared[place]))
    return bytes(cleared)
