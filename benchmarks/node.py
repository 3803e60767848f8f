"""How fast is our node, beside py-evm alone and beside other nodes?

    python -m benchmarks.node [--rounds 5] [--count 200] [--only NAME ...] [--json FILE]

All nodes get the same requests, in turns: presigned transactions over one kept HTTP connection, and
over four at once; py-evm alone and eth-tester have no server and run in process. Figures are
medians over the rounds. On a busy machine, compare the columns of one run, and the CPU time of
each: that of the node, without the client. The peers come from npm and PyPI, into a folder that is
kept; a line states why one is missing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.bytecode import bytecode_kept
from benchmarks.node_asks import (
    CALL,
    ESTIMATE,
    SENDERS,
    SNAPSHOT,
    TOKEN_TRANSFER,
    TRANSFER,
    Asks,
)
from benchmarks.node_asks import KINDS as WORK
from benchmarks.node_contenders import KINDS, OURS, AloneContender, MissingError, Sample
from pyevm_agents.bench.heartbeat import open_heartbeat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.node_contenders import Contender, Kind, Start

BARS = {TRANSFER: 0.0, TOKEN_TRANSFER: 110.0, CALL: 500.0, ESTIMATE: 100.0, SNAPSHOT: 1_000.0}
"""Least operations per second."""

SHARE_OF_ALONE = 0.8
"""Least share of the rate of py-evm alone, for transactions."""

START_BAR_SECONDS = 2.0
WIDTH = 140
"""Columns of a table that goes into a file."""

TIMED_IMPORT = """
import time
a, b = time.perf_counter(), time.process_time()
import {module}
print(time.perf_counter() - a, time.process_time() - b)
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: a kind of work over some connections."""

    kind: str
    connections: int

    @property
    def name(self) -> str:
        """Name in tables."""
        return self.kind if self.connections == 1 else f"{self.kind}, {self.connections} at once"


LINES = tuple(Line(kind, 1) for kind in WORK) + tuple(
    Line(kind, SENDERS) for kind in (TRANSFER, TOKEN_TRANSFER, CALL, ESTIMATE)
)


class Measurement:
    """The measurements of a run, by contender."""

    def __init__(self) -> None:
        """Create an empty measurement."""
        self.samples: dict[str, dict[str, list[Sample]]] = {}
        self.starts: dict[str, list[Start]] = {}
        self.missing: dict[str, str] = {}
        self.imports: dict[str, tuple[float, float]] = {}
        self.end_mib: dict[str, float] = {}
        self.count = 0

    def rate(self, name: str, line: Line) -> float | None:
        """Return the median operations per second."""
        samples = self.samples.get(name, {}).get(line.name)
        if not samples:
            return None
        return self.count / statistics.median(one.seconds for one in samples)

    def cpu_milliseconds(self, name: str, line: Line) -> float | None:
        """Return the median CPU time of an operation."""
        samples = self.samples.get(name, {}).get(line.name)
        if not samples:
            return None
        return statistics.median(one.cpu_seconds for one in samples) / self.count * 1_000


def measure(options: argparse.Namespace, console: Console) -> Measurement:
    """Start all contenders and send the requests in turns."""
    found = Measurement()
    found.count = options.count
    kinds = [kind for kind in KINDS if not options.only or kind.name in options.only]
    found.imports = {
        module: time_import(module) for module in ("pyevm_agents.cli.node.command", "eth")
    }
    measure_starts(kinds, options, found, console)
    with ExitStack() as stack:
        contenders = []
        for kind in kinds:
            if kind.name not in found.missing:
                contender = kind.start(options.peers)
                stack.callback(contender.close)
                contenders.append(contender)
        asks = {chain_id: Asks(chain_id) for chain_id in {one.chain_id for one in contenders}}
        prepared = {chain_id: one.setting_up() for chain_id, one in asks.items()}
        for contender in contenders:
            contender.ask([prepared[contender.chain_id]])
        for number in range(options.rounds + 1):  # The first warms up, and is not counted.
            console.print(f"round {number} of {options.rounds}")
            one_round(contenders, asks, found, is_counted=number > 0)
        found.end_mib = {one.name: one.mib() for one in contenders}
    return found


def measure_starts(
    kinds: Sequence[Kind], options: argparse.Namespace, found: Measurement, console: Console
) -> None:
    """Start each contender several times; the first start, which may install it, does not count."""
    for number in range(options.starts + 1):
        for kind in kinds:
            if kind.name in found.missing or kind.name == AloneContender.name:
                continue
            try:
                contender: Any = kind.start(options.peers)
            except MissingError as error:
                found.missing[kind.name] = str(error)
                console.print(f"{kind.name} is missing: {error}")
                continue
            contender.close()
            if number:
                found.starts.setdefault(kind.name, []).append(contender.start)


def one_round(
    contenders: Sequence[Contender], asks: dict[int, Asks], found: Measurement, *, is_counted: bool
) -> None:
    """Send all requests to each contender once."""
    for line in LINES:
        windows = {
            chain_id: one.window(line.kind, found.count, line.connections)
            for chain_id, one in asks.items()
        }
        for contender in contenders:
            window = windows[contender.chain_id]
            if line.connections > contender.connections:
                # It advances the nonces, and does not count.
                contender.ask([[ask for one in window for ask in one]])
                continue
            if line.kind == SNAPSHOT and contender.name == AloneContender.name:
                continue
            sample = contender.ask(window)
            if is_counted:
                lists = found.samples.setdefault(contender.name, {})
                lists.setdefault(line.name, []).append(sample)


def time_import(module: str) -> tuple[float, float]:
    """Return the wall and CPU seconds of an import in a new process: the least of 3."""
    script = TIMED_IMPORT.format(module=module)
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    times = [tuple(map(float, run.stdout.split())) for run in runs]
    seconds, cpu = min(times, key=lambda one: one[1])
    return seconds, cpu


def show(found: Measurement, console: Console) -> None:
    """Print the measurements."""
    names = [kind.name for kind in KINDS if kind.name in found.samples]
    rates = Table("a second", *names, "of py-evm", "of Hardhat", "bar", title="node")
    costs = Table("processor ms each", *names, "py-evm / ours", title="what one costs the node")
    for table in (rates, costs):
        for column in table.columns[1:]:
            column.justify = "right"
    for line in LINES:
        ours = found.rate(OURS.name, line)
        alone, hardhat = found.rate(AloneContender.name, line), found.rate("Hardhat", line)
        rates.add_row(
            line.name,
            *(_shown(found.rate(name, line), ",.0f") for name in names),
            _ratio(ours, alone),
            _ratio(ours, hardhat),
            _verdict(line, ours, alone),
        )
        cost = found.cpu_milliseconds(OURS.name, line)
        costs.add_row(
            line.name,
            *(_shown(found.cpu_milliseconds(name, line), ".2f") for name in names),
            _ratio(found.cpu_milliseconds(AloneContender.name, line), cost),
        )
    console.print(rates)
    console.print(costs)
    console.print(starts_table(found))
    for module, (seconds, cpu) in found.imports.items():
        console.print(f"import {module}: {seconds:.2f} s, {cpu:.2f} s of processor time")
    for name, reason in found.missing.items():
        console.print(f"{name} is missing: {reason}")


def starts_table(found: Measurement) -> Table:
    """Return the durations of starts, and the memory then and at the end."""
    table = Table("start to first answer", "s", "processor s", "MiB", "MiB at the end", "bar")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, starts in found.starts.items():
        seconds = statistics.median(one.seconds for one in starts)
        bar = f"{START_BAR_SECONDS:g} s" if name == OURS.name else ""
        table.add_row(
            name,
            f"{seconds:.2f}",
            f"{statistics.median(one.cpu_seconds for one in starts):.2f}",
            f"{statistics.median(one.mib for one in starts):.0f}",
            _shown(found.end_mib.get(name), ".0f"),
            bar,
        )
    return table


def _verdict(line: Line, ours: float | None, alone: float | None) -> str:
    """Return a line's bars, and whether they are met."""
    if line.connections > 1 or ours is None:
        return ""
    least = BARS[line.kind]
    is_met = ours >= least
    told = [f"{least:,.0f}"] if least else []
    if line.kind in {TRANSFER, TOKEN_TRANSFER} and alone is not None:
        told.append(f"{SHARE_OF_ALONE:g} of py-evm")
        is_met = is_met and ours >= SHARE_OF_ALONE * alone
    return f"{', '.join(told)} {'✓' if is_met else '✗'}"


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _ratio(over: float | None, under: float | None) -> str:
    return "" if over is None or not under else f"{over / under:.2f}"


