"""Real clients and a real node: one process for all tests of a worker, each from genesis on."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.devnet.wallet_demo import BASE_PROMPT
from tests.clients.anvil_node import running_anvil
from tests.clients.packages import HERE, installed, node_program, without_colours
from tests.clients.running_node import RunningNode, running_node
from tests.conftest import folder_of_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARTIFACTS = Path(__file__).parents[2] / "contracts" / "build"
SCRIPT_SECONDS = 240


ON_BOTH = pytest.mark.parametrize(
    "node_of_worker", ["own", pytest.param("fork", marks=pytest.mark.slow)], indirect=True
)
"""Tests of a client run on a chain of its own, and on a fork of an anvil's first block."""


@pytest.fixture(scope="session")
def node_of_worker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningNode]:
    # What the model said to one client it need not say again to the next, in whatever worker.
    store = folder_of_session(tmp_path_factory) / "clients-store.sqlite3"
    folder = tmp_path_factory.mktemp("node")
    options = ["--store", str(store)]
    with ExitStack() as stack:
        if getattr(request, "param", "own") == "fork":
            anvil = stack.enter_context(running_anvil(folder))
            anvil.ask("evm_mine")  # Its genesis block has another state than the node.
            options += ["--fork-url", anvil.url, "--no-fork-cache"]
        yield stack.enter_context(running_node(folder, *options))


@pytest.fixture
def node(node_of_worker: RunningNode) -> Iterator[RunningNode]:
    """A node with nothing on its chain, whose model speaks for itself."""
    yield node_of_worker
    node_of_worker.ask("agent_clearScript")
    node_of_worker.ask("anvil_reset")


@pytest.fixture
def javascript(node: RunningNode, tmp_path: Path) -> Callable[..., Any]:
    """Run a script in a client's folder; return its output."""

    def run(tool: str, script: str, *arguments: str, program: str | None = None) -> Any:  # noqa: ANN401 - JSON
        for file in (HERE / tool).glob("*.mjs"):
            shutil.copy(file, tmp_path)
        (tmp_path / "node_modules").symlink_to(installed(tool))
        ended = subprocess.run(
            [program or node_program(), script, node.url, ARTIFACTS, BASE_PROMPT, *arguments],
            cwd=tmp_path,
            env=without_colours(),
            capture_output=True,
            text=True,
            check=False,
            timeout=SCRIPT_SECONDS,
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return run
