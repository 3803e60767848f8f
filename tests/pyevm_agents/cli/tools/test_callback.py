"""`tools deploy --oracle` and `tools ask` on a chain without the executor: workers answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address

from pyevm_agents.contract_intelligence.agent_deployment import (
    CALLBACK_GAS,
    RUN_SECONDS,
    STEP_SECONDS,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.recomputation import ModelOptions
from pyevm_agents.scenarios.swap.world import ACCOUNT_NATIVE_WEI, ONE_NATIVE, WRAPPED
from tests.byte_model import ByteModel
from tests.checkout import ROOT
from tests.pyevm_agents.cli.oracle.conftest import Commands
from tests.pyevm_agents.cli.tools.swap_node import OTHER, SENDER, choose, open_swap_node
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import WORKER, Deployed, OracleChain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import GenerationRequest
    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

    Form = dict[str, Any]

pytestmark = pytest.mark.slow

GIVEN = ONE_NATIVE // 100


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapNode]:
    with open_swap_node(tmp_path_factory.mktemp("cache"), has_executor=False) as node:
        yield node


@pytest.fixture(scope="module")
def commands(node: SwapNode) -> Commands:
    return Commands(OracleChain(node.served.ask, node.url))


@pytest.fixture(scope="module")
def deployed(node: SwapNode, commands: Commands) -> Form:
    """The printed JSON of a deployment, whose account has funds."""
    form: Form = node.read_json("deploy", *node.contracts, *choose(), "--oracle", commands.oracle)
    node.fund(to_canonical_address(form["account"]))
    return form


def build_writer(node: SwapNode) -> Callable[[GenerationRequest], str]:
    """Return a worker's model, which follows the node's script."""

    def write(request: GenerationRequest) -> str:
        text = "".join(segment.text for segment in request.segments).partition("INSTRUCTION")[2]
        done = text.count("Observation:")
        if done == len(node.steps):
            return render_step(answer("Done."), request.handles)
        tool, arguments = node.steps[done]
        return render_step(use(tool, None, arguments), request.handles)

    return write


@pytest.fixture
def agent(
    node: SwapNode, commands: Commands, deployed: Form, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The agent, with a worker that answers while a command waits."""
    commands.answer_while_waiting(monkeypatch, build_writer(node))
    before = node.chain.snapshot()
    yield deployed["agent"]
    node.steps = ()
    node.chain.revert(before)


def test_the_agent_asks_the_oracle_and_belongs_to_the_sender(
    commands: Commands, deployed: Form
) -> None:
    assert "Deployed OwnedCallbackAgent at " in deployed["transactions"][-2]["purpose"]
    agent = Deployed(commands.chain, "OwnedCallbackAgent", deployed["agent"])
    assert agent.read("owner") == SENDER.lower()
    assert deployed["oracle"] == commands.oracle
    assert agent.read("oracle") == commands.oracle.lower()
    names = ("callbackGasLimit", "stepTimeout", "runTimeout")
    assert [agent.read(each) for each in names] == [CALLBACK_GAS, STEP_SECONDS, RUN_SECONDS]
    assert deployed["costOfRunWei"] == str(agent.read("costOfRun"))
    assert agent.read("basePrompt") == deployed["basePrompt"]
    account = Deployed(commands.chain, "AgentAccount", deployed["account"])
    assert account.read("agent") == deployed["agent"].lower()


def test_swaps_both_ways_act_through_the_account(
    node: SwapNode, agent: str, deployed: Form
) -> None:
    got = node.world.quote(GIVEN, WRAPPED, "USDT")
    usdt = node.read("USDT", "balanceOf", deployed["account"])
    node.steps = [
        ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN}),
        ("swapExactTokensForETH_USDT_for_ETH", {"amountIn": got}),
    ]
    run = node.read_json("ask", agent, "INSTRUCTION", "--yes")
    assert (run["status"], run["result"]) == ("Answered", "Done.")
    first, second = run["steps"]
    assert first["toolResult"] == f"amounts: [0.01 WETH, {got / 10**6} USDT]"
    assert second["toolResult"].startswith(f"amounts: [{got / 10**6} USDT, 0.0099")
    assert node.read("USDT", "balanceOf", deployed["account"]) == usdt
    wei = int(node.served.ask("eth_getBalance", deployed["account"], "latest"), 16)
    assert ACCOUNT_NATIVE_WEI - GIVEN < wei < ACCOUNT_NATIVE_WEI