def as_json(found: Measurement) -> dict[str, object]:
    """Return all measurements, including samples."""
    return {
        "requests_a_window": found.count,
        "samples": {
            name: {
                line: [[one.seconds, one.cpu_seconds] for one in samples]
                for line, samples in lines.items()
            }
            for name, lines in found.samples.items()
        },
        "starts": {
            name: [[one.seconds, one.cpu_seconds, one.mib] for one in starts]
            for name, starts in found.starts.items()
        },
        "imports": found.imports,
        "mib_at_the_end": found.end_mib,
        "missing": found.missing,
    }


def main() -> int:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [kind.name for kind in KINDS]
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200, help="requests of a kind in a round")
    parser.add_argument("--starts", type=int, default=5, help="starts of each")
    parser.add_argument("--only", nargs="+", choices=names, help="measure these alone")
    parser.add_argument("--peers", type=Path, default=Path("build/peers"), help="folder of peers")
    parser.add_argument("--json", type=Path, help="write all samples to this file as well")
    options = parser.parse_args()
    for name in ("rounds", "count", "starts"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; it must be at least 1")
    if options.count % SENDERS:
        parser.error(f"--count is {options.count}; it must be a multiple of {SENDERS}")
    options.peers = options.peers.resolve()
    with bytecode_kept():
        found = measure(options, Console(stderr=True))
    show(found, Console(width=None if sys.stdout.isatty() else WIDTH))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(found), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    with open_heartbeat("benchmarks.node"):
        sys.exit(main())
