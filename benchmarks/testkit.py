"""How fast is the test kit, beside the EVM's part of it and beside eth-tester with a stub?

    python -m benchmarks.testkit [--quick] [--rounds 20] [--json FILE] [--peers FOLDER]
    python -m benchmarks.testkit --only adversary --seeds 20
    python -m benchmarks.testkit --only start-up --starts 40

Times are wall-clock times unless stated otherwise, medians over the rounds. "New words" follow
prompts that the process has tokens of, through compiled grammars; "first" is the first run of its
process, which starts that of the vocabulary. The EVM's part is the same transaction with every
answer known. The adversary searches for a failure of the wallet of `tests/examples`, once from each
seed. eth-tester's tests deploy `MockExecutor` and set its answer: a test of the same contract
without tokens, prompts, grammars or their gas. It is installed from PyPI into a folder that is
kept.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.table import Table

from benchmarks import testkit_start
from benchmarks.bytecode import bytecode_kept
from benchmarks.testkit_adversary import HUNT_BAR_SECONDS, STEPS_BAR, hunt
from benchmarks.testkit_cases import (
    ETH_TESTER_SUITE,
    EXECUTOR,
    ONE_STEP_SUITE,
    FiveSteps,
    set_up,
    write_suite,
)
from benchmarks.testkit_start import ROOT, run_suite
from pyevm_agents.bench.heartbeat import open_heartbeat
from pyevm_agents.testing.genesis_template import GenesisTemplate

SET_UP_BAR_SECONDS = 0.010
SCRIPTED_BAR_SECONDS = 0.200
SCRIPTED_BAR_SHARE = 1.3
SUITE_BAR_SECONDS = 60.0
START_UP_BAR_SECONDS = 0.020

PEER = ("eth-tester[py-evm]==0.14.0b1", "web3==8.0.0", "pyunormalize==17.0.0")
PEER_TESTS = 200
"""Most tests of eth-tester: 1,000 would take eight minutes."""

RUNNER = ("pytest==9.2.0", "pytest-xdist==3.8.0")
WORKERS = 2
WIDTH = 120


@dataclass(slots=True)
class Found:
    """The measurements: each row's samples in seconds, and its bar."""

    rows: dict[str, list[float]] = field(default_factory=dict)
    bars: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(self, row: str, samples: list[float], bar: float | None = None) -> float:
        """Add a row; return its median."""
        self.rows[row] = samples
        if bar is not None:
            self.bars[row] = bar
        return statistics.median(samples)


PARTS = ("chains", "start-up", "cassette", "suites", "adversary")


def measure(options: argparse.Namespace, found: Found, console: Console) -> None:
    """Measure everything, or the selected parts."""
    wanted = options.only or PARTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        beginning = GenesisTemplate(kept_facts=folder / "facts")
        _ = beginning.config  # Learns the facts once; a project's runs have them in pytest's cache.
        if "chains" in wanted:
            in_process(beginning, options.rounds, found, console)
        if "adversary" in wanted:
            hunts(beginning, options.seeds, found, console)
        beginning.close()
        if "start-up" in wanted:
            start_up(folder / "start-up", options.starts, found, console)
        if "cassette" in wanted:
            cassette(folder / "report.xml", options.starts, found, console)
        if "suites" in wanted:
            suites(folder / "suite", options, found, console)


def hunts(beginning: GenesisTemplate, seeds: int, found: Found, console: Console) -> None:
    """Let the adversary search for a failure of the example, from `seeds` seeds."""
    console.print("adversary")
    made = []
    for number in range(seeds):
        made.append(hunt(beginning, number))
        console.print(str(made[-1]), soft_wrap=True)
    row = "the broken example, found and shrunk"
    found.take(row, [one.seconds for one in made], HUNT_BAR_SECONDS)
    found.take(
        "the same, processor time of the test's process", [one.processor_seconds for one in made]
    )
    met, longest = sum(one.is_met for one in made), max(one.seconds for one in made)
    found.notes.append(
        f"adversary: {met} of {seeds} seeds found it in {HUNT_BAR_SECONDS:.0f} s, in at most "
        f"{STEPS_BAR} steps; the longest took {longest:.1f} s, the longest script has "
        f"{max(one.steps for one in made)} steps {'✓' if met == seeds else '✗'}"
    )


def in_process(beginning: GenesisTemplate, rounds: int, found: Found, console: Console) -> None:
    """Measure a chain's set-up, and a run of five steps with its EVM part."""
    console.print("chains")
    found.take("set-up and teardown of a chain, first", [set_up(beginning)])
    times = [set_up(beginning) for _ in range(5 * rounds)]
    found.take("set-up and teardown of a chain", times, SET_UP_BAR_SECONDS)
    console.print("five steps")
    case = FiveSteps(beginning)
    found.take("five scripted steps, first", [case.run_script("First")])
    new_words, known, evm = [], [], []
    for number in range(rounds):  # In turns: another program's load is shared alike.
        new_words.append(case.run_script(f"Round {number}"))
        known.append(case.run_script(f"Round {number}"))
        evm += case.run_stored(f"Round {number}", 1)
    case.close()
    said = found.take("five scripted steps, new words", new_words, SCRIPTED_BAR_SECONDS)
    again = found.take("five scripted steps, said before", known)
    alone = found.take("the EVM's part of them", evm)
    for told, seconds in (("new words", said), ("said before", again)):
        share = seconds / alone
        met = "✓" if share <= SCRIPTED_BAR_SHARE else "✗"
        found.notes.append(
            f"five steps, {told}: {share:.2f} of the EVM's part; bar {SCRIPTED_BAR_SHARE} {met}"
        )


