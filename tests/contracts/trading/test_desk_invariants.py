"""The desk's limits by Foundry: random calls on another EVM than ours, with Uniswap's own pools."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.devnet.swap_world import UNISWAP_FOLDER
from tests.clients.foundry_project import CONTRACTS, Foundry
from tests.clients.packages import HERE, foundry_program, installed, node_program

if TYPE_CHECKING:
    from tests.samples import Sample

PROJECT = Path(__file__).parent / "foundry"
MOST_SECONDS = 20 * 3_600
"""For the counts of `make evidence`; only a hang reaches it."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with our contracts, OpenZeppelin's and Uniswap's, compiled."""
    node_program()
    if not (CONTRACTS / "node_modules" / "@openzeppelin").is_dir():
        pytest.skip("no contracts/node_modules/@openzeppelin: run npm ci in contracts/")
    foundry_program("forge")
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    shutil.copytree(UNISWAP_FOLDER, folder / "uniswap_v2")
    shutil.copy(HERE / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    leave = shutil.ignore_patterns("node_modules", "build")
    shutil.copytree(CONTRACTS, folder / "lib" / "contracts", ignore=leave)
    (folder / "lib" / "contracts" / "node_modules").symlink_to(CONTRACTS / "node_modules")
    Foundry("forge", "", folder)("build")
    return folder


@pytest.mark.slow
@pytest.mark.sample(count=8, seed=24)
def test_no_sequence_of_calls_exceeds_the_limits(project: Path, sample: Sample) -> None:
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
    # forge plays the last sequence once more, for its report.
    lines = (project / "counts.txt").read_text().splitlines()[:runs]
    trades, refused = (sum(int(line.split()[place]) for line in lines) for place in (0, 1))
    assert trades >= runs
    assert refused > 0
    sample.figures.update(sequences=runs, calls=calls, trades=trades, refused_rebalances=refused)
