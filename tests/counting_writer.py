"""A process that writes the same number into many rows at once, again and again, until killed."""

from __future__ import annotations

import sys
from pathlib import Path

from pyevm_agents.chain.database import Database
from pyevm_agents.chain.lmdb import LmdbRows

PARTS = [b"part:%d" % number for number in range(200)]


def main(folder: Path) -> None:
    """Count on from the last number; print each number once it is written."""
    database = Database(LmdbRows(folder))
    number = int(database.get(PARTS[0]) or b"0")
    while True:
        number += 1
        for part in PARTS:
            database[part] = b"%d" % number
        database.commit()
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
