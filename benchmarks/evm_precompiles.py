"""The EVM's slowest operations for 30 million gas, with py-evm's precompiles and with ours.

    python -m benchmarks.evm_precompiles [--json FILE] [--rounds N]

Each case is a block, executed as the node does, by both computations in turn. A pair of blocks of
different length gives the marginal time of an iteration; the seconds for 30 million gas are by
proportion. Seconds are CPU time. Afterwards blocks of nearly 30 million gas of precompiles are
executed in full, by ours alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth.vm.forks.prague.computation import PragueComputation

from benchmarks.evidence import describe_commit
from pyevm_agents.bench.evm.runner import EvmTestbed
from pyevm_agents.bench.evm.worst_case_search import iter_all_cases
from pyevm_agents.bench.evm.worst_cases import WORST_CASES
from pyevm_agents.bench.measurement.machine import describe_machine
from pyevm_agents.vm import bls12_381, bn254, modexp
from pyevm_agents.vm.computation import PragueAgentComputation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.evm.case import EvmCase

BLOCK_GAS = 30_000_000
REPLACED = bls12_381.PRECOMPILES | bn254.PRECOMPILES | modexp.PRECOMPILES
TURNS = {
    "worst-bls-pairing": (1, 64),
    "worst-bn128-pairing": (1, 64),
    "worst-bls-g2-msm": (1, 128),
    "bls-pairing 4": (1, 20),
    "bls-pairing 1": (1, 40),
    "bls-g2-msm 16": (1, 20),
    "bls-g2-msm 1": (1, 60),
    "bls-map-g2": (1, 80),
    "bls-g1-msm 16": (1, 40),
    "bls-g1-msm 1": (1, 100),
    "bls-map-g1": (1, 200),
    "bls-g2-add": (1, 400),
    "bls-g1-add": (1, 400),
    "bn128-pairing 1": (1, 40),
    "bn128-pairing 4": (1, 20),
    "bn128-mul": (1, 200),
    "bn128-add": (1, 800),
    "modexp 8 64 8": (1, 800),
    "blake2f 0": (1, 800),
    "CODECOPY": (1, 200),
    "CALL itself 0": (1, 800),
    "STATICCALL nobody 1048576": (100, 500),
    "STATICCALL identity 1048576": (100, 500),
}
"""Iterations of the shorter and of the longer block, for our precompiles; of the first three cases,
pairs or points of a call."""

SLOW = {name: 20 for name in TURNS if name.startswith(("worst", "bls", "bn128-p", "bn128-m"))}
"""py_ecc's blocks are shorter by this factor."""

FULL = ("bls-pairing 4", "bls-g2-msm 1", "bn128-pairing 1", "bn128-mul", "bn128-add", "bls-g1-add")
"""Cases executed with a full block's gas."""


@contextmanager
def py_evms_precompiles() -> Iterator[None]:
    """Replace our precompiles by py-evm's."""
    ours = PragueAgentComputation._precompiles  # noqa: SLF001 - a class attribute without a setter
    theirs = PragueComputation.get_precompiles()
    PragueAgentComputation._precompiles = {  # noqa: SLF001 - as above
        address: theirs[address] if address in REPLACED else precompile
        for address, precompile in ours.items()
    }
    try:
        yield
    finally:
        PragueAgentComputation._precompiles = ours  # noqa: SLF001 - as above


def time_block(bed: EvmTestbed, case: EvmCase, turns: int) -> tuple[int, float]:
    """Return the gas and the CPU seconds of a block."""
    started = time.process_time()
    gas = bed.sample(case, turns).gas
    return gas, time.process_time() - started


def measure(case: EvmCase, turns: tuple[int, int], rounds: int) -> float:
    """Return the nanoseconds per gas of more iterations: the median of the rounds."""
    bed = EvmTestbed([case])
    bed.sample(case, 1)
    found = []
    for _ in range(rounds):
        (gas, seconds), (more_gas, more_seconds) = (time_block(bed, case, each) for each in turns)
        found.append((more_seconds - seconds) / (more_gas - gas) * 1e9)
    return statistics.median(found)


def shorten(name: str, turns: tuple[int, int]) -> tuple[int, int]:
    """Return the iterations for py-evm's precompiles."""
    first, last = turns
    return first, max(first + 1, last // SLOW.get(name, 1))


def main() -> int:
    """Measure both, print the table, write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    cases = {case.name: case for case in (*iter_all_cases(), *WORST_CASES)}
    rows: list[dict[str, Any]] = []
    print(f"{'operation':30} {'before':>9} {'after':>9}  CPU seconds for 30 million gas")
    for name, turns in TURNS.items():
        with py_evms_precompiles():
            before = measure(
                cases[name], shorten(name, turns), 1 if name in SLOW else options.rounds
            )
        after = measure(cases[name], turns, options.rounds)
        seconds = [each * BLOCK_GAS / 1e9 for each in (before, after)]
        rows.append({"operation": name, "before_seconds": seconds[0], "after_seconds": seconds[1]})
        print(f"{name:30} {seconds[0]:9.1f} {seconds[1]:9.2f}", flush=True)
    full = []
    for name in FULL:
        bed = EvmTestbed([cases[name]])
        first, second = (bed.sample(cases[name], turns).gas for turns in (1, 2))
        calls = 1 + (BLOCK_GAS - first) // (second - first)
        gas, taken = time_block(bed, cases[name], calls)
        full.append({"operation": name, "calls": calls, "gas": gas, "seconds": taken})
        print(f"{name:30} in full: {calls} calls, {gas:,} gas, {taken:.2f} s", flush=True)
    if options.json:
        report = {
            "command": "python -m benchmarks.evm_precompiles",
            "commit": describe_commit(),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": asdict(describe_machine()),
            "rounds": options.rounds,
            "block_gas": BLOCK_GAS,
            "operations": rows,
            "in_full": full,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
