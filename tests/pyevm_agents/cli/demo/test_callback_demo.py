"""`pyevm-agents demo --scenario callback` with the real model, on both kinds of nodes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents import __version__
from pyevm_agents.cli.app import main
from pyevm_agents.devnet.node_process import read_version
from pyevm_agents.scenarios.wallet import ATOMIC_INSTRUCTION
from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = ["demo", "--scenario", "callback"]


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("--store", "--store is for --scenario wallet, swap, trading, loan, run and council"),
        ("--record", "record --scenario callback"),
    ],
)
def test_options_of_the_other_scenario_are_refused(
    tmp_path: Path, option: str, advice: str
) -> None:
    done = CliRunner().invoke(main, [*COMMAND, option, str(tmp_path / "file")])
    assert done.exit_code == 2
    assert advice in done.stderr


@pytest.mark.slow
def test_both_runs_on_our_own_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, COMMAND)
    assert done.exit_code == 0, done.output
    assert "no anvil on the PATH or in node_modules (npm install @foundry-rs/anvil)" in done.stderr
    assert "the same steps and the same answer" in done.stdout
    assert "the same balances" in done.stdout
    for row in ("transactions", "gas", "latency", "oracle's fee", "atomic"):
        assert row in done.stdout


@pytest.mark.slow
def test_both_runs_on_anvil(monkeypatch: pytest.MonkeyPatch) -> None:
    program = foundry_program("anvil", "anvil")
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    done = CliRunner().invoke(main, [*COMMAND, "--json"])
    assert done.exit_code == 0, done.output
    runs = json.loads(done.stdout)
    assert runs["hasSameSteps"]
    assert runs["hasSameBalances"]
    assert runs["callback"]["chain"] == f"anvil {read_version(program)}"
    transactions = runs["callback"]["transactions"]
    assert len(transactions) == 1 + len(runs["embedded"]["steps"])
    assert runs["callback"]["balances"] == runs["embedded"]["balances"]
    assert int(runs["callback"]["feeWei"]) > 0


@pytest.mark.slow
def test_a_tool_that_fails_undoes_the_embedded_steps_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*COMMAND, "--prompt", ATOMIC_INSTRUCTION])
    assert done.exit_code == 0, done.output
    assert "FAILED: tool WithdrawTool reverted" in done.stdout
    assert "other balances: the steps before stand" in done.stdout
    assert f"pyevm-agents {__version__} without the executor" in " ".join(done.output.split())
