"""Does a long-running node stay small, and does it restart at once?

    python -m benchmarks.endurance [--blocks 50000] [--folder DIR] [--json FILE]

One process makes blocks as fast as it can, through the methods that clients call: transfers to new
accounts, tokens, setters, reads, traces, snapshots with and without a revert, filters without
polls. Every 5,000 blocks it prints its memory. Its files are then copied, and a node is started
with the copy: the time from the start of its process to its first answer, beside that of an empty
node.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_utils import keccak
from rich.console import Console
from rich.table import Table

from benchmarks.bytecode import bytecode_kept
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.bench.heartbeat import open_heartbeat
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = dict[str, Any]

EVERY = 5_000
"""Blocks between rows of the table."""

RESTARTED_AT = 10_000
"""Blocks after which a restart has a bar."""

RESTART_SECONDS = 2.0
STARTS = 5

GROWTH_BYTES = 64 * 2**20
"""Most growth of a node after its first `RESTARTED_AT` blocks."""

MIB = 2**20
ETHER = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line's options."""

    blocks: int
    folder: Path
    json: Path | None


# -- the process that makes blocks -- #


class Load:
    """Clients of a node, one after the other, in its own process."""

    def __init__(self, folder: Path) -> None:
        """Create a chain in a folder, as the command `node` does."""
        keys = Keys(derive_keys(DEFAULT_MNEMONIC, 10))
        accounts = {one: GenesisAccount(balance_wei=10_000 * ETHER) for one in keys.addresses}
        config = ChainConfig(genesis_timestamp_seconds=int(time.time()))
        self._rows = LmdbRows(folder)
        chain = Chain(config, accounts=accounts, rows=self._rows)
        self.node = Node(chain, now=time.time, keys=keys)
        self._service = build_node_service(self.node)
        self._told = 0
        self._session = Session("benchmark", self._tell)
        self._chance = random.Random(5)  # noqa: S311 - the same load each time
        self._accounts = self.ask("eth_accounts")
        self._hashes: list[str] = []

    def _tell(self, _: object) -> None:
        self._told += 1

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        """Return the answer of a method."""
        return self._service.call(method, list(params), self._session)

    def begin(self) -> None:
        """Deploy a token, and open filters and subscriptions."""
        creation = load_artifact("DemoToken").encode_creation(*TOKEN_ARGUMENTS)
        made = self._send({"data": "0x" + creation.hex(), "gas": hex(3_000_000)})
        self._token = str(self.ask("eth_getTransactionReceipt", made)["contractAddress"])
        for _ in range(10):
            self.ask("eth_newBlockFilter")
            self.ask("eth_newFilter", {})
            self.ask("eth_newPendingTransactionFilter")
        self._polled = self.ask("eth_newFilter", {})
        for kind in ("newHeads", "logs", "newPendingTransactions"):
            self.ask("eth_subscribe", kind)

    def step(self, number: int) -> None:
        """Make a block with the requests of clients around it."""
        made = self._transfer_tokens(number) if number % 4 == 0 else self._transfer(number)
        self._hashes[number % 1_000 : number % 1_000 + 1] = [made]
        self.ask("eth_getTransactionReceipt", made)
        if number % 10 == 0:
            self._read(number)
        if number % 50 == 0:
            self.ask("debug_traceTransaction", made, {"tracer": "callTracer"})
            self.ask("eth_getFilterChanges", self._polled)
        if number % 100 == 0:
            before = self.ask("evm_snapshot")
            self._transfer(-number)
            self.ask("anvil_setBalance", self._fresh(number), hex(ETHER))
            self.ask("evm_revert", before)
        if number % 1_000 == 0:
            self.ask("evm_snapshot")
            self.ask("anvil_setStorageAt", self._token, hex(number), "0x" + f"{number:064x}")

    def _read(self, number: int) -> None:
        full = True
        old = hex(self._chance.randint(0, self.node.chain.head.block_number))
        self.ask("eth_getBlockByNumber", old, full)
        self.ask("eth_getTransactionByHash", self._chance.choice(self._hashes))
        first = max(0, int(old, 16) - 10)
        self.ask("eth_getLogs", {"fromBlock": hex(first), "toBlock": old})
        data = "0x" + load_artifact("DemoToken").encode_call("balanceOf", self._fresh(number)).hex()
        self.ask("eth_call", {"to": self._token, "data": data}, "latest")
        self.ask("eth_estimateGas", {"to": self._fresh(-number), "value": "0x1"})
        self.ask("eth_feeHistory", "0x10", "latest", [50.0])

    def _transfer(self, number: int) -> str:
        return self._send({"to": self._fresh(number), "value": hex(number % 1_000 + 1000)})

    def _transfer_tokens(self, number: int) -> str:
        data = load_artifact("DemoToken").encode_call("transfer", self._fresh(number), number)
        return self._send({"to": self._token, "data": "0x" + data.hex(), "gas": hex(100_000)})

    def _send(self, told: dict[str, str]) -> str:
        form = {"from": self._accounts[0], "gas": hex(21_000), **told}
        return str(self.ask("eth_sendTransaction", form))

    def _fresh(self, number: int) -> str:
        """Return a new account."""
        return "0x" + keccak(text=str(number))[12:].hex()

    def close(self) -> None:
        """End the node."""
        self._session.close()
        self.node.close()


