"""docs/callback.md: its commands, in their order, on anvil with the real model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.anvil_node import running_anvil
from tests.clients.foundry_project import CONTRACTS
from tests.clients.packages import HERE, foundry_program, installed, without_colours
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "callback.md").read_text()
EXAMPLE = ROOT / "tests" / "examples" / "callback_agent"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DOCUMENTED_URL = "http://127.0.0.1:8545"
COMMAND_SECONDS = 600
SCRIPTS = Path(sys.executable).parent
"""The folder of the program `pyevm-agents`."""

FUNDS = 10_000 * 10**18
SOURCES = shutil.ignore_patterns("node_modules", "build", "test")


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    folders = [*(foundry_program(name).parent for name in ("cast", "forge")), SCRIPTS]
    return {
        **without_colours(),
        "FOUNDRY_SOLC": "./solc",
        "FOUNDRY_OFFLINE": "true",
        "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files of a clone that the page copies."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "tests" / "examples", folder / "tests" / "examples")
    shutil.copytree(CONTRACTS, folder / "contracts", ignore=SOURCES)
    return folder


class Shell:
    """Runs the page's blocks one after the other."""

    def __init__(self, folder: Path, url: str, environment: Mapping[str, str]) -> None:
        self.folder, self.url, self.environment = folder, url, environment
        self.variables = ""

    def run(self, block: str) -> str:
        """Run a block with the variables of those before; return its output."""
        code = f"{self.variables}\n{self._localize(block)}\nexport -p > exported"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.variables = (self.folder / "exported").read_text()
        return done.stdout

    @contextmanager
    def running(self, block: str) -> Iterator[Path]:
        """Run a block that does not end; yield the file of its output."""
        log = self.folder / "worker.log"
        code = re.sub(r"^(?=pyevm-agents)", "exec ", self._localize(block), flags=re.MULTILINE)
        with log.open("w") as said:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", code],
                cwd=self.folder,
                env=self.environment,
                stdout=said,
                stderr=said,
            )
        try:
            yield log
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()
            process.wait(timeout=HANG_SECONDS)

    def _localize(self, block: str) -> str:
        return block.replace(DOCUMENTED_URL, self.url)


@pytest.mark.slow
def test_the_commands_run_and_verify_agents(
    tmp_path: Path, checkout: Path, environment: Mapping[str, str]
) -> None:
    start, deploy, worker, ask, copies, pay, subscribe = BLOCKS
    assert start.startswith("anvil ")
    with running_anvil(tmp_path, *start.split()[1:]) as node:
        shell = Shell(tmp_path, node.url, environment)
        shell.run(deploy)
        with shell.running(worker) as log:
            said = shell.run(ask)
            assert "The counter is: 7" in said, log.read_text()
            before, npm, _ = copies.partition("npm install @openzeppelin/contracts@5.7.0\n")
            assert npm, "the packages below are those of another command"
            shell.run(before.replace("CHECKOUT", str(checkout)))
            shell.folder = tmp_path / "callback_agent"
            shutil.copy(HERE / "foundry" / "solc", shell.folder)
            (shell.folder / "node_modules").symlink_to(installed("foundry"))
            assert f"{FUNDS + 5}" in shell.run(pay), log.read_text()
            assert "Paid" in shell.run(subscribe), log.read_text()


def test_the_solidity_of_the_page_is_that_of_the_project() -> None:
    (code,) = re.findall(r"^```solidity\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert code in (EXAMPLE / "src" / "PayCallbackAgent.sol").read_text()
