"""docs/own-agent.md: its project, its commands and its script, on a node with the real model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.foundry_project import CONTRACTS, Foundry
from tests.clients.hardhat_project import run_hardhat
from tests.clients.packages import HERE, foundry_program, installed

if TYPE_CHECKING:
    from tests.clients.running_node import RunningNode

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-agent.md").read_text()
EXAMPLE = ROOT / "tests" / "examples" / "own_agent"
DOCUMENTED_URL = "http://127.0.0.1:8545"
COMMAND_SECONDS = 240
SCRIPTS = Path(sys.executable).parent
"""The folder of the program `pyevm-agents`."""

BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
FUNDS = 10_000 * 10**18
SOURCES = shutil.ignore_patterns("node_modules", "build", "test")


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def balance(node: RunningNode, address: str) -> int:
    return int(node.ask("eth_getBalance", address, "latest"), 16)


@pytest.fixture
def foundry_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "own_agent"
    shutil.copytree(EXAMPLE, folder)
    shutil.copytree(CONTRACTS, folder / "lib" / "contracts", ignore=SOURCES)
    shutil.copy(HERE / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    return folder


@pytest.mark.slow
def test_the_commands_for_foundry_pay_bob(node: RunningNode, foundry_folder: Path) -> None:
    compiler = {"FOUNDRY_SOLC": "./solc", "FOUNDRY_OFFLINE": "true"}
    Foundry("forge", node.url, foundry_folder, **compiler)("build")
    folders = [*(foundry_program(name).parent for name in ("cast", "forge")), SCRIPTS]
    programs = os.pathsep.join(map(str, folders))
    (commands,) = [block for block in code_blocks("sh") if "forge script" in block]
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace(DOCUMENTED_URL, node.url)],
        cwd=foundry_folder,
        env={**os.environ, **compiler, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert "the lowest limit that succeeds" in ended.stdout
    assert re.search(r"Action +Pay\b", ended.stdout)
    assert balance(node, BOB) == FUNDS + 5


@pytest.mark.slow
def test_the_script_for_hardhat_pays_bob(node: RunningNode, tmp_path: Path) -> None:
    packages = tmp_path / "node_modules"
    (packages / "@pyevm-agents").mkdir(parents=True)
    for package in installed("hardhat").iterdir():
        (packages / package.name).symlink_to(package)
    shutil.copytree(CONTRACTS, packages / "@pyevm-agents" / "contracts", ignore=SOURCES)
    shutil.copytree(EXAMPLE / "src", tmp_path / "contracts")
    for name in ("hardhat.config.ts", "package.json"):
        shutil.copy(HERE / "hardhat" / name, tmp_path)
    (script,) = code_blocks("js")
    (tmp_path / "pay.mjs").write_text(script)
    run_hardhat(tmp_path, "build")
    run_hardhat(tmp_path, "run", "--network", "agents", "pay.mjs", NODE_URL=node.url)
    assert balance(node, BOB) == FUNDS + 5


def test_the_solidity_of_the_page_is_that_of_the_project() -> None:
    tool, agent = code_blocks("solidity")
    assert tool in (EXAMPLE / "src" / "PayTool.sol").read_text()
    assert agent in (EXAMPLE / "src" / "PayAgent.sol").read_text()
