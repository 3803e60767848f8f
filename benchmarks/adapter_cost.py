"""What does a LoRA adapter cost in reading and in writing, by its form?

    python -m benchmarks.adapter_cost [--adapter FILE] [--rounds 5] [--json FILE]

The default model with adapters of random weights, on all linear layers or some, of different ranks
and types of numbers, and without one: side by side in one process, token by token in turns. Times
are CPU time in the engine's own context: of a prompt on all cores, then of an output on one, as the
engine does with a model of this size. The bar: a token takes at most 1.10 times as long with the
shipped adapter.

The cost of a form follows from llama.cpp's products of a row with a vector, which take 32 numbers
at a time: a rank of 16 in F16 or F32 is computed number by number. Q8_0 of rank 32 is as small as
F16 of rank 16 and costs half; and B's rows are many in `ffn_gate` and `ffn_up`, which are wide.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.adapters import LINEAR_LAYERS, write_random_adapter
from benchmarks.yardstick import Yardstick
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.models.gguf.files import find_default_adapter, find_default_model
from pyevm_agents.models.llama.child_process import OWN_VARIABLES

ATTENTION = ("attn_q", "attn_k", "attn_v", "attn_output")
FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")
FEW_ROWS = (*ATTENTION, "ffn_down")
PARTS = {
    LINEAR_LAYERS: "all seven",
    ATTENTION: "attention",
    FEED_FORWARD: "feed-forward",
    FEW_ROWS: "attention and down",
}
PROMPT_TOKENS, OUTPUT_TOKENS, CONTEXT_TOKENS = 64, 16, 512
MIB = 1 << 20
BAR = 1.10
"""Most times as long that a token may take with the shipped adapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form of an adapter."""

    kind: str
    rank: int
    parts: tuple[str, ...] = LINEAR_LAYERS
    first_layer: int = 0

    @property
    def name(self) -> str:
        """Name of the row."""
        layers = f", layers from {self.first_layer}" if self.first_layer else ""
        return f"rank {self.rank} {self.kind}, {PARTS[self.parts]}{layers}"


FORMS = (
    Form(kind="F16", rank=16),
    Form(kind="F32", rank=16),
    Form(kind="F16", rank=8),
    Form(kind="F16", rank=32),
    Form(kind="F32", rank=32),
    Form(kind="Q8_0", rank=32),
    Form(kind="F16", rank=16, parts=ATTENTION),
    Form(kind="F16", rank=16, parts=FEED_FORWARD),
    Form(kind="F16", rank=16, first_layer=8),
    Form(kind="Q8_0", rank=32, first_layer=8),
    Form(kind="Q8_0", rank=32, parts=FEW_ROWS),
    Form(kind="Q8_0", rank=32, parts=FEW_ROWS, first_layer=8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of an adapter."""

    name: str
    size_mib: float
    reading: float
    """Milliseconds of CPU time per token."""

    writing: float
    reading_ratio: float
    """Over the model alone in the same turn: the median of all turns."""

    writing_ratio: float


def measure(adapters: dict[str, Path | None], rounds: int) -> list[Cost]:
    """Time all of them in turns, the model alone included."""
    with Yardstick(variables=OWN_VARIABLES) as yardstick:
        found = yardstick.ask(
            job="adapters",
            path=str(find_default_model()),
            adapters=["" if path is None else str(path) for path in adapters.values()],
            threads=os.cpu_count() or 1,
            context_tokens=CONTEXT_TOKENS,
            prompt_tokens=PROMPT_TOKENS,
            output_tokens=OUTPUT_TOKENS,
            rounds=rounds,
        )["seconds"]
    reading = [1000 * statistics.median(it["reading"]) / PROMPT_TOKENS for it in found]
    writing = [1000 * statistics.median(it["writing"]) for it in found]
    return [
        Cost(
            name=name,
            size_mib=0 if path is None else round(path.stat().st_size / MIB, 1),
            reading=round(read, 2),
            writing=round(write, 2),
            reading_ratio=ratio_of(times["reading"], found[0]["reading"]),
            writing_ratio=ratio_of(times["writing"], found[0]["writing"]),
        )
        for (name, path), times, read, write in zip(
            adapters.items(), found, reading, writing, strict=True
        )
    ]


def ratio_of(times: list[float], alone: list[float]) -> float:
    """Return the median ratio of times over those of the model alone."""
    turns = [mine / other for mine, other in zip(times, alone, strict=True)]
    return round(statistics.median(turns), 3)


def table_of(costs: list[Cost]) -> Table:
    """Return the costs as a table."""
    table = Table(title="Processor milliseconds a token, and against the model alone")
    table.add_column("adapter", no_wrap=True)
    for name in ("MiB", "reading", "", "writing", ""):
        table.add_column(name, justify="right")
    for cost in costs:
        table.add_row(
            cost.name,
            f"{cost.size_mib:.1f}",
            f"{cost.reading:.2f}",
            f"{cost.reading_ratio:.3f}",
            f"{cost.writing:.2f}",
            f"{cost.writing_ratio:.3f}",
        )
    return table


def main() -> None:
    """Measure, print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adapter", type=Path, help="one more; the installed one if not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the measurements to this file as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        adapters: dict[str, Path | None] = {"none": None}
        own = options.adapter or find_default_adapter()
        if own is not None:
            adapters[own.name] = own
        for number, form in enumerate(FORMS):
            adapters[form.name] = write_random_adapter(
                find_default_model(),
                Path(folder, f"{number}.gguf"),
                kind=form.kind,
                rank=form.rank,
                parts=form.parts,
                first_layer=form.first_layer,
            )
        with Heartbeat("benchmarks.adapter_cost"):
            costs = measure(adapters, options.rounds)
    Console(width=110).print(table_of(costs))
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, load {load:.1f}, medians of {options.rounds} rounds; the bar for "
        f"the adapter that is shipped: {BAR:.2f} in writing"
    )
    if options.json is not None:
        report = {"load": load, "costs": [asdict(cost) for cost in costs]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