def test_the_steps_in_a_terminal(node: SwapNode, agent: str) -> None:
    node.steps = [("balanceOf", {})]
    lines = node.run("ask", agent, "INSTRUCTION", "--yes").stdout.splitlines()
    assert lines[0].startswith(f"Run 1 of {agent}: ")
    assert lines[3:8] == [
        "Step 1", f"  {'thought':<12} {lines[4][15:]}", "  tool         balanceOf",
        "  arguments    {}", "  result       1000 USDT",
    ]  # fmt: skip
    assert lines[8:10] == ["Answer", "  Done."]


def test_the_page_shows_a_real_run(
    node: SwapNode, commands: Commands, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(request: GenerationRequest) -> str:
        text = "".join(segment.text for segment in request.segments).partition("INSTRUCTION")[2]
        if "Observation:" in text:
            return render_step(answer("Done."), request.handles)
        return render_step(use("balanceOf", "How much USDT do I have"), request.handles)

    commands.answer_while_waiting(monkeypatch, write)
    page = (ROOT / "docs/tools.md").read_text().partition("\n### Chains without the executor\n")[2]
    [block] = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert block in node.run("ask", agent, "INSTRUCTION", "--yes").stdout


def test_a_failed_run_has_status_1_and_what_was_done_stands(
    node: SwapNode, agent: str, deployed: Form
) -> None:
    usdt = node.read("USDT", "balanceOf", deployed["account"])
    node.steps = [
        ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN}),
        ("swapExactTokensForETH_USDT_for_ETH", {"amountIn": 10**15}),
    ]
    told = node.run("ask", agent, "INSTRUCTION", "--yes", status=1).stdout
    assert "ToolFailed\n  FAILED: tool 0x" in told
    assert "  called again, it reverts: TrialFailed(target=UniswapV2Router02 (" in told
    assert node.read("USDT", "balanceOf", deployed["account"]) > usdt
    node.steps = [("swapExactTokensForETH_USDT_for_ETH", {"amountIn": 10**15})]
    assert node.read_json("ask", agent, "INSTRUCTION", "--yes", status=1)["status"] == "ToolFailed"


# -- simulated on a fork -- #


