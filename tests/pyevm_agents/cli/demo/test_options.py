"""Options that do not fit a scenario are refused before a model is opened."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo.catalogue import SCENARIOS
from pyevm_agents.cli.demo.options import FITTING

PLACE = "0x" + "11" * 20
URL = "http://127.0.0.1:1"
VALUES = {
    "--prompt": ["Pay"], "--yes": [], "--posts": ["2"], "--fork-url": [URL], "--router": [PLACE],
    "--token": [PLACE], "--chain-id": ["5"], "--store": ["file"], "--record": ["file.json"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pyevm_agents.model_registry.registry.ModelChoice.open",
        lambda *_, **__: pytest.fail("the model is opened"),
    )


@pytest.mark.parametrize(
    ("scenario", "flag", "scenarios"),
    [
        (scenario, flag, names)
        for flag, names, _ in FITTING.values()
        for scenario in SCENARIOS
        if scenario not in names
    ],
)
def test_options_of_other_scenarios_are_refused(
    scenario: str, flag: str, scenarios: tuple[str, ...]
) -> None:
    done = CliRunner().invoke(main, ["demo", "--scenario", scenario, flag, *VALUES[flag]])
    assert done.exit_code == 2
    assert f"{flag} is for --scenario {', '.join(scenarios)}" in done.stderr


@pytest.mark.parametrize(
    ("scenario", "words", "message"),
    [
        ("trading", ["--posts", "0"], "0 is not in the range"),
        ("trading", ["--posts", "41"], "41 is not in the range"),
        ("swap", ["--router", PLACE], "--router: needs --fork-url URL"),
        ("swap", ["--token", PLACE, "--chain-id", "5"], "--token: needs --fork-url URL"),
        ("swap", ["--fork-url", URL], "--fork-url: needs --router ADDRESS and --token ADDRESS"),
        ("swap", ["--fork-url", URL, "--token", PLACE], "--fork-url: needs --router ADDRESS"),
        (
            "swap",
            ["--fork-url", URL, "--token", PLACE, "--router", PLACE, "--chain-id", "5"],
            "--chain-id: a fork has the ID of the remote chain",
        ),
        ("swap", ["--router", "0x11"], "'0x11': not an address"),
        ("swap", ["--chain-id", "0"], "0 is not in the range"),
        ("wallet", ["--ideal", "--prompt", "Pay"], "--prompt: must be of a run of the model"),
        ("loan", ["--ideal", "--record", "run.json"], "--record: must be of a run of the model"),
        ("wallet", ["--html", "/nowhere/page.html"], "/nowhere"),
        ("council", ["--record", "/nowhere/run.json"], "folder /nowhere does not exist"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    scenario: str, words: list[str], message: str
) -> None:
    done = CliRunner().invoke(main, ["demo", "--scenario", scenario, *words])
    assert done.exit_code == 2
    assert message in done.stderr
