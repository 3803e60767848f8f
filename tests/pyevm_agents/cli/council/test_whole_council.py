"""Whole councils of separate processes on a node: the model, a program, a text, contracts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from web3 import HTTPProvider, Web3

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.messages import RequestPhase
from pyevm_agents.model_registry.profiles import ALIASES
from tests.clients.running_node import running_node
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.council.council_processes import CouncilProcesses, taking_part
from tests.pyevm_agents.council.council_chain import (
    BOND,
    DISPUTE_JUDGES,
    DISPUTES,
    ETHER,
    HOUR,
    NOBODY,
    REWARD,
    CouncilChain,
    read_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.clients.running_node import RunningNode

pytestmark = pytest.mark.slow

KEYS = [PrivateKey(bytes([0x61 + place]) * 32) for place in range(8)]
ACCOUNTS = [key.public_key.to_checksum_address() for key in KEYS]
AGENTS = ("model", "program", "text")
QUESTION = "Which city is the capital of France?"
PASSAGES = ["Register of the harbour, ships in April: 61", "Log of the bridge: open"]
PAGE = (Path(__file__).resolve().parents[4] / "docs" / "council.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(?:python|sh)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
VERDICT = (
    "import json, sys\n"
    "case = json.load(sys.stdin)\n"
    "said = [each for each in case['answers'] if each['answer'] == 'no']\n"
    "assert case['disputedAnswer']['answer'] == 'yes'\n"
    "print(json.dumps({'answer': 'no', 'winners': [each['agent'] for each in said],\n"
    "                  'reasoning': 'It is even.'}))\n"
)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with running_node(tmp_path_factory.mktemp("node")) as found:
        yield found


def find_block(told: str) -> str:
    """Return the first documented program that has a text."""
    return next(str(each) for each in BLOCKS if told in each)


def ask_by_client(chain: CouncilChain, query: str, *, agents: int, options: str = "") -> int:
    """Ask a question by web3.py, with the ABI of the ERC's interface; return its number."""
    w3 = Web3(HTTPProvider(chain.url))
    contract: Any = w3.eth.contract(
        address=Web3.to_checksum_address(chain.oracle), abi=load_artifact("IAgentCouncilOracle").abi
    )
    deadline = w3.eth.get_block("pending")["timestamp"] + HOUR
    terms = (query, agents, BOND, deadline, NOBODY, options, ((), ()))
    sent = contract.functions.createRequest(*terms).transact(
        {"from": w3.eth.accounts[0], "value": REWARD}
    )
    receipt = w3.eth.wait_for_transaction_receipt(sent)
    [event] = contract.events.RequestCreated().process_receipt(receipt)
    return int(event["args"]["requestId"])


def require_books(chain: CouncilChain, paid_in: int, claimable: int) -> None:
    """Check that money in is money out and what is claimable, and that this is what is there."""
    topic = Web3.keccak(text="Withdrawn(address,address,address,uint256)").to_0x_hex()
    query = {"address": chain.oracle, "fromBlock": "0x0", "topics": [topic]}
    logs = chain.ask_node("eth_getLogs", query)
    withdrawn = sum(int(log["data"][66:130], 16) for log in logs)
    assert withdrawn > 0
    assert paid_in == withdrawn + claimable
    assert int(chain.ask_node("eth_getBalance", chain.oracle, "latest"), 16) == claimable


def has_registered(council: CouncilProcesses, number: int, of_dispute: int = 0) -> bool:
    """Return whether a judge has, or a number of judges of the dispute have."""
    candidates = council.chain.read("judgesOf", number, bool(of_dispute))[1]
    return len(candidates) >= max(1, of_dispute)


def test_a_council_of_three_agents_and_a_judge(node: RunningNode, tmp_path: Path) -> None:
    chain = CouncilChain(node.ask, node.url)
    with taking_part(chain, tmp_path) as council:
        number = ask_by_client(chain, QUESTION, agents=3)
        [shown] = read_lines(council.watch("--json"))
        assert shown["whoCanAct"] == "3 more agents: commit; judges: registerJudge"
        council.start("judge", "judge", "--all", key=KEYS[3])
        council.wait_until(lambda: has_registered(council, number))
        (tmp_path / "lyon.py").write_text(find_block('print("Lyon"'))
        program = f"{sys.executable} {tmp_path / 'lyon.py'}"
        council.start("model", "join", "--all", key=KEYS[0])
        council.start("program", "join", "--all", "--answer-command", program, key=KEYS[1])
        council.start("text", "join", "--request", "1", "--answer", "paris.", key=KEYS[2])
        council.wait_until(lambda: council.read_phase(number) == RequestPhase.DRAW)
        chain.ask_node("anvil_mine", "0x3")
        council.wait_until(lambda: council.read_phase(number) == RequestPhase.DISTRIBUTED)
        council.wait_until(lambda: council.read_claimable(*KEYS[:4]) == [0] * 4)
        council.wait_until(lambda: council.has_ended(*AGENTS, "judge"))
        council.wait_for_end("text")  # Its request is over.
        council.end_all()
        judged = council.find_event("judge", "judged")
        assert judged["reasoning"].startswith("model smollm2-135m-react: ")
        assert chain.read("getResolution", number) == (judged["answer"].encode(), True)
        outcomes = [council.find_event(name, "ended")["outcome"] for name in AGENTS]
        assert outcomes.count("right") == judged["winners"] > 0
        assert outcomes.count("wrong") == len(AGENTS) - judged["winners"]
        assert council.find_event("judge", "ended")["verdict"] == "upheld"
        for name, outcome in zip(AGENTS, outcomes, strict=True):
            was_paid = "claimable" in {each["event"] for each in council.read_events(name)}
            assert was_paid == (outcome == "right")
        require_books(chain, REWARD + 4 * BOND, 0)
        words = " ".join(council.watch().split())
        assert "distributed over 0.1 ether 0.01 ether" in words


