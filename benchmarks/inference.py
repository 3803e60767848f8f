"""What does the engine cost beside llama.cpp itself, and what does it save?

    python -m benchmarks.inference [--rounds 5] [--builds DIR] [--json FILE]

Everything is measured side by side in one run, on the four-step wallet run of `benchmarks.wallet`
with the default model; medians of several rounds. Rows:

precompile      a call of 0x19 with an empty memory, against bare `llama_decode` calls of the same
                tokens in the same pieces (and, harder on them, one call a token)
wallet          the whole transaction, against `Llama.create_completion` with a GBNF grammar and the
                whole prompt at each step; as a first run, and as another run of the same agent
warm store      the same transaction once its generations are stored, against the same chain with
                a model that only reads its answers from a record
determinism     llama.cpp's default build against ours: reading and writing, at the same instruction
                set, and natively
grammar         time outside of `llama_decode` for each sampled token
prefix          reused share of a step's prompt, of the reusable tokens
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console

from benchmarks.builds import DEFAULT_WORK, libraries
from benchmarks.figures import Figure, ratio, table_of
from benchmarks.probes import Setting, is_repacked, measure_speed
from benchmarks.wallet import (
    INSTRUCTION,
    OTHER_INSTRUCTION,
    STEPS,
    as_gbnf,
    executor_calls,
    four_step_wallet,
    try_out,
)
from benchmarks.yardstick import Yardstick
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.chain import create_development_chain, create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import NO_ADAPTER, LlamaModel, Store
from pyevm_agents.models.fakes.recorded import Exchange, RecordedModel, RecordingModel
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS
from pyevm_agents.models.llama.child_process import OWN_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import LanguageModel
    from pyevm_agents.chain import Chain
    from pyevm_agents.models import ProfileFacts

PARTS = ["precompile", "wallet", "store", "grammar", "prefix", "determinism"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A generation of the run."""

    prompt: str
    prompt_tokens: list[int]
    grammar: str
    max_tokens: int
    output_tokens: list[int]

    @classmethod
    def of(cls, said: Exchange) -> Self:
        """Return the request of an exchange, with the tokens of its answer."""
        if said.grammar is None or said.max_tokens is None or said.generation is None:
            raise ValueError("the exchange asked for the tokens of a prompt alone")
        return cls(
            prompt="".join(segment.text for segment in said.segments),
            prompt_tokens=list(said.prompt_tokens),
            grammar=said.grammar,
            max_tokens=said.max_tokens,
            output_tokens=list(said.generation.tokens),
        )