TOKEN_ARGUMENTS = ("Token", "TKN", 18, 10**30)


def make(folder: Path, blocks: int) -> None:
    """Make blocks; print a row from time to time, and continue on a line of input."""
    load = Load(folder)
    load.begin()
    print(json.dumps(_row(load, folder, 0.0)), flush=True)
    sys.stdin.readline()
    begun = time.perf_counter()
    number = 0
    while load.node.chain.head.block_number < blocks:
        number += 1
        load.step(number)
        if load.node.chain.head.block_number % EVERY == 0:
            print(json.dumps(_row(load, folder, time.perf_counter() - begun)), flush=True)
            sys.stdin.readline()
            begun = time.perf_counter()
    load.close()


def _row(load: Load, folder: Path, seconds: float) -> Row:
    memory = _memory()
    disk = sum(one.stat().st_blocks * 512 for one in folder.iterdir())
    return {
        "blocks": load.node.chain.head.block_number,
        "seconds": round(seconds, 3),
        "own_bytes": memory["RssAnon"],
        "file_bytes": memory["RssFile"],
        "disk_bytes": disk,
    }


def _memory() -> dict[str, int]:
    """Return this process's memory: its own, and pages of files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    parts = [line.split() for line in lines if line.startswith("Rss")]
    return {name.rstrip(":"): int(kibibytes) * 1024 for name, kibibytes, *_ in parts}


# -- the process that measures -- #


def measure(options: Options, console: Console) -> Row:
    """Have blocks made, and a node started with them at two points."""
    rows: list[Row] = []
    starts: dict[int, list[float]] = {}
    kept, copy = options.folder / "kept", options.folder / "copy"
    with _making(kept, options.blocks) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe
        assert process.stdin is not None  # noqa: S101 - a pipe
        for line in process.stdout:
            row = json.loads(line)
            rows.append(row)
            _tell(console, row)
            if row["blocks"] in {RESTARTED_AT, options.blocks}:
                starts[row["blocks"]] = _starts_with(kept, copy)
            process.stdin.write("\n")
            process.stdin.flush()
    if process.returncode:
        raise SystemExit(f"the process that makes blocks ended with {process.returncode}")
    starts[0] = [_start(options.folder / f"empty-{n}") for n in range(STARTS)]
    return {
        "rows": rows,
        "starts": [
            {"blocks": blocks, "seconds": [round(one, 3) for one in seconds]}
            for blocks, seconds in sorted(starts.items())
        ],
    }


@contextmanager
def _making(folder: Path, blocks: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.endurance", "--make", str(folder)]
    command += ["--blocks", str(blocks)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _starts_with(kept: Path, copy: Path) -> list[float]:
    """Return the times of starts with a copy of a folder."""
    shutil.copytree(kept, copy)
    try:
        return [_start(copy) for _ in range(STARTS)]
    finally:
        shutil.rmtree(copy)


def _start(folder: Path) -> float:
    """Return the seconds from a node's start to its first answer, then kill it."""
    command = [sys.executable, "-m", "pyevm_agents", "node", "--no-model", "--port", "0"]
    command += ["--json-logs", "--state-dir", str(folder)]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe
        try:
            url = json.loads(process.stdout.readline())["url"]
            body = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber"}
            request = urllib.request.Request(  # noqa: S310 - a loopback address
                url, json.dumps({**body, "params": ["latest", True]}).encode()
            )
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
                json.load(answer)["result"]["number"]
            return time.perf_counter() - begun
        finally:
            process.kill()


