"""The numeric models of a chain through all commands: the option stands at its beginning alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.models.numeric import NumericFile
from tests.clients.running_node import running_node
from tests.deadlines import HANG_SECONDS
from tests.numeric_file import build_numeric_file
from tests.pairs.world import RATED, SCORE
from tests.pyevm_agents.cli.council.council_processes import taking_part
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.control.served_plane import RestClient
from tests.pyevm_agents.control.test_fuzz import REST_LINE
from tests.pyevm_agents.council.council_chain import ETHER, NOBODY, CouncilChain
from tests.pyevm_agents.oracle.oracle_chain import WORKER, WORKER_KEY, OracleChain
from tests.pyevm_agents.oracle.test_node_models import ABI, build_scorer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.running_node import RunningNode

pytestmark = pytest.mark.slow

POLL_SECONDS = 0.1


def run_command(*words: str) -> str:
    """Run a command that succeeds; return its standard output."""
    told = CliRunner().invoke(main, words)
    assert told.exit_code == 0, told.output
    return told.stdout


def deploy_rater(chain: OracleChain) -> str:
    """Deploy a tool over the numeric model `line`; return its address."""
    model = ("0x" + NUMERIC_MODELS_ADDRESS.hex(), "line", NumericFile(build_numeric_file()).digest)
    fields = [(1, 1, 4, each, f"{each} in thousands", 0, 100, 0) for each in ("income", "debt")]
    sentence: tuple[object, ...] = ("Score", [], [], [(0, "", "", 0, 0, 0, [])])
    texts = ("rate_loan", "Rates a loan")
    return chain.deploy("ModelTool", *texts, model, fields, NOBODY, sentence).address


def require_asked_tool(node: RunningNode, chain: OracleChain, folder: Path) -> None:
    """Deploy an agent whose tool is a contract that asks the model, and instruct the agent."""
    scorer = chain.send(None, bytes.fromhex(build_scorer()[2:]))["contractAddress"]
    (folder / "abi.json").write_text(json.dumps(ABI))
    owner = node.ask("eth_accounts")[0]
    options = ("--rpc-url", node.url, "--unlocked", owner, "--json")
    words = ("--address", scorer, "--abi", str(folder / "abi.json"))
    agent = json.loads(run_command("tools", "deploy", *words, *options))["agent"]
    asked = json.loads(run_command("tools", "ask", agent, "Read the score", "--yes", *options))
    assert asked["isSent"]
    assert all(str(number) in asked["answer"] for number in (4, 7)), asked


def require_worker_answer(node: RunningNode, chain: OracleChain, rater: str, folder: Path) -> None:
    """Let a worker answer an agent whose tool is the model."""
    node.ask("anvil_setBalance", WORKER, hex(ETHER))
    agent = chain.deploy_agent(tools=(rater,), model="default", callback_gas=4_000_000)
    agent.send("ask", RATED, NOBODY, value=agent.read("costOfRun"))
    keystore = write_keystore(folder / "worker.json", WORKER_KEY.to_bytes())
    (folder / "password").write_text(PASSWORD)
    words = ["--rpc-url", chain.url, "--oracle", chain.oracle.address, "--poll-interval", "0.1"]
    words += ["--keystore", str(keystore), "--password-file", str(folder / "password")]
    words += ["--store", str(folder / "worker.store")]
    command = [sys.executable, "-m", "pyevm_agents", "oracle", "run", *words]
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        end = time.monotonic() + HANG_SECONDS
        while not (result := agent.read("resultOf", 1)):
            assert process.poll() is None, (folder / "worker.log").read_text()
            assert time.monotonic() < end, (folder / "worker.log").read_text()
            time.sleep(POLL_SECONDS)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=HANG_SECONDS)
    assert result == f"Done. rate_loan: {SCORE}"


def require_member_answer(node: RunningNode, rater: str, folder: Path) -> None:
    """Let an account answer a council by an agent whose tool is the model."""
    chain = CouncilChain(node.ask, node.url)
    settings = (EXECUTOR_ADDRESS, "default", "Ada", "Answers", "You rate loans.", [rater], 3)
    creation = load_artifact("CouncilInfoAgent").encode_creation(
        chain.oracle, chain.sender, settings
    )
    member = chain.send(None, creation)["contractAddress"]
    chain.ask(query=RATED, specifications="")
    with taking_part(chain, folder) as council:
        council.start("member", "join", "--all", "--agent", member, "--once", key=WORKER_KEY)
        council.wait_for_end("member")
        assert council.find_event("member", "kept")["answer"] == SCORE


def require_run(data: Path, agent: str) -> None:
    """Run the agent on the chain of the folder."""
    told = run_command("run", RATED, "--agent", f"clerk={agent}", "--data", str(data), "--no-store")
    assert f"Done. rate_loan: {SCORE}" in told


def require_served_run(data: Path, agent: str, folder: Path) -> None:
    """Serve the agent on the chain of the folder, and run it for a client."""
    words = ["agent", "serve", f"clerk={agent}", "--data", str(data), "--no-store", "--port", "0"]
    log = folder / "serve.log"
    with log.open("w") as stderr:
        process = subprocess.Popen([sys.executable, "-m", "pyevm_agents", *words], stderr=stderr)
    try:
        while (found := REST_LINE.search(log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            time.sleep(POLL_SECONDS)
        client = RestClient(f"http://{found[1]}")
        task: Any = client.post("/tasks", {"goal": RATED}, 201)
        run: Any = client.post(f"/tasks/{task['taskId']}/runs?wait=true")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=HANG_SECONDS)
    assert (run["status"], run["failure"]) == ("completed", None)
    assert f"Done. rate_loan: {SCORE}" in json.dumps(run)


def test_no_later_command_repeats_the_option(tmp_path: Path) -> None:
    file = tmp_path / "line.onnx"
    file.write_bytes(build_numeric_file())
    data = tmp_path / "data"
    options = ("--state-dir", str(data / "chain"), "--registries", "testnet", "--no-store")
    with running_node(tmp_path, *options, "--numeric-model", f"line={file}"):
        pass
    file.unlink()
    with running_node(tmp_path, *options) as node:
        chain = OracleChain(node.ask, node.url)
        rater = deploy_rater(chain)
        texts = ("default", "Clerk", "Rates loans", "what to do", "You rate loans.")
        agent = chain.deploy("SimpleAgent", EXECUTOR_ADDRESS, *texts, [rater], 6).address
        require_asked_tool(node, chain, tmp_path)
        require_worker_answer(node, chain, rater, tmp_path)
        require_member_answer(node, rater, tmp_path)
    require_run(data, agent)
    require_served_run(data, agent, tmp_path)
