"""Does the engine read and write faster on more threads, and does it spin beside another load?

    python benchmarks/threads.py [--model FILE] [--threads 1 2] [--processes 2] [--json FILE]

Measures tokens per second with each number of threads in one process alone, then the time per token
of several processes at once: with more threads than cores, an engine that spins takes fifty times
as long. The bar: two processes with two threads each on two cores take at most 1.5 times the time
per token of two with one thread each. Last, a few tokens read after others, for which an engine
uses one thread up to `MIN_SHARED_READING_TOKENS`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.heartbeat import open_heartbeat
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.engine_messages import EngineRequest

PROMPT = (
    "The chain asks its model to think about what to do with a hundred dollars of stable value. "
)
REPEAT = 12
"""Repetitions of the sentence in the prompt: some 220 tokens."""

FREE_TEXT = "start: /(.|\\n)+/"
"""A grammar that admits any text: each token is computed, none is forced."""

WARM_UP_TOKENS = 2

FEW_TOKENS = (2, 4, 8, 9, 16, 24, 32, 64)
BEFORE_TOKENS = 100
FIRST_TOKEN, LAST_TOKEN = 1_000, 40_000
"""Ordinary tokens of the default model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A configuration and its speed."""

    processes: int
    threads: int
    prompt_tokens_per_second: float
    output_tokens_per_second: float
    output_token_milliseconds: float


def generate(model: LlamaModel, tag: str, max_tokens: int) -> float:
    """Return the seconds of a generation. The tag comes first: no prefix is reused."""
    segments = (Segment(text=tag + PROMPT * REPEAT),)
    tokens = model.tokenize(segments)
    request = GenerationRequest(
        segments=segments, prompt_tokens=tokens, grammar=FREE_TEXT, max_tokens=max_tokens
    )
    started = time.perf_counter()
    model.generate(request)
    return time.perf_counter() - started


def measure(
    path: Path | None, *, processes: int, threads: int, output_tokens: int, rounds: int
) -> Measurement:
    """Run `processes` engines at once and return the median of all of their rounds."""
    models = [LlamaModel(path, threads=threads) for _ in range(processes)]
    try:
        prompt_tokens = len(models[0].tokenize((Segment(text="0 0 " + PROMPT * REPEAT),)))
        barrier = threading.Barrier(processes)
        reading: list[float] = []
        writing: list[float] = []

        def run(index: int) -> None:
            model = models[index]
            generate(model, "warm ", WARM_UP_TOKENS)
            for number in range(rounds):
                barrier.wait()
                first = generate(model, f"{index} {number} ", 1)
                again = generate(model, f"{index} {number} ", 1)
                barrier.wait()
                whole = generate(model, f"{index} {number} ", output_tokens)
                reading.append(prompt_tokens / max(first - again, 1e-9))
                writing.append((whole - again) / (output_tokens - 1))

        workers = [threading.Thread(target=run, args=(index,)) for index in range(processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        for model in models:
            model.close()
    per_token = statistics.median(writing)
    return Measurement(
        processes=processes,
        threads=threads,
        prompt_tokens_per_second=round(statistics.median(reading), 1),
        output_tokens_per_second=round(1 / per_token, 1),
        output_token_milliseconds=round(per_token * 1000, 1),
    )


def read_few(path: Path | None, *, threads: int, rounds: int) -> dict[int, float]:
    """Return the median milliseconds to read each of `FEW_TOKENS` after the same others."""
    chance = random.Random(0)  # noqa: S311 - any tokens do
    before = [chance.randrange(FIRST_TOKEN, LAST_TOKEN) for _ in range(BEFORE_TOKENS)]
    seconds: dict[int, list[float]] = {few: [] for few in FEW_TOKENS}
    with LlamaModel(path, threads=threads) as model:
        for _ in range(rounds):
            for few in FEW_TOKENS:
                model.engine.ask(EngineRequest(operation="logits", tokens=before))
                new = [chance.randrange(FIRST_TOKEN, LAST_TOKEN) for _ in range(few)]
                started = time.perf_counter()
                model.engine.ask(EngineRequest(operation="logits", tokens=[*before, *new]))
                seconds[few].append(time.perf_counter() - started)
    return {few: round(statistics.median(each) * 1000, 1) for few, each in seconds.items()}


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a GGUF file; the default model if not given")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokens", type=int, default=32, help="output tokens of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the measurements to this file as well")
    options = parser.parse_args()

    print(f"{'processes':>9} {'threads':>7} {'read tok/s':>11} {'write tok/s':>11} {'ms/token':>9}")
    found: list[Measurement] = []
    for processes in options.processes:
        for threads in options.threads:
            result = measure(
                options.model,
                processes=processes,
                threads=threads,
                output_tokens=options.tokens,
                rounds=options.rounds,
            )
            found.append(result)
            print(
                f"{result.processes:>9} {result.threads:>7} {result.prompt_tokens_per_second:>11} "
                f"{result.output_tokens_per_second:>11} {result.output_token_milliseconds:>9}",
                flush=True,
            )
    by_shape = {
        (result.processes, result.threads): result.output_token_milliseconds for result in found
    }
    ratio = by_shape[2, 2] / by_shape[2, 1] if {(2, 1), (2, 2)} <= by_shape.keys() else None
    load = os.getloadavg()[0]
    print(
        "two processes, two threads against one: "
        f"{'not measured' if ratio is None else f'{ratio:.2f} times'} (bar: 1.5); load {load:.1f}"
    )
    few = {
        threads: read_few(options.model, threads=threads, rounds=options.rounds)
        for threads in options.threads
    }
    print(f"\n{'tokens':>9}" + "".join(f"{f'{each} threads, ms':>16}" for each in few))
    for tokens in FEW_TOKENS:
        print(f"{tokens:>9}" + "".join(f"{each[tokens]:>16}" for each in few.values()))
    if options.json is not None:
        report = {
            "few_tokens_ms": few,
            "cores": os.cpu_count(),
            "load": load,
            "ratio": ratio,
            "measurements": [asdict(result) for result in found],
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with open_heartbeat("benchmarks.threads"):
        main()
