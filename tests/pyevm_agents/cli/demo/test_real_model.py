"""`pyevm-agents demo` with the real model: what it does, its files, and the exit status."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents import __version__
from pyevm_agents.cli.app import main
from pyevm_agents.devnet.node_process import read_version
from pyevm_agents.recordings import Replay, open_chain, read_fixture
from pyevm_agents.scenarios.council.world import DISPUTE_JUDGES
from pyevm_agents.scenarios.wallet import ATOMIC_INSTRUCTION
from tests.checkout import ROOT
from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

pytestmark = pytest.mark.slow

BOND, FEE = 10**17, 10**17
PHASES = (
    "discover", "plan", "trust_check", "policy_check", "dry_run", "execute", "verify", "summarize",
    "record",
)  # fmt: skip


def run(scenario: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--scenario", scenario, "--no-store", *words])


def report(scenario: str, *words: str) -> Any:  # noqa: ANN401 - JSON
    done = run(scenario, "--json", *words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def require_page_lines(page: str, beginning: str, shown: str) -> None:
    """Require that a page of the documentation shows lines of a demo, up to the first "…" line.

    "…" in a line stands for what is left out, and times differ.
    """
    text = (ROOT / "docs" / page).read_text().partition(beginning)[2].partition("```")[0]
    text = text.partition("\n…\n")[0]
    lines = [line for line in text.strip("\n").splitlines() if line and "…" not in line]
    lines = [line for line in lines if " after " not in line]
    assert len(lines) > 3
    assert [line for line in lines if line not in shown.splitlines()] == []


def test_swap_ends_as_the_ideal_as_the_page_shows(tmp_path: Path) -> None:
    file = tmp_path / "swap.json"
    done = run("swap", "--record", str(file))
    assert done.exit_code == 0, done.output
    assert "5 of 5 ended as the ideal" in done.stdout
    assert Replay(read_fixture(file)).finish().config.chain_id == 56
    require_page_lines("tools.md", "shortened:\n\n```text\n", done.stdout)


def test_trading_decides_as_the_page_shows(tmp_path: Path) -> None:
    file = tmp_path / "trading.json"
    done = run("trading", "--posts", "1", "--record", str(file))
    assert done.exit_code == 0, done.output
    assert "Ended as the ideal" in done.stdout
    chain = Replay(read_fixture(file)).finish()
    assert set(chain.numeric_models) == {"sentiment", "forecast", "risk"}
    require_page_lines("models.md", "$ pyevm-agents demo --scenario trading\n", done.stdout)


def test_the_bills_are_paid_and_three_runs_are_stopped(tmp_path: Path) -> None:
    recorded = tmp_path / "run.json"
    form = report("run", "--record", str(recorded))
    assert form["endedAsIdeal"]
    paid, *stopped = form["details"]["runs"]
    assert [each["phase"] for each in paid["run"]["phases"]] == [*PHASES]
    assert paid["validation"]["response"] == 100
    assert paid["logEntry"]["dryRunDigest"] == paid["logEntry"]["executionDigest"]
    assert paid["logEntry"]["dryRunDigest"] == paid["confirmation"]["trace"]
    assert [each["run"]["failedPhase"] for each in stopped] == [
        "dry_run", "dry_run", "trust_check",
    ]  # fmt: skip
    for each in stopped:
        assert each["before"] == each["after"]
        assert each["logEntry"]["failures"][0]["phase"] == each["expectedStop"]
    chain = open_chain(read_fixture(recorded))
    assert chain.head.block_number == paid["after"]["blockNumber"] == 3


def test_a_run_that_ends_otherwise_is_an_exit_status_of_1() -> None:
    done = run("run", "--model", "smollm2-135m-instruct")
    assert done.exit_code == 1, done.output
    assert "Differs" in done.stdout
    assert "of 4 ended as the ideal" in done.stdout


def test_a_council_answers_and_a_dispute_overturns_a_judge(tmp_path: Path) -> None:
    recorded = tmp_path / "run.json"
    form = report("council", "--record", str(recorded))
    assert form["endedAsIdeal"]
    details = form["details"]
    first, second = details["questions"]
    assert (first["answer"], second["answer"]) == ("yes", "61")
    assert first["answers"] == {"Dora": "no", "Ada": "yes", "Ben": "yes", "Cleo": "yes"}
    steps = [step for each in form["transactions"] for step in each["steps"]]
    tools = [step["observation"] for step in steps if step["action"]]
    assert tools == ["yes"] * 3 + ["61"] * 6
    verdicts = [second["verdicts"][name]["answer"] for name in ("Frida", *DISPUTE_JUDGES)]
    assert verdicts == ["7", "61", "61", "61"]
    assert details["verdictAgain"] == second["verdicts"]["Gus"]["said"]
    shares = {share["name"]: share for share in second["shares"]}
    assert int(shares["Frida"]["net"]) == -BOND
    assert int(shares["Pia"]["net"]) == FEE // 2
    for name in DISPUTE_JUDGES:
        assert int(shares[name]["net"]) == FEE // 2 // 3 + BOND * 4 // 10 // 3
    for question in details["questions"]:
        assert question["in"] == question["out"]
        gains = sum(int(share["net"]) for share in question["shares"])
        assert gains == 10**18  # the reward
    assert details["market"] == {"Mia": str(45 * 10**17), "Noa": str(15 * 10**17), "Oda": "0"}
    assert details["left"] == {"oracle": "0", "market": "0"}
    open_chain(read_fixture(recorded))  # executes it again, and compares


def test_another_answer_of_a_council_is_an_exit_status_of_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passages = (
        "Log of the bridge, 1 June, open to the public: yes",
        "Ships in the harbour in April: 9",
    )
    monkeypatch.setattr("pyevm_agents.scenarios.council.world.PASSAGES", passages)
    done = run("council")
    assert done.exit_code == 1, done.output
    assert "not expected" in done.stdout


def test_too_little_gas_for_the_loans_before_the_story_is_an_error() -> None:
    done = run("loan", "--ideal", "--schedule", "cold=600000")
    assert done.exit_code == 1
    assert "ran out of gas" in done.stderr
    assert "or more gas" in done.stderr


def test_both_runs_by_callback_are_the_same_on_anvil(monkeypatch: pytest.MonkeyPatch) -> None:
    program = foundry_program("anvil", "anvil")
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    form = report("callback")
    assert form["endedAsIdeal"]
    details = form["details"]
    assert details["callback"]["chain"] == f"anvil {read_version(program)}"
    embedded, *answered = form["transactions"]
    assert len(answered) == 1 + len(embedded["steps"])
    assert details["callback"]["balances"] == details["embedded"]["balances"]
    assert int(details["callback"]["feeWei"]) > 0


def test_a_tool_that_fails_undoes_the_embedded_steps_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        main, ["demo", "--scenario", "callback", "--prompt", ATOMIC_INSTRUCTION]
    )
    assert done.exit_code == 0, done.output
    assert "FAILED: tool WithdrawTool reverted" in done.stdout
    assert "other balances: the steps before stand" in done.stdout
    assert f"pyevm-agents {__version__} without the executor" in " ".join(done.output.split())
