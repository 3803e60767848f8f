"""A chain's rows in a folder: LMDB, which a kill at any moment leaves whole.

Writes reach the operating system at once and the disk when it sees fit: what was acknowledged
survives the end of the process, not that of the machine within some seconds.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import lmdb

from pyevm_agents.errors import ConfigError, EngineFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BYTES = 1 << 38
"""256 GiB of address space, of which only what is written takes room on the disk."""

LOCK = "in-use"


class LmdbRows:
    """Rows in a folder that one process has at a time."""

    def __init__(self, folder: Path) -> None:
        """Open a folder, or make it.

        Raises:
            ConfigError: another process has it, or it can't be written.
        """
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"the folder {folder} can't be used: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise ConfigError(
                f"another process has the chain in {folder}; stop it, or name another folder"
            ) from error
        try:
            self._environment = lmdb.open(
                str(folder), map_size=MAX_BYTES, sync=False, metasync=False, max_readers=512
            )
        except lmdb.Error as error:
            os.close(self._lock)
            raise ConfigError(
                f"the folder {folder} holds no chain that can be read: {error}; name another"
            ) from error
        self._is_open = True

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None where it has none."""
        with self._environment.begin() as transaction:
            value: bytes | None = transaction.get(key)
            return value

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Set values, or remove those that are None: all of them, or none.

        Raises:
            EngineFault: the disk is full, or the file at its limit. Nothing is written.
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
                f"the chain in {self._folder} can't be written ({error}), so nothing was changed; "
                "make room there, then try again"
            ) from error

    def close(self) -> None:
        """Write what the operating system still holds, and let go of the folder."""
        if self._is_open:
            self._is_open = False
            self._environment.sync(True)  # noqa: FBT003 - before lmdb 3 it has no name
            self._environment.close()
            os.close(self._lock)
