"""`pyevm-agents demo --scenario swap` on forks of a node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from precompiles.outcome import is_done
from pyevm_agents.cli.app import main
from pyevm_agents.scenarios.swap.requests import REQUESTS
from tests.pyevm_agents.cli.tools.swap_node import open_swap_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

PLACE = "0x" + "11" * 20


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapNode]:
    with open_swap_node(tmp_path_factory.mktemp("cache")) as opened:
        yield opened


def fork(node: SwapNode, router: str, token: str, *words: str) -> Result:
    """Run the demo on a fork of the node, with contracts by their names or addresses."""
    places = [name if name.startswith("0x") else node.place(name) for name in (router, token)]
    options = ["--fork-url", node.url, "--router", places[0], "--token", places[1], *words]
    command = ["demo", "--scenario", "swap", "--no-store", *options]
    return CliRunner().invoke(main, command, env={"XDG_CACHE_HOME": str(node.cache)})


@pytest.mark.slow
def test_the_requests_run_on_a_fork(node: SwapNode) -> None:
    before = node.chain.head.hash
    done = fork(node, "router", "USDT", "--json")
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    details = form["details"]
    assert (details["chainId"], details["nativeSymbol"], len(details["tools"])) == (31337, "ETH", 5)
    runs = details["requests"]
    assert [each["instruction"] for each in runs] == [
        text.replace("TOKEN", "USDT").replace("NATIVE", "ETH") for text in REQUESTS.values()
    ]
    start = {"ETH": str(5 * 10**18), "USDT": str(1_000 * 10**6)}
    assert runs[0]["balances"] == {"before": {"ACCOUNT": start}, "after": {"ACCOUNT": start}}
    for each, sent in zip(runs, form["transactions"], strict=True):
        assert each["hash"] == sent["hash"]
        assert sent["status"] == (sent["failure"] is None) == is_done(each["answer"] or "Failed")
        assert each["endedAsIdeal"] <= (each["calls"] == each["expectedCalls"])
    assert form["endedAsIdeal"] == (form["differences"] == [])
    assert any(each["endedAsIdeal"] for each in runs)
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
    done = fork(node, router, token, "--json")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""
