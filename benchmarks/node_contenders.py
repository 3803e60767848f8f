"""The contenders of `benchmarks.node`: how each is installed, started, and called."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from benchmarks.node_alone import PyEvmAlone
from benchmarks.node_asks import CHAIN_ID, Ask
from benchmarks.node_client import Connection, encode_request
from benchmarks.node_processes import cpu_seconds, memory_mib
from pyevm_agents.node import DEFAULT_MNEMONIC

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS, POLL_SECONDS = 120.0, 0.003
ETH_TESTER_CHAIN_ID = 131_277_322_940_537
INSTALL_SECONDS = 600.0

FIRST = encode_request("eth_blockNumber", [])


class MissingError(Exception):
    """A contender is not available here; the message states the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The cost of some requests."""

    seconds: float
    cpu_seconds: float
    """Of the node, without the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Duration of a start, to the first answer."""

    seconds: float
    cpu_seconds: float
    mib: float


class Contender(Protocol):
    """A measured node."""

    name: str
    chain_id: int
    connections: int
    """Most connections at once."""

    def ask(self, windows: Sequence[Sequence[Ask]]) -> Sample:
        """Send requests over as many connections as there are lists.

        Raises: RuntimeError: an answer is an error.
        """

    def mib(self) -> float:
        """Return its memory."""

    def close(self) -> None:
        """End it."""


class ServerContender:
    """A node in a process of its own."""

    chain_id = CHAIN_ID
    connections = 64

    def __init__(self, name: str, command: Callable[[int], list[str]], folder: Path) -> None:
        """Start it and wait for its first answer; `command` takes the port.

        Raises: MissingError: it does not answer.
        """
        self.name = name
        port = _free_port()
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "log").open("wb") as log:
            started = time.perf_counter()
            self._process = subprocess.Popen(command(port), cwd=folder, stdout=log, stderr=log)
        try:
            self._port = self._answering(port, started + START_SECONDS)
            self.start = Start(
                seconds=time.perf_counter() - started,
                cpu_seconds=cpu_seconds(self._process.pid),
                mib=self.mib(),
            )
        except BaseException:
            self.close()
            raise
        self._open: list[Connection] = []

    def _answering(self, port: int, until: float) -> int:
        while time.perf_counter() < until:
            if self._process.poll() is not None:
                raise MissingError(f"it ended with status {self._process.returncode}")
            with suppress(OSError, RuntimeError):
                connection = Connection(port)
                try:
                    connection.send(FIRST)
                finally:
                    connection.close()
                return port
            time.sleep(POLL_SECONDS)
        raise MissingError(f"it did not answer within {START_SECONDS:g} s")

    def ask(self, windows: Sequence[Sequence[Ask]]) -> Sample:
        """Send requests over as many connections as there are lists."""
        while len(self._open) < len(windows):
            self._open.append(Connection(self._port))
        requests = [
            [(one.method, encode_request(one.method, one.params)) for one in w] for w in windows
        ]
        for connection in self._open:
            connection.refresh()
        failures: list[Exception] = []

        def work(number: int) -> None:
            try:
                _ask_all(self._open[number], requests[number])
            except (OSError, RuntimeError) as error:
                failures.append(error)

        others = [threading.Thread(target=work, args=(n,)) for n in range(1, len(windows))]
        used, started = cpu_seconds(self._process.pid), time.perf_counter()
        for thread in others:
            thread.start()
        work(0)
        for thread in others:
            thread.join()
        seconds = time.perf_counter() - started
        if failures:
            raise RuntimeError(f"{self.name}: {failures[0]}")
        return Sample(seconds=seconds, cpu_seconds=cpu_seconds(self._process.pid) - used)

    def mib(self) -> float:
        """Return its memory."""
        return memory_mib(self._process.pid)

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _ask_all(connection: Connection, requests: Sequence[tuple[str, bytes]]) -> None:
    result: Any = None
    for method, request in requests:
        result = connection.send(
            encode_request(method, [result])
            if method == "evm_revert"
            else request  # Of the snapshot.
        )


class AloneContender:
    """py-evm alone, in this process."""

    name = "py-evm alone"
    chain_id = CHAIN_ID
    connections = 1

    def __init__(self) -> None:
        """Start at genesis."""
        self._chain = PyEvmAlone()

    def ask(self, windows: Sequence[Sequence[Ask]]) -> Sample:
        """Execute the requests."""
        (asks,) = windows
        used, started = time.process_time(), time.perf_counter()
        for one in asks:
            self._chain.ask(one)
        return Sample(seconds=time.perf_counter() - started, cpu_seconds=time.process_time() - used)

    def mib(self) -> float:
        """Return the memory of this process."""
        return memory_mib(os.getpid())

    def close(self) -> None:
        """Do nothing: it ends with this process."""


class EthTesterContender:
    """eth-tester, in a process of an environment that has it.

    It has no server and gets all requests at once.
    """

    name = "eth-tester"
    chain_id = ETH_TESTER_CHAIN_ID
    connections = 1

    def __init__(self, python: Path) -> None:
        """Start it with the Python of an environment that has it.

        Raises: MissingError: it does not start.
        """
        script = str(ROOT / "benchmarks" / "node_eth_tester.py")
        started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(python), script, DEFAULT_MNEMONIC],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._read()
        self.start = Start(
            seconds=time.perf_counter() - started,
            cpu_seconds=cpu_seconds(self._process.pid),
            mib=self.mib(),
        )

    def ask(self, windows: Sequence[Sequence[Ask]]) -> Sample:
        """Send all requests; return their duration."""
        (asks,) = windows
        pipe: IO[str] | None = self._process.stdin
        assert pipe is not None  # noqa: S101 - it was asked for
        pipe.write(json.dumps([(one.method, one.params) for one in asks]) + "\n")
        pipe.flush()
        told = self._read()
        return Sample(seconds=told["seconds"], cpu_seconds=told["cpu"])

    def _read(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        pipe: IO[str] | None = self._process.stdout
        assert pipe is not None  # noqa: S101 - it was asked for
        line = pipe.readline()
        if not line:
            raise MissingError(f"it ended with status {self._process.wait()}")
        return json.loads(line)

    def mib(self) -> float:
        """Return its memory."""
        return memory_mib(self._process.pid)

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A contender that can be started, and started again."""

    name: str
    start: Callable[[Path], Contender]
    """Start it; its packages and files are in the folder. Raises MissingError."""


