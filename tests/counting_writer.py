"""A process that writes the same number into many rows at once, again and again, until killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.chain.database import Database
from pyevm_agents.chain.lmdb import LmdbRows

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

PARTS = [b"part:%d" % number for number in range(200)]


def count(folder: Path, said: Connection) -> None:
    """Count on from the last number; send each number once it is written."""
    database = Database(LmdbRows(folder))
    number = int(database.get(PARTS[0]) or b"0")
    while True:
        number += 1
        for part in PARTS:
            database[part] = b"%d" % number
        database.commit()
        said.send(number)
