"""Are a chooser's scores those of integers, alone, in any batch and by each kernel of a BLAS?

    python -m benchmarks.chooser_pairs [--count 10000] [--seed 30] [--chooser FILE] [--json FILE]

Pairs of a sentence and a call are generated from all families and templates (`training/chooser/`),
and SHA-256 of all their scores, and of some sentences' moods, must be the same

- alone, and in batches of random composition;
- by each kernel of OpenBLAS that this processor has (it calls Prescott `Katmai`), each in batches
  of its own; the last also with NumPy's baseline alone.

The encoder allows its BLAS one thread, so threads are not varied. One pair in `CHECKED` of ASCII is
also scored by `tests/pyevm_agents/models/chooser/oracles.py` in integers of 64 bits, without BLAS.
Exit status 1 if anything differs.

With MiniLM of 6 layers, a core scores 29 pairs a second in batches, 21 alone and 12 by the kernel
for Prescott, and checks some two a second. So 10,000 pairs take about an hour on one idle core, and
1,000,000 some three days without more checks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_info

from precompiles.chooser import ChooserLimitError
from pyevm_agents.models.chooser.chooser_file import open_chooser
from pyevm_agents.models.chooser.installed import FILE
from tests.pyevm_agents.models.chooser.oracles import IntegerOracle, Reader
from tests.pyevm_agents.models.numeric.output_digest import list_dispatched
from training.choices import Source
from training.chooser.pairs import PairMaker
from training.chooser.templates import read_templates
from training.kinds import CALIBRATION, HELD_OUT, SEEN
from training.kinds.composed import OPERATIONS, THINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from precompiles.chooser import Chooser

    Input = TypeVar("Input")

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("Haswell", "Nehalem", "Prescott", "SkylakeX")
"""Values of `OPENBLAS_CORETYPE`."""

BASELINE = "Prescott"
CHECKED = 10
"""One pair of so many is scored by the oracle."""

MOODS = 10
"""One sentence of so many has its mood scored."""

WINDOW, MOST = 512, 40
"""Pairs that are shuffled at once, and the most of a batch."""


def draw_pairs(chooser: Chooser, number: int, seed: int) -> Iterator[tuple[str, str]]:
    """Generate pairs that the chooser can read."""
    source = Source(kinds=(*SEEN, *CALIBRATION, *HELD_OUT), things=THINGS, operations=OPERATIONS)
    maker = PairMaker(source, read_templates())
    seeds = (seed + (repeat << 32) for repeat in count())
    drawn = (pair for each in seeds for pair in maker.make(max(number, 1), each))
    fitting = (
        (one.sentence, one.call) for one in drawn if can_read(chooser, one.sentence, one.call)
    )
    return islice(fitting, number)


def can_read(chooser: Chooser, sentence: str, call: str) -> bool:
    """Return whether both texts are within their limits."""
    try:
        chooser.count_call_tokens(sentence, call)
    except ChooserLimitError:
        return False
    return True


def hash_scores(path: Path, number: int, seed: int, batches: str) -> str:
    """Return SHA-256 of all scores.

    Input:  what the composition of batches depends on; empty: each input is scored alone.
    """
    chooser, digest = open_chooser(path), hashlib.sha256()
    chance = random.Random(batches)  # noqa: S311 - repeatable, no secret
    most = MOST if batches else 1
    pairs = draw_pairs(chooser, number, seed)
    while window := [*islice(pairs, WINDOW)]:
        scores = score_in_batches(chooser.score_calls, window, most, chance)
        sentences = [sentence for sentence, _ in window[::MOODS]]
        scores += score_in_batches(chooser.score_moods, sentences, most, chance)
        digest.update(json.dumps(scores).encode())
    return digest.hexdigest()


def score_in_batches(
    score: Callable[[Sequence[Input]], Sequence[int]],
    inputs: Sequence[Input],
    most: int,
    chance: random.Random,
) -> list[int]:
    """Return scores in the inputs' order; batches have a random order and up to `most` inputs."""
    order = chance.sample(range(len(inputs)), len(inputs))
    found: dict[int, int] = {}
    while len(found) < len(inputs):
        batch = order[len(found) :][: chance.randint(1, most)]
        found.update(zip(batch, score([inputs[place] for place in batch]), strict=True))
    return [found[place] for place in range(len(inputs))]


