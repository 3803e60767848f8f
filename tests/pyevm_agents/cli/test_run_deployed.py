"""`run --agent NAME=0x…`: a deployed agent drives a run."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from runpy import run_path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address
from mcp import Client, StdioServerParameters

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.manifests.documents import DocumentKind
from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.node.test_command import FIRST, node
from tests.pyevm_agents.cli.test_run import BEEF, PHASES, list_phases
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.pyevm_agents.cli.node.test_command import Running


WALLET = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
"""The agent of the fixture `wallet_agent`."""

USDC = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""A token of that fixture."""

DEPOSIT = "Deposit 10 USDC into the pool"
"""A prompt whose generations that fixture has."""


def run_deployed(*words: str, status: int = 0) -> Result:
    """Run a goal of the fixture's chain without a model; check the exit status."""
    command = ["run", DEPOSIT, "--fixture", "wallet_agent", "--no-model", *words]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == status, result.output
    return result


def test_a_deployed_agent_drives_a_run(tmp_path: Path) -> None:
    data = tmp_path / "runs"
    words = ["--agent", f"wallet={WALLET}", "--data", str(data)]
    result = run_deployed(*words)
    assert list_phases(result) == [(name, "✓") for name in PHASES]
    step = 'step-1 (wallet): DeployTool {"asset": "' + USDC + '", "amount": 10}'
    assert step in result.stdout
    assert "step-1: Successfully deployed; answer: Done." in result.stdout
    manifest = AgentFolder(data / "agents" / "wallet").read_manifest()
    assert manifest.name == "Wallet Agent"
    assert [each.name for each in manifest.tools][:1] == ["DeployTool"]


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ([WALLET[:-2] + "c9"], f"'{WALLET[:-2]}c9': wrong checksum (EIP-55)"),
        ([f"wallet={WALLET[:-2]}"], f"'{WALLET[:-2]}': not an address; must be 0x and 40"),
        ([f"wallet=0X{WALLET[2:]}"], f"'0X{WALLET[2:]}': not an address; must be 0x and 40"),
        ([f"={WALLET}"], "has no name before =; pass NAME=0x…, or 0x… alone"),
        ([f"Wallet={WALLET}"], "name 'Wallet': must be kebab-case"),
        ([f"wallet={WALLET}", f"wallet={USDC}"], f"give {USDC} another name: NAME={USDC}"),
        ([WALLET, WALLET.lower()], "agent agent-dc64a140: is there twice"),
    ],
)
def test_a_wrong_address_or_name_is_found_before_the_chain_opens(
    tmp_path: Path, agents: list[str], message: str
) -> None:
    data = tmp_path / "runs"
    words = [word for each in agents for word in ("--agent", each)]
    result = run_deployed(*words, "--data", str(data), status=2)
    assert message in result.stderr
    assert not data.exists()


def test_a_deployed_agent_has_another_name_than_a_folders(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    words = ["--agent", f"gas-watcher={WALLET}", "--agent", str(folder.path)]
    assert "agent gas-watcher: is there twice" in run_deployed(*words, status=2).stderr


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (BEEF, f"{BEEF}: no contract on this chain, whose last block is 2; pass the chain that"),
        (USDC, f"{USDC}: no IERCAgent: agentExecutorContract() gives nothing of its type"),
    ],
)
def test_an_address_without_an_agent_is_refused(tmp_path: Path, address: str, message: str) -> None:
    data = tmp_path / "runs"
    result = run_deployed("--agent", f"wallet={address}", "--data", str(data), status=2)
    assert message in result.stderr
    assert not (data / "agents").exists()


@pytest.mark.slow  # three starts
def test_the_folder_of_a_deployed_agent_is_kept(tmp_path: Path) -> None:
    words = ["--agent", f"wallet={WALLET}", "--data", str(tmp_path)]
    run_deployed(*words)
    folder = AgentFolder(tmp_path / "agents" / "wallet")
    folder.write_manifest(replace(folder.read_manifest(), description="Changed"))
    run_deployed(*words)
    assert folder.read_manifest().description == "Changed"
    log = json.loads(folder.locate(DocumentKind.LOG).read_text("utf-8"))
    assert [each["status"] for each in log["runs"]] == ["completed", "completed"]
    as_folder = run_deployed("--agent", str(folder.path), status=2)
    assert f"is the folder of a deployed agent; pass wallet={WALLET}, with" in as_folder.stderr
    # Another agent can't take its name there.
    (folder.path / "address").write_text(USDC + "\n", "utf-8")
    refused = run_deployed(*words, status=2)
    assert f"{folder.path} is that of {USDC}, not of {WALLET}; give the new one" in refused.stderr


