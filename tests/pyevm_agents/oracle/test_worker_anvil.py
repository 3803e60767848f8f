"""Workers on a real anvil: kills at each event, reorganisations, a dead worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_checksum_address

from pyevm_agents.oracle.codec import get_topic
from tests.clients.anvil_node import running_anvil
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.oracle.oracle_chain import WORKER, WORKER_KEY, OracleChain
from tests.pyevm_agents.oracle.working import RefusingComputer, living

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.oracle.messages import AgentRequest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
EVENTS = ("found", "computing", "computed", "signed", "sent", "mined", "settled")
REFUSED = 2
STEPS = 2
"""Requests of a run of the counting agent."""

OTHER_KEY = PrivateKey(b"\x66" * 32)
OTHER = OTHER_KEY.public_key.to_checksum_address()


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[OracleChain]:
    with running_anvil(tmp_path) as node:
        chain = OracleChain(node.ask, node.url)
        chain.send(WORKER, b"", value=10**18)
        yield chain


def run_worker(chain: OracleChain, store: Path, die_at: str) -> subprocess.Popen[str]:
    """Start a worker's process, which kills itself at an event."""
    key, options = WORKER_KEY.to_bytes().hex(), json.dumps({"die_at": die_at, "poll_seconds": 0.1})
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.scripted_worker"),
            *(chain.url, chain.oracle.address, key, str(store), options),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def find_logs(chain: OracleChain, name: str, request: AgentRequest | None = None) -> list[Any]:
    topics = ["0x" + get_topic(name).hex()]
    if request is not None:
        topics.append(f"0x{request.commitment.request_id:064x}")
    query = {"fromBlock": "0x0", "toBlock": "latest", "topics": topics}
    found: list[Any] = chain.ask("eth_getLogs", query)
    return found


def test_a_process_killed_at_each_event_answers_once(chain: OracleChain, tmp_path: Path) -> None:
    store, computed = tmp_path / "store", 0
    for _ in EVENTS:
        chain.ask_agent()
    for die_at in EVENTS:
        with run_worker(chain, store, die_at) as process:
            told, _ = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == -9, told
        computed += sum(json.loads(line)["event"] == "computed" for line in told.splitlines())
    with run_worker(chain, store, "") as process:
        assert process.stdout is not None
        for line in process.stdout:
            computed += json.loads(line)["event"] == "computed"
            if len(find_logs(chain, "RequestAnswered")) == STEPS * len(EVENTS):
                break
        process.terminate()
        told, _ = process.communicate(timeout=HANG_SECONDS)
    answered = [log["topics"][1] for log in find_logs(chain, "RequestAnswered")]
    asked = [log["topics"][1] for log in find_logs(chain, "AgentRequested")]
    assert sorted(answered) == sorted(asked)
    assert computed == len(asked)  # None of them twice.
    assert chain.counter.read("number") == 7 * len(EVENTS)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_removed_answer_is_handed_in_again(
    chain: OracleChain, tmp_path: Path, depth: int
) -> None:
    request, computer = chain.ask_agent(), RefusingComputer()
    chain.ask("anvil_mine", "0x3")
    with living(chain, tmp_path / "store", computer) as life:
        life.settle()
        chain.ask("anvil_mine", hex(depth - 1))
        life.work()
        chain.ask("anvil_reorg", depth, [])
        life.settle()
        assert life.events.counts["reorganized"] == 1
    assert len(find_logs(chain, "RequestAnswered", request)) == 1
    assert len(computer.computed) == 1


def test_a_removed_request_is_not_answered(chain: OracleChain, tmp_path: Path) -> None:
    chain.ask("anvil_mine", "0x2")
    removed, computer = chain.ask_agent(), RefusingComputer()
    with living(chain, tmp_path / "store", computer, confirmations=2) as life:
        life.work()
        chain.ask("anvil_reorg", 1, [])
        chain.ask("anvil_mine", "0x4")
        life.work(10)
        assert life.events.counts["sent"] == 0
        moved = chain.ask_agent()
        chain.ask("anvil_mine", "0x1")
        life.settle()
    assert [each.block_hash for each in computer.computed] == [moved.block_hash]
    assert moved.block_hash != removed.block_hash
    assert chain.oracle.read("answerOf", moved.commitment.request_id)[0] == REFUSED


def test_a_dead_worker_s_requests_are_taken_over(chain: OracleChain, tmp_path: Path) -> None:
    chain.send(OTHER, b"", value=10**18)
    chain.oracle.send("setWorker", OTHER, True)  # noqa: FBT003 - an argument of a contract
    workers = [to_checksum_address(each) for each in chain.oracle.read("workers")]
    requests = [chain.ask_agent() for _ in range(6)]
    own = [each for each in requests if workers[each.commitment.request_id % 2] == OTHER]
    with living(
        chain, tmp_path / "store", RefusingComputer(), key=OTHER_KEY, turn_seconds=600
    ) as life:
        life.work_until(lambda: life.events.counts["settled"] == len(own))
        life.work(10)
        assert life.events.counts["computing"] == len(own)
        chain.ask("evm_increaseTime", 700)
        chain.ask("evm_mine")
        life.work_until(lambda: life.events.counts["settled"] == len(requests))
    fees = sum(each.commitment.fee for each in requests)
    assert chain.oracle.read("claimable", OTHER) == fees
