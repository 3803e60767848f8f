"""A council's books by Foundry: random calls on another EVM than ours, ten requests at once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.foundry_project import CONTRACTS, Foundry
from tests.clients.packages import HERE, foundry_program, installed, node_program

if TYPE_CHECKING:
    from tests.samples import Sample

PROJECT = Path(__file__).parent / "foundry"
MOST_SECONDS = 20 * 3_600
"""For the counts of `make evidence`; only a hang reaches it."""

NEEDED = ("IERCAgent.sol", "callback", "council", "interfaces", "libraries")
"""Sources that the council imports; its tests come beside them."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with the council's contracts and OpenZeppelin's, compiled."""
    node_program()
    if not (CONTRACTS / "node_modules" / "@openzeppelin").is_dir():
        pytest.skip("no contracts/node_modules/@openzeppelin: run npm ci in contracts/")
    foundry_program("forge")
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    shutil.copy(HERE / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    library = folder / "lib" / "contracts"
    for name in (*NEEDED, "test/council"):
        copy = shutil.copytree if (CONTRACTS / name).is_dir() else shutil.copy
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        copy(CONTRACTS / name, library / name)
    (library / "node_modules").symlink_to(CONTRACTS / "node_modules")
    Foundry("forge", "", folder)("build")
    return folder


@pytest.mark.slow
@pytest.mark.sample(count=30, seed=27)
def test_no_sequence_of_calls_breaks_the_books(project: Path, sample: Sample) -> None:
    forge = Foundry(
        "forge",
        "",
        project,
        FOUNDRY_INVARIANT_RUNS=str(sample.count),
        FOUNDRY_FUZZ_SEED=hex(sample.seed),
    )
    forge.seconds = MOST_SECONDS
    output = forge("test", "-vv")
    found = re.search(r"runs: (\d+), calls: (\d+), reverts: (\d+)", output)
    assert found, output
    runs, calls, reverts = map(int, found.groups())
    assert (runs, reverts) == (sample.count, 0)
    sample.figures.update(sequences=runs, calls=calls)
