"""A client that openapi-typescript generates from the OpenAPI document compiles and works."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.clients.packages import HERE, installed, node_program
from tests.deadlines import HANG_SECONDS
from tests.golden.golden_files import read
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # npm packages and a compiler

COMPILE = ("--module", "nodenext", "--target", "es2022", "--strict", "--skipLibCheck")
PROCESS = "declare const process: { argv: string[] };\n"
"""For the compiler, in place of the types of all of Node.js."""

MISSPELLED = {
    "run.waitsForConfirmation": "run.waitForConfirmation",
    'run.status === "completed"': 'run.status === "complete"',
    'each.phase === "dry_run"': 'each.phase === "dryRun"',
    "result.digests.trace": "result.digest.trace",
    "task.error.error": "task.error.message",
    '"/agents/{slug}/trust"': '"/agents/{slug}/score"',
    "body: { goal: goal!": "body: { gaol: goal!",
}
"""Pieces of the client, each with a misspelled one."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client with the types that are generated from the golden OpenAPI document."""
    folder = tmp_path_factory.mktemp("openapi")
    (folder / "node_modules").symlink_to(installed("openapi"))
    (folder / "openapi.json").write_text(json.dumps(read("openapi")), "utf-8")
    for name in ("package.json", "client.ts"):
        shutil.copy(HERE / "openapi" / name, folder)
    (folder / "process.d.ts").write_text(PROCESS, "utf-8")
    generator = folder / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
    ended = run(
        folder, str(generator), "openapi.json",
        "--output", "control_plane.ts",
        "--default-non-nullable", "false",  # A member with a default may be left out of a request.
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node_program(), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


def compile_files(folder: Path, *names: str) -> str:
    """Compile clients; return the compiler's errors."""
    compiler = folder / "node_modules" / "typescript" / "bin" / "tsc"
    return run(folder, str(compiler), *COMPILE, *names, "process.d.ts").stdout


def test_the_client_compiles_and_drives_a_run(project: Path, tmp_path: Path) -> None:
    assert compile_files(project, "client.ts") == ""
    agent = make_agent(tmp_path)
    with open_served_plane(agent.path, tmp_path) as rest:
        ended = run(project, "client.js", rest.url, "What is my balance?")
    assert (ended.returncode, ended.stdout.splitlines()) == (
        0,
        ["typed-run completed true completed 0x 1", "404 run 'none'", "0 false"],
    ), ended.stderr


def test_a_misspelled_client_does_not_compile(project: Path) -> None:
    text = (project / "client.ts").read_text("utf-8")
    names = {f"wrong{number}.ts": pair for number, pair in enumerate(MISSPELLED.items())}
    for name, (right, wrong) in names.items():
        assert right in text
        (project / name).write_text(text.replace(right, wrong), "utf-8")
    errors = compile_files(project, *names)
    assert [wrong for name, (_, wrong) in names.items() if f"{name}(" not in errors] == []
