"""The commands and programs of docs/clients.md, in their order and on one node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.foundry_project import compiled_project
from tests.clients.packages import HERE, foundry_program, installed, node_program
from tests.conftest import folder_of_session

if TYPE_CHECKING:
    from tests.clients.running_node import RunningNode

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "clients.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
DOCUMENTED_URL = "http://127.0.0.1:8545"
BLOCK_SECONDS = 240


def program(language: str, code: str, folder: Path, of_session: Path) -> list[str]:
    """Return the command that runs a block in a folder."""
    if language == "sh":
        shutil.copytree(compiled_project(of_session), folder, symlinks=True)
        return ["bash", "-euo", "pipefail", "-c", code]
    folder.mkdir()
    if language == "python":
        pytest.importorskip("web3")
        return [sys.executable, "-c", code]
    tool = "viem" if "'viem'" in code else "ethers"
    (folder / "node_modules").symlink_to(installed(tool))
    (folder / "block.mjs").write_text(code)
    return [node_program(), "block.mjs"]


@pytest.mark.slow
def test_each_block_does_what_it_says(
    node: RunningNode, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    of_session = folder_of_session(tmp_path_factory)
    path = os.pathsep.join(str(foundry_program(name).parent) for name in ("cast", "forge"))
    environment = {
        **os.environ,
        "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
        "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1",
        "NO_COLOR": "1",
    }
    said = []
    for number, (language, code) in enumerate(BLOCKS):
        if language in {"console", "ts"}:
            continue
        folder = tmp_path / str(number)
        command = program(language, code.replace(DOCUMENTED_URL, node.url), folder, of_session)
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=BLOCK_SECONDS,
        )
        assert ended.returncode == 0, code + ended.stderr
        said.append(ended.stdout)
    shell, *others = said
    assert "true" in shell
    assert '"action":"DeployTool"' in shell
    for one in others:
        assert re.search(r"(success|1) \[\s*'DeployTool', 'Done\.'\s*\]", one), one
    assert len(others) == 3


def test_the_network_is_that_of_the_tests() -> None:
    ((_, network),) = [block for block in BLOCKS if block[0] == "ts"]
    assert network in (HERE / "hardhat" / "hardhat.config.ts").read_text()
