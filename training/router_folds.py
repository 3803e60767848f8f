"""Measure the router on families of tools that it was not trained on.

Hand-written families, and nouns and operations of composed ones, are dealt into folds. For each
fold, a router is trained on the others and measured on it. With --held-out, one router is trained
on all of them and measured on the benchmark's held-out families.

Figures are counts with Wilson's 95 % intervals. `tool` is the best tool where one serves the
request; `with none` has "none of these" as well; `overlap` is the share of the clause's words in
name and description. Settings: see training/choices.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.shares import share_of
from precompiles.language_model import Segment
from pyevm_agents.models import Vocabulary
from training.choices import COMPOSED, Source, folds, measured_choices, training_choices
from training.kinds import HELD_OUT, SEEN
from training.kinds.composed import OPERATIONS, THINGS
from training.router import (
    Reader,
    Training,
    choose,
    fit,
    integer_scores,
    overlap,
    quantise,
    read_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.shares import Share
    from pyevm_agents.models.decoding.router import RouterWeights
    from training.choices import Choice
    from training.router import Floats, Router

PROGRESS_STEPS = 25
"""Steps between progress lines."""

PRECISIONS = (0.97, 0.99)
"""Precisions for which the gate's coverage is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A measured choice: indices of tools, -1 for none."""

    fold: int
    part: str
    family: str
    setting: str
    is_new_key: bool
    """Whether no trained family has a tool with this key."""

    right: int
    tool: int
    with_none: int
    margin: float
    """The best score less the second, none included."""

    integer_tool: int
    integer_with_none: int
    overlap_tool: int
    overlap_with_none: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the folds, and print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, help="GGUF file of the embedding table; default: the default model")
    add("--wordnet", type=Path, metavar="FOLDER", help="WordNet's database files, for synonyms")
    add("--held-out", action="store_true", help="measure on the benchmark's held-out families")
    add("--folds", type=int, default=6, help="number of folds (default: 6)")
    add("--requests", type=int, default=60, help="measured requests of a family (default: 60)")
    add("--choices", type=int, default=6_000, help="training choices of a fold (default: 6000)")
    add("--steps", type=int, default=Training().steps, help="training steps (default: %(default)s)")
    add("--seed", type=int, default=1, help="seed of folds, data and training (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args(arguments)
    began = time.process_time()
    if options.held_out:
        pairs = [(Source(kinds=SEEN, things=THINGS, operations=OPERATIONS), Source(kinds=HELD_OUT))]
    else:
        pairs = folds(SEEN, options.folds, options.seed)
    marks: list[Mark] = []
    with Vocabulary(options.model) as vocabulary:
        embedding = read_table(vocabulary.path, options.wordnet)
        reader = Reader(lambda text: vocabulary.tokenize((Segment(text=text),)))
        for fold, (trained, left_out) in enumerate(pairs):
            marks += _run(fold, len(pairs), trained, left_out, reader, embedding, options)
    figures = figures_of(marks)
    _print(figures)
    if options.json:
        settings = {name: str(value) for name, value in vars(options).items() if name != "json"}
        result = {
            "settings": settings,
            "cpu_seconds": round(time.process_time() - began, 1),
            "figures": {
                name: {key: [one.count, one.total, *one.interval] for key, one in of.items()}
                for name, of in figures.items()
            },
            "wrong": [asdict(one) for one in marks if one.with_none != one.right],
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def _run(
    fold: int,
    count: int,
    trained: Source,
    left_out: Source,
    reader: Reader,
    embedding: Floats,
    options: argparse.Namespace,
) -> Iterable[Mark]:
    def progress(step: int, loss: float, right: float) -> None:
        if step % PROGRESS_STEPS == 0:
            _say(f"fold {fold + 1}/{count}  step {step}  loss {loss:.3f}  {right:.0%} right")

    _say(f"fold {fold + 1}/{count}  leaves out {', '.join(k.name for k in left_out.kinds)}")
    batch = reader.read(training_choices(trained, options.choices, options.seed))
    router = fit(batch, embedding, Training(steps=options.steps, seed=options.seed), progress)
    integers = quantise(router, embedding)
    keys = {pattern.key for kind in trained.kinds for pattern in kind.patterns}
    keys |= set(trained.operations)
    few = max(options.requests // 4, 1)
    parts: dict[str, list[Choice]] = {
        "clause": measured_choices(left_out, options.requests, options.seed, is_whole=False),
        "question": measured_choices(left_out, few, options.seed, is_whole=True),
        "trained family, new wording": measured_choices(
            trained, few, options.seed, is_whole=False, held_out_wordings=True
        ),
    }
    for part, choices in parts.items():
        yield from _marks(fold, part, choices, reader, router, integers, embedding, keys)


def _marks(
    fold: int,
    part: str,
    choices: Sequence[Choice],
    reader: Reader,
    router: Router,
    integers: RouterWeights,
    embedding: Floats,
    keys: set[str],
) -> Iterable[Mark]:
    batch = reader.read(choices)
    scores, exact, words = (
        router.scores(batch, embedding),
        integer_scores(integers, batch),
        overlap(batch),
    )
    ordered = np.sort(np.concatenate([np.zeros((len(scores), 1)), scores], 1), axis=1)
    chosen = [
        choose(of, allow_none=allow_none)
        for of in (scores, exact, words)
        for allow_none in (False, True)
    ]
    for row, choice in enumerate(choices):
        one = [int(of[row]) for of in chosen]
        yield Mark(
            fold=fold,
            part=part,
            family=choice.family,
            setting=choice.setting,
            is_new_key=choice.key not in keys,
            right=-1 if choice.right is None else choice.right,
            tool=one[0],
            with_none=one[1],
            margin=float(ordered[row, -1] - ordered[row, -2]),
            integer_tool=one[2],
            integer_with_none=one[3],
            overlap_tool=one[4],
            overlap_with_none=one[5],
        )


def figures_of(marks: Sequence[Mark]) -> dict[str, dict[str, Share]]:
    """Return the tables: name of the row, and its figures."""
    table: dict[str, dict[str, Share]] = {}

    def add(name: str, some: Iterable[Mark]) -> None:
        of = list(some)
        if of and of[0].right >= 0:
            table[name] = {
                "tool": share_of([m.tool == m.right for m in of]),
                "with none": share_of([m.with_none == m.right for m in of]),
                "overlap": share_of([m.overlap_tool == m.right for m in of]),
                "overlap with none": share_of([m.overlap_with_none == m.right for m in of]),
            }

    for part in dict.fromkeys(m.part for m in marks):
        own = [m for m in marks if m.part == part]
        written = [m for m in own if m.family != COMPOSED]
        add(f"{part}: all families", _of(written, "plain"))
        add(f"{part}: keys never trained", [m for m in _of(written, "plain") if m.is_new_key])
        add(f"{part}: composed", [m for m in _of(own, "plain") if m.family == COMPOSED])
        add(f"{part}: near-duplicate added", _of(written, "near"))
        add(f"{part}: near-duplicate requested", _of(written, "twin"))
        known = [m for m in written if m.setting in {"plain", "none", "near"}]
        table[f"{part}: none"] = {
            "recall": share_of([m.with_none < 0 for m in _of(written, "none")]),
            "precision": share_of([m.right < 0 for m in known if m.with_none < 0]),
            "overlap recall": share_of([m.overlap_with_none < 0 for m in _of(written, "none")]),
            "overlap precision": share_of([m.right < 0 for m in known if m.overlap_with_none < 0]),
            "unrelated": share_of([m.with_none < 0 for m in _of(own, "idle")]),
        }
        if len({m.fold for m in known}) > 1:
            for precision in PRECISIONS:
                table[f"{part}: gate at {precision:.0%}"] = _gate(known, precision)
        table[f"{part}: integers choose as floats"] = {
            "tool": share_of([m.integer_tool == m.tool for m in own]),
            "with none": share_of([m.integer_with_none == m.with_none for m in own]),
        }
        if part == "clause":
            for family in sorted({m.family for m in _of(own, "plain")}):
                add(f"family {family}", [m for m in _of(own, "plain") if m.family == family])
    return table


def _of(marks: Iterable[Mark], setting: str) -> list[Mark]:
    return [mark for mark in marks if mark.setting == setting]


def _gate(marks: Sequence[Mark], precision: float) -> dict[str, Share]:
    """Measure a threshold of the margin that has a precision in the other folds."""
    acted: list[bool] = []
    covered: list[bool] = []
    for fold in {m.fold for m in marks}:
        others = sorted(
            (
                (m.margin, m.with_none == m.right)
                for m in marks
                if m.fold != fold and m.with_none >= 0
            ),
            reverse=True,
        )
        threshold, right = float("inf"), 0
        for count, (margin, is_right) in enumerate(others, start=1):
            right += is_right
            if right >= precision * count:
                threshold = margin
        own = [m for m in marks if m.fold == fold]
        sure = [m.with_none >= 0 and m.margin >= threshold for m in own]
        acted += [m.with_none == m.right for m, is_sure in zip(own, sure, strict=True) if is_sure]
        covered += [
            is_sure and m.with_none == m.right
            for m, is_sure in zip(own, sure, strict=True)
            if m.right >= 0
        ]
    return {"precision": share_of(acted), "coverage": share_of(covered)}


def _print(figures: dict[str, dict[str, Share]]) -> None:
    by_columns: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, of in figures.items():
        by_columns[tuple(of)].append(name)
    for columns, names in by_columns.items():
        print(f"{'':46}" + "".join(f"{column:28}" for column in columns))  # noqa: T201
        for name in names:
            print(f"{name:46}" + "".join(f"{one!s:28}" for one in figures[name].values()))  # noqa: T201
        print()  # noqa: T201


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
