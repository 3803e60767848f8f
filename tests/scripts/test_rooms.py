"""The tests that a change can alter: none is left out, whatever way it reaches the room."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scripts.rooms import INSTRUMENTS, NO_TESTS, Reach, choose_files, find_changed, measure_shares
from tests.checkout import ROOT, tracked_files

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

REACHED = {
    "by an import": ("council", "pyevm_agents.council.test_disputes"),
    "by an import in a function": ("models", "pyevm_agents.models.decoding.test_guided"),
    "by a fixture of its folder": ("forking", "pyevm_agents.council.test_disputes"),
    "by a fixture of a plugin": ("chain", "pyevm_agents.vm.test_vm"),
    "by a fixture of the product's plugin": ("pytest_plugin", "examples.test_first"),
    "by a command that it starts": ("server", "clients.test_viem"),
    "by a command that it calls": ("lifecycle", "pyevm_agents.cli.agent.test_new"),
    "by a command that a fixture calls": ("oracle", "pyevm_agents.cli.oracle.test_run"),
    "by a module that it starts": ("oracle", "test_killed_workers"),
    "by a patch": ("cli", "pyevm_agents.cli.agent.test_validate"),
    "by all commands": ("bench", "pyevm_agents.cli.test_app"),
    "by the golden files": ("tracing", "golden.test_golden"),
    "by a folder of data": ("chain_fixtures", "pyevm_agents.scenarios.test_recorded"),
    "by a contract": ("contracts", "contracts.runs.test_treasury_invariants"),
    "by reading the checkout": ("workers", "test_layout"),
    "by the documents": ("docs", "test_documentation"),
    "by a path in a text": ("server", "test_distributions"),
    "by a folder's name": ("benchmarks", "pyevm_agents.bench.attacks.test_runner"),
    "by a name of a folder without modules": ("scripts", "clients.test_bridge_forge"),
}
"""A room and a test file that a change there alters, by the way in which it does."""

IMPORTED = (
    "tests.contracts.council.test_accounts",
    "tests.precompiles.test_executor",
    "tests.pyevm_agents.cli.oracle.test_run",
    "tests.pyevm_agents.council.test_disputes",
    "tests.pyevm_agents.rpc.methods.test_agent",
)

MODULES = """
import sys
from importlib import import_module
import_module({name!r})
print(*(name for name in sys.modules if name.startswith(("precompiles", "pyevm_agents"))))
"""


@pytest.fixture(scope="module")
def reach() -> Reach:
    return Reach()


@pytest.mark.parametrize(("room", "test"), REACHED.values(), ids=REACHED)
def test_a_change_in_a_room_alters_what_reaches_it(reach: Reach, room: str, test: str) -> None:
    assert f"tests.{test}" in reach.select({room})


@pytest.mark.parametrize("name", IMPORTED)
def test_every_module_that_a_test_imports_is_reached(reach: Reach, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES.format(name=name)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert len(loaded) > 10
    assert loaded <= reach.follow(name)


def test_every_group_has_its_table(reach: Reach) -> None:
    groups = {
        name
        for name, file in reach.files.items()
        if name.startswith("pyevm_agents.cli.") and "commands=COMMANDS" in file.read_text("utf-8")
    }
    assert len(groups) > 4
    assert {name for name, source in reach.sources.items() if source.commands} == groups


def test_a_room_has_the_tests_of_its_folder(reach: Reach) -> None:
    for room in reach.rooms():
        folder = f"tests.pyevm_agents.{room}."
        own = {name for name in reach.tests if name.startswith(folder)}
        assert own <= {*reach.select({room})}, room


def test_changes_at_the_top_leave_the_tests_of_the_bottom_out(reach: Reach) -> None:
    for room in ("council", "control", "oracle", "cli"):
        assert not [one for one in reach.select({room}) if one.startswith("tests.precompiles.")]


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        (["pyevm_agents/council/verdicts.py", "docs/council.md"], {"council", "docs"}),
        (["pyevm_agents/errors.py", "README.md"], {"errors", "docs"}),
        (["contracts/build/Wallet.json", "precompiles/spec.py"], {"contracts", "precompiles"}),
        (["tests/clients/conftest.py"], {"tests.clients.conftest"}),
        (["docs/node.md", "pyproject.toml"], None),
        (["docs/node.md", "tests/conftest.py"], None),
        ([".ci/run"], None),
        (["Makefile"], None),
        (["build-constraints.txt"], None),
        (["scripts/uv"], None),
        (["tests/deleted.py"], None),
        (["pyevm_agents/deleted.py"], None),
    ],
)
def test_changed_files_are_of_rooms(files: Sequence[str], changed: set[str] | None) -> None:
    assert find_changed(files) == changed


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("tests/clients/viem/agent.mjs", "clients.test_viem"),
        ("tests/clients/foundry/script/Deploy.s.sol", "clients.test_forge"),
        ("tests/clients/viem/deleted/agent.mjs", "clients.test_viem"),
        ("tests/examples/foundry/test/Wallet.sol", "clients.test_bridge_forge"),
        ("tests/golden/rpc.json", "golden.test_golden"),
        (
            "tests/pyevm_agents/models/numeric/text_features.json",
            "contracts.models.test_text_features",
        ),
    ],
)
def test_a_changed_file_below_tests_alters_its_readers(reach: Reach, file: str, test: str) -> None:
    changed = find_changed([file])
    assert changed is not None
    altered = reach.select(changed)
    assert f"tests.{test}" in altered
    assert len(altered) < len(reach.tests) / 4


def test_every_file_below_tests_alters_a_test(reach: Reach) -> None:
    files = [one.relative_to(ROOT).as_posix() for one in tracked_files() if one.suffix != ".py"]
    for file in files:
        if file.startswith("tests/"):
            assert (find_changed([file]) or set()) & {*reach.tests}, file


def test_a_changed_module_of_tests_alters_its_users(reach: Reach) -> None:
    altered = choose_files("default", reach, {"tests.clients.conftest"})
    assert "tests/clients/test_viem.py" in altered
    assert not [one for one in altered if one.startswith("tests/precompiles/")]


def test_each_test_file_is_of_a_part() -> None:
    parts = {part: choose_files(part, None, None) for part in ("default", "instruments")}
    files = {one.relative_to(ROOT).as_posix() for one in (ROOT / "tests").rglob("test_*.py")}
    assert sorted(files) == sorted(parts["default"] + parts["instruments"])
    assert all(one.startswith(INSTRUMENTS) for one in parts["instruments"])


def test_no_slow_test_is_left_out() -> None:
    chosen = {*choose_files("slow", None, None)}
    others = [one for one in choose_files("default", None, None) if one not in chosen]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "slow", "-n", "0"]
    done = subprocess.run(
        [*command, *others], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == NO_TESTS, done.stdout


def test_the_shares_in_contributing_are_about_right(reach: Reach) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) % \| (.+) \|$", text, re.MULTILINE)
    written = {room: int(share) for share, rooms in rows for room in re.findall(r"`(\w+)`", rooms)}
    measured = measure_shares(reach)
    assert written.keys() == measured.keys()
    wrong = {room: share for room, share in measured.items() if abs(share - written[room]) > 5}
    assert wrong == {}, "python -m scripts.rooms --table writes the rows"
