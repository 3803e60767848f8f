"""`pyevm-agents tools ask`: balances, quotes and swaps by an agent of `tools deploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.devnet.swap_world import ACCOUNT_NATIVE_WEI, NATIVE, WRAPPED
from pyevm_agents.forking.remote_client import RemoteClient
from tests.pyevm_agents.cli.tools.swap_node import OTHER, SENDER
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

pytestmark = pytest.mark.slow

GIVEN = NATIVE // 100


@pytest.fixture(autouse=True)
def _own_state(swap_node: SwapNode, deployed: dict[str, Any]) -> Iterator[None]:
    assert deployed["agent"]
    before = swap_node.chain.snapshot()
    yield
    swap_node.steps, swap_node.said = (), "Done."
    swap_node.chain.revert(before)


def ask(node: SwapNode, agent: str, *steps: tuple[str, dict[str, object]]) -> Any:  # noqa: ANN401
    node.steps = steps
    return node.read_json("ask", agent, "INSTRUCTION")


def read_balances(node: SwapNode, account: str) -> tuple[int, int]:
    """Return the USDT and the wei of an account."""
    wei = int(node.served.ask("eth_getBalance", account, "latest"), 16)
    return node.read("USDT", "balanceOf", account), wei


def test_a_balance(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    form = ask(swap_node, deployed["agent"], ("balanceOf", {}))
    use, end = form["steps"]
    assert (use["action"], use["observation"]) == ("balanceOf", "1000 USDT")
    assert form["answer"] == end["answer"] == "Done."


def test_a_quote(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    before = read_balances(swap_node, deployed["account"])
    form = ask(swap_node, deployed["agent"], ("getAmountsOut_ETH_for_USDT", {"amountIn": GIVEN}))
    got = swap_node.world.quote(GIVEN, WRAPPED, "USDT")
    assert form["steps"][0]["observation"] == f"amounts: [0.01 WETH, {got / 10**6} USDT]"
    assert read_balances(swap_node, deployed["account"]) == before


def test_a_swap_with_the_native_token(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    got = swap_node.world.quote(GIVEN, WRAPPED, "USDT")
    usdt, _ = read_balances(swap_node, deployed["account"])
    ask(swap_node, deployed["agent"], ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN}))
    assert read_balances(swap_node, deployed["account"]) == (
        usdt + got, ACCOUNT_NATIVE_WEI - GIVEN,
    )  # fmt: skip


def test_a_swap_back_approves_what_it_needs(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    given = 100 * 10**6
    got = swap_node.world.quote(given, "USDT", WRAPPED)
    usdt, wei = read_balances(swap_node, deployed["account"])
    ask(swap_node, deployed["agent"], ("swapExactTokensForETH_USDT_for_ETH", {"amountIn": given}))
    assert read_balances(swap_node, deployed["account"]) == (usdt - given, wei + got)
    account, router = deployed["account"], swap_node.place("router")
    assert swap_node.read("USDT", "allowance", account, router) == 0


def test_the_steps_in_a_terminal(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    swap_node.steps = [("balanceOf", {})]
    lines = swap_node.run("ask", deployed["agent"], "INSTRUCTION").stdout.splitlines()
    labels = [line.split()[0] for line in lines[:5]]
    assert labels == ["Action", "Input", "Observation", "Answer", "transaction"]
    assert lines[2].endswith("1000 USDT")
    assert lines[5].startswith(f"{int(lines[5].split()[0].replace(',', '')):,} gas: ")


def test_a_simulation_sends_nothing(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    before = swap_node.chain.head.block_number
    swap_node.steps = [("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})]
    words = ["ask", deployed["agent"], "INSTRUCTION", "--call"]
    lines = swap_node.run(*words).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "Action", "Input", "Observation", "Answer", "Simulated:",
    ]  # fmt: skip
    form = swap_node.read_json(*words)
    assert (form["agent"], form["answer"]) == (deployed["agent"], "Done.")
    assert swap_node.chain.head.block_number == before
    # The transaction has the same steps.
    assert swap_node.read_json(*words[:-1])["steps"] == form["steps"]


def test_a_simulation_on_a_node_without_traces_has_the_answer(
    swap_node: SwapNode, deployed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    swap_node.steps = [("balanceOf", {})]
    request = RemoteClient.request

    def refuse(client: RemoteClient, method: str, params: Sequence[object]) -> object:
        return request(client, method.replace("debug_traceCall", "debug_none"), params)

    monkeypatch.setattr(RemoteClient, "request", refuse)
    words = ["ask", deployed["agent"], "INSTRUCTION", "--call"]
    lines = swap_node.run(*words).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Answer", "Simulated:"]
    assert swap_node.read_json(*words) == {"agent": deployed["agent"], "answer": "Done."}


@pytest.mark.parametrize("options", [[], ["--call"]])
def test_a_run_that_reverts_has_its_reason(
    swap_node: SwapNode, deployed: dict[str, Any], options: list[str]
) -> None:
    before = swap_node.chain.head.block_number
    swap_node.steps = [("swapExactTokensForETH_USDT_for_ETH", {"amountIn": 10**15})]
    result = swap_node.run("ask", deployed["agent"], "INSTRUCTION", *options, status=1)
    message = " ".join(result.stderr.split())
    assert "would revert: ToolCallFailed(" in message
    assert "ERC20InsufficientBalance" in message or "TRANSFER_FROM_FAILED" in message
    assert swap_node.chain.head.block_number == before


@pytest.mark.parametrize("options", [[], ["--call"]])
def test_a_run_that_is_not_done_has_status_4(
    swap_node: SwapNode, deployed: dict[str, Any], options: list[str]
) -> None:
    before = read_balances(swap_node, deployed["account"])
    swap: tuple[str, dict[str, object]] = ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})
    for steps in ([], [swap]):
        for said in REFUSALS:
            swap_node.steps, swap_node.said = steps, said
            words = ("ask", deployed["agent"], "INSTRUCTION", *options)
            result = swap_node.run(*words, status=NOT_DONE_STATUS)
            assert result.stderr == f"Not done: {said}\nNothing was changed.\n"
    assert read_balances(swap_node, deployed["account"]) == before


def test_only_the_owner_asks(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    result = swap_node.run("ask", deployed["agent"], "INSTRUCTION", sender=OTHER, status=2)
    assert f"its owner is {SENDER}, who alone may run it" in " ".join(result.stderr.split())


def test_an_address_without_an_agent(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    for address, message in {
        OTHER: "no contract on chain 31337",
        swap_node.place("USDT"): "neither an OwnedAgent nor a CallbackAgent",
        deployed["account"]: "neither an OwnedAgent nor a CallbackAgent",
    }.items():
        result = swap_node.run("ask", address, "INSTRUCTION", status=2)
        assert message in " ".join(result.stderr.split())
