"""Kills at every boundary and inside every phase: the run ends as it would have.

CI tries each moment once, and some pairs; `make evidence` draws more.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.lifecycle.statuses import Phase
from tests.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.samples import Sample

pytestmark = pytest.mark.slow

MAX_KILLS_OF_A_RUN = 3


def run_all(folder: Path, cases: list[list[int]]) -> list[dict[str, Any]]:
    """Run each case in processes that kill themselves; return what each left."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.pyevm_agents.lifecycle.killed_run", str(folder)],
        input="".join(json.dumps(case) + "\n" for case in cases),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.sample(count=45, seed=26)
def test_every_run_ends_as_it_would_have(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / "whole").mkdir()
    (whole,) = run_all(tmp_path / "whole", [[]])
    moments, expected = whole["moments"], whole["left"]
    assert (expected["run"], expected["number"], expected["blocks"]) == ("completed", 7, 2)
    for phase in Phase:
        assert f"{phase.value} computed" in moments, "no moment inside of the phase"
        assert f"{phase.value} stored" in moments, "no moment at the boundary"
    generator = random.Random(sample.seed)  # noqa: S311 - which moments
    cases = [[at] for at in range(len(moments))][: sample.count]
    runs = kills = 0
    while cases:
        folder = tmp_path / f"killed-{runs}"
        folder.mkdir()
        for case, result in zip(cases, run_all(folder, cases), strict=True):
            assert result["left"] == expected, (case, [moments[at] for at in case])
            assert result["kills"] in range(1, len(case) + 1)
            kills += result["kills"]
        runs += len(cases)
        cases = draw_cases(generator, len(moments), sample.count - kills)
    sample.figures.update(kills=kills, runs=runs, moments=len(moments))


def draw_cases(generator: random.Random, moments: int, kills: int) -> list[list[int]]:
    """Draw cases with a number of kills in all; a run may end before the last ones of its own."""
    cases: list[list[int]] = []
    while kills:
        count = generator.randint(1, min(MAX_KILLS_OF_A_RUN, kills))
        cases.append([generator.randrange(moments) for _ in range(count)])
        kills -= count
    return cases
