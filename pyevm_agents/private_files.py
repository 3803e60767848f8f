"""Creation of database files that only the owner may read."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OWNER_ONLY = 0o600


def create_private_file(path: Path) -> None:
    """Create an empty file, readable by the owner alone; leave an existing file unopened.

    POSIX locks belong to a process, and closing any descriptor of a file releases the locks of
    the process on the file. SQLite's connections would lose the locks of the database, and the
    next process to close the database would delete the log that these connections write.

    Raises: OSError: the file can't be created.
    Source: https://www.sqlite.org/howtocorrupt.html, section 2.2.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
