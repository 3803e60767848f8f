"""Kills at every boundary and inside every phase: the run ends as it would have.

CI tries a fixed sample of moments and pairs, with and without a treasury; `make evidence` tries
each moment once, and draws more.
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
PLAIN = {"run": "completed", "number": 7, "blocks": 2}
TREASURY = {"run": "completed", "number": 7, "requests": [1, 0], "responses": 1, "response": 100}
AROUND_THE_RESPONSE = (
    "runner block mined",
    "verify inside",
    "owner block begun",
    "owner block mined",
    "validator block begun",
    "validator block mined",
    "confirmation begun",
    "confirmation signed",
    "confirmation stored",
)
"""Moments of a run with a treasury, beside those of the phases."""


def run_all(folder: Path, scenario: str, cases: list[list[int]]) -> list[dict[str, Any]]:
    """Run each case in processes that kill themselves; return what each left."""
    folder.mkdir()
    module = "tests.pyevm_agents.lifecycle.killed_processes"
    done = subprocess.run(
        [sys.executable, "-m", module, str(folder), scenario],
        input="".join(json.dumps(case) + "\n" for case in cases),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.sample(count=45, seed=26)
def test_every_run_ends_as_it_would_have(tmp_path: Path, sample: Sample) -> None:
    generator = random.Random(sample.seed)  # noqa: S311 - which moments
    whole = {"plain": run_whole(tmp_path, "plain"), "treasury": run_whole(tmp_path, "treasury")}
    assert whole["plain"]["left"].items() >= PLAIN.items()
    assert whole["treasury"]["left"].items() >= TREASURY.items()
    assert {*AROUND_THE_RESPONSE} <= {*whole["treasury"]["moments"]}
    singles = [(name, [at]) for name, found in whole.items() for at in range(len(found["moments"]))]
    generator.shuffle(singles)
    cases = singles[: sample.count]
    kills = dict.fromkeys(whole, 0)
    runs = 0
    while cases:
        for name, found in whole.items():
            own = [case for other, case in cases if other == name]
            kills[name] += check_all(tmp_path / f"{name}-{runs}", name, own, found)
        runs += len(cases)
        cases = draw_cases(generator, whole, sample.count - sum(kills.values()))
    sample.figures.update(
        kills=sum(kills.values()),
        treasury_kills=kills["treasury"],
        runs=runs,
        moments=len(singles),
    )


def run_whole(folder: Path, scenario: str) -> dict[str, Any]:
    """Run without a kill; return what is left, and the moments."""
    (whole,) = run_all(folder / scenario, scenario, [[]])
    assert "moments" in whole, whole["left"]
    for phase in Phase:
        assert f"{phase.value} computed" in whole["moments"], "no moment inside of the phase"
        assert f"{phase.value} stored" in whole["moments"], "no moment at the boundary"
    return whole


def check_all(folder: Path, scenario: str, cases: list[list[int]], whole: dict[str, Any]) -> int:
    """Assert that runs with these kills leave what the whole one left; return how many kills."""
    kills = 0
    for case, result in zip(cases, run_all(folder, scenario, cases), strict=True):
        moments = [whole["moments"][at] for at in case]
        assert result["left"] == whole["left"], (scenario, case, moments)
        assert result["kills"] in range(1, len(case) + 1)
        kills += result["kills"]
    return kills


def draw_cases(
    generator: random.Random, whole: dict[str, Any], kills: int
) -> list[tuple[str, list[int]]]:
    """Draw cases with a number of kills in all; a run may end before the last ones of its own."""
    cases: list[tuple[str, list[int]]] = []
    while kills:
        count = generator.randint(1, min(MAX_KILLS_OF_A_RUN, kills))
        name = generator.choice([*whole])
        moments = len(whole[name]["moments"])
        cases.append((name, [generator.randrange(moments) for _ in range(count)]))
        kills -= count
    return cases
