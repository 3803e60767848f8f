"""A council's books by Foundry: random calls on another EVM than ours, ten requests at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contracts.foundry_invariants import compile_project, play_invariants

if TYPE_CHECKING:
    from tests.samples import Sample

PROJECT = Path(__file__).parent / "foundry"

SOURCES = (
    *("IERCAgent.sol", "callback", "council", "interfaces", "libraries", "runs"),
    "test/council",
)
"""What the project imports of `contracts/`."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Foundry project with the council's contracts and OpenZeppelin's, compiled."""
    return compile_project(PROJECT, tmp_path / "project", SOURCES)


@pytest.mark.slow
@pytest.mark.sample(count=30, seed=27)
def test_no_sequence_of_calls_breaks_the_books(project: Path, sample: Sample) -> None:
    runs, calls = play_invariants(project, sample)
    sample.figures.update(sequences=runs, calls=calls)
