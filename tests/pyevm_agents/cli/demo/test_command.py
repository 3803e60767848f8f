"""`pyevm-agents demo` with the real model and other models."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo.output import (
    MAX_SHOWN_CHARACTERS,
    format_whole_tokens,
    truncate_text,
)
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.scenarios.wallet import DEFAULT_INSTRUCTION, WalletDemo

if TYPE_CHECKING:
    from pathlib import Path


def test_a_text_that_fits_is_shown_whole() -> None:
    text = "x" * MAX_SHOWN_CHARACTERS
    assert truncate_text(text) == text


def test_a_long_text_is_its_beginning_and_its_size() -> None:
    shown = truncate_text("ü" * 25_000)
    assert shown == "ü" * MAX_SHOWN_CHARACTERS + " … (50,000 bytes)"


def test_amounts_of_a_named_token_are_whole_ones() -> None:
    unit = {"USDC": 10**6, "DAI": 10**18}
    reason = "InsufficientPoolBalance(asset=DAI, balance=500000000000000000000, needed=1)"
    assert format_whole_tokens(reason, unit) == (
        "InsufficientPoolBalance(asset=DAI, balance=500, needed=0.000000000000000001)"
    )
    assert format_whole_tokens("Failed(amount=5000000)", unit) == "Failed(amount=5000000)"


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
    assert json.loads(done.stdout)["answer"] == said


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
    assert (len(form["steps"]), form["fromStore"]) == (2, 2)
    assert form["steps"] == json.loads(first.stdout)["steps"]
    # An instruction of the user's own is simulated before it is sent.
    assert (form["differences"], form["approvals"]) == ([], [])
    assert [each["amount"] for each in form["transfers"]] == ["10000000"]
    fixture = read_fixture(file)
    assert fixture.config.models[0].output_token_gas == 7
    assert f"0x{Replay(fixture).finish().head.state_root.hex()}" in done.output
