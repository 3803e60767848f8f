"""`pyevm-agents demo --scenario swap`: its options, and runs of the real model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from precompiles.outcome import is_done
from pyevm_agents.cli.app import main
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.scenarios.swap.requests import REQUESTS
from tests.checkout import ROOT
from tests.pyevm_agents.cli.tools.swap_node import open_swap_node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

SWAP = ["demo", "--scenario", "swap", "--no-store"]
PLACE = "0x" + "11" * 20
URL = "http://127.0.0.1:1"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*SWAP, *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prompt", "Deposit 10 USDC"], "--prompt is for --scenario wallet and callback"),
        (["--router", PLACE], "--router: needs --fork-url URL"),
        (["--token", PLACE, "--chain-id", "5"], "--token: needs --fork-url URL"),
        (["--fork-url", URL], "--fork-url: needs --router ADDRESS and --token ADDRESS"),
        (["--fork-url", URL, "--token", PLACE], "--fork-url: needs --router ADDRESS and --token"),
        (
            ["--fork-url", URL, "--token", PLACE, "--router", PLACE, "--chain-id", "5"],
            "--chain-id: a fork has the ID of the remote chain",
        ),
        (["--router", "0x11"], "'0x11': not an address"),
        (["--chain-id", "0"], "0 is not in the range"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("scenario", ["wallet", "callback"])
@pytest.mark.parametrize("option", ["--fork-url", "--router", "--token", "--chain-id"])
def test_options_of_swap_are_refused_for_other_scenarios(scenario: str, option: str) -> None:
    value = {"--fork-url": URL, "--chain-id": "5"}.get(option, PLACE)
    done = CliRunner().invoke(main, ["demo", "--scenario", scenario, option, value])
    assert done.exit_code == 2
    assert f"{option} is for --scenario swap" in done.stderr


@pytest.mark.slow
def test_the_default_model_ends_as_the_ideal(tmp_path: Path) -> None:
    file = tmp_path / "swap.json"
    done = run("--record", str(file))
    assert done.exit_code == 0, done.output
    assert "chain 56, BNB Smart Chain Mainnet, native currency BNB" in done.stdout
    for text in REQUESTS.values():
        assert text.replace("TOKEN", "USDT").replace("NATIVE", "BNB") in done.stdout
    for label in ("Action", "Input", "Observation", "Answer", "Transaction", "Gas", "As asked"):
        assert label in done.stdout
    assert "4.99 BNB (-0.01)" in done.stdout
    assert "no call, and the reason" in done.stdout
    assert "5 of 5 ended as the ideal" in done.stdout
    assert Replay(read_fixture(file)).finish().config.chain_id == 56
    page = (ROOT / "docs/tools.md").read_text().partition("\n## Try it\n")[2]
    shown = page.partition("```text\n")[2].partition("```")[0].splitlines()
    # "…" stands for what is left out, and times differ.
    lines = [line for line in shown if "…" not in line and " after " not in line]
    assert len(lines) > len(REQUESTS)
    assert [line for line in lines if line not in done.stdout.splitlines()] == []


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapNode]:
    with open_swap_node(tmp_path_factory.mktemp("cache")) as opened:
        yield opened


def fork(node: SwapNode, router: str, token: str, *words: str) -> Result:
    """Run the demo on a fork of the node, with contracts by their names or addresses."""
    places = [name if name.startswith("0x") else node.place(name) for name in (router, token)]
    options = ["--fork-url", node.url, "--router", places[0], "--token", places[1], *words]
    environment = {"XDG_CACHE_HOME": str(node.cache)}
    return CliRunner().invoke(main, [*SWAP, *options], env=environment)


@pytest.mark.slow
def test_the_requests_run_on_a_fork(node: SwapNode) -> None:
    before = node.chain.head.hash
    done = fork(node, "router", "USDT", "--json")
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert (form["scenario"], form["chainId"], form["nativeSymbol"]) == ("swap", 31337, "ETH")
    assert len(form["tools"]) == 5
    runs = form["runs"]
    assert [each["instruction"] for each in runs] == [
        text.replace("TOKEN", "USDT").replace("NATIVE", "ETH") for text in REQUESTS.values()
    ]
    start = {"ETH": str(5 * 10**18), "USDT": str(1_000 * 10**6)}
    assert runs[0]["balances"] == {"before": {"ACCOUNT": start}, "after": {"ACCOUNT": start}}
    for each in runs:
        assert each["endedAsIdeal"] == (each["differences"] == [])
        assert each["status"] == (each["failure"] is None) == is_done(each["answer"] or "Failed")
        if each["endedAsIdeal"]:
            assert each["calls"] == each["expectedCalls"]
    assert form["endedAsIdeal"] == sum(each["endedAsIdeal"] for each in runs) > 0
    (balance,) = runs[0]["expectedCalls"]
    assert balance["text"] == "USDT.balanceOf(account=ACCOUNT)"
    assert node.chain.head.hash == before


@pytest.mark.parametrize(
    ("router", "token", "message"),
    [
        (PLACE, "USDT", f"--router {PLACE}: has no code on chain 31337"),
        ("router", PLACE, f"--token {PLACE}: has no code on chain 31337"),
        ("factory", "USDT", "must be a router like Uniswap V2's"),
        ("router", "USDC", "must have a pool with"),
    ],
)
def test_contracts_of_a_fork_that_do_not_fit_are_named(
    node: SwapNode, router: str, token: str, message: str
) -> None:
    done = fork(node, router, token)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""