@pytest.fixture
def simulated(node: SwapNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of this machine follows the node's script, too."""
    hosted = host(ByteModel(build_writer(node)))
    monkeypatch.setattr(ModelOptions, "open", lambda *_: hosted)


@pytest.mark.usefixtures("simulated")
def test_a_run_is_shown_before_it_is_sent(node: SwapNode, agent: str, deployed: Form) -> None:
    got = node.world.quote(GIVEN, WRAPPED, "USDT")
    node.steps = [("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})]
    before = node.chain.head.block_number
    form = node.read_json("ask", agent, "INSTRUCTION: Swap 0.01 ETH", "--call")
    assert (form["isSent"], form["status"], form["answer"]) == (False, "Answered", "Done.")
    assert form["steps"][0]["toolResult"] == f"amounts: [0.01 WETH, {got / 10**6} USDT]"
    assert (form["differences"], form["approvals"]) == ([], [])
    account = deployed["account"]
    assert {each["account"] for each in form["balances"]} == {account}
    wei, usdt = form["balances"]
    assert int(wei["before"]) - int(wei["after"]) == GIVEN
    assert int(usdt["after"]) - int(usdt["before"]) == got
    # Without the fees of the oracle.
    assert [form["transfers"][index]["amount"] for index in (0, -1)] == [str(GIVEN), str(got)]
    lines = node.run("ask", agent, "INSTRUCTION: Swap 0.01 ETH", "--call").stdout.splitlines()
    assert [line[:11].strip() for line in lines] == [
        *("Action", "Input", "Observation", "Answer"), *["Transfer"] * 4, *["Balance"] * 2,
        *("Agrees", "By callback", "Simulated:"),
    ]  # fmt: skip
    assert node.chain.head.block_number == before
    # Without a terminal, what agrees is sent.
    sent = node.read_json("ask", agent, "INSTRUCTION: Swap 0.01 ETH")
    assert (sent["isSuccess"], sent["balances"]) == (True, form["balances"])
    assert node.read("USDT", "balanceOf", account) == int(usdt["after"])


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    ("text", "steps", "reason"),
    [
        ("Swap 0.02 ETH", [("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN})], "differ"),
        (
            "Swap 0.01 ETH and 1000000000 USDT back",
            [
                ("swapExactETHForTokens_ETH_for_USDT", {"value": GIVEN}),
                ("swapExactTokensForETH_USDT_for_ETH", {"amountIn": 10**15}),
            ],
            "it would end as ToolFailed",
        ),
    ],
)
def test_what_differs_or_fails_is_not_sent(
    node: SwapNode, agent: str, text: str, steps: list[tuple[str, dict[str, object]]], reason: str
) -> None:
    before = node.chain.head.block_number
    node.steps = steps
    told = node.run("ask", agent, f"INSTRUCTION: {text}", status=4)
    assert reason in " ".join(told.stderr.split())
    assert node.chain.head.block_number == before


def test_a_model_that_is_not_here_sends_nothing_without_an_answer(
    node: SwapNode, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError("there is no model 'x'")

    monkeypatch.setattr(ModelOptions, "open", refuse)
    told = node.run("ask", agent, "INSTRUCTION", status=4)
    message = " ".join(told.stderr.split())
    assert "Not simulated: there is no model 'x'" in message
    assert "what it would do is not known; pass --yes" in message
    node.run("ask", agent, "INSTRUCTION", "--call", status=2)
    assert node.read_json("ask", agent, "INSTRUCTION", "--yes")["isSuccess"]


def test_a_callback_with_too_little_gas_can_be_repeated(
    node: SwapNode, commands: Commands, agent: str, deployed: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ["--factory", deployed["factory"], "--account", deployed["account"]]
    words = ["deploy", "--no-execute", *node.contracts, *choose(["USDT.balanceOf"]), *shared]
    other = node.read_json(*words, "--oracle", commands.oracle, "--callback-gas", 300_000)["agent"]
    assert other != agent
    node.steps = [("balanceOf", {})]
    retried = []

    def answer_or_retry(_seconds: float) -> None:
        unsettled = commands.find_unsettled()
        if unsettled and not unsettled[0]["isWaiting"]:
            retried.append(commands.run("retry", unsettled[0]["id"]))
        else:
            commands.answer(build_writer(node))

    monkeypatch.setattr("pyevm_agents.cli.oracle.run_output.sleep", answer_or_retry)
    told = node.run("ask", other, "INSTRUCTION", "--yes")
    assert retried
    message = " ".join(told.stderr.split())
    assert "but the agent failed on it, most likely for too little callback gas" in message
    assert f"--oracle {commands.oracle}` calls it again with more" in message
    assert "  result       1000 USDT\nAnswer\n  Done.\n" in told.stdout


def test_who_may_not_run_the_agent_sends_nothing(node: SwapNode, agent: str) -> None:
    before = node.chain.head.block_number
    told = node.run("ask", agent, "INSTRUCTION", sender=OTHER, status=2)
    message = " ".join(told.stderr.split())
    assert f"its owner is {SENDER}, who alone may run it, with callers whom it allowed" in message
    assert node.chain.head.block_number == before


def test_whom_the_owner_allowed_runs_it(node: SwapNode, commands: Commands, agent: str) -> None:
    Deployed(commands.chain, "OwnedCallbackAgent", agent).send("setCaller", OTHER, True)  # noqa: FBT003 - Solidity's
    assert node.read_json("ask", agent, "INSTRUCTION", "--yes", sender=OTHER)["isSuccess"]


def test_an_agent_that_anybody_may_run(node: SwapNode, commands: Commands, agent: str) -> None:
    assert agent != commands.agent
    assert node.read_json("ask", commands.agent, "INSTRUCTION", "--yes", sender=OTHER)["isSuccess"]


def test_an_oracle_without_workers_is_a_warning(
    node: SwapNode, commands: Commands, agent: str
) -> None:
    commands.chain.oracle.send("setWorker", WORKER, False)  # noqa: FBT003 - Solidity's
    words = [
        "deploy",
        "--no-execute",
        *node.contracts,
        *choose(),
        "--oracle",
        commands.oracle,
        "--dry-run",
    ]
    told = node.run(*words)
    message = f"Warning: oracle {commands.oracle} has no workers; its owner registers them"
    assert message in " ".join(told.stderr.split())
    assert agent


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--oracle", OTHER], f"{OTHER}: no contract on chain 31337"),
        (["--oracle", "ROUTER"], "not an AgentOracle, by its supportsInterface"),
        (["--oracle", "AGENT"], "an agent, not an oracle; its oracle is 0x"),
        (["--oracle", "ORACLE", "--callback-gas", "11000001"], "'--callback-gas': 11000001 is not"),
        (["--oracle", "ORACLE", "--step-timeout", "8d"], "--step-timeout 691,200 s: must be 1 s"),
        (["--oracle", "ORACLE", "--run-timeout", "30d"], "must be at most 30d with --step-timeout"),
        ([], "pass --oracle ADDRESS for an agent that workers answer"),
    ],
)
def test_a_mistake_is_a_message(
    node: SwapNode, commands: Commands, agent: str, words: list[str], message: str
) -> None:
    places = {"ROUTER": node.place("router"), "AGENT": agent, "ORACLE": commands.oracle}
    before = node.chain.head.block_number
    told = node.run(
        "deploy", *node.contracts, *(places.get(each, each) for each in words), status=2
    )
    assert message in " ".join(told.stderr.split())
    assert node.chain.head.block_number == before
