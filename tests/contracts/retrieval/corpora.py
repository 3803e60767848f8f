"""Three corpora: our documents, the comments of our contracts, and made-up words."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from benchmarks.retrieval import make_zipf_passages, split_words
from tests.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

LINES = re.compile(r"(?:^[ \t]*///.*\n)+", re.MULTILINE)
SHORTEST_BYTES, LONGEST_BYTES = 40, 4096
MOST_WORDS = 8
SEED = 25


def read_documents() -> list[str]:
    """Return the paragraphs of the documents."""
    files = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return _usable(part for file in files for part in file.read_text().split("\n\n"))


def read_comments() -> list[str]:
    """Return the comments of the contracts."""

    def without_slashes(block: str) -> str:
        return " ".join(line.strip().removeprefix("///").strip() for line in block.splitlines())

    folder = ROOT / "contracts"
    return _usable(
        without_slashes(block)
        for file in sorted(folder.rglob("*.sol"))
        if not _is_package(file.relative_to(folder))
        for block in LINES.findall(file.read_text())
    )


def _is_package(path: Path) -> bool:
    return path.parts[0] == "node_modules"


def _usable(parts: Iterable[str]) -> list[str]:
    texts = (part.strip() for part in parts)
    return [one for one in texts if SHORTEST_BYTES <= len(one.encode()) <= LONGEST_BYTES]


def make_corpora(synthetic: int) -> Mapping[str, Sequence[str]]:
    """Return the corpora by name; the made-up one has so many passages."""
    return {
        "documents": read_documents(),
        "comments": read_comments(),
        "synthetic": make_zipf_passages(synthetic, SEED),
    }


def draw_queries(passages: Sequence[str], count: int, seed: int) -> list[str]:
    """Return queries of 1 to 8 words: of one passage, of any passages, and unknown ones."""
    chance = random.Random(seed)  # noqa: S311 - a sample
    words = [split_words(passage) for passage in passages]
    everything = [word for one in words for word in one]  # common words are frequent here
    queries = []
    for _ in range(count):
        source = chance.choice([everything, chance.choice(words) or everything])
        drawn = [chance.choice(source) for _ in range(chance.randint(1, MOST_WORDS))]
        queries.append(" ".join(drawn + ["unheardof"] * (chance.random() < 0.1)))
    return queries
