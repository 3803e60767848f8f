"""The page docs/combinations.md: what happens where two capabilities meet, by the stories.

python -m tests.pairs.page        write its table anew
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tests.checkout import ROOT
from tests.pairs.capabilities import PAIRS, STORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "combinations.md"
FIRST = "| two | together | test |"
FOLDER = ROOT / "tests" / "pairs"


def load_stories() -> None:
    """Import the files of stories."""
    for path in sorted(FOLDER.glob("test_*_stories.py")):
        import_module(f"tests.pairs.{path.stem}")


def list_rows() -> Iterator[str]:
    """Yield the lines of the page's table."""
    yield FIRST
    yield "|---|---|---|"
    for first, second in PAIRS:
        for told in STORIES.get((first, second), ()):
            yield f"| {first.value}, {second.value} | {told.says} | `{told.function}` |"


def replace_table(text: str) -> str:
    """Return the page's text with the table that the stories make."""
    lines = text.splitlines()
    start = lines.index(FIRST)
    end = next((n for n in range(start, len(lines)) if not lines[n].startswith("|")), len(lines))
    return "\n".join([*lines[:start], *list_rows(), *lines[end:]]) + "\n"


if __name__ == "__main__":
    load_stories()
    PAGE.write_text(replace_table(PAGE.read_text("utf-8")), "utf-8")