class Stage:
    """The model, a chain without remembered generations, and the requests of its four-step run."""

    def __init__(self, model: LlamaModel, rounds: int) -> None:
        """Deploy the wallet and run the instruction once."""
        self.model, self.rounds = model, rounds
        self.facts = model.profile_facts
        self.wallet = four_step_wallet(plain_chain(model, self.facts))
        self.calls = [*executor_calls(try_out(self.wallet, INSTRUCTION).computation)]
        recording = RecordingModel(model, name=build_model_profile(self.facts).name)
        try_out(four_step_wallet(plain_chain(recording, self.facts)), INSTRUCTION)
        self.exchanges = recording.exchanges
        self.asked = [Asked.of(said) for said in self.exchanges if said.generation is not None]
        if len(self.asked) != STEPS:
            raise SystemExit(f"the wallet run has {len(self.asked)} steps in place of {STEPS}")

    def job(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Return a yardstick's job on this model with the engine's own settings."""
        threads = os.cpu_count() or 1
        context_tokens = self.facts.context_tokens
        files = {"path": str(self.model.path), "adapter": str(self.model.adapter or "")}
        return {**files, "threads": threads, "context_tokens": context_tokens, **more}

    def requests(self) -> list[dict[str, Any]]:
        """Return the run's requests, as a yardstick takes them."""
        return [
            {
                "prompt": asked.prompt_tokens,
                "grammar": asked.grammar,
                "max_tokens": asked.max_tokens,
            }
            for asked in self.asked
        ]


def precompile(stage: Stage, ours: Yardstick) -> list[Figure]:
    """Time a generation through the precompile against bare decoding of the same tokens."""
    found = ours.ask(**stage.job(job="grammar", rounds=0, requests=stage.requests()))["rounds"]
    wholes: list[float] = []
    singles: list[float] = []
    through: list[float] = []
    for asked, call, pieces in zip(stage.asked, stage.calls, found, strict=True):
        first = len(asked.prompt_tokens)
        sizes = [first + pieces["leading_forced"], *pieces["pieces"]]
        fed = [*asked.prompt_tokens, *asked.output_tokens][: sum(sizes)]
        one_by_one = [first, *[1] * (len(fed) - first)]
        for _ in range(stage.rounds):
            stage.model.forget()
            through.append(seconds(partial(stage.wallet.chain.call, call)))
            for some, times in ((sizes, wholes), (one_by_one, singles)):
                job = stage.job(job="bare", rounds=1, pieces=cut(fed, some))
                times.extend(ours.ask(**job)["seconds"])
    return [
        ratio("precompile / bare decoding", through, wholes, bar=1.05, note="in the same pieces"),
        ratio("precompile / bare decoding", through, singles, bar=1.05, note="one token a call"),
    ]


def wallet_run(stage: Stage, theirs: Yardstick) -> list[Figure]:
    """Time the whole transaction against create_completion with the whole prompt at each step."""
    requests = [
        {
            "prompt": asked.prompt,
            "gbnf": as_gbnf(asked.grammar),
            "max_tokens": len(asked.output_tokens),
        }
        for asked in stage.asked
    ]
    naive, first, again = [], [], []
    for _ in range(max(1, stage.rounds // 2)):
        naive.append(sum(theirs.ask(**stage.job(job="naive", requests=requests))["seconds"]))
        stage.model.forget()
        first.append(seconds(lambda: try_out(stage.wallet, INSTRUCTION)))
        stage.model.forget()
        try_out(stage.wallet, OTHER_INSTRUCTION)
        again.append(seconds(lambda: try_out(stage.wallet, INSTRUCTION)))
    name = "naive wallet run / ours"
    return [
        ratio(name, naive, first, bar=4, is_least=True, note="first run of the agent"),
        ratio(name, naive, again, bar=4, is_least=True, note="the agent ran before"),
    ]


def warm_store(stage: Stage, store: Store) -> list[Figure]:
    """Time the run with its generations stored against one whose model only reads a record."""
    record = RecordedModel(stage.exchanges, facts=None)
    alone = four_step_wallet(plain_chain(record, stage.facts))
    stored = four_step_wallet(create_development_chain(stage.model, stage.facts, store=store))
    try_out(stored, INSTRUCTION)
    warm, evm = [], []
    for _ in range(4 * stage.rounds):
        warm.append(seconds(lambda: try_out(stored, INSTRUCTION)))
        evm.append(seconds(lambda: try_out(alone, INSTRUCTION)))
    return [ratio("store warm / EVM alone", warm, evm, bar=1.2)]


def grammar_work(stage: Stage, ours: Yardstick) -> list[Figure]:
    """Time the work outside of llama.cpp for each sampled token."""
    job = stage.job(job="grammar", rounds=stage.rounds, requests=stage.requests())
    rounds = [round_ for round_ in ours.ask(**job)["rounds"] if round_["is_warm"]]
    tokens = [token for asked in stage.asked for token in asked.output_tokens][:64]
    prompt = stage.asked[0].prompt_tokens
    pieces = cut([*prompt, *tokens], [len(prompt), *[1] * len(tokens)])
    reading = len(pieces) - len(tokens)
    one, many = (
        ours.ask(**stage.job(job="bare", rounds=stage.rounds, pieces=some))["seconds"]
        for some in (pieces[:reading], pieces)
    )
    decode = 1000 * (statistics.median(many) - statistics.median(one)) / len(tokens)
    work, compiling = (
        statistics.median(it[name] for it in rounds)
        for name in ("token_milliseconds", "compile_milliseconds")
    )
    sampled = statistics.median(it["sampled"] for it in rounds)
    name = "grammar work / decode, per sampled token"
    return [
        Figure(name, f"{work:.3f} ms", f"{decode:.2f} ms", work / decode, bar=0.02),
        Figure(
            name,
            f"{work + compiling / sampled:.3f} ms",
            f"{decode:.2f} ms",
            (work + compiling / sampled) / decode,
            note=f"with compiling, {compiling:.1f} ms a generation",
        ),
    ]


def prefix(stage: Stage) -> list[Figure]:
    """Count the tokens of each step's prompt that the step before had read."""
    stage.model.forget()
    reused = []
    for call in stage.calls:
        stage.wallet.chain.call(call)
        work = stage.model.last_stats
        reused.append(0 if work is None else work.reused_tokens)
    could = sum(len(it.prompt_tokens) + len(it.output_tokens) for it in stage.asked[:-1])
    return [
        Figure(
            name="prompt reused from the step before",
            ours=f"{sum(reused[1:]):,} tokens",
            theirs=f"{could:,} there were",
            value=sum(reused[1:]) / could,
            bar=0.95,
            is_least=True,
        )
    ]


def plain_chain(model: LanguageModel, facts: ProfileFacts) -> Chain:
    """Return a development chain that remembers no generation."""
    return create_funded_chain(model, facts, build_model_profile(facts))


def seconds(work: Callable[[], object]) -> float:
    """Return the duration of some work."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def cut(tokens: list[int], sizes: list[int]) -> list[list[int]]:
    """Return tokens in pieces of these sizes, none larger than the engine's batches."""
    pieces: list[list[int]] = []
    start = 0
    for size in sizes:
        end = start + size
        starts = range(start, end, BATCH_TOKENS)
        pieces += [tokens[at : min(at + BATCH_TOKENS, end)] for at in starts]
        start = end
    return pieces


def determinism(stage: Stage, builds: Path) -> list[Figure]:
    """Compare llama.cpp's own build with ours: the same file and threads, in turns.

    Prompts are read by all threads; a model of this size writes with one (`benchmarks.threads`).
    """
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(stage.rounds):
        for name in ("ours", "avx2-both", "default"):
            for doing, threads in (("prefill", os.cpu_count() or 1), ("decode", 1)):
                setting = Setting(
                    model=stage.model.path,
                    adapter=stage.model.adapter,
                    libraries=None if name == "ours" else libraries(name, builds),
                    extra_buffers=name != "ours" or is_repacked(stage.model.path),
                    tiled=name != "ours",
                    threads=threads,
                )
                found[name, doing].append(getattr(measure_speed(setting), doing))
    figures = []
    for name, words in (("avx2-both", "same instructions"), ("default", "native")):
        for doing, bar in (("prefill", 1.05), ("decode", 1.02)):
            mine, theirs = (statistics.median(found[build, doing]) for build in ("ours", name))
            figures.append(
                Figure(
                    name=f"default build / ours, {doing}",
                    ours=f"{mine:.1f} tok/s",
                    theirs=f"{theirs:.1f} tok/s",
                    value=theirs / mine,
                    bar=bar if name == "avx2-both" else None,
                    note=words,
                )
            )
    return figures


def main() -> None:
    """Measure everything, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement")
    parser.add_argument("--builds", type=Path, default=DEFAULT_WORK, help="see benchmarks.builds")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="parts to measure")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    figures: list[Figure] = []
    with (
        LlamaModel(adapter=NO_ADAPTER) as model,  # The yardsticks know no adapters.
        Yardstick(variables=OWN_VARIABLES) as ours,
        Yardstick(variables={}) as theirs,
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder, "generations.sqlite3")) as store,
        Heartbeat("benchmarks.inference") as heartbeat,
    ):
        heartbeat.begin_part("deploying the wallet")
        stage = Stage(model, options.rounds)
        work: dict[str, Callable[[], list[Figure]]] = {
            "precompile": lambda: precompile(stage, ours),
            "wallet": lambda: wallet_run(stage, theirs),
            "store": lambda: warm_store(stage, store),
            "grammar": lambda: grammar_work(stage, ours),
            "prefix": lambda: prefix(stage),
            "determinism": lambda: determinism(stage, options.builds),
        }
        for part in options.only:
            heartbeat.begin_part(part)
            figures += work[part]()
    Console().print(table_of(figures))
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, medians of {options.rounds} rounds and more")
    if options.json is not None:
        rows = [asdict(figure) | {"is_met": figure.is_met} for figure in figures]
        options.json.write_text(json.dumps({"load": load, "figures": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