@pytest.mark.slow  # the real model, after a process with a node
def test_the_default_model_drives_a_run_on_the_chain_of_a_node(tmp_path: Path) -> None:
    with node("--state-dir", str(tmp_path / "chain"), "--registries") as running:
        tool = deploy(running, "CounterTool")
        texts = ("Counting Agent", "Counts", "what to do", "You count. Use CounterTool to add.")
        address = deploy(
            running, "SimpleAgent", EXECUTOR_ADDRESS, "smollm2-135m-react", *texts, [tool], 4
        )
    name = to_checksum_address(address)
    command = ["run", "add 7 to the counter", "--agent", f"counter={name}"]
    result = CliRunner().invoke(main, [*command, "--data", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert list_phases(result) == [(name, "✓") for name in PHASES]
    assert 'step-1 (counter): CounterTool {"amount": 7}' in result.stdout
    summary = "add 7 to the counter: step-1: The counter is: 7; answer: Done. CounterTool:"
    assert summary in result.stdout
    assert result.stdout.splitlines()[-1].endswith("-run-1: completed, 4 receipts")


TREASURY_PROGRAM = ROOT / "docs" / "examples" / "token_treasury.py"


@pytest.mark.slow  # the real model, and two chains
@pytest.mark.parametrize("contract", ["OwnedAgent", "SimpleAgent"])
def test_an_operator_reads_what_a_treasury_would_pay(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    contract: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TREASURY_PROGRAM.read_text("utf-8")
    if contract == "SimpleAgent":
        text = text.replace('"OwnedAgent", treasury.address, ', '"SimpleAgent", ')
    (tmp_path / "program.py").write_text(text, "utf-8")
    run_path("program.py")
    words = [*capsys.readouterr().out.split(), "--data", "runs"]
    waiting = CliRunner().invoke(main, ["run", "Pay Omar 75", *words])
    assert waiting.exit_code == 1, waiting.output
    treasury = f"RunTreasury ({words[3][:6]}…{words[3][-4:]})"
    question = [
        f"write 1: {contract} {words[1].removeprefix('payer=')}, 0 ether, run",
        "Request      Pay Omar 75",
        f"Transfer     75 USDC (DemoToken) from {treasury} to {OMAR}",
        f"Balance      2,000 USDC (DemoToken) before, 1,925 USDC (DemoToken) after, of {treasury}",
    ]
    assert find_lines(waiting, question) == question
    is_warned = "Warning: anybody may run agent payer, and the treasury has" in waiting.stderr
    assert is_warned == (contract == "SimpleAgent")
    [run_id] = {word for word in waiting.stderr.split() if word.startswith("task-")}
    command = ["run", "--continue", run_id, *words, "--confirm"]
    done = CliRunner().invoke(main, command, input="y\n")
    assert done.exit_code == 0, done.output
    assert find_lines(done, question) == question
    assert "step-1: Paid 75 USDC to Omar" in done.stdout


OMAR = "0x00000000000000000000000000000000000004a6"


def find_lines(result: Result, lines: list[str]) -> list[str]:
    """Return those lines that were printed, in the order in which they were."""
    return [line.strip() for line in result.stdout.splitlines() if line.strip() in lines]


def deploy(running: Running, name: str, *arguments: object) -> bytes:
    """Deploy a contract on a node; return its address."""
    data = "0x" + load_artifact(name).encode_creation(*arguments).hex()
    sent = running.result("eth_sendTransaction", {"from": FIRST, "data": data})
    address = running.result("eth_getTransactionReceipt", sent)["contractAddress"]
    return bytes.fromhex(address[2:])


def test_a_control_plane_refuses_an_address_without_an_agent() -> None:
    command = ["agent", "serve", f"wallet={BEEF}", "--fixture", "wallet_agent", "--no-model"]
    result = CliRunner().invoke(main, [*command, "--port", "0"])
    assert result.exit_code == 2
    assert f"{BEEF}: no contract on this chain" in result.stderr


@pytest.mark.slow  # a process
def test_a_control_plane_serves_a_deployed_agent() -> None:
    words = ["agent", "serve", f"wallet={WALLET}", "--fixture", "wallet_agent", "--no-model"]

    async def talk() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "pyevm_agents", *words, "--stdio"], cwd=ROOT
        )
        async with asyncio.timeout(HANG_SECONDS), Client(parameters) as client:
            task = {"goal": DEPOSIT, "taskId": "deposit"}
            created = await client.call_tool("openfi_create_task", {"task": task})
            assert not created.is_error, created.content
            result = await client.call_tool("openfi_run_task", {"taskId": "deposit"})
            run = result.structured_content
            assert run is not None
            assert (run["status"], run["failure"]) == ("completed", None)

    asyncio.run(talk())
