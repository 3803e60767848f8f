"""Does every generation equal the one of a fresh context, after any other work?

    python -m benchmarks.soak [--generations 10000] [--processes 2] [--tally DIR] [--json FILE]

Each case (`benchmarks.cases`) is generated once for reference: memory emptied, the whole mask, one
token at a time, nothing forced. Then cases come in random order, in several engine processes that
keep their memory, under various circumstances, and each result must equal its reference byte for
byte: text, tokens, forced ones, completeness, closest decision. The tally is kept in a folder; an
interrupted soak resumes. Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.cases import case
from benchmarks.circumstances import CIRCUMSTANCES, PLAIN, Bench
from benchmarks.tally import append, generation_of, held, rows
from pyevm_agents.bench.heartbeat import open_heartbeat
from pyevm_agents.models import LlamaModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from precompiles.language_model import Generation

REFERENCES, TALLY, HEADER = "references.jsonl", "tally.jsonl", "soak.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a soak."""

    generations: int
    cases: int
    processes: int
    seed: int
    tally: Path
    model: Path | None
    adapter: Path | None = None


class Soak:
    """A soak with its tally: the finished and the remaining work."""

    def __init__(self, options: Options, console: Console) -> None:
        """Open the tally.

        Raises: SystemExit: it belongs to another soak.
        """
        self.options, self.console = options, console
        self.references: dict[int, dict[str, Any]] = {
            row["case"]: row for row in rows(options.tally / REFERENCES)
        }
        self.done: dict[int, dict[str, Any]] = {
            row["index"]: row for row in rows(options.tally / TALLY)
        }
        self.generations = sum(row["generations"] for row in self.done.values())
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def run(self) -> None:
        """Compute missing references, then compare until there are enough."""
        with self._progress() as progress:
            bar = progress.add_task(
                "references", total=self.options.cases, completed=len(self.references)
            )
            missing = [n for n in range(self.options.cases) if n not in self.references]

            def refer(bench: Bench, number: int) -> None:
                self._refer(bench, number)
                progress.advance(bar)

            self._share(missing, refer)
            bar = progress.add_task(
                "generations", total=self.options.generations, completed=self.generations
            )

            def compare(bench: Bench, index: int) -> None:
                self._compare(bench, index)
                progress.update(bar, completed=self.generations)

            self._share(self._indices(), compare)

    def _indices(self) -> Iterator[int]:
        """Yield unfinished numbers until there are enough generations."""
        index = 0
        while self.generations < self.options.generations:
            if index not in self.done:
                yield index
            index += 1

    def _share(self, numbers: Iterable[int], work: Callable[[Bench, int], None]) -> None:
        """Distribute numbers among the engines; each has a thread and a process."""
        source = iter(numbers)

        def serve(number: int) -> None:
            try:
                with Bench(self.options.model, number, adapter=self.options.adapter) as bench:
                    while (task := self._next(source)) is not None:
                        work(bench, task)
            except BaseException:
                self._stop.set()
                raise

        with ThreadPoolExecutor(self.options.processes) as pool:
            try:
                list(pool.map(serve, range(self.options.processes)))
            except BaseException:  # Ctrl-C: each ends with what it is at, which is tallied.
                self._stop.set()
                raise

    def _next(self, source: Iterator[int]) -> int | None:
        with self._lock:
            return None if self._stop.is_set() else next(source, None)

    def _refer(self, bench: Bench, number: int) -> None:
        it = case(bench.model, bench.profile, self.options.seed, number)
        started = time.perf_counter()
        generation = bench.model.generate_reference(it.request)
        row = {
            "case": number,
            "kind": it.kind,
            "prompt_tokens": len(it.request.prompt_tokens),
            "seconds": round(time.perf_counter() - started, 4),
            "generation": asdict(generation),
        }
        with self._lock:
            self.references[number] = row
            append(self.options.tally / REFERENCES, row)

    def _compare(self, bench: Bench, index: int) -> None:
        chance = random.Random(f"{self.options.seed} soak {index}")  # noqa: S311 - by its seed
        number = chance.randrange(self.options.cases)
        it = case(bench.model, bench.profile, self.options.seed, number)
        name = chance.choices([*CIRCUMSTANCES], [weight for weight, _ in CIRCUMSTANCES.values()])[0]
        if it.iteration is None:
            name = PLAIN.get(name, name)
        started = time.perf_counter()
        pairs = CIRCUMSTANCES[name][1](bench, it, chance)
        reference = generation_of(self.references[number]["generation"])
        wrong = [
            {"limit": request.max_tokens, "got": asdict(generation)}
            for request, generation in pairs
            if request.prompt_tokens != it.request.prompt_tokens
            or not equals(generation, reference, request.max_tokens)
        ]
        row = {
            "index": index,
            "case": number,
            "kind": it.kind,
            "circumstance": name,
            "generations": len(pairs),
            "tokens": sum(len(generation.tokens) for _, generation in pairs),
            "seconds": round(time.perf_counter() - started, 4),
            "wrong": wrong,
        }
        with self._lock:
            self.done[index] = row
            self.generations += row["generations"]
            append(self.options.tally / TALLY, row)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )


