"""A chain's database in a folder: LMDB, which stays consistent after a kill.

Writes reach the operating system immediately, and the disk later or by `sync`. Acknowledged writes
survive the process; a crash of the machine may lose the last seconds.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
from itertools import takewhile
from typing import TYPE_CHECKING

import lmdb

from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.private_files import OWNER_ONLY, make_private

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_BYTES = 1 << 38
"""256 GiB of address space. Only written data takes disk space."""

DATA, READERS, LOCK = "data.mdb", "lock.mdb", "in-use"
"""Files of a folder: LMDB's two, and the lock of the process that has it open."""

META = struct.Struct("<16xI20xI92xQQ")
"""A meta page: magic, page size, last page and transaction; all else is skipped. A file begins with
two, and the one of the later transaction counts. Source: LMDB, mdb.c, `MDB_meta`."""

MAGIC = 0xBEEFC0DE

READ_ALL = """
import lmdb, sys
with lmdb.open(sys.argv[1], readonly=True, lock=False) as environment:
    with environment.begin() as transaction:
        for _ in transaction.cursor():
            pass
"""
"""A program that reads all rows, and is killed by SIGBUS where the file lacks one."""


class UnreadableChainError(EngineFault):
    """The database is damaged."""


class LmdbRows:
    """An LMDB database in a folder, open in one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open or create a folder.

        Raises: ConfigError: another process has the folder open, or the folder can't be written.
        """
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        except OSError as error:
            raise ConfigError(f"folder {folder} can't be used: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise ConfigError(
                f"another process has the chain in {folder} open; stop it, or name another folder"
            ) from error
        try:
            self._environment = _open_environment(folder)
        except BaseException:
            os.close(self._lock)
            raise
        self._is_open = True

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if missing.

        Raises: UnreadableChainError: the file is damaged.
        """
        try:
            with self._environment.begin() as transaction:
                value: bytes | None = transaction.get(key)
                return value
        except lmdb.Error as error:
            raise self._describe_damage(error) from error

    def list_rows(self, prefix: bytes) -> Sequence[tuple[bytes, bytes]]:
        """Return the rows whose keys have a prefix, in the order of their keys.

        Raises: UnreadableChainError: the file is damaged.
        """
        try:
            with self._environment.begin() as transaction, transaction.cursor() as cursor:
                cursor.set_range(prefix)
                return [*takewhile(lambda row: row[0].startswith(prefix), cursor)]
        except lmdb.Error as error:
            raise self._describe_damage(error) from error

    def _describe_damage(self, error: lmdb.Error) -> UnreadableChainError:
        return UnreadableChainError(
            f"the chain in {self._folder} is damaged ({error}); restore a copy, or name another "
            "folder"
        )

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values atomically; None deletes a key.

        Raises: EngineFault: the disk is full, or the file is at its limit. Nothing is written.
        """
        try:
            with self._environment.begin(write=True) as transaction:
                for key, value in changes.items():
                    if value is None:
                        transaction.delete(key)
                    else:
                        transaction.put(key, value)
        except lmdb.Error as error:
            raise EngineFault(
                f"the chain in {self._folder} can't be written ({error}); nothing was changed; "
                "free disk space, then try again"
            ) from error

    def sync(self) -> None:
        """Wait until the disk has everything that was written.

        Raises: EngineFault: the disk failed.
        """
        try:
            self._environment.sync(True)  # noqa: FBT003 - before lmdb 3 it has no name
        except lmdb.Error as error:
            raise EngineFault(
                f"the chain in {self._folder} can't be written ({error}); check the disk, then try "
                "again"
            ) from error

    def close(self) -> None:
        """Sync to disk and release the folder."""
        if self._is_open:
            self._is_open = False
            self._environment.sync(True)  # noqa: FBT003 - as above
            self._environment.close()
            os.close(self._lock)


def _open_environment(folder: Path) -> lmdb.Environment:
    """Open or create a database whose files only the owner can read.

    Raises: ConfigError: damaged, or no database.
    """
    try:
        _require_whole(folder)
        for name in (DATA, READERS, LOCK):
            make_private(folder / name)
        return lmdb.open(
            str(folder),
            map_size=MAX_BYTES,
            sync=False,
            metasync=False,
            max_readers=512,
            mode=OWNER_ONLY,
        )
    except (OSError, lmdb.Error) as error:
        raise ConfigError(
            f"folder {folder}: not a readable chain: {error}; name another"
        ) from error


def _require_whole(folder: Path) -> None:
    """Require a file that has all rows; a read behind the end would kill the process.

    LMDB does not write a page that the same transaction frees, so the file may end before the last
    page. Only another process can find out whether rows are missing.

    Raises: ConfigError: rows are missing.
    """
    data = folder / DATA
    size_bytes = data.stat().st_size if data.exists() else 0
    needed_bytes = _read_used_bytes(data) if size_bytes else 0
    if size_bytes >= needed_bytes:
        return
    command = [sys.executable, "-c", READ_ALL, str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise ConfigError(
            f"folder {folder}: the chain is damaged: {DATA} has {size_bytes:,} of {needed_bytes:,} "
            "bytes; restore a copy, or name another folder"
        )
    os.truncate(data, needed_bytes)


def _read_used_bytes(data: Path) -> int:
    """Return the size of all pages of a database in bytes; 0 without meta pages."""
    used_bytes = at = 0
    latest = -1
    with data.open("rb") as file:
        for _ in range(2):
            file.seek(at)
            meta = file.read(META.size)
            if len(meta) < META.size or META.unpack(meta)[0] != MAGIC:
                return 0  # LMDB refuses it.
            _, page_bytes, last_page, transaction = META.unpack(meta)
            if transaction > latest:
                latest, used_bytes = transaction, (last_page + 1) * page_bytes
            at = page_bytes
    return used_bytes
