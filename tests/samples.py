"""Number of examples of a test: few in CI, the requested count in `make evidence`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "PYEVM_AGENTS_EVIDENCE"
"""JSON with `count`, `seed` and `result`, a file: `benchmarks.evidence` sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The tries of one test."""

    count: int
    seed: int
    figures: dict[str, int] = field(default_factory=dict)
    """What the test counted; `benchmarks.evidence` reports it."""


def read_sample(default: Mapping[str, int]) -> Sample:
    """Return the sample in the environment, or the default one."""
    asked = json.loads(os.environ.get(VARIABLE, "{}"))
    return Sample(
        count=asked.get("count", default["count"]), seed=asked.get("seed", default["seed"])
    )


def write_figures(sample: Sample) -> None:
    """Report the counts of a test, if the environment names a file."""
    asked = json.loads(os.environ.get(VARIABLE, "{}"))
    if "result" in asked:
        Path(asked["result"]).write_text(json.dumps(sample.figures))