def equals(generation: Generation, reference: Generation, limit: int) -> bool:
    """Return whether a generation under a limit is a prefix of the reference."""
    if len(reference.tokens) <= limit:
        return generation == reference
    return generation.tokens == reference.tokens[:limit] and not generation.is_complete


def check_header(options: Options, console: Console) -> None:
    """Compare the tally's header with this soak; write it if the tally is new.

    Raises: SystemExit: the tally is of other cases, another model or another engine.
    """
    with LlamaModel(options.model, adapter=options.adapter, threads=1) as model:
        facts = model.profile_facts
        mine = {
            "seed": options.seed,
            "cases": options.cases,
            "digest": facts.digest.hex(),
            "fingerprint": json.loads(facts.fingerprint),
        }
    path = options.tally / HEADER
    if not path.exists():
        path.write_text(json.dumps(mine, indent=1) + "\n", encoding="utf-8")
        return
    theirs = json.loads(path.read_text(encoding="utf-8"))
    other = [name for name in mine if mine[name] != theirs.get(name)]
    if other:
        console.print(
            f"{options.tally} is the tally of another soak: its {' and '.join(other)} differ. "
            "Name another folder with --tally, or delete this one.",
            style="red",
        )
        raise SystemExit(2)


def summary(soak: Soak) -> dict[str, Any]:
    """Add the tally up."""
    done = list(soak.done.values())
    counts = Counter[str]()
    for row in done:
        counts[row["circumstance"]] += row["generations"]
    return {
        "cases": soak.options.cases,
        "processes": soak.options.processes,
        "seed": soak.options.seed,
        "generations": soak.generations,
        "output_tokens": sum(row["tokens"] for row in done),
        "prompt_tokens": {
            "least": min(row["prompt_tokens"] for row in soak.references.values()),
            "most": max(row["prompt_tokens"] for row in soak.references.values()),
        },
        "engine_seconds": round(sum(row["seconds"] for row in done), 1),
        "reference_seconds": round(sum(row["seconds"] for row in soak.references.values()), 1),
        "circumstances": {name: counts[name] for name in CIRCUMSTANCES},
        "different": [row for row in done if row["wrong"]],
    }


def show(found: dict[str, Any], console: Console) -> None:
    """Print the results of a soak."""
    table = Table("circumstance", "generations", "different")
    for column in table.columns[1:]:
        column.justify = "right"
    wrong = Counter[str]()
    for row in found["different"]:
        wrong[row["circumstance"]] += len(row["wrong"])
    for name, count in found["circumstances"].items():
        table.add_row(name, f"{count:,}", str(wrong[name]))
    table.add_section()
    table.add_row("all", f"{found['generations']:,}", str(wrong.total()))
    console.print(table)
    lengths = found["prompt_tokens"]
    console.print(
        f"{found['cases']:,} prompts of {lengths['least']} to {lengths['most']} tokens, "
        f"{found['output_tokens']:,} tokens written, {found['processes']} engine processes"
    )
    for row in found["different"][:10]:
        console.print(f"case {row['case']} ({row['circumstance']}): {row['wrong']}", markup=False)


def main() -> int:
    """Soak, print a table, and return 1 if anything differed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--generations", type=int, default=10_000)
    parser.add_argument("--cases", type=int, default=250, help="prompts, each with a reference")
    parser.add_argument("--processes", type=int, default=2, help="engines at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tally", type=Path, default=Path("build/soak"), help="folder to keep")
    parser.add_argument("--model", type=Path, help="a GGUF file; the default model if not given")
    parser.add_argument("--adapter", type=Path, help="a LoRA adapter; the model's own if not given")
    parser.add_argument("--json", type=Path, help="write the summary to this file as well")
    given = parser.parse_args()
    for name in ("generations", "cases", "processes"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} is {getattr(given, name)}; it must be at least 1")
    options = Options(
        generations=given.generations,
        cases=given.cases,
        processes=given.processes,
        seed=given.seed,
        tally=given.tally,
        model=given.model,
        adapter=given.adapter,
    )
    console = Console(stderr=not sys.stdout.isatty())
    try:
        with held(options.tally):
            return run(options, console, given.json)
    except BlockingIOError:
        console.print(f"Another soak is at work on {options.tally}; let it end, or stop it first.")
        return 2


def run(options: Options, console: Console, json_path: Path | None) -> int:
    """Soak, print the results, and return the exit status."""
    check_header(options, console)
    soak = Soak(options, console)
    try:
        soak.run()
    except KeyboardInterrupt:
        console.print(
            f"stopped at {soak.generations:,} of {options.generations:,} generations; the same "
            "command goes on from here"
        )
        return 130
    found = summary(soak)
    show(found, Console())
    if json_path is not None:
        json_path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if found["different"] else 0


if __name__ == "__main__":
    with open_heartbeat("benchmarks.soak"):
        sys.exit(main())
