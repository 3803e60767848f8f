"""Choose the gate's threshold: the largest surprisal at which actions are precise enough.

    python -m training.rehearsal --calibration --tasks 400 --adapter FILE --json RUNS.json
    python -m training.calibrate RUNS.json [--precision 0.98]

The runs are made without a gate: in the short format as above, in the free format with `--free
--rule max_surprisal=4294967296`, which scores all steps and lets them pass. Their families are
neither trained nor measured. Under a threshold a run ends before its first tool use that does
not pass. One that the rules decide has no surprisal, and passes. Prints a table and the decoding
rule for `training.export --rule`.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.shares import share_of
from precompiles.language_model import NAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.shares import Share

LEAST_ACTS = 20
"""Least number of acting runs on which a threshold is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """Figures of runs under a threshold."""

    max_surprisal: int
    precision: Share
    """Of the runs that acted, those with exactly the right actions."""

    coverage: Share
    """Of the runs that should act, those that acted, with exactly the right actions."""

    withheld: Share
    """Of all runs, those that the gate ended."""


def apply_gate(runs: Sequence[dict[str, Any]], max_surprisal: int) -> Gated:
    """Return the figures under a threshold.

    Input:  runs as `training.rehearsal --json` writes them.
    """
    acted: list[bool] = []
    covered: list[bool] = []
    withheld: list[bool] = []
    for run in runs:
        ended = next(
            (place for place, step in enumerate(run["steps"]) if not _passes(step, max_surprisal)),
            None,
        )
        steps = run["steps"][:ended]
        has_acted = any(step["acts"] for step in steps)
        is_right = run["isRight"] if ended is None else not (run["wanted"] or has_acted)
        if has_acted:
            acted.append(is_right)
        if run["wanted"]:
            covered.append(has_acted and is_right)
        withheld.append(ended is not None)
    return Gated(
        max_surprisal=max_surprisal,
        precision=share_of(acted),
        coverage=share_of(covered),
        withheld=share_of(withheld),
    )


def _passes(step: dict[str, Any], max_surprisal: int) -> bool:
    """Tell whether the gate lets a step pass."""
    surprisal = step["surprisal"]
    return not step["tool"] or surprisal is None or bool(surprisal <= max_surprisal)


def choose(runs: Sequence[dict[str, Any]], precision: float) -> tuple[list[Gated], Gated | None]:
    """Return the figures at each surprisal that occurs, and the precise one that covers most."""
    found = sorted(
        {
            step["surprisal"]
            for run in runs
            for step in run["steps"]
            if step["tool"] and step["surprisal"] is not None
        }
    )
    table = [apply_gate(runs, threshold) for threshold in found]
    fit = [
        one
        for one in table
        if one.precision.value >= precision and one.precision.total >= LEAST_ACTS
    ]
    return table, max(fit, key=lambda one: one.coverage.count, default=None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and the rule; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, help="file of training.rehearsal --json")
    parser.add_argument("--precision", type=float, default=0.98, help="wanted precision")
    options = parser.parse_args(arguments)
    runs = json.loads(options.runs.read_text())
    table, best = choose(runs, options.precision)
    for one in table[:: max(len(table) // 20, 1)]:
        sys.stdout.write(
            f"{one.max_surprisal / NAT:8.3f} nats  precision {one.precision!s:24} "
            f"coverage {one.coverage!s:24} withheld {one.withheld}\n"
        )
    if best is None:
        sys.stdout.write(f"No threshold has a precision of {options.precision:.0%}.\n")
        return 1
    sys.stdout.write(
        f"--rule max_surprisal={best.max_surprisal}   precision {best.precision}, "
        f"coverage {best.coverage}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