def test_a_dispute_overturns_a_vote(node: RunningNode, tmp_path: Path) -> None:
    chain = CouncilChain(node.ask, node.url, DISPUTES)
    with taking_part(chain, tmp_path) as council:
        number = ask_by_client(chain, "Is 4 a prime?", agents=3, options="OPTIONS: yes|no")
        for place, answer in enumerate(("yes", "no", "yes")):
            words = ("--request", str(number), "--answer", answer)
            council.start(f"agent {place}", "join", *words, key=KEYS[place])
        council.wait_until(lambda: council.read_phase(number) == RequestPhase.WINDOW)
        council.start("disputer", "dispute", str(number), "--reason", "It is even.",
                      "--max-bond", "1ether", key=KEYS[4])  # fmt: skip
        council.wait_until(lambda: council.read_phase(number) > RequestPhase.WINDOW)
        (tmp_path / "verdict.py").write_text(VERDICT)
        program = f"{sys.executable} {tmp_path / 'verdict.py'}"
        judging = ("judge", "--all", "--disputes-only", "--verdict-command", program)
        for place in range(DISPUTE_JUDGES):
            more = ("--max-bond", "1ether")
            council.start(f"judge {place}", *judging, *more, key=KEYS[5 + place])
        council.wait_until(lambda: has_registered(council, number, DISPUTE_JUDGES))
        chain.pass_time(HOUR + 1)
        council.wait_until(lambda: council.read_phase(number) == RequestPhase.DISPUTE_DRAW)
        chain.ask_node("anvil_mine", "0x3")
        council.wait_until(lambda: council.read_phase(number) == RequestPhase.DISTRIBUTED)
        for name in ("disputer", "agent 0", "agent 1", "agent 2"):
            council.wait_for_end(name)
        council.wait_until(lambda: council.read_claimable(*KEYS) == [0] * len(KEYS))
        council.wait_until(lambda: council.has_ended("judge 0"))
        council.end_all()
        assert chain.read("getResolution", number) == (b"no", True)
        ended = council.find_event("disputer", "ended")
        assert (ended["outcome"], ended["answer"]) == ("overturned", "no")
        stakes = council.find_event("disputer", "stakes")
        bonds = 3 * BOND + DISPUTE_JUDGES * chain.read("judgeBondOf", number, True)  # noqa: FBT003 - of a contract
        require_books(chain, REWARD + bonds + int(stakes["bondWei"]), 0)


def deploy_agent(chain: CouncilChain) -> str:
    """Deploy an agent whose tool reads a knowledge base; return its address."""
    owner = Web3.to_checksum_address(chain.sender)
    base_artifact = load_artifact("KnowledgeBase")
    base = _deploy(chain, base_artifact.encode_creation(owner, "a of in the", 1_200, 750))
    chain.send(base, base_artifact.encode_call("add", PASSAGES, True))  # noqa: FBT003 - of a contract
    description = "Number of ships in the harbour in April"
    words = (base, "count_ships", description, "ships harbour April")
    tool = _deploy(chain, load_artifact("RecordTool").encode_creation(*words))
    texts = (ALIASES[1], "Ada", "Answers", "You read the records of the town.")
    settings = (EXECUTOR_ADDRESS, *texts, [tool], 3)
    artifact = load_artifact("CouncilInfoAgent")
    return _deploy(chain, artifact.encode_creation(chain.oracle, owner, settings))


def _deploy(chain: CouncilChain, creation: bytes) -> str:
    return Web3.to_checksum_address(chain.send(None, creation)["contractAddress"])


def test_an_agent_with_a_tool_answers(node: RunningNode, tmp_path: Path) -> None:
    chain = CouncilChain(node.ask, node.url)
    with taking_part(chain, tmp_path) as council:
        agent = deploy_agent(chain)
        number = ask_by_client(
            chain, "How many ships were in the harbour in April?", agents=1, options="OPTIONS: 7|61"
        )
        council.start("contract", "join", "--all", "--agent", agent, "--once", key=KEYS[0])
        council.wait_for_end("contract")
        assert council.find_event("contract", "kept")["answer"] == "61"
        assert council.find_event("contract", "ended")["outcome"] == "right"
        assert chain.read("getResolution", number) == (b"61", True)
        require_books(chain, REWARD + BOND, 0)


def test_the_documented_commands_deploy_a_council_and_ask_it(
    node: RunningNode, tmp_path: Path
) -> None:
    program = tmp_path / "pyevm-agents"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pyevm_agents "$@"\n')
    program.chmod(0o755)
    deploy, ask = find_block("council deploy"), find_block("council ask")

    def run(text: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", text],
            cwd=tmp_path,
            env=os.environ
            | {
                "ETH_RPC_URL": node.url,
                "PATH": f"{tmp_path}:{os.environ['PATH']}",
                "PYTHONPATH": str(Path(__file__).resolve().parents[4]),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = run(deploy)
    [oracle] = re.findall(r"Deployed AgentCouncilOracle at (0x\w{40})", said)
    people = re.findall(r"Sent 1 ether to (0x\w{40})", said)
    assert len(people) == len({*people}) == 5
    assert all(int(node.ask("eth_getBalance", each, "latest"), 16) == ETHER for each in people)
    assert f"pyevm-agents council ask --oracle {oracle}" in said
    assert "Request 1: 3 agents, 0.1 ether" in run(re.sub(r"0x5FbD\w+", oracle, ask))
    client = CouncilClient(node.url, bytes.fromhex(oracle[2:]))
    [view] = client.read_views([1])
    client.close()
    assert (view.phase, view.request.query) == (RequestPhase.COMMIT, QUESTION)