def start_up(folder: Path, starts: int, found: Found, console: Console) -> None:
    """Measure the plugin's cost for a suite that does not use it."""
    console.print("start-up")
    with_it, without = testkit_start.starts(folder, starts)
    found.take("processor time of an empty suite, with the plugin", with_it)
    found.take("processor time of an empty suite, without it", without)
    imports = found.take("what the plugin imports there", testkit_start.imports(starts))
    hooks = testkit_start.hooks(folder, max(1, starts // 4))
    found.take("what its hooks do there", hooks)
    row = "both: what the plugin adds to a start"
    found.take(row, [imports + one for one in hooks], START_UP_BAR_SECONDS)


def cassette(report: Path, runs: int, found: Found, console: Console) -> None:
    """Measure the example of a cassette, as a later test of its process."""
    console.print("cassette")
    first, example = (ROOT / "tests" / "examples" / f"test_{n}.py" for n in ("first", "cassette"))
    if not example.is_file():
        found.notes.append(f"no cassette: {example} is not there")
        return
    times = []
    for _ in range(runs):
        run_suite(sys.executable, ROOT, str(first), str(example), f"--junit-xml={report}")
        cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - our own file
        told = [case.attrib for case in cases]
        times += [float(one["time"]) for one in told if example.stem in one["classname"]]
    found.take("a cassette test, chain and contracts included", times)


def suites(folder: Path, options: argparse.Namespace, found: Found, console: Console) -> None:
    """Measure suites of one-step tests, ours and eth-tester's."""
    both = "-n", str(WORKERS)
    count, their_count = options.count, min(options.count, PEER_TESTS)
    ours = folder / "ours"
    write_suite(ours, ONE_STEP_SUITE, count=count, executor=EXECUTOR)
    run_suite(sys.executable, ours, "-k", "[0]")  # Fills pytest's cache.
    theirs = folder / "eth-tester"
    build = ROOT / "contracts" / "build"
    write_suite(theirs, ETH_TESTER_SUITE, count=their_count, build=str(build))
    python = peer(options.peers)
    bar = SUITE_BAR_SECONDS * count / 1_000
    for name, program, where, tests in (
        ("the kit", sys.executable, ours, count),
        ("eth-tester", python, theirs, their_count),
    ):
        for how, arguments in (("one process", ()), (f"xdist -n {WORKERS}", both)):
            row = f"{tests:,} one-step tests, {name}, {how}"
            console.print(row)
            is_barred = name == "the kit" and arguments == both
            found.take(
                row, [run_suite(program, where, *arguments).seconds], bar if is_barred else None
            )


def peer(folder: Path) -> str:
    """Return the Python of an environment with eth-tester; create it if absent."""
    environment = folder.resolve() / "eth-tester-suite"
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PEER, *RUNNER], check=True)
    return str(python)


def show(found: Found, console: Console) -> None:
    """Print the measurements."""
    table = Table("milliseconds", "median", "least", "most", "bar", title="test kit")
    for column in table.columns[1:]:
        column.justify = "right"
    for row, samples in found.rows.items():
        median, bar = statistics.median(samples), found.bars.get(row)
        verdict = "" if bar is None else f"{bar * 1e3:,.0f} {'✓' if median <= bar else '✗'}"
        figures = (median, min(samples), max(samples))
        table.add_row(row, *(f"{1e3 * seconds:,.1f}" for seconds in figures), verdict)
    console.print(table)
    for note in found.notes:
        console.print(note)


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20, help="runs of five steps")
    parser.add_argument("--count", type=int, default=1_000, help="one-step tests of a suite")
    parser.add_argument("--starts", type=int, default=20, help="runs of an empty suite")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of the adversary")
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help=f"one of {', '.join(PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of it, to try it out")
    parser.add_argument("--peers", type=Path, default=Path("build/peers"), help="folder of peers")
    parser.add_argument("--json", type=Path, help="write all samples to this file as well")
    options = parser.parse_args()
    for name in ("rounds", "count", "starts", "seeds"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; it must be at least 1")
        if options.quick:
            setattr(options, name, max(1, getattr(options, name) // 10))
    found = Found()
    with bytecode_kept():
        measure(options, found, Console(stderr=True))
    show(found, Console(width=None if sys.stdout.isatty() else WIDTH))
    if options.json is not None:
        form = {"rows": found.rows, "bars": found.bars, "notes": found.notes}
        options.json.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    with open_heartbeat("benchmarks.testkit"):
        sys.exit(main())
