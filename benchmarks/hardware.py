"""How often would other hardware give another text, and how close were those decisions?

    python -m benchmarks.hardware [--generations 200] [--others sse42 avx] [--json FILE]

Follows short generations of the product's build with another build, to the first token that it
would choose otherwise. Builds with other instructions stand in for other processors: the one with
AVX-512 if this machine can run it, else older instruction sets. Bits depend on the instructions of
a build, not on the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.builds import DEFAULT_WORK, VARIANTS, BuildError, libraries
from benchmarks.probes import Setting, running_probe
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.models.gguf.files import find_default_model

if TYPE_CHECKING:
    from benchmarks.probes import RunningProbe

OTHERS = ("avx512", "sse42", "avx", "native")
MIN_TOKENS, MAX_TOKENS = 2, 40
SEED = 7
VERBS = ("deposit", "withdraw", "send", "lend", "borrow", "swap", "stake", "repay")
THINGS = ("USDC", "DAI", "ether", "the whole balance", "half of it", "wrapped bitcoin")
PLACES = ("the vault", "addr1", "a friend", "the pool with the best rate", "a new wallet", "Größe")
OPENINGS = (
    "User: please {verb} {number} {thing} to {place}.\nThought:",
    "Question: should an agent {verb} {thing} at {place} when the rate is {number}%?\nAnswer:",
    "Balance: {number} {thing}. The task is to {verb} with {place}.\nAction:",
    "Write one sentence about how to {verb} {number} {thing} with {place}.\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One generation, followed by another build."""

    tokens: int
    margin: float
    """The smallest gap between the best and the second-best token, over all tokens."""

    differs_at: int | None
    margin_there: float | None
    largest_difference: float
    """The largest difference of one logit between the builds, up to the first other token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The product's build and another, over all generations."""

    other: str
    generations: int
    tokens: int
    differing: int
    token_of_difference: tuple[int, ...]
    margins_there: tuple[float, ...]
    largest_difference: float
    median_difference: float
    median_margin: float
    close: int
    """Generations with a margin below the largest logit difference seen."""

    bound_misses: int
    """Generations that differ although their margin is above twice the largest difference."""

    bits_equal: bool


def prompts(count: int) -> list[tuple[str, int]]:
    """Return texts and the number of output tokens after each."""
    chance = random.Random(SEED)  # noqa: S311 - the same prompts each time
    found = []
    for number in range(count):
        text = OPENINGS[number % len(OPENINGS)].format(
            verb=chance.choice(VERBS),
            thing=chance.choice(THINGS),
            place=chance.choice(PLACES),
            number=chance.randrange(1, 1000),
        )
        found.append((text, chance.randint(MIN_TOKENS, MAX_TOKENS)))
    return found


def follow(probe: RunningProbe, said: dict[str, Any], file: Path) -> Followed:
    """Follow a generation with another build."""
    answer = probe.ask("follow", prompt=said["prompt"], output=said["output"], file=str(file))
    at = answer["differs_at"]
    return Followed(
        tokens=len(said["output"]),
        margin=min(said["margins"]),
        differs_at=at,
        margin_there=None if at is None else said["margins"][at],
        largest_difference=max(answer["differences"]),
    )


def compare(other: str, all_followed: list[Followed]) -> Comparison:
    """Aggregate the generations."""
    parted = [it for it in all_followed if it.differs_at is not None]
    largest = max(it.largest_difference for it in all_followed)
    return Comparison(
        other=other,
        generations=len(all_followed),
        tokens=sum(it.tokens for it in all_followed),
        differing=len(parted),
        token_of_difference=tuple(it.differs_at for it in parted if it.differs_at is not None),
        margins_there=tuple(
            round(it.margin_there, 5) for it in parted if it.margin_there is not None
        ),
        largest_difference=largest,
        median_difference=statistics.median(it.largest_difference for it in all_followed),
        median_margin=statistics.median(it.margin for it in all_followed),
        close=sum(it.margin < largest for it in all_followed),
        bound_misses=sum(it.margin >= 2 * largest for it in parted),
        bits_equal=largest == 0,
    )


def table_of(found: list[Comparison], missing: dict[str, str]) -> Table:
    """Return the comparisons as a table."""
    table = Table(title="Generations of ours against those of builds with other instructions")
    for name in ("other build", "said", "differ", "first at token", "margin there, largest"):
        table.add_column(name)
    for name in ("logits differ by up to", "median", "median margin", "margin below largest"):
        table.add_column(name)
    for it in found:
        share = f"{it.differing} ({100 * it.differing / it.generations:.1f} %)"
        close = f"{it.close} ({100 * it.close / it.generations:.1f} %)"
        table.add_row(
            f"{it.other}: {VARIANTS[it.other].says}",
            str(it.generations),
            share if not it.bits_equal else "0: equal bits",
            str(statistics.median(it.token_of_difference)) if it.differing else "-",
            f"{max(it.margins_there):.4f}" if it.differing else "-",
            f"{it.largest_difference:.4f}",
            f"{it.median_difference:.4f}",
            f"{it.median_margin:.4f}",
            close,
        )
    for name, reason in missing.items():
        table.add_row(f"{name}: {VARIANTS[name].says}", reason)
    return table


def main() -> None:
    """Generate, compare and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a GGUF file; the default model if not given")
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--others", nargs="+", default=OTHERS, choices=VARIANTS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="builds")
    parser.add_argument("--json", type=Path, help="write the comparisons to this file as well")
    parser.add_argument("--text", type=Path, help="write the table to this file as well")
    options = parser.parse_args()

    model = options.model or find_default_model()
    missing: dict[str, str] = {}
    followed: dict[str, list[Followed]] = {}
    with ExitStack() as stack:
        ours = stack.enter_context(running_probe(Setting(model=model, threads=options.threads)))
        probes: dict[str, RunningProbe] = {}
        for name in options.others:
            try:
                setting = Setting(
                    model=model, threads=options.threads, libraries=libraries(name, options.work)
                )
            except BuildError as error:
                missing[name] = str(error)
                continue
            probes[name] = stack.enter_context(running_probe(setting))
            followed[name] = []
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        file = Path(folder) / "logits.npy"
        heartbeat = stack.enter_context(Heartbeat("benchmarks.hardware"))
        for text, tokens in heartbeat.track(prompts(options.generations), "generations"):
            said = ours.ask("generate", text=text, max_tokens=tokens, file=str(file))
            for name, probe in probes.items():
                followed[name].append(follow(probe, said, file))

            if options.json is not None:
                report = {
                    "cores": os.cpu_count(),
                    "not_run": missing,
                    "comparisons": [asdict(compare(*item)) for item in followed.items()],
                }
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    console = Console(width=180, record=True)
    console.print(table_of([compare(*item) for item in followed.items()], missing))
    if options.text is not None:
        options.text.write_text(console.export_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
