"""Files that only their owner may read: databases, their neighbours, and files of a state folder.

They hold goals, prompts, answers before they are revealed, and signed transactions.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OWNER_ONLY = 0o600

OTHERS = 0o077
"""Permissions of everybody else."""

NEIGHBOURS = ("-wal", "-shm", "-journal", ".lock")
"""What SQLite and our locks append to a name. SQLite gives its files the mode of the database."""


def create_private_file(path: Path) -> None:
    """Create an empty file, readable by the owner alone; narrow an existing one without opening it.

    POSIX locks belong to a process, and closing any descriptor of a file releases the locks of
    the process on the file. SQLite's connections would lose the locks of the database, and the
    next process to close the database would delete the log that these connections write.

    Raises: OSError: the file can't be created.
    Source: https://www.sqlite.org/howtocorrupt.html, section 2.2.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except FileExistsError:
        for each in (path, *(path.with_name(path.name + end) for end in NEIGHBOURS)):
            make_private(each)


def make_private(path: Path) -> None:
    """Take the permissions of others from a file, which an earlier version gave.

    A missing file, a device, and the file of another user stay as they are.
    """
    with suppress(FileNotFoundError, PermissionError):
        mode = path.stat().st_mode
        if path.is_file() and mode & OTHERS:
            path.chmod(mode & 0o777 & ~OTHERS)
