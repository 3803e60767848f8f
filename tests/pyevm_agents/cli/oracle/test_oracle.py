"""Commands of an oracle's owner, workers and clients, and their errors."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from eth_keys.datatypes import PrivateKey

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.oracle.command import oracle
from tests.pyevm_agents.cli.oracle.conftest import (
    NO_CONTRACT,
    OTHER,
    OWNER,
    PASSWORD,
    Commands,
    write_keystore,
)
from tests.pyevm_agents.node.senders_of_tests import KEYS
from tests.pyevm_agents.oracle.oracle_chain import PROMPT, WORKER

POOR = PrivateKey(b"\x66" * 32)
REVERT = 1
"""`OracleClient.Behaviour.Revert`."""


def test_every_command_is_in_the_document_and_its_help_has_an_example() -> None:
    page = Path("docs/command-line.md").read_text()
    context = click.Context(oracle)
    for name in oracle.list_commands(context):
        assert f"`oracle {name}" in page
        command = oracle.get_command(context, name)
        assert command is not None
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        for each in inner:
            assert "pyevm-agents oracle " in (each.epilog or ""), each.name
            assert each.help
            assert each.short_help


def test_an_oracle_is_deployed_with_prices_and_workers(commands: Commands) -> None:
    deployed = commands.read(
        *("deploy", "--worker", OTHER, "--worker", NO_CONTRACT, "--worker", OTHER),
        *("--fund-workers", "1.5gwei", "--inference-price", "0.25 ether", "--answer-gas", "7"),
    )
    assert (deployed["kind"], deployed["owner"]) == ("AgentOracle", OWNER)
    assert [each["purpose"].split()[0] for each in deployed["transactions"]] == [
        *("Deployed", "Registered", "Sent", "Registered", "Sent"),
    ]
    state = commands.status("--oracle", deployed["oracle"])
    assert state["prices"] == deployed["prices"]
    assert state["prices"] == {
        "inferenceWei": str(10**18 // 4),
        "gasWei": str(10**9),
        "answerGas": 7,
    }
    workers = {each["address"]: each["balanceWei"] for each in state["workers"]}
    assert set(workers) == set(deployed["workers"]) == {OTHER, NO_CONTRACT}
    assert workers[NO_CONTRACT] == "1500000000"
    lines = commands.run("deploy").stdout.splitlines()
    assert lines[0].startswith("Deployed AgentOracle at 0x")
    assert lines[-1].startswith("Run a worker:  pyevm-agents oracle run --oracle 0x")


def test_options_of_challenges_need_a_challengeable_oracle(commands: Commands) -> None:
    told = commands.run("deploy", "--bond", "1ether", status=2)
    assert "--bond needs --challengeable" in told.stderr
    told = commands.run("deploy", "--challengeable", status=2)
    assert "needs --arbiter" in told.stderr
    told = commands.run("deploy", "--challengeable", "--arbiter", OTHER, status=2)
    assert "needs --bond" in told.stderr
    told = commands.run("deploy", "--owner", OTHER, "--worker", OTHER, status=2)
    assert "only the owner registers workers" in told.stderr
    told = commands.run(
        *("deploy", "--challengeable", "--arbiter", OTHER, "--bond", "1ether"),
        *("--challenge-window", "8d"),
        status=1,
    )
    assert "OutOfRange(member='challengeWindow', value=691200, lowest=1" in told.stderr


def test_stakes_and_proposals_of_a_challengeable_oracle(commands: Commands) -> None:
    commands.use_challengeable("--worker", WORKER, "--challenge-window", "10m")
    terms = commands.status()["terms"]
    assert terms == {
        "arbiter": OTHER,
        "bondWei": str(10**18),
        "challengeWindow": 600,
        "arbitrationTime": 86_400,
    }
    staked = "Staked 2.5 ether; free stake 2.5 ether, an answer locks 1 ether"
    assert commands.run("stake", "2.5ether").stdout.startswith(staked)
    unstaked = "Unstaked 0.5 ether; free stake 2 ether"
    assert commands.run("unstake", "0.5ether").stdout.startswith(unstaked)
    told = commands.run("unstake", "3ether", status=1)
    assert "InsufficientStake(" in told.stderr
    assert "call `pyevm-agents oracle stake` first" in told.stderr
    told = commands.run(
        "stake",
        "1ether",
        "--oracle",
        commands.chain.deploy("AgentOracle", OWNER, (1, 1, 1)).address,
        status=2,
    )
    assert "takes no stakes" in told.stderr

    commands.ask("anvil_setBalance", WORKER, hex(10**19))
    commands.ask("anvil_impersonateAccount", WORKER)
    commands.run("stake", "1ether", sender=WORKER)
    commands.run("ask", commands.agent, PROMPT, "--no-wait")
    commands.answer()
    [request] = commands.status()["requests"]
    assert (request["isWaiting"], request["proposal"]["status"]) == (False, "open")
    assert request["proposal"]["worker"] == WORKER
    lines = commands.run("status", sender=None).stdout.splitlines()
    assert any(line.startswith(f"  state        answered by {WORKER}; can be") for line in lines)
    assert "  free stake   0 ether" in lines
    told = commands.run("expire", request["id"], status=1)
    assert "has an answer that waits for challenges" in told.stderr
    commands.pass_time(601)
    assert "could be challenged until" in commands.run("status", sender=None).stdout


def test_a_challenge_is_shown(commands: Commands) -> None:
    commands.use_challengeable("--worker", WORKER)
    commands.ask("anvil_setBalance", WORKER, hex(10**19))
    commands.ask("anvil_impersonateAccount", WORKER)
    commands.run("stake", "1ether", sender=WORKER)
    commands.run("ask", commands.agent, PROMPT, "--no-wait")
    commands.answer()
    [request] = commands.find_unsettled()
    oracle, number = commands.chain.oracle, int(request["id"], 16)
    proposal, _ = oracle.read("proposalOf", number)
    oracle.send("challenge", number, proposal[0], value=10**18)
    [request] = commands.find_unsettled()
    assert (request["proposal"]["status"], request["proposal"]["challenger"]) == (
        *("challenged", OWNER),
    )
    told = commands.run("status", sender=None).stdout
    assert f"answered by {WORKER}, challenged; the arbiter rules until " in told
    commands.chain.sender = OTHER
    oracle.send("rule", number, proposal[0], proposal[2])
    told = commands.run("status", sender=None).stdout
    assert f"answered by {WORKER}, upheld; anybody may finalize it" in told
    for command in ("retry", "expire"):
        told = commands.run(command, request["id"], status=1).stderr
        assert f"request {request['id']}: has" in told


def test_workers_are_registered_and_removed(commands: Commands) -> None:
    added = commands.run("worker", "add", OTHER, WORKER, "--fund", "1ether").stdout
    assert f"Registered worker {OTHER}\n" in added
    assert f"Worker {WORKER} is registered already\n" in added
    assert f"Sent 1 ether to {WORKER}\n" in added
    assert f"Removed worker {OTHER}\n" in commands.run("worker", "remove", OTHER).stdout
    again = commands.run("worker", "remove", OTHER)
    assert again.stdout == f"Worker {OTHER} is not registered\n"
    refused = commands.run("worker", "add", OTHER, sender=OTHER, status=1)
    assert f"OwnableUnauthorizedAccount(account={OTHER}); sign with the key" in refused.stderr


def test_a_subscription_pays_for_runs(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = commands.agent
    told = commands.run("ask", agent, PROMPT, "--subscription", status=1)
    assert "NoSubscription(); the agent's owner sets one" in told.stderr
    told = commands.run("subscription", "create", "--fund", "0.005ether")
    assert told.stdout.startswith("Created subscription 1 with 0.005 ether\n")
    told = commands.run("subscription", "add-consumer", 1, agent, "--pay-runs")
    assert f"Subscription 1 pays for runs of {agent}\n" in told.stdout
    told = commands.run("ask", agent, PROMPT, "--subscription", status=1)
    assert "SubscriptionExhausted(" in told.stderr
    told = commands.run("subscription", "fund", 1, "0.01ether", sender=OTHER)
    assert told.stdout.startswith("Paid 0.01 ether into subscription 1; it has 0.015 ether\n")
    commands.answer_while_waiting(monkeypatch)
    run = commands.read("ask", agent, PROMPT, "--subscription")
    assert run["hasSubscription"]
    [state] = commands.status()["subscriptions"]
    assert state == {
        "id": 1,
        "owner": OWNER,
        "balanceWei": str(15 * 10**15 - int(run["costWei"])),
        "consumers": [agent],
    }
    assert f"  consumers    {agent}\n" in commands.run("status", sender=None).stdout
    told = commands.run("subscription", "cancel", 1, sender=OTHER, status=1)
    assert "NotSubscriptionOwner(" in told.stderr
    told = commands.run("subscription", "add-consumer", 1, agent)
    assert "takes from it already" in told.stdout
    commands.run("subscription", "remove-consumer", 1, agent)
    assert commands.status()["subscriptions"][0]["consumers"] == []
    told = commands.run("subscription", "cancel", 1)
    assert "Cancelled subscription 1; 0.010498 ether claimable\n" in told.stdout
    for number, message in ((1, "was cancelled"), (2, "does not exist")):
        told = commands.run("subscription", "fund", number, "1gwei", status=1)
        assert f"subscription {number}: {message}" in told.stderr


def test_a_request_expires_after_its_deadline(commands: Commands) -> None:
    commands.run("ask", commands.agent, PROMPT, "--no-wait")
    [request] = commands.status()["requests"]
    told = commands.run("expire", request["id"], status=1)
    assert f"TooEarly(requestId={request['id']}, deadline=" in told.stderr
    assert " UTC)); wait until" in told.stderr
    commands.pass_time(3_601)
    shown = commands.run("status", sender=None).stdout
    assert "`pyevm-agents oracle expire` ends it" in shown
    told = commands.run("expire", request["id"])
    assert told.stdout.startswith(f"Ended {request['id']}; its fee of 0.002251 ether went back\n")
    assert "expired already" in commands.run("expire", request["id"], status=1).stderr
    told = commands.run("expire", "0x" + "12" * 32, status=1)
    assert "has no such request" in told.stderr
    assert "No request waits." in commands.run("status", sender=None).stdout


def test_a_client_that_failed_is_called_again(commands: Commands) -> None:
    chain = commands.chain
    client = chain.deploy("OracleClient", commands.oracle)
    order = (b"\x00" * 4, 0, 0, bytes(20), 1, 200_000, 86_400, 3_600)
    call = load_artifact("AgentOracle").encode_call("request", order)
    fee = chain.oracle.read("feeOf", 200_000)
    client.send("callOracle", call, value=fee)
    client.send("behave", REVERT, 0)
    [waiting] = commands.find_waiting()
    name = f"0x{waiting.commitment.request_id:064x}"
    assert "has no answer yet" in commands.run("retry", name, status=1).stderr
    commands.answer()
    shown = commands.run("status", sender=None).stdout
    assert "refused, but its client failed; `pyevm-agents oracle retry`" in shown
    told = commands.run("retry", name, status=1)
    assert "fails again with a gas limit of 16,777,216; nothing was sent" in told.stderr
    assert "the last reason was AnswerRefused(requestId=" in told.stderr
    client.send("behave", 0, 0)
    told = commands.run("retry", name, "--gas", 30_000, status=1)
    assert "transaction would revert" in told.stderr or "gas" in told.stderr
    told = commands.run("retry", name, "--gas", 1_000_000)
    assert told.stdout.startswith(f"Delivered the answer of {name}\n")
    told = commands.run("retry", name, status=1)
    assert "NothingToRetry(" in told.stderr


def test_a_budget_is_released_after_its_lifetime(commands: Commands) -> None:
    commands.run("ask", commands.agent, PROMPT, "--no-wait")
    told = commands.run("release", 1, status=1)
    assert "BudgetNotReleasable(budgetId=1, releasableAt=" in told.stderr
    commands.pass_time(90_001)
    told = commands.run("release", 1, sender=OTHER)
    assert told.stdout.startswith(f"Released budget 1: 0.004502 ether for {OWNER}\n")
    assert "was released before" in commands.run("release", 1, status=1).stderr
    assert "never opened" in commands.run("release", 2, status=1).stderr


def test_an_agent_is_made_of_options(commands: Commands, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("You count.\n")
    deployed = commands.read(
        *("deploy-agent", "--name", "Counter", "--base-prompt-file", prompt),
        *("--tool", "CounterTool", "--tool", commands.chain.counter.address),
        *("--iterations", 7, "--callback-gas", 900_000, "--step-timeout", "10m"),
    )
    agent = commands.chain.agent
    agent.address = deployed["agent"]
    assert agent.read("basePrompt") == "You count."
    assert (agent.read("name"), agent.read("description")) == ("Counter", "Counter")
    assert agent.read("modelId") == "llama_model_3"
    assert (agent.read("agentMaxIterations"), agent.read("callbackGasLimit")) == (7, 900_000)
    assert (agent.read("stepTimeout"), agent.read("runTimeout")) == (600, 36_000)
    assert deployed["tools"][1] == commands.chain.counter.address
    assert int(deployed["costOfRunWei"]) == agent.read("costOfRun")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base-prompt", "x", "--tool", "NoTool"], "must be an address, or one of CounterTool"),
        (["--base-prompt", "x", "--tool", NO_CONTRACT], "no contract on chain"),
        (["--base-prompt", "x", "--tool", "ORACLE"], "not a tool (IERCAgentTool)"),
        (["--base-prompt", "x", "--step-timeout", "8d"], "must be 1 s to 7d"),
        (["--base-prompt", "x", "--run-timeout", "30d"], "must be at most 30d"),
        (["--base-prompt", "x", "--run-timeout", "soon"], "not a duration"),
        (["--base-prompt", "x", "--base-prompt-file", "f"], "pass either --base-prompt"),
        (["--base-prompt-file", "/no/such"], "/no/such: can't be read"),
        ([], "pass either --base-prompt"),
    ],
)
def test_an_agent_of_wrong_options_is_refused(
    unchanged_commands: Commands, options: list[str], message: str
) -> None:
    words = [unchanged_commands.oracle if each == "ORACLE" else each for each in options]
    told = unchanged_commands.run("deploy-agent", "--name", "Counter", *words, status=2)
    assert message in told.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status", "--oracle", NO_CONTRACT], "no contract on chain"),
        (["status", "--oracle", "COUNTER"], "not an AgentOracle, by its supportsInterface"),
        (["status", "--oracle", "AGENT"], "an agent, not an oracle; its oracle is ORACLE"),
        (["status", "--oracle", "0x12"], "not an address"),
        (["status", "--oracle", OWNER.replace("a", "A")], "wrong checksum (EIP-55)"),
        (["claim"], "no account; pass --keystore FILE"),
        (["claim", "--unlocked", OWNER, "--keystore", "k"], "exclude each other"),
        (["respond", "AGENT", "1", "x", "--unlocked", OWNER], "not an AskHumanTool"),
        (["subscription", "fund", "1", "2pounds", "--unlocked", OWNER], "not an amount"),
        (["subscription", "fund", "1", "0.5wei", "--unlocked", OWNER], "a whole number of wei"),
        (["subscription", "fund", "1", f"{10**11}ether", "--unlocked", OWNER], "less than 2**96"),
        (["retry", "0x12", "--unlocked", OWNER], "not a request ID"),
    ],
)
def test_mistakes_have_status_2(
    unchanged_commands: Commands, words: list[str], message: str
) -> None:
    names = {
        "COUNTER": unchanged_commands.chain.counter.address,
        "AGENT": unchanged_commands.agent,
        "ORACLE": unchanged_commands.oracle,
    }
    told = unchanged_commands.run(*(names.get(word, word) for word in words), sender=None, status=2)
    text = " ".join(told.stderr.split())
    assert message.replace("ORACLE", unchanged_commands.oracle) in text


def test_a_keystore_signs(commands: Commands, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    signer = ["--keystore", write_keystore(tmp_path / "k", KEYS[0].to_bytes())]
    signer += ["--password-file", password]
    told = commands.run("worker", "add", OTHER, *signer, sender=None)
    assert f"Registered worker {OTHER}\n" in told.stdout
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong")
    told = commands.run("worker", "add", OWNER, *signer[:3], wrong, sender=None, status=2)
    assert "wrong password" in told.stderr


def test_an_account_without_ether_says_so(commands: Commands, tmp_path: Path) -> None:
    poor = POOR.public_key.to_checksum_address()
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    signer = ["--keystore", write_keystore(tmp_path / "k", POOR.to_bytes())]
    signer += ["--password-file", password]
    told = commands.run(
        "subscription", "create", "--fund", "1ether", *signer, sender=None, status=1
    )
    assert f"account {poor}: has 0 ether, needs 1 ether to send" in told.stderr
    told = commands.run("subscription", "create", *signer, sender=None, status=1)
    assert "for this transaction; fund it on the chain" in told.stderr
    told = commands.run("subscription", "create", sender=poor, status=1)
    assert "does not sign for it" in told.stderr
