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
    (tmp_path / "killed").mkdir()
    (whole,) = run_all(tmp_path / "whole", [[]])
    moments, expected = whole["moments"], whole["left"]
    assert (expected["run"], expected["number"], expected["blocks"]) == ("completed", 7, 2)
    for phase in Phase:
        assert f"{phase.value} computed" in moments, "no moment inside of the phase"
        assert f"{phase.value} stored" in moments, "no moment at the boundary"
    generator = random.Random(sample.seed)  # noqa: S311 - which moments
    cases = [[at] for at in range(len(moments))][: sample.count]
    while sum(map(len, cases)) < sample.count:
        most = min(MAX_KILLS_OF_A_RUN, sample.count - sum(map(len, cases)))
        cases.append([generator.randrange(len(moments)) for _ in range(generator.randint(1, most))])
    kills: list[int] = []
    for case, result in zip(cases, run_all(tmp_path / "killed", cases), strict=True):
        assert result["left"] == expected, (case, [moments[at] for at in case])
        kills.append(result["kills"])
    assert set(kills[: len(moments)]) == {1}
    sample.figures.update(kills=sum(kills), runs=len(cases), moments=len(moments))
