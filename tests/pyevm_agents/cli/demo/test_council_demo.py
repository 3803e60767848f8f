"""`pyevm-agents demo --scenario council`: its options, and the real model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo.council_texts import format_ether
from pyevm_agents.recordings import open_chain, read_fixture
from tests.pyevm_agents.cli.demo.test_trading_demo import Page

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

BOND, FEE = 10**17, 10**17


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--scenario", "council", "--no-store", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prompt", "Ask"], "--prompt is for --scenario wallet and callback: council has"),
        (["--posts", "2"], "--posts is for --scenario trading; omit it"),
        (["--ideal"], "--ideal is for --scenario trading and loan; omit it"),
        (["--html", "/nowhere/page.html"], "/nowhere"),
        (["--record", "/nowhere/run.json"], "folder /nowhere does not exist"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("wei", "text"),
    [(0, "0.0000"), (10**18 // 3, "0.3333"), (-(10**17), "-0.1000"), (99_999 * 10**13, "1.0000")],
)
def test_amounts_are_rounded_to_the_nearest(wei: int, text: str) -> None:
    assert format_ether(wei) == text


@pytest.mark.slow
def test_the_real_model_answers_and_a_dispute_overturns_a_judge(tmp_path: Path) -> None:
    page, recorded = tmp_path / "page.html", tmp_path / "run.json"
    done = run("--json", "--html", str(page), "--record", str(recorded))
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert (form["scenario"], form["isAsExpected"]) == ("council", True)
    first, second = form["questions"]
    assert (first["answer"], second["answer"]) == ("yes", "61")
    assert first["answers"] == {"Dora": "no", "Ada": "yes", "Ben": "yes", "Cleo": "yes"}
    tools = [s["observation"] for t in first["transactions"] for s in t["steps"] if s["action"]]
    assert tools == ["yes"] * 3
    assert [second["verdicts"][name]["answer"] for name in ("Frida", "Gus")] == ["7", "61"]
    assert form["verdictAgain"] == second["verdicts"]["Gus"]["said"]
    shares = {share["name"]: share for share in second["shares"]}
    assert int(shares["Frida"]["net"]) == -BOND
    assert int(shares["Pia"]["net"]) == FEE // 2
    assert int(shares["Gus"]["net"]) == FEE // 2 + BOND * 4 // 10
    for question in form["questions"]:
        assert question["in"] == question["out"]
        gains = sum(int(share["net"]) for share in question["shares"])
        assert gains == 10**18  # the reward
    assert form["market"] == {"Mia": str(45 * 10**17), "Noa": str(15 * 10**17), "Oda": "0"}
    assert form["left"] == {"oracle": "0", "market": "0"}

    open_chain(read_fixture(recorded))  # executes it again, and compares
    found = Page(page.read_text())
    assert "script" not in found.tags
    assert all(link.startswith("#") for link in found.links)
    assert "18 of 18" in found.texts
    assert "In 1.8500, out 1.8500 ETH" in found.texts


@pytest.mark.slow
def test_another_answer_makes_the_exit_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    passages = (
        "Log of the bridge, 1 June, open to the public: yes",
        "Ships in the harbour in April: 9",
    )
    monkeypatch.setattr("pyevm_agents.scenarios.council.world.PASSAGES", passages)
    done = run()
    assert done.exit_code == 1, done.output
    assert "not expected" in done.stdout
