"""Processes of `pyevm-agents council` on a node, with keystores and stores in a folder."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.council.council_chain import NOBODY, CouncilChain, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

POLL_SECONDS = 0.1


class CouncilProcesses:
    """Those who take part in a council, each in a process of its own."""

    def __init__(self, chain: CouncilChain, folder: Path) -> None:
        self.chain, self.folder = chain, folder
        (folder / "password").write_text(PASSWORD)
        self._running: dict[str, subprocess.Popen[str]] = {}

    def build_command(self, name: str, command: str, *words: str, key: PrivateKey) -> list[str]:
        keystore = write_keystore(self.folder / f"{name}.json", key.to_bytes())
        options = ["--rpc-url", self.chain.url, "--oracle", self.chain.oracle]
        options += ["--keystore", str(keystore), "--password-file", str(self.folder / "password")]
        options += ["--store", str(self.folder / f"{name}.store"), "--poll-interval", "0.1"]
        return [sys.executable, "-m", "pyevm_agents", "council", command, *options, *words]

    def start(self, name: str, command: str, *words: str, key: PrivateKey) -> None:
        """Start a participant; its account has money."""
        self.chain.fund(key)
        line = self.build_command(name, command, *words, "--json", key=key)
        with (self.folder / f"{name}.log").open("a") as log:
            self._running[name] = subprocess.Popen(line, stdout=log, stderr=log, text=True)

    def read_events(self, name: str) -> list[dict[str, Any]]:
        """Return the events of a participant until now."""
        return read_lines((self.folder / f"{name}.log").read_text())

    def find_event(self, name: str, event: str) -> dict[str, Any]:
        """Return a participant's only event of a kind."""
        [found] = [each for each in self.read_events(name) if each["event"] == event]
        return found

    def has_ended(self, *names: str) -> bool:
        """Return whether participants say that their request has ended."""
        return all(
            any(each["event"] == "ended" for each in self.read_events(name)) for name in names
        )

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until the chain is in a state. Raises: AssertionError: a participant has ended."""
        end = time.monotonic() + HANG_SECONDS
        while not is_so():
            for name, process in self._running.items():
                assert process.poll() in {None, 0}, (name, self.tell())
            assert time.monotonic() < end, self.tell()
            time.sleep(POLL_SECONDS)

    def wait_for_end(self, name: str) -> None:
        """Wait until a process ends by itself, without a fault."""
        assert self._running.pop(name).wait(timeout=HANG_SECONDS) == 0, self.tell()

    def end_all(self) -> None:
        """End all by the signal of a service manager: each ends without a fault."""
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)
        for name, process in self._running.items():
            assert process.wait(timeout=HANG_SECONDS) == 0, (name, self.tell())
        self._running.clear()

    def kill_all(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait(timeout=HANG_SECONDS)

    def watch(self, *words: str) -> str:
        """Return what `council watch --once` prints."""
        command = [sys.executable, "-m", "pyevm_agents", "council", "watch", "--once"]
        command += ["--rpc-url", self.chain.url, "--oracle", self.chain.oracle, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
        )
        return done.stdout

    def tell(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(
            f"{log.stem}: {log.read_text()[-2_000:]}" for log in logs if log.stem != "node"
        )

    def read_claimable(self, *keys: PrivateKey, token: str = NOBODY) -> list[int]:
        names = [key.public_key.to_checksum_address() for key in keys]
        return [int(self.chain.read("claimable", token, each)) for each in names]

    def read_phase(self, number: int) -> int:
        return int(self.chain.read("phaseOf", number)[0])


@contextmanager
def taking_part(chain: CouncilChain, folder: Path) -> Iterator[CouncilProcesses]:
    """Yield participants; those that still run afterwards are killed."""
    processes = CouncilProcesses(chain, folder)
    try:
        yield processes
    finally:
        processes.kill_all()
