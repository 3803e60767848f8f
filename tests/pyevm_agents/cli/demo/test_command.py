"""`pyevm-agents demo` with the real model and other models."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo import command
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.errors import AgentsError
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION, WalletDemo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("prompt", ["", " \n", "\udcff"])
def test_no_model_is_loaded_for_no_instruction(prompt: str) -> None:
    result = CliRunner().invoke(main, ["demo", "--no-store", "--prompt", prompt])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: the instruction is ")


class Shown(NamedTuple):
    stdout: str
    store: Path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The output of the demo, and the store that it fills."""
    store = tmp_path_factory.mktemp("demo") / "store.sqlite3"
    result = CliRunner().invoke(main, ["demo", "--threads", "2", "--store", str(store)])
    assert result.exit_code == 0, result.output
    return Shown(result.stdout, store)


def test_the_demo_shows_steps_balances_gas_and_the_rolled_back_run(first: Shown) -> None:
    expected = ["Instruction", "Thought", "Action", "Observation", "Transaction", "Balances"]
    expected += ["prompt", "output", "All or nothing", "all balances unchanged"]
    expected += ["Ended as the ideal"]
    for text in expected:
        assert text in first.stdout
    assert DEFAULT_INSTRUCTION in first.stdout
    observation = re.findall(r"Observation +(reverted.*)", first.stdout)
    reason = "InsufficientPoolBalance(depositor=WalletAccount, asset=DAI, balance=500, needed=600)"
    assert observation == [f"reverted: ToolCallReverted(target=WalletAccount, reason={reason})"]
    assert "0x5FbDB2315678afecb367f032d93F642f64180aa3" not in first.stdout.split("Transaction")[0]
    assert "generations cached" not in first.stdout


def test_a_run_that_is_not_done_has_status_4(first: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    run = WalletDemo.run
    said = "I can't do that: pay Carol"
    monkeypatch.setattr(WalletDemo, "run", lambda demo, text: replace(run(demo, text), answer=said))
    command = ["demo", "--json", "--threads", "2", "--store", str(first.store)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == NOT_DONE_STATUS, done.output
    form = json.loads(done.stdout)
    assert form["details"]["answer"] == said
    assert (form["endedAsIdeal"], form["differences"]) == (False, [f"not done: {said}"])


def test_a_recording_that_fails_loses_neither_the_report_nor_the_page(
    first: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AgentsError("no space left")

    monkeypatch.setattr(command, "write_fixture", fail)
    page = tmp_path / "page.html"
    files = ["--record", str(tmp_path / "demo.json"), "--html", str(page)]
    options = ["demo", "--json", "--threads", "2", "--store", str(first.store), *files]
    done = CliRunner().invoke(main, options)
    assert (done.exit_code, "no space left" in done.stderr) == (1, True)
    assert json.loads(done.stdout)["endedAsIdeal"]
    assert page.exists()


def test_the_second_demo_generates_nothing_and_its_chain_replays(
    tmp_path: Path,
) -> None:
    file, store = tmp_path / "demo.json", tmp_path / "store.sqlite3"
    # In the free format each step is generated.
    model = ["--model", "smollm2-135m-free", "--store", str(store)]
    first = CliRunner().invoke(main, ["demo", "--json", *model])
    assert first.exit_code == 0, first.output
    command = ["demo", "--json", *model, "--prompt", DEFAULT_INSTRUCTION]
    done = CliRunner().invoke(main, [*command, "--record", str(file), "--schedule", "output=7"])
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    (sent,), details = form["transactions"], form["details"]
    assert (len(sent["steps"]), details["fromStore"]) == (2, 2)
    assert sent["steps"] == json.loads(first.stdout)["transactions"][0]["steps"]
    # An instruction of the user's own is simulated before it is sent.
    moved = details["review"]
    assert (form["differences"], moved["differences"], moved["approvals"]) == ([], [], [])
    assert [each["amount"] for each in moved["transfers"]] == ["10000000"]
    fixture = read_fixture(file)
    assert fixture.config.models[0].output_token_gas == 7
    assert f"0x{Replay(fixture).finish().head.state_root.hex()}" in done.output
