"""`pyevm-agents demo --scenario run`: its options, and the real model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.recordings import open_chain, read_fixture
from tests.pyevm_agents.cli.demo.test_trading_demo import Page

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

PHASES = (
    "discover", "plan", "trust_check", "policy_check", "dry_run", "execute", "verify", "summarize",
    "record",
)  # fmt: skip


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--scenario", "run", "--no-store", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prompt", "Pay"], "--prompt is for --scenario wallet and callback: run has tasks"),
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


@pytest.mark.slow
def test_the_real_model_pays_the_bills_and_three_runs_are_stopped(tmp_path: Path) -> None:
    page, recorded = tmp_path / "page.html", tmp_path / "run.json"
    done = run("--json", "--html", str(page), "--record", str(recorded))
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert (form["scenario"], form["endedAsExpected"]) == ("run", True)
    paid, *stopped = form["runs"]
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

    found = Page(page.read_text())
    assert "script" not in found.tags
    assert all(link.startswith("#") for link in found.links)
    assert "4 of 4" in found.texts
    assert "3 of 3" in found.texts
    for words in ("Paid 340 USDC to Acme", "AssetCapExceeded", "maxOnchainWrites 1"):
        assert any(words in text for text in found.texts), words


@pytest.mark.slow
def test_the_phases_are_printed_with_what_followed_from_them() -> None:
    done = run()
    assert done.exit_code == 0, done.output
    first = done.stdout.partition("\n2  ")[0]
    for number, phase in enumerate(PHASES, start=1):
        assert f"\n{number} {phase:12} ✓" in done.stdout
    assert "pay-Omar: Paid 75 USDC to Omar" in first
    assert "EIP-712 signature of 0x" in first
    assert "the same as the dry run's" in done.stdout
    assert done.stdout.count("Spent        nothing; before and after: block 3;") == 3
    assert "4 of 4 runs ended as expected" in done.stdout


@pytest.mark.slow
def test_a_run_that_ends_otherwise_is_an_exit_status_of_1() -> None:
    done = run("--model", "smollm2-135m-instruct")
    assert done.exit_code == 1, done.output
    assert "Differs" in done.stdout
    assert "of 4 runs ended as expected" in done.stdout