def check_scores(path: Path, oracle_path: Path, number: int, seed: int) -> int:
    """Compare the product's scores with those of integers; return their number.

    Raises: ValueError: a score differs.
    """
    chooser, oracle = open_chooser(path), Reader(IntegerOracle(oracle_path, np.int64))
    every = islice(draw_pairs(chooser, number, seed), 0, None, CHECKED)
    pairs = [pair for pair in every if "".join(pair).isascii()]
    for pair, score in zip(pairs, chooser.score_calls(pairs), strict=True):
        found = score, *chooser.score_moods(pair[:1])
        expected = oracle.score_call(*pair), oracle.score_mood(pair[0])
        if found != expected:
            raise ValueError(f"{pair}: scores {found}: must be {expected}")
    return 2 * len(pairs)


def run_child(options: argparse.Namespace, number: int, kernel: str, batches: str) -> Any:  # noqa: ANN401
    """Return what `main` prints with --batches; None if the processor lacks an instruction."""
    command = [sys.executable, "-m", "benchmarks.chooser_pairs", "--batches", batches]
    command += ["--chooser", options.chooser, "--seed", str(options.seed), "--count", str(number)]
    fixed = {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    if kernel == BASELINE:
        fixed["NPY_DISABLE_CPU_FEATURES"] = " ".join(list_dispatched())
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **fixed}, stdout=subprocess.PIPE, check=False
    )
    if run.returncode == -signal.SIGILL:
        return None
    run.check_returncode()
    return json.loads(run.stdout)


def measure(options: argparse.Namespace) -> dict[str, int | str]:
    """Return the figures; raise ValueError if scores differ."""
    kernels: dict[str, str] = {}
    for kernel in KERNELS:
        # A kernel that is not there dies on opening the file, or is another one.
        probe = run_child(options, 0, kernel, kernel)
        if probe is not None:
            kernels.setdefault(probe["kernel"], kernel)
    runs = [(kernel, kernel) for kernel in kernels.values()]
    runs.append((runs[0][0], ""))
    hashes = {run: run_child(options, options.count, *run)["hash"] for run in runs}
    if len(set(hashes.values())) > 1:
        raise ValueError(f"hashes of scores differ by kernel and batches: {hashes}")
    checked = check_scores(options.chooser, options.chooser, options.count, options.seed)
    return {
        "pairs": options.count,
        "scores of integers": checked,
        "evaluations of each pair": len(runs),
        "kernels": ", ".join(kernels),
        "kernels not here": ", ".join(sorted({*KERNELS} - {*kernels.values()})),
        "hash of scores": hashes[runs[0]],
        "chooser": open_chooser(options.chooser).digest.hex(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare scores; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--count", type=int, default=10_000, help="pairs (default: 10,000)")
    add("--seed", type=int, default=30, help="seed of the pairs (default: 30)")
    add("--chooser", type=Path, default=FILE, help="its file (default: the installed one)")
    add("--json", type=Path, help="also write the figures as JSON to this file")
    add("--batches", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.batches is not None:
        digest = hash_scores(options.chooser, options.count, options.seed, options.batches)
        kernel = ", ".join(sorted({str(one.get("architecture")) for one in threadpool_info()}))
        print(json.dumps({"kernel": kernel, "hash": digest}))
        return 0
    try:
        figures = measure(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for name, figure in figures.items():
        print(f"{name}: {figure}")
    if options.json:
        options.json.write_text(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
