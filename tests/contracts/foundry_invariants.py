"""Foundry's invariants: a project with our contracts, and random calls played on it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.clients.foundry_project import CONTRACTS, Foundry
from tests.clients.packages import HERE, foundry_program, installed, node_program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.samples import Sample

MOST_SECONDS = 20 * 3_600
"""For the counts of `make evidence`; only a hang reaches it."""


def compile_project(source: Path, folder: Path, sources: Sequence[str] = ()) -> Path:
    """Copy a Foundry project beside our contracts and OpenZeppelin's, and compile it.

    Input:
        source: the project, with its `foundry.toml` and tests.
        folder: where the copy is made.
        sources: files and folders of `contracts/` that the project imports; all of them if empty.
    """
    node_program()
    if not (CONTRACTS / "node_modules" / "@openzeppelin").is_dir():
        pytest.skip("no contracts/node_modules/@openzeppelin: run npm ci in contracts/")
    foundry_program("forge")
    shutil.copytree(source, folder, dirs_exist_ok=True)
    shutil.copy(HERE / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    library = folder / "lib" / "contracts"
    _copy_contracts(library, sources)
    (library / "node_modules").symlink_to(CONTRACTS / "node_modules")
    Foundry("forge", "", folder)("build")
    return folder


def play_invariants(project: Path, sample: Sample) -> tuple[int, int]:
    """Play a sample of sequences; return how many sequences and calls were played.

    A call that reverts in the test's handler is a failure.
    """
    forge = Foundry(
        "forge",
        "",
        project,
        FOUNDRY_INVARIANT_RUNS=str(sample.count),
        FOUNDRY_FUZZ_SEED=hex(sample.seed),
    )
    forge.seconds = MOST_SECONDS
    output = forge("test", "-vv")
    found = re.search(r"runs: (\d+), calls: (\d+), reverts: (\d+)", output)
    assert found, output
    runs, calls, reverts = map(int, found.groups())
    assert (runs, reverts) == (sample.count, 0)
    return runs, calls


def _copy_contracts(library: Path, sources: Sequence[str]) -> None:
    if not sources:
        leave = shutil.ignore_patterns("node_modules", "build")
        shutil.copytree(CONTRACTS, library, ignore=leave)
    for name in sources:
        copy = shutil.copytree if (CONTRACTS / name).is_dir() else shutil.copy
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        copy(CONTRACTS / name, library / name)
