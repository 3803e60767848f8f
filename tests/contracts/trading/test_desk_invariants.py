"""The desk's limits by Foundry: random calls on another EVM than ours, with Uniswap's own pools."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.scenarios.swap.world import UNISWAP_FOLDER
from tests.contracts.foundry_invariants import compile_project, play_invariants

if TYPE_CHECKING:
    from tests.samples import Sample

PROJECT = Path(__file__).parent / "foundry"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with our contracts, OpenZeppelin's and Uniswap's, compiled."""
    folder = tmp_path / "project"
    shutil.copytree(UNISWAP_FOLDER, folder / "uniswap_v2")
    return compile_project(PROJECT, folder)


@pytest.mark.slow
@pytest.mark.sample(count=8, seed=24)
def test_no_sequence_of_calls_exceeds_the_limits(project: Path, sample: Sample) -> None:
    runs, calls = play_invariants(project, sample)
    # forge plays the last sequence once more, for its report.
    lines = (project / "counts.txt").read_text().splitlines()[:runs]
    trades, refused = (sum(int(line.split()[place]) for line in lines) for place in (0, 1))
    assert trades >= runs
    assert refused > 0
    sample.figures.update(sequences=runs, calls=calls, trades=trades, refused_rebalances=refused)
