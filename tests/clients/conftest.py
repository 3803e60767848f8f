"""Real clients and a real node: one process for all tests of a worker, each from genesis on."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.scenarios.wallet import BASE_PROMPT
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
"""The tests of one client run on a chain of its own, and on a fork of an anvil's first block."""


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


@contextmanager
def kill_if_hanging(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a script that takes too long."""
    timer = threading.Timer(SCRIPT_SECONDS, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.fixture
def javascript(node: RunningNode, tmp_path: Path) -> Callable[..., Any]:
    """Run a script in a client's folder; return the last line of its output.

    `on_line` is called with each line, as soon as the script prints it.
    """

    def run(
        tool: str,
        script: str,
        *arguments: str,
        program: str | None = None,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> Any:  # noqa: ANN401 - JSON
        for file in (HERE / tool).glob("*.mjs"):
            shutil.copy(file, tmp_path)
        (tmp_path / "node_modules").symlink_to(installed(tool))
        errors, line = tmp_path / "stderr", ""
        given = [node.url, str(ARTIFACTS), BASE_PROMPT, *arguments]
        with (
            errors.open("w") as stderr,
            subprocess.Popen(
                [program or node_program(), script, *given],
                cwd=tmp_path,
                env=without_colours(),
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            ) as process,
            kill_if_hanging(process),
        ):
            assert process.stdout is not None
            for line in process.stdout:
                on_line(line.rstrip())
        assert process.returncode == 0, errors.read_text()
        return json.loads(line)

    return run
