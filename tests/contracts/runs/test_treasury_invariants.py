"""RunTreasury by Foundry: random runs, plans, policies and targets on another EVM than ours."""

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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with our contracts and OpenZeppelin's."""
    node_program()
    if not (CONTRACTS / "node_modules" / "@openzeppelin").is_dir():
        pytest.skip("no contracts/node_modules/@openzeppelin: run npm ci in contracts/")
    foundry_program("forge")
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    shutil.copy(HERE / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    leave = shutil.ignore_patterns("node_modules", "build")
    shutil.copytree(CONTRACTS, folder / "lib" / "contracts", ignore=leave)
    (folder / "lib" / "contracts" / "node_modules").symlink_to(CONTRACTS / "node_modules")
    return folder


@pytest.mark.slow
@pytest.mark.sample(count=40, seed=26)
def test_no_sequence_of_calls_breaks_the_treasury(project: Path, sample: Sample) -> None:
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
