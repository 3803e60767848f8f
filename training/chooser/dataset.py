"""Data of the chooser: `python -m training.chooser.dataset FOLDER --seed 1 --fold 0`; a minute.

The families are dealt into folds, of which one is left out. FOLDER then has

- `train.jsonl.gz`: pairs and choices of a tool of the other folds' families, in training templates;
- `pairs.jsonl.gz`: pairs for measuring, in parts: families that were left out, templates that are
  held out, both, the families for calibration and the benchmark's, and tools of contracts, these
  three in held-out templates;
- `choices.jsonl.gz`: choices of a tool for measuring, in parts, with names and with nonsense names.

Without --fold, all families but those for calibration and the benchmark's are trained on.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import time
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.choices import Source, folds
from training.chooser.clauses import make_choices, make_trained_choices
from training.chooser.contract_pairs import make_contract_pairs
from training.chooser.dataset_files import CHOICES, PAIRS, TRAIN
from training.chooser.pairs import PairMaker
from training.chooser.templates import choose_part, read_templates
from training.kinds import CALIBRATION, HELD_OUT, SEEN
from training.kinds.composed import OPERATIONS, THINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from training.chooser.templates import Template

FOLDS = 6
CONTRACT_SHARE = 0.4
"""Share of the training pairs that are of tools as `tools deploy` writes them."""

MEASURED_SEED = 1_000
"""Added to the seed of what is measured, so that no generator is used twice."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of a folder; return the exit status."""
    options = _parse(arguments)
    began = time.monotonic()
    templates = read_templates()
    trained, left_out = choose_sources(options.fold, options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    known = choose_part(templates, held_out=False)
    of_contracts = round(options.count * CONTRACT_SHARE)
    pairs = chain(
        PairMaker(trained, known).make(options.count - of_contracts, options.seed),
        make_contract_pairs(known, of_contracts, options.seed),
    )
    choices = make_trained_choices(trained, known, options.choices, options.seed)
    learnt = chain((asdict(one) for one in pairs), (asdict(one) for one in choices))
    count = _write(options.folder / TRAIN, learnt)
    _say(f"{count:,} pairs and choices to train on, of {len(trained.kinds)} families")
    rows = make_measured_pairs(trained, left_out, templates, options.measured, options.seed)
    _say(f"{_write(options.folder / PAIRS, rows):,} pairs for measuring")
    rows = make_measured_choices(left_out, options.requests, options.seed)
    _say(f"{_write(options.folder / CHOICES, rows):,} choices for measuring")
    _say(f"{options.folder}: {time.monotonic() - began:.0f} s")
    return 0


def choose_sources(fold: int | None, seed: int) -> tuple[Source, Source]:
    """Return the families to train on, and those that are left out of them."""
    if fold is None:
        calibration = Source(kinds=CALIBRATION)
        return Source(kinds=SEEN, things=THINGS, operations=OPERATIONS), calibration
    return folds(SEEN, FOLDS, seed)[fold]


def make_measured_pairs(
    trained: Source, left_out: Source, templates: Sequence[Template], count: int, seed: int
) -> Iterator[Mapping[str, Any]]:
    """Generate the same number of pairs of each part; each row has its `part`."""
    known, new = (choose_part(templates, held_out=held_out) for held_out in (False, True))
    parts = {
        "new families, new templates": (left_out, new),
        "new families": (left_out, known),
        "new templates": (trained, new),
        "calibration": (Source(kinds=CALIBRATION), new),
        "benchmark": (Source(kinds=HELD_OUT), new),
    }
    for part, (source, some) in parts.items():
        for pair in PairMaker(source, some).make(count, seed + MEASURED_SEED):
            yield {"part": part, **asdict(pair)}
    for pair in make_contract_pairs(new, count, seed + MEASURED_SEED):
        yield {"part": "contracts", **asdict(pair)}


def make_measured_choices(
    left_out: Source, requests: int, seed: int
) -> Iterator[Mapping[str, Any]]:
    """Generate choices, with the same number of requests of each family; rows have their `part`."""
    parts = {
        "new families": left_out,
        "calibration": Source(kinds=CALIBRATION),
        "benchmark": Source(kinds=HELD_OUT),
    }
    for part, source in parts.items():
        for nonsense in (False, True):
            name = f"{part}, nonsense names" if nonsense else part
            for choice in make_choices(source, requests, seed, nonsense=nonsense):
                yield {"part": name, **asdict(choice)}


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON lines: the same bytes for the same rows."""
    count = 0
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text,
    ):
        for row in rows:
            text.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
    return count


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.chooser.dataset",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", type=Path, help="the folder to write")
    add("--count", type=int, default=200_000, help="pairs to train on (default: 200,000)")
    add("--choices", type=int, default=40_000, help="choices to train on (default: 40,000)")
    add("--measured", type=int, default=5_000, help="pairs of a measured part (default: 5,000)")
    add("--requests", type=int, default=20, help="requests of a family to choose for (default: 20)")
    add("--seed", type=int, default=1, help="seed of folds and data (default: 1)")
    add("--fold", type=int, choices=range(FOLDS), help="the fold that is left out")
    return parser.parse_args(arguments)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
