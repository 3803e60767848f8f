"""`pyevm-agents tools deploy` on a served swap world: what it shows, sends and refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.output import err, out
from pyevm_agents.cli.tools import deploy
from pyevm_agents.contract_intelligence.argument_derivation import DEADLINE_SECONDS
from pyevm_agents.contract_intelligence.tool_plan import TASK
from pyevm_agents.contract_intelligence.tool_spec import read_tool_spec
from pyevm_agents.scenarios.swap.world import WRAPPED
from tests.checkout import ROOT
from tests.pyevm_agents.cli.tools.swap_node import OTHER, SENDER, choose
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

pytestmark = pytest.mark.slow

SWITCH_FILE = "contracts/build/AdminSwitch.json"
NAMES = [
    "getAmountsOut_ETH_for_USDT",
    "getAmountsOut_USDT_for_ETH",
    "swapExactETHForTokens_ETH_for_USDT",
    "swapExactTokensForETH_USDT_for_ETH",
    "balanceOf",
]


def read_owner(node: SwapNode, contract: str, address: str) -> Any:  # noqa: ANN401 - an address
    artifact = load_artifact(contract)
    data = artifact.encode_call("owner")
    output = node.world.owner.read(to_canonical_address(address), data)
    return artifact.decode_result("owner", output)


def test_the_agent_and_its_account_belong_to_the_sender(
    swap_node: SwapNode, deployed: dict[str, Any]
) -> None:
    for contract, key in (("OwnedAgent", "agent"), ("AgentAccount", "account")):
        owner = read_owner(swap_node, contract, deployed[key])
        assert to_canonical_address(owner) == to_canonical_address(SENDER)
    assert [tool["name"] for tool in deployed["tools"]] == NAMES
    # The account, three contracts of the factory, two transactions a tool, the agent, its setting.
    assert len(deployed["transactions"]) == 1 + 3 + 2 * len(NAMES) + 2
    lines = deployed["basePrompt"].splitlines()
    assert f"ACCOUNT = {deployed['account']}" in lines
    assert f"USDT = {swap_node.place('USDT')}" in lines
    [reason] = [line for line in lines if line.startswith("I cannot call adminFunction ")]
    assert " because in AdminSwitch only " in reason


def test_a_tool_on_the_chain_has_a_fixed_path_and_an_approval(
    swap_node: SwapNode, deployed: dict[str, Any]
) -> None:
    tool = deployed["tools"][NAMES.index("swapExactTokensForETH_USDT_for_ETH")]["address"]
    spec = read_tool_spec(
        lambda to, data: swap_node.world.owner.read(to_canonical_address(to), data), tool
    )
    usdt, wrapped = swap_node.place("USDT"), swap_node.place(WRAPPED)
    arguments = {each.name: each for each in spec.arguments}
    assert arguments["path"].value == (usdt, wrapped)
    assert arguments["deadline"].seconds == DEADLINE_SECONDS
    [allowance] = spec.allowances
    assert (allowance.token, allowance.spender) == (usdt, swap_node.place("router"))
    assert (allowance.amount_argument, allowance.is_derived) == ("amountIn", True)
    assert spec.description == "Swaps USDT for ETH; approves the USDT first"
    assert [text for _, _, text in spec.model_parameters] == [
        "USDT (Tether USD) to give, 6 decimals"
    ]


def test_a_dry_run_sends_nothing(swap_node: SwapNode) -> None:
    before = swap_node.chain.head.block_number
    options = ["--slippage", 1, "--deadline", "5m", "--max-value", "0.1ether"]
    options += ["--approvals", "model"]
    form = swap_node.read_json("deploy", *swap_node.contracts, *choose(), *options, "--dry-run")
    assert swap_node.chain.head.block_number == before
    tools = {tool["name"]: tool for tool in form["tools"]}
    assert {tool["address"] for tool in tools.values()} == {None}
    back = tools["swapExactTokensForETH_USDT_for_ETH"]
    numbers = {each["name"]: each for each in back["arguments"]}
    assert numbers["amountOutMin"]["slippageBps"] == 100
    assert numbers["deadline"]["seconds"] == 300
    assert [each["isDerived"] for each in back["allowances"]] == [False]
    assert back["description"].endswith("needs an approval of USDT for UniswapV2Router02 first")
    assert tools["swapExactETHForTokens_ETH_for_USDT"]["maxValueWei"] == str(10**17)


def test_a_recipient_is_no_token_unless_it_is_allowed(swap_node: SwapNode) -> None:
    words = ["--address", swap_node.place("USDT"), "--function", "transfer", "--dry-run"]
    options: list[tuple[list[str], int]] = [([], 2), (["--allow-recipient", "transfer.to"], 0)]
    for more, count in options:
        [tool] = swap_node.read_json("deploy", "--no-execute", *words, *more)["tools"]
        [recipient, _] = tool["arguments"]
        assert len(recipient["forbidden"]) == count


def test_a_dry_run_in_a_terminal(swap_node: SwapNode, monkeypatch: pytest.MonkeyPatch) -> None:
    # Names and paths are there without executions of the functions.
    monkeypatch.setattr(out, "width", 200)
    result = swap_node.run("deploy", "--no-execute", *swap_node.contracts, *choose(), "--dry-run")
    lines = result.stdout.splitlines()
    assert lines[0].endswith(", 5 tools")
    [row] = [line for line in lines if line.startswith("swapExactTokensForETH_USDT_for_ETH ")]
    assert " UniswapV2Router02 " in row
    assert lines[lines.index("Base prompt") + 1].startswith(TASK)
    assert f"USDT = {swap_node.place('USDT')}" in lines
    assert result.stderr == ""


def test_a_large_prompt_is_a_warning(swap_node: SwapNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploy, "FULL_PERCENT", 0)
    monkeypatch.setattr(err, "width", 200)
    words = ["deploy", "--no-execute", *swap_node.contracts, *choose(), "--dry-run"]
    message = " ".join(swap_node.run(*words).stderr.split())
    assert message.startswith("Warning: 5 tools and the base prompt have some ")
    assert "the context of bytes is 200,000; choose functions by --function NAME" in message


def test_a_second_deployment_shares_the_factory_and_the_account(
    swap_node: SwapNode, deployed: dict[str, Any]
) -> None:
    shared = ["--factory", deployed["factory"], "--account", deployed["account"]]
    chosen = choose(["balanceOf", "transfer"])
    words = ["deploy", *swap_node.contracts, *chosen, *shared, "--name", "Other"]
    form = swap_node.read_json(*words)
    assert (form["factory"], form["account"]) == (deployed["factory"], deployed["account"])
    purposes = [each["purpose"] for each in form["transactions"]]
    # The tool of the balance is there, and registered.
    assert [text.partition(" at ")[0] for text in purposes] == [
        "Created tool transfer", "Registered tool transfer", "Deployed OwnedAgent",
        "Set the account's agent",
    ]  # fmt: skip
    account = load_artifact("AgentAccount")
    data = account.encode_call("setAgent", deployed["agent"])
    call = {"from": SENDER, "to": deployed["account"], "data": "0x" + data.hex()}
    swap_node.served.ask("eth_sendTransaction", call)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--function", "fly"], "function fly: must be one of WETH, addLiquidity"),
        (["--function", "USDT.getAmountsOut"], "function USDT.getAmountsOut: must be one of"),
        (["--address", OTHER], f"address {OTHER}: has no code on chain 31337"),
        (["--account", OTHER], f"{OTHER}: no contract on chain 31337"),
        (["--factory", OTHER], f"{OTHER}: no contract on chain 31337"),
        (["--model", "gpt"], "--model gpt: must be one of bytes"),
        (["--callback-gas", "2000000"], "--callback-gas: needs --oracle ADDRESS"),
        (["--run-timeout", "1h"], "--run-timeout: needs --oracle ADDRESS"),
        (["--slippage", "101"], "Invalid value for '--slippage'"),
        (["--allow-recipient", "fly.to"], "recipient fly.to: must be FUNCTION.PARAMETER of a tool"),
        (["--deadline", "99999d"], "--deadline: must be at most 4,294,967,295 s"),
    ],
)
def test_a_mistake_is_a_message(swap_node: SwapNode, words: list[str], message: str) -> None:
    before = swap_node.chain.head.block_number
    result = swap_node.run("deploy", "--no-execute", *swap_node.contracts, *words, status=2)
    assert message in " ".join(result.stderr.split())
    assert swap_node.chain.head.block_number == before


def test_a_closed_function_is_no_tool(swap_node: SwapNode) -> None:
    words = ["--address", swap_node.place("switch"), "--abi", ROOT / SWITCH_FILE]
    result = swap_node.run("deploy", *words, "--function", "adminFunction", status=2)
    message = " ".join(result.stderr.split())
    assert "function adminFunction of AdminSwitch: the account 0x" in message
    assert "can't call it: only OWNER_OF_AdminSwitch may, " in message
    assert message.endswith(
        "to admit an account first, make one by `pyevm-agents tools account` and pass it by "
        "--account"
    )


def test_another_account_is_not_the_senders(swap_node: SwapNode, deployed: dict[str, Any]) -> None:
    words = ["deploy", *swap_node.contracts, "--account", deployed["account"]]
    result = swap_node.run(*words, sender=OTHER, status=2)
    assert f"its owner is {SENDER}, not the sender {OTHER}" in " ".join(result.stderr.split())


def test_a_chain_without_the_executor_needs_an_oracle(swap_node: SwapNode) -> None:
    served = Served()
    url = swap_node.url
    with fake_remote(served) as remote:
        swap_node.url = remote.url
        try:
            result = swap_node.run("deploy", *swap_node.contracts, status=2)
        finally:
            swap_node.url = url
    served.close()
    message = " ".join(result.stderr.split())
    assert "has no executor at 0x0000000000000000000000000000000000000019" in message
    assert "pass --oracle ADDRESS for an agent that workers answer: docs/callback.md" in message


def test_the_page_shows_a_real_run(
    swap_node: SwapNode, deployed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", 110)
    words = ["deploy", *swap_node.contracts, *choose(), "--account", deployed["account"]]
    printed = swap_node.run(*words, "--dry-run").stdout
    swap_node.steps = [("swapExactETHForTokens_ETH_for_USDT", {"value": 10**16})]
    text = "INSTRUCTION: Swap 0.01 ETH for USDT"
    printed += swap_node.run("ask", deployed["agent"], text, "--call").stdout
    swap_node.steps = ()
    page = (ROOT / "docs/tools.md").read_text().partition("\n## An agent with these tools\n")[2]
    page = page.partition("\n### ")[0]
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    assert [block for block in blocks if block not in printed] == []
