"""Train the router on all families that are not held out, and write its integer weights.

    python -m training.fit_router ROUTER.npz

`training.export --router ROUTER.npz` puts it into the adapter's file. Needs NumPy and gguf only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from precompiles.language_model import Segment
from pyevm_agents.models import Vocabulary
from training.choices import Source, training_choices
from training.kinds import SEEN
from training.kinds.composed import OPERATIONS, THINGS
from training.router import Reader, Training, fit, quantise, read_table

PROGRESS_STEPS = 25


def main(arguments: list[str] | None = None) -> int:
    """Train and write a router; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("out", type=Path, help="file to write, .npz")
    add("--model", type=Path, help="GGUF file of the embedding table; default: the default model")
    add("--wordnet", type=Path, metavar="FOLDER", help="WordNet's database files, for synonyms")
    add("--choices", type=int, default=20_000, help="training choices (default: %(default)s)")
    add("--steps", type=int, default=400, help="training steps (default: %(default)s)")
    add("--seed", type=int, default=1, help="seed of data and training (default: 1)")
    options = parser.parse_args(arguments)

    def progress(step: int, loss: float, right: float) -> None:
        if step % PROGRESS_STEPS == 0:
            sys.stderr.write(f"step {step}  loss {loss:.3f}  {right:.0%} right\n")

    with Vocabulary(options.model) as vocabulary:
        embedding = read_table(vocabulary.path, options.wordnet)
        reader = Reader(lambda text: vocabulary.tokenize((Segment(text=text),)))
        source = Source(kinds=SEEN, things=THINGS, operations=OPERATIONS)
        batch = reader.read(training_choices(source, options.choices, options.seed))
    router = fit(batch, embedding, Training(steps=options.steps, seed=options.seed), progress)
    found = quantise(router, embedding)
    np.savez_compressed(
        options.out,
        rows=found.rows,
        gates=found.gates,
        weights=found.weights,
        bias=np.int64(found.bias),
    )
    sys.stdout.write(f"{options.out}: {options.out.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
