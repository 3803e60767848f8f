"""A chain's database in a folder: LMDB, which stays consistent after a kill.

Writes reach the operating system immediately, and the disk later or by `sync`. Acknowledged writes
survive the process; a crash of the machine may lose the last seconds.
"""

from __future__ import annotations

import fcntl
import os
from itertools import takewhile
from typing import TYPE_CHECKING

import lmdb

from pyevm_agents.errors import ConfigError, EngineFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_BYTES = 1 << 38
"""256 GiB of address space. Only written data takes disk space."""

LOCK = "in-use"


class LmdbRows:
    """An LMDB database in a folder, open in one process at a time."""

    def __init__(self, folder: Path) -> None:
        """Open or create a folder.

        Raises: ConfigError: another process has it open, or it can't be written.
        """
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
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
            self._environment = lmdb.open(
                str(folder), map_size=MAX_BYTES, sync=False, metasync=False, max_readers=512
            )
        except lmdb.Error as error:
            os.close(self._lock)
            raise ConfigError(
                f"folder {folder}: not a readable chain: {error}; name another"
            ) from error
        self._is_open = True

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if it is missing."""
        with self._environment.begin() as transaction:
            value: bytes | None = transaction.get(key)
            return value

    def list_rows(self, prefix: bytes) -> Sequence[tuple[bytes, bytes]]:
        """Return the rows whose keys have a prefix, in the order of their keys."""
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            cursor.set_range(prefix)
            return [*takewhile(lambda row: row[0].startswith(prefix), cursor)]

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
