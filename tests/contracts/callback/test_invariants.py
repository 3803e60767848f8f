"""AgentOracle's books by Foundry: random calls on another EVM than ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contracts.foundry_invariants import compile_project, play_invariants

if TYPE_CHECKING:
    from tests.samples import Sample

PROJECT = Path(__file__).parent / "foundry"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with our contracts and OpenZeppelin's, compiled."""
    return compile_project(PROJECT, tmp_path / "project")


@pytest.mark.slow
@pytest.mark.sample(count=40, seed=21)
def test_no_sequence_of_calls_breaks_the_books(project: Path, sample: Sample) -> None:
    runs, calls = play_invariants(project, sample)
    sample.figures.update(sequences=runs, calls=calls)
