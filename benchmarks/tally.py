"""A tally in a folder: rows of JSON, appended one by one, valid after any interruption."""

from __future__ import annotations

import fcntl
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from precompiles.language_model import Generation, Margin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def generation_of(row: dict[str, Any]) -> Generation:
    """Read a generation. Python's JSON preserves a float to the bit."""
    margin = row["margin"]
    return Generation(
        text=row["text"],
        tokens=tuple(row["tokens"]),
        forced_tokens=row["forced_tokens"],
        is_complete=row["is_complete"],
        margin=None if margin is None else Margin(**margin),
    )


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a tally, without a last line cut short by a kill."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    for line in whole.splitlines():
        yield json.loads(line)


def append(path: Path, row: dict[str, Any]) -> None:
    """Write a row at the end of a tally."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a tally's folder, created if absent, for one process at a time.

    Raises: BlockingIOError: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
