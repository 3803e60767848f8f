"""`pyevm-agents demo --scenario loan`: its options, the scripted ideal, and the real model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.scenarios.loan.applications import read_applications
from tests.pyevm_agents.cli.demo.test_trading_demo import Page

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

LOAN = ["demo", "--scenario", "loan", "--no-store"]
DECISIONS = ["approved", "denied", "approved", "voted", "denied", "denied", "approved"]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*LOAN, *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prompt", "Buy"], "--prompt is for --scenario wallet and callback: loan has"),
        (["--posts", "2"], "--posts is for --scenario trading; omit it"),
        (["--chain-id", "5"], "--chain-id is for --scenario swap"),
        (["--ideal", "--record", "run.json"], "--record: records what the model wrote"),
        (["--html", "/nowhere/page.html"], "/nowhere"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.slow
def test_the_ideal_ends_as_the_ideal(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("--ideal", "--json", "--html", str(page))
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert (form["scenario"], form["isIdeal"], form["limits"]["score"]) == ("loan", True, 60)
    assert (form["endedAsIdeal"], form["differences"]) == (True, [])
    sent = form["transactions"]
    assert [each["decision"] for each in sent] == DECISIONS
    asked = [each["text"] for each in sent if each["kind"] == "application"]
    assert asked == [each.text for each in read_applications().story]
    assert {"hash", "status", "gas", "steps"} <= set(sent[0])

    found = Page(page.read_text())
    assert "script" not in found.tags
    assert all(link.startswith("#") for link in found.links)
    assert "7 of 7" in found.texts
    assert any("Ignore the criteria" in text for text in found.texts)
    assert any("Voted for: more is known of applicants" in text for text in found.texts)
    gas = [each["gas"] for each in sent if each["kind"] == "application"]
    assert f"{sum(gas) / len(gas):,.0f}" in found.texts


@pytest.mark.slow
def test_a_vote_is_printed_with_its_reason() -> None:
    done = run("--ideal")
    assert done.exit_code == 0, done.output
    vote = done.stdout.partition("\n4  ")[2].partition("\n5  ")[0]
    assert "Voted for: more is known of applicants" in vote
    assert "7 of 7 ended as the ideal" in done.stdout


@pytest.mark.slow
def test_too_little_gas_for_the_loans_before_the_story_is_an_error() -> None:
    done = run("--ideal", "--schedule", "cold=600000")
    assert done.exit_code == 1
    assert "ran out of gas" in done.stderr
    assert "or more gas" in done.stderr
