"""Measure a chooser: `python -m training.chooser.evaluate RUN/chooser.pt FOLDER --base BASE`.

FOLDER is that of `training.chooser.dataset`. For each part of its pairs: the share accepted of each
kind at some thresholds, precision and recall, and the thresholds of wanted precisions. For each
part of its choices: the right tool with and without none, and with confidences that have a
precision, on the part itself and fitted on another part (--fit).

Shares are counts with Wilson's 95 % intervals. Precision is that of the part's mix of hard cases,
which is not that of use. Needs training/requirements.txt.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from training.chooser import figures
from training.chooser.batches import DataError, Examples, join_mood, join_pair, read_rows
from training.chooser.dataset_files import CHOICES, PAIRS
from training.chooser.figures import ScoredChoice, ScoredPair
from training.chooser.network import BaseError, load_chooser, load_run_file, read_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyevm_agents.models.chooser.wordpiece import WordPiece
    from training.chooser.figures import Table
    from training.chooser.network import Batch, Chooser

BATCH_TOKENS = 2_048
"""Tokens that are computed at once, padding included."""

REFUSED = -99.0
"""Score of a text without a token, or longer than the chooser reads."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """A chooser that scores texts."""

    chooser: Chooser
    pieces: WordPiece

    def score_calls(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """Return the score of each pair of a sentence and a call."""
        inputs = [join_pair(self.pieces, *pair) for pair in pairs]
        return self._score(inputs, self.chooser.score_calls)

    def score_moods(self, sentences: Iterable[str]) -> list[float]:
        """Return the score of each sentence's mood."""
        inputs = [join_mood(self.pieces, sentence) for sentence in sentences]
        return self._score(inputs, self.chooser.score_moods)

    def _score(
        self,
        inputs: Sequence[tuple[list[int], int] | None],
        compute: Callable[[Batch], torch.Tensor],
    ) -> list[float]:
        scores = [REFUSED] * len(inputs)
        known = {place: one for place, one in enumerate(inputs) if one is not None}
        examples = Examples(
            tokens=tuple(tuple(tokens) for tokens, _ in known.values()),
            sentences=tuple(count for _, count in known.values()),
        )
        places = [*known]
        ordered = sorted(range(len(places)), key=lambda number: len(examples.tokens[number]))
        with torch.no_grad():
            for some in _split(ordered, examples):
                for number, score in zip(some, compute(examples.batch(some)).tolist(), strict=True):
                    scores[places[number]] = score
        return scores


def _split(ordered: Sequence[int], examples: Examples) -> Iterable[list[int]]:
    """Yield numbers, sorted by length, in batches of at most `BATCH_TOKENS` tokens."""
    some: list[int] = []
    for number in ordered:
        if some and (len(some) + 1) * len(examples.tokens[number]) > BATCH_TOKENS:
            yield some
            some = []
        some.append(number)
    if some:
        yield some


def score_pairs(scorer: Scorer, rows: Sequence[Mapping[str, Any]]) -> list[ScoredPair]:
    """Score rows of pairs."""
    calls = scorer.score_calls((row["sentence"], row["call"]) for row in rows)
    moods = scorer.score_moods(row["sentence"] for row in rows)
    return [
        ScoredPair(
            part=row["part"],
            kind=row["kind"],
            accepts=row["accepts"],
            orders=row["orders"],
            call=call,
            mood=mood,
        )
        for row, call, mood in zip(rows, calls, moods, strict=True)
    ]


def score_choices(scorer: Scorer, rows: Sequence[Mapping[str, Any]]) -> list[ScoredChoice]:
    """Score rows of choices, those without a call left out."""
    kept = [row for row in rows if row["calls"]]
    scores = iter(
        scorer.score_calls((row["clause"], call) for row in kept for call in row["calls"])
    )
    return [
        ScoredChoice(
            part=row["part"],
            setting=row["setting"],
            wording=row["wording"],
            right=row["right"],
            scores=tuple(next(scores) for _ in row["calls"]),
        )
        for row in kept
    ]


def measure(
    pairs: Sequence[ScoredPair], choices: Sequence[ScoredChoice], fit: str
) -> dict[str, Table]:
    """Return all tables by name; thresholds are fitted on the part `fit`."""
    tables: dict[str, Table] = {}
    for part in dict.fromkeys(one.part for one in pairs):
        own = [one for one in pairs if one.part == part]
        tables[f"pairs: {part}"] = figures.tabulate_accepted(own)
        tables[f"precision: {part}"] = figures.tabulate_precision(own)
        tables[f"reliability: {part}"] = figures.tabulate_reliability(own)
    for part in dict.fromkeys(one.part for one in choices):
        own_choices = [one for one in choices if one.part == part]
        tables[f"choices: {part}"] = figures.tabulate_choices(own_choices)
        fitted = [one for one in choices if one.part == fit]
        if fitted and part != fit:
            tables[f"choices: {part}, confidence of {fit}"] = figures.apply_confidence(
                fitted, own_choices
            )
    return tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write the figures; return the exit status."""
    options = _parse(arguments)
    torch.set_num_threads(options.threads)
    began = time.process_time()
    try:
        found = load_run_file(options.chooser)
        pieces = read_vocabulary(options.base)
        scorer = Scorer(load_chooser(found["state"], found["config"]), pieces)
        pairs = _read(options.folder / PAIRS, options)
        choices = _read(options.folder / CHOICES, options)
        scored, chosen = score_pairs(scorer, pairs), score_choices(scorer, choices)
    except (BaseError, DataError, KeyError, OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    tables = measure(scored, chosen, options.fit)
    own = [pair for pair in scored if pair.part == options.fit]
    thresholds = figures.find_thresholds(own)
    for name, table in tables.items():
        _print(name, table)
    print(f"thresholds on {options.fit}: {json.dumps(thresholds)}")  # noqa: T201
    if options.json:
        result = {
            "chooser": str(options.chooser),
            "steps": found["config"]["step"],
            "cpu_seconds": round(time.process_time() - began, 1),
            "thresholds": thresholds,
            "tables": {
                name: {
                    row: {
                        column: [one.count, one.total, *one.interval] for column, one in of.items()
                    }
                    for row, of in table.items()
                }
                for name, table in tables.items()
            },
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def _read(path: Path, options: argparse.Namespace) -> list[Mapping[str, Any]]:
    rows = [row for row in read_rows(path) if not options.part or row["part"] in options.part]
    return rows[:: options.every]


def _print(name: str, table: Table) -> None:
    columns = list(dict.fromkeys(column for row in table.values() for column in row))
    print(f"\n{name}")  # noqa: T201
    print(f"{'':42}" + "".join(f"{column:24}" for column in columns))  # noqa: T201
    for row, of in table.items():
        print(f"{row:42}" + "".join(f"{of[column]!s:24}" for column in columns))  # noqa: T201


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.chooser.evaluate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("chooser", type=Path, help="chooser.pt of a run")
    add("folder", type=Path, help="folder of training.chooser.dataset")
    add("--base", type=Path, required=True, help="folder of the encoder's vocabulary")
    add("--part", action="append", help="measure this part alone; may be repeated")
    add("--every", type=int, default=1, help="measure every n-th row alone (default: 1)")
    add("--fit", default="calibration", help="part that fits thresholds (default: calibration)")
    add("--threads", type=int, default=1, help="threads of PyTorch (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