def _ours(name: str, *options: str) -> Kind:
    def start(folder: Path) -> Contender:
        command = [sys.executable, "-m", "pyevm_agents", "node", "--quiet", *options]

        def at(port: int) -> list[str]:
            return ["env", f"PYTHONPATH={ROOT}", *command, "--port", str(port)]

        return ServerContender(name, at, folder / name)

    return Kind(name=name, start=start)


def _anvil(folder: Path) -> Contender:
    packages = _npm(folder, "@foundry-rs/anvil")
    # npm may not run the script that links the binary.
    binary = next(packages.glob("@foundry-rs/anvil-*/bin/anvil"), None)
    if binary is None:
        raise MissingError("npm has no anvil for this machine")
    return ServerContender(
        "anvil", lambda port: [str(binary), "--silent", "--port", str(port)], folder / "anvil"
    )


def _hardhat(folder: Path) -> Contender:
    packages = _npm(folder, "hardhat@2")
    script = packages / "hardhat" / "internal" / "cli" / "cli.js"
    project = folder / "node_modules" / ".."
    settings = "module.exports = { networks: { hardhat: { chainId: 31337 } } };\n"
    (project / "hardhat.config.js").write_text(settings, encoding="utf-8")
    config = str((project / "hardhat.config.js").resolve())

    def at(port: int) -> list[str]:
        return [_node(), str(script), "--config", config, "node", "--port", str(port)]

    return ServerContender("Hardhat", at, project)


def _ganache(folder: Path) -> Contender:
    packages = _npm(folder, "ganache@7.9.2")
    script = packages / "ganache" / "dist" / "node" / "cli.js"

    def at(port: int) -> list[str]:
        return [
            _node(), str(script), "--logging.quiet", "--chain.chainId", str(CHAIN_ID),
            "--wallet.mnemonic", DEFAULT_MNEMONIC, "--port", str(port),
        ]  # fmt: skip

    return ServerContender("ganache", at, folder / "ganache")


def _eth_tester(folder: Path) -> Contender:
    python = folder / "eth-tester" / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder / "eth-tester")])
        _run([str(python), "-m", "pip", "install", "-q", "eth-tester[py-evm]==0.14.0b1"])
    return EthTesterContender(python)


OURS = _ours("ours")
KINDS = (
    OURS,
    Kind(name=AloneContender.name, start=lambda _: AloneContender()),
    Kind(name="anvil", start=_anvil),
    Kind(name="Hardhat", start=_hardhat),
    Kind(name="ganache", start=_ganache),
    Kind(name="eth-tester", start=_eth_tester),
)


def _npm(folder: Path, package: str) -> Path:
    """Return the folder of npm's packages; install the package if absent."""
    packages = folder / "node_modules"
    name = package if package.startswith("@") else package.partition("@")[0]
    if not (packages / name).exists():
        npm = shutil.which("npm")
        if npm is None:
            raise MissingError("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package])
    return packages


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise MissingError("Node.js is not installed")
    return node


def _run(command: list[str]) -> None:
    """Run an installing command.

    Raises: MissingError: it fails.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"it can't be installed: {error}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
        raise MissingError(f"it can't be installed: {last}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
