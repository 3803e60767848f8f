"""`pyevm-agents tools ask`: balances, quotes, swaps and payments by an agent of `tools deploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_canonical_address, to_checksum_address
from rich.console import Console

from pyevm_agents.cli import run_preview
from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.cli.tools import ask as ask_module
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.scenarios.swap.world import ACCOUNT_NATIVE_WEI, ONE_NATIVE, WRAPPED
from tests.pyevm_agents.cli.tools.swap_node import OTHER, SENDER, choose
from tests.run_answers import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

    Step = tuple[str, dict[str, object]]

pytestmark = pytest.mark.slow

GIVEN = ONE_NATIVE // 100


@pytest.fixture(autouse=True)
def _own_state(swap_node: SwapNode, deployed: dict[str, Any]) -> Iterator[None]:
    assert deployed["agent"]
    before = swap_node.chain.snapshot()
    yield
    swap_node.steps, swap_node.said = (), "Done."
    swap_node.chain.revert(before)


def ask(node: SwapNode, agent: str, *steps: Step, text: str = "") -> Any:  # noqa: ANN401 - JSON
    node.steps = steps
    return node.read_json("ask", agent, f"INSTRUCTION: {text}")


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
    step: Step = ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})
    ask(swap_node, deployed["agent"], step, text="Swap 0.01 ETH for USDT")
    assert read_balances(swap_node, deployed["account"]) == (
        usdt + got, ACCOUNT_NATIVE_WEI - GIVEN,
    )  # fmt: skip


def test_a_swap_back_approves_what_it_needs(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    given = 100 * 10**6
    got = swap_node.world.quote(given, "USDT", WRAPPED)
    usdt, wei = read_balances(swap_node, deployed["account"])
    step: Step = ("swapExactTokensForETH_USDT_for_ETH", {"amountIn": given})
    form = ask(swap_node, deployed["agent"], step, text="Swap 100 USDT back")
    assert (form["approvals"], form["differences"]) == ([], [])
    assert read_balances(swap_node, deployed["account"]) == (usdt - given, wei + got)
    account, router = deployed["account"], swap_node.place("router")
    assert swap_node.read("USDT", "allowance", account, router) == 0


def test_the_steps_in_a_terminal(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    swap_node.steps = [("balanceOf", {})]
    lines = swap_node.run("ask", deployed["agent"], "INSTRUCTION").stdout.splitlines()
    labels = [line.split()[0] for line in lines[:7]]
    assert labels == [
        "Action", "Input", "Observation", "Answer", "Transfer", "Agrees", "transaction",
    ]  # fmt: skip
    assert lines[2].endswith("1000 USDT")
    assert lines[7].startswith(f"{int(lines[7].split()[0].replace(',', '')):,} gas: ")


def test_a_simulation_sends_nothing(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    before = swap_node.chain.head.block_number
    got = swap_node.world.quote(GIVEN, WRAPPED, "USDT") / 10**6
    swap_node.steps = [("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})]
    words = ["ask", deployed["agent"], "INSTRUCTION: Swap 0.01 ETH", "--call"]
    account, router = (
        f"{name} ({address[:6]}…{address[-4:]})"
        for name, address in (
            ("ACCOUNT", deployed["account"]),
            ("UniswapV2Router02", swap_node.place("router")),
        )
    )
    lines = swap_node.run(*words).stdout.splitlines()
    assert lines[4] == f"Transfer     0.01 ETH from {account} to {router}"
    assert lines[7].startswith(f"Transfer     {got} USDT from 0x")
    assert lines[8:] == [
        f"Balance      5 ETH before, 4.99 ETH after, of {account}",
        f"Balance      1,000 USDT before, {1000 + got:,} USDT after, of {account}",
        "Agrees       with the amounts and accounts of the request",
        "Simulated: nothing was sent.",
    ]
    form = swap_node.read_json(*words)
    assert (form["agent"], form["answer"], form["isSent"]) == (deployed["agent"], "Done.", False)
    assert swap_node.chain.head.block_number == before
    # The transaction does the same.
    sent = swap_node.read_json(*words[:-1])
    assert sent["isSent"]
    for name in ("steps", "transfers", "approvals", "balances", "differences"):
        assert sent[name] == form[name]


def test_a_node_that_tells_no_effects_sends_nothing_by_itself(
    swap_node: SwapNode, deployed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    swap_node.steps = [("balanceOf", {})]
    request = RemoteClient.request

    def refuse(client: RemoteClient, method: str, params: Sequence[object]) -> object:
        return request(client, method.replace("agent_traceCall", "agent_none"), params)

    monkeypatch.setattr(RemoteClient, "request", refuse)
    words = ["ask", deployed["agent"], "INSTRUCTION"]
    lines = swap_node.run(*words, "--call").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Answer", "Transfer", "Simulated:"]
    assert swap_node.read_json(*words, "--call") == {
        "agent": deployed["agent"], "isSent": False, "answer": "Done.",
    }  # fmt: skip
    told = swap_node.run(*words, status=4)
    assert "what it would do is not known" in " ".join(told.stderr.split())
    sent = swap_node.read_json(*words, "--yes")
    assert (sent["isSent"], sent["steps"][0]["observation"]) == (True, "1000 USDT")


# -- what a model does otherwise -- #

BOB = "0x00000000000000000000000000000000000000b0"


@pytest.fixture(scope="module")
def paying(swap_node: SwapNode) -> dict[str, Any]:
    """The printed JSON of an agent that can pay anybody, whose account has funds."""
    functions = ["USDT.balanceOf", "USDT.transfer", "USDT.approve"]
    form: dict[str, Any] = swap_node.read_json("deploy", *swap_node.contracts, *choose(functions))
    swap_node.fund(to_canonical_address(form["account"]))
    return form


def pay(to: str, usdt: float, tool: str = "transfer") -> Step:
    """Return a step; an address of the instruction is `addr1`."""
    return tool, {"spender" if tool == "approve" else "to": to, "value": round(usdt * 10**6)}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (f"Send 5 USDT to {BOB}", [pay("addr1", 5)]),
        (f"pay {BOB.upper().replace('X', 'x')} two and a half usdt", [pay("addr1", 2.5)]),
        (f"5 USDT to {BOB}, 7 to OWNER_OF_USDT", [pay("addr1", 5), pay("OWNER_OF_USDT", 7)]),
        ("Approve 5 USDT for UniswapV2Router02", [pay("UniswapV2Router02", 5, "approve")]),
    ],
)  # fmt: skip
def test_what_agrees_is_sent_without_a_question(
    swap_node: SwapNode,
    paying: dict[str, Any],
    text: str,
    steps: list[Step],
) -> None:
    form = ask(swap_node, paying["agent"], *steps, text=text)
    assert (form["isSent"], form["differences"]) == (True, [])


@pytest.mark.parametrize(
    ("text", "steps", "kinds"),
    [
        ("Send 5 USDT", [pay("OWNER_OF_USDT", 5)], ["unnamedAccount", "unusedAccount"]),
        ("Send 5 USDT", [pay("addr1", 6)], ["unstatedAmount", "unusedAmount"]),
        ("Send 5 WETH", [pay("addr1", 5)], ["unstatedAmount", "unusedAmount"]),
        ("Send 5 wei", [pay("addr1", 5)], ["unstatedAmount", "unusedAmount"]),
        ("Send 5 USDT", [pay("addr1", 5), pay("addr1", 5)], ["unstatedAmount"]),
        ("Do not send 5 USDT", [pay("addr1", 5)], ["noOrder"]),
        ("Send 5 USDT", [pay("addr1", 5), pay("addr1", 9, "approve")], ["approval"]),
        ("Send 5 USDT", [("balanceOf", {})], ["unusedAmount", "unusedAccount"]),
    ],
)
def test_what_differs_is_sent_by_a_yes_alone(
    swap_node: SwapNode,
    paying: dict[str, Any],
    text: str,
    steps: list[Step],
    kinds: list[str],
) -> None:
    swap_node.steps = steps
    before = swap_node.chain.head.block_number
    words = ["ask", paying["agent"], f"INSTRUCTION: {text} to {BOB}"]
    told = swap_node.run(*words, status=4)
    message = "Not sent: its transfers differ from the request; change the request, or pass --yes"
    assert message in " ".join(told.stderr.split())
    assert told.stdout.count("Differs ") == len(kinds)
    form = swap_node.read_json(*words, status=4)
    assert (form["isSent"], [each["kind"] for each in form["differences"]]) == (False, kinds)
    assert swap_node.chain.head.block_number == before
    sent = swap_node.read_json(*words, "--yes")
    assert (sent["isSent"], sent["differences"]) == (True, form["differences"])
    assert swap_node.chain.head.block_number == before + 1


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 4), ("\n", 4), ("", 4)])
def test_a_terminal_is_asked(
    swap_node: SwapNode,
    paying: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    status: int,
) -> None:
    monkeypatch.setattr(run_preview, "is_answerable", lambda: True)
    before = swap_node.chain.head.block_number
    for amount in (5, 6):
        swap_node.steps = [pay("addr1", amount)]
        words = ["ask", paying["agent"], f"INSTRUCTION: Send 5 USDT to {BOB}"]
        told = swap_node.run(*words, status=status, typed=typed)
        assert "Send it? [y/N]:" in told.stderr
        assert ("Not sent: as you answered" in told.stderr) == bool(status)
    assert swap_node.chain.head.block_number == (before if status else before + 2)


def test_differences_are_red_and_have_words(swap_node: SwapNode, paying: dict[str, Any]) -> None:
    swap_node.steps = [pay("addr1", 6)]
    words = ["tools", "ask", paying["agent"], f"INSTRUCTION: Send 5 USDT to {BOB}", "--call"]
    console = Console(force_terminal=True, highlight=False, width=200, color_system="standard")
    with pytest.MonkeyPatch.context() as patch, console.capture() as captured:
        for module in (run_preview, ask_module):
            patch.setattr(module, "out", console)
        options = ["--rpc-url", swap_node.url, "--unlocked", SENDER]
        assert CliRunner().invoke(main, [*words, *options]).exit_code == 0
    [first, _] = [line for line in captured.get().splitlines() if line.startswith("Differs")]
    red = "\x1b[1;31m"
    bob = to_checksum_address(BOB)
    text = f"moves 6 USDT to {bob}: the request states no such amount"
    assert first == f"Differs      {red}{text}\x1b[0m"


def test_a_state_that_moved_in_between_is_told(
    swap_node: SwapNode, paying: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes money between the question and the answer."""
    swap_node.steps = [pay("addr1", 5)]

    def agree(*_: object, **__: object) -> bool:
        swap_node.steps = [pay("addr1", 4)]
        swap_node.model.prompts.clear()
        return True

    monkeypatch.setattr(ask_module, "may_send", agree)
    told = swap_node.run("ask", paying["agent"], f"INSTRUCTION: Send 5 USDT to {BOB}")
    before, _, after = told.stdout.partition("The state has changed since the simulation. It did:")
    assert ("Agrees" in before, "Differs" in before) == (True, False)
    assert ("Transfer     4 USDT" in after, "Differs" in after) == (True, True)


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
            assert result.stderr.endswith(f"Not done: {said}\nNothing was changed.\n")
    assert read_balances(swap_node, deployed["account"]) == before


def test_only_the_owner_asks(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    result = swap_node.run("ask", deployed["agent"], "INSTRUCTION", sender=OTHER, status=2)
    assert f"its owner is {SENDER}, who alone may run it" in " ".join(result.stderr.split())


def test_an_address_without_an_agent(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    for address, message in {
        OTHER: "no contract on chain 31337",
        swap_node.place("USDT"): "neither an IERCAgent nor a CallbackAgent",
        deployed["account"]: "neither an IERCAgent nor a CallbackAgent",
    }.items():
        result = swap_node.run("ask", address, "INSTRUCTION", status=2)
        assert message in " ".join(result.stderr.split())
