"""Processes that benchmarks start find bytecode, also on machines that keep none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.bytecode import FOLDER, NO_BYTECODE, bytecode_kept

if TYPE_CHECKING:
    import pytest

PRINTS = "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"


def told() -> list[str]:
    run = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_processes_keep_bytecode_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv(NO_BYTECODE, "1")
    monkeypatch.delenv(FOLDER, raising=False)
    with bytecode_kept():
        assert told() == ["False", os.environ[FOLDER]]
    assert told() == ["True", "None"]


def test_nothing_changes_where_bytecode_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = dict(os.environ)
    with bytecode_kept():
        assert dict(os.environ) == before
