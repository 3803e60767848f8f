"""How long may a short transaction keep the event loop?

    python -m benchmarks.short_sends [--gas N] [--repeats N] [--show N]

A node mines a transaction of at most `SHORT_GAS` in the thread of its request, which may be the
event loop's. This executes each opcode in a loop until that gas is used up, as a block of one
transaction: the opcodes of the worst-case search, and those whose cost is a read of the state or of
earlier blocks. A contract that calls or creates another one is given up at the call. Milliseconds
are CPU time, the least of several repeats.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from pyevm_agents.bench.evm.case import make_contract_case
from pyevm_agents.bench.evm.runner import EvmTestbed, sign_transactions
from pyevm_agents.bench.evm.worst_case_search import iter_opcode_cases
from pyevm_agents.bench.measurement.assembly import build_loop
from pyevm_agents.chain import BlockSettings
from pyevm_agents.chain.simulator import SHORT_GAS
from pyevm_agents.chain.transactions import decode_transaction, recover_sender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.evm.case import EvmCase

ANCESTORS = 257
"""Blocks before the measured one: BLOCKHASH reads 256."""

ENDLESS = 2**255
READS = {
    "SLOAD, cold": "GAS SLOAD POP",
    "SSTORE, new slots": "GAS DUP1 SSTORE",
    "BALANCE, cold": "GAS BALANCE POP",
    "EXTCODESIZE, cold": "GAS EXTCODESIZE POP",
    "EXTCODEHASH, cold": "GAS EXTCODEHASH POP",
    "EXTCODECOPY, cold": "PUSH0 PUSH0 PUSH0 GAS EXTCODECOPY",
    "BLOCKHASH of ancestors": "GAS 0xff AND NUMBER SUB BLOCKHASH POP",
    "KECCAK256 of 32 KiB": "0x8000 PUSH0 KECCAK256 POP",
    "LOG4 of 1 KiB": "PUSH0 PUSH0 PUSH0 PUSH0 0x0400 PUSH0 LOG4",
}
"""Loop bodies. GAS is another number in each iteration."""


def iter_cases() -> Iterator[EvmCase]:
    """Yield all cases."""
    yield from iter_opcode_cases()
    for name, body in READS.items():
        yield make_contract_case(name, name, build_loop(body, copies=1), times=1)


def measure(case: EvmCase, gas: int, repeats: int) -> float | None:
    """Return the CPU seconds of a block that uses the gas; None if it is given up at a call."""
    chain = EvmTestbed([case]).chain
    for _ in range(ANCESTORS):
        chain.mine()
    (ask,) = case.build_transactions(ENDLESS)
    (raw,) = sign_transactions([replace(ask, gas=gas)], first_nonce=0)
    taken = []
    for _ in range(repeats):
        snapshot = chain.snapshot()
        transaction = decode_transaction(raw, chain.transaction_builder)
        recover_sender(transaction)
        started = time.process_time()
        mined = chain.mine_if_short(transaction, BlockSettings())
        taken.append(time.process_time() - started)
        if mined is None:
            return None
        if mined.block.header.gas_used != gas:
            raise RuntimeError(f"{case.name}: used {mined.block.header.gas_used} of {gas} gas")
        chain.revert(snapshot)
    return min(taken)


def main() -> None:
    """Measure, and print the slowest cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gas", type=int, default=SHORT_GAS, help="at most SHORT_GAS")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--show", type=int, default=12, help="slowest cases to show")
    options = parser.parse_args()
    console = Console()
    taken: dict[str, float] = {}
    for case in iter_cases():
        seconds = measure(case, options.gas, options.repeats)
        if seconds is None:
            console.print(f"{case.name}: given up at a call")
        else:
            taken[case.name] = seconds
    table = Table("loop of", "ms", "ns a gas", title=f"{options.gas:,} gas, {len(taken)} loops")
    for name, seconds in sorted(taken.items(), key=lambda each: -each[1])[: options.show]:
        table.add_row(name, f"{seconds * 1e3:.1f}", f"{seconds / options.gas * 1e9:.0f}")
    console.print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    main()