def _tell(console: Console, row: Row) -> None:
    console.print(
        f"{row['blocks']:>7,} blocks: {row['own_bytes'] / MIB:,.0f} MiB of its own, "
        f"{row['disk_bytes'] / MIB:,.0f} MiB on the disk"
    )


# -- output -- #


def growth_bytes(rows: list[Row]) -> int:
    """Return a process's growth since its first `RESTARTED_AT` blocks."""
    settled = [row["own_bytes"] for row in rows if row["blocks"] >= RESTARTED_AT]
    return max(settled, default=0) - (settled[0] if settled else 0)


def show(found: Row, console: Console) -> bool:
    """Print the measurements; return whether the bars are met."""
    table = Table("blocks", "blocks/s", "own memory", "pages of files", "on disk", title="memory")
    before = 0
    for row in found["rows"]:
        speed = (row["blocks"] - before) / row["seconds"] if row["seconds"] else 0.0
        before = row["blocks"]
        sizes = (row[name] / MIB for name in ("own_bytes", "file_bytes", "disk_bytes"))
        table.add_row(f"{before:,}", f"{speed:.0f}", *(f"{size:,.0f} MiB" for size in sizes))
    for column in table.columns:
        column.justify = "right"
    console.print(table)
    table = Table("blocks", "start to first answer", "least", title="restart")
    bars = [growth_bytes(found["rows"]) <= GROWTH_BYTES]
    for start in found["starts"]:
        median = statistics.median(start["seconds"])
        table.add_row(f"{start['blocks']:,}", f"{median:.2f} s", f"{min(start['seconds']):.2f} s")
        if start["blocks"] == RESTARTED_AT:
            bars.append(median <= RESTART_SECONDS)
    console.print(table)
    console.print(
        f"growth after {RESTARTED_AT:,} blocks: {growth_bytes(found['rows']) / MIB:.0f} MiB "
        f"(at most {GROWTH_BYTES / MIB:.0f}); restart at {RESTARTED_AT:,} blocks: at most "
        f"{RESTART_SECONDS:g} s"
    )
    return all(bars)


def main() -> int:
    """Measure, print two tables, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=50_000)
    parser.add_argument("--folder", type=Path, help="where to keep chains; else one that goes")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.blocks < EVERY or given.blocks % EVERY:
        parser.error(f"--blocks is {given.blocks}; it must be a multiple of {EVERY:,}")
    if given.make is not None:
        make(given.make, given.blocks)
        return 0
    console = Console()
    with (
        bytecode_kept(),
        tempfile.TemporaryDirectory(prefix="endurance-", dir=given.folder) as folder,
    ):
        options = Options(blocks=given.blocks, folder=Path(folder), json=given.json)
        found = measure(options, Console(stderr=True))
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if show(found, console) else 1


if __name__ == "__main__":
    with open_heartbeat("benchmarks.endurance"):
        sys.exit(main())
