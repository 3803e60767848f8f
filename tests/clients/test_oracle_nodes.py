"""The worker of an oracle on Hardhat's node, on ours, and on a fork that ours continues."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rlp

from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.oracle.recomputation import ForkComputer
from pyevm_agents.oracle.verification import find_answers, verify_answer
from tests.byte_model import ByteModel
from tests.clients.hardhat_node import running_hardhat
from tests.clients.running_node import running_node
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import (
    WORKER,
    WORKER_KEY,
    OracleChain,
    count_and_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.clients.running_node import RunningNode

pytestmark = pytest.mark.slow

ANSWERED, DEADLINE_PASSED = 4, 9
"""Of `CallbackAgent.Status`."""

HIGH_FEE = 100 * 10**9
"""A base fee that transactions signed before do not pay."""

ABSENT = "0x" + "12" * 20
"""A registered worker that does nothing."""

ROOT = Path(__file__).resolve().parents[2]
POLL_SECONDS = 0.05
STEP_SECONDS = 3_600
"""`stepTimeout` of the agents of `OracleChain`."""


ON_EACH = pytest.mark.parametrize("node", ["hardhat", "own", "fork"], indirect=True)
ON_WHOLE_CHAINS = pytest.mark.parametrize("node", ["hardhat", "own"], indirect=True)
"""Our pool, clock and mining are the same on a fork."""


@pytest.fixture
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningNode]:
    with ExitStack() as stack:
        if request.param == "hardhat":
            yield stack.enter_context(running_hardhat(tmp_path))
            return
        options = []
        if request.param == "fork":
            remote = tmp_path / "remote"
            remote.mkdir()
            forked = stack.enter_context(running_node(remote))
            forked.ask("evm_mine")
            options = ["--fork-url", forked.url, "--no-fork-cache"]
        yield stack.enter_context(running_node(tmp_path, *options))


@pytest.fixture
def chain(node: RunningNode) -> OracleChain:
    chain = OracleChain(node.ask, node.url)
    form = {"from": chain.sender, "to": WORKER, "value": hex(10**19)}
    chain.ask("eth_sendTransaction", form)
    return chain


class Events:
    """The events of a worker's process."""

    def __init__(self, log: Path, process: subprocess.Popen[bytes]) -> None:
        self._log, self._process = log, process

    def find(self, name: str) -> list[dict[str, Any]]:
        """Return the events with a name, in order."""
        lines = [each for each in self._log.read_text().splitlines(keepends=True) if "\n" in each]
        events = [json.loads(each) for each in lines if each.startswith("{")]
        return [each for each in events if each["event"] == name]

    def require_running(self) -> None:
        """Check that the process has not ended."""
        assert self._process.poll() is None, self.read_end()

    def read_end(self) -> str:
        """Return the last lines of the process."""
        return self._log.read_text()[-3_000:]


@contextmanager
def working(
    chain: OracleChain, folder: Path, *, url: str | None = None, **options: object
) -> Iterator[Events]:
    """Run a worker of the scripted model inside a context.

    Input: url: the worker's way to the node; options: as `tests.scripted_worker` has them.
    """
    log = folder / "worker.log"
    command = [
        *(sys.executable, "-m", "tests.scripted_worker", url or chain.url, chain.oracle.address),
        *(WORKER_KEY.to_bytes().hex(), str(folder / "worker.sqlite3")),
        json.dumps({"poll_seconds": POLL_SECONDS, **options}),
    ]
    with log.open("w") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
    events = Events(log, process)
    try:
        yield events
        events.require_running()
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)
    assert process.returncode == 0, events.read_end()


def open_computer(chain: OracleChain) -> ForkComputer:
    return ForkComputer(chain.url, host(ByteModel(count_and_answer)))


@contextmanager
def overtaking_proxy(chain: OracleChain) -> Iterator[str]:
    """Serve the node; before each raw transaction, somebody else sends the same call."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json.loads(body)
            if isinstance(message, dict) and message["method"] == "eth_sendRawTransaction":
                raw = bytes.fromhex(message["params"][0][2:])
                chain.send(chain.oracle.address, rlp.decode(raw[1:])[7])
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(chain.url, body, headers)  # noqa: S310 - a loopback address
            with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:  # noqa: S310 - as above
                told = answer.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def wait_until(is_so: Callable[[], object], events: Events) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not is_so():
        events.require_running()
        assert time.monotonic() < end, events.read_end()
        time.sleep(POLL_SECONDS)


def start_runs(chain: OracleChain, count: int) -> list[int]:
    """Start runs of the agent; return their numbers."""
    first = chain.agent.read("currentRunId") + 1
    for _ in range(count):
        chain.ask_agent()
    return [*range(first, first + count)]


def have_ended(chain: OracleChain, runs: list[int]) -> bool:
    return all(chain.agent.read("statusOf", run) >= ANSWERED for run in runs)


def verify_all(chain: OracleChain, events: Events) -> int:
    """Verify the answers that were mined; return how many there were."""
    count = 0
    with closing(RemoteClient(chain.url)) as remote, open_computer(chain) as computer:
        for mined in events.find("mined"):
            if mined["kind"] != "answer" or not mined["succeeded"]:
                continue
            for stated in find_answers(remote, bytes.fromhex(mined["transaction"][2:])):
                assert verify_answer(stated, computer, chain.chain_id).is_equal
                count += 1
    return count


@ON_EACH
def test_runs_are_answered_and_their_answers_verified(chain: OracleChain, tmp_path: Path) -> None:
    with working(chain, tmp_path) as events:
        runs = start_runs(chain, 3)
        wait_until(lambda: have_ended(chain, runs), events)
        wait_until(lambda: len(events.find("settled")) == 6, events)
    assert [chain.agent.read("statusOf", run) for run in runs] == [ANSWERED] * 3
    assert {chain.agent.read("resultOf", run) for run in runs} == {"The counter has it."}
    assert chain.counter.read("number") == 21
    assert len(events.find("computed")) == 6
    assert not events.find("rejected") + events.find("fault") + events.find("unreachable")
    assert verify_all(chain, events) == 6


@ON_WHOLE_CHAINS
def test_answers_that_wait_in_the_pool_are_replaced_and_mined(
    chain: OracleChain, tmp_path: Path
) -> None:
    runs = start_runs(chain, 3)
    chain.ask("evm_setAutomine", False)  # noqa: FBT003 - an argument of a method
    with working(chain, tmp_path, fees={"bump_blocks": 2}) as events:
        wait_until(lambda: len(events.find("sent")) == 3, events)
        for _ in range(2):
            chain.ask("hardhat_setNextBlockBaseFeePerGas", hex(HIGH_FEE))
            chain.ask("evm_mine")
        wait_until(lambda: len(events.find("sent")) == 6, events)

        def mine() -> bool:
            chain.ask("evm_mine")
            return have_ended(chain, runs)

        wait_until(mine, events)
        wait_until(lambda: len(events.find("mined")) == 6, events)
    assert chain.counter.read("number") == 21
    assert verify_all(chain, events) == 6
    assert len({each["nonce"] for each in events.find("signed")}) == 6
    assert not events.find("nonce_taken") + events.find("rejected")


@ON_EACH
def test_requests_of_removed_blocks_are_not_answered(chain: OracleChain, tmp_path: Path) -> None:
    snapshot = chain.ask("evm_snapshot")
    with working(chain, tmp_path, confirmations=2) as events:
        start_runs(chain, 1)
        wait_until(lambda: len(events.find("found")) == 1, events)
        assert chain.ask("evm_revert", snapshot) is True
        for _ in range(4):
            chain.ask("evm_mine")
        wait_until(lambda: events.find("reorganized"), events)
        runs = start_runs(chain, 1)
        for _ in range(4):
            chain.ask("evm_mine")

        def mine() -> bool:
            chain.ask("evm_mine")
            return have_ended(chain, runs)

        wait_until(mine, events)
        wait_until(lambda: len(events.find("mined")) == 2, events)
    assert chain.counter.read("number") == 7
    assert verify_all(chain, events) == 2


@ON_WHOLE_CHAINS
def test_a_late_request_is_expired(chain: OracleChain, tmp_path: Path) -> None:
    runs = start_runs(chain, 1)
    # Nodes count from the clock, which the last block may be ahead of.
    chain.ask("evm_increaseTime", 2 * STEP_SECONDS)
    chain.ask("evm_mine")
    with working(chain, tmp_path) as events:
        wait_until(lambda: have_ended(chain, runs), events)
    assert [chain.agent.read("statusOf", run) for run in runs] == [DEADLINE_PASSED]
    assert not events.find("computed")


@ON_WHOLE_CHAINS
def test_a_turn_ends_although_no_block_is_mined(chain: OracleChain, tmp_path: Path) -> None:
    """Nodes that mine when somebody sends something have no blocks until then."""
    chain.oracle.send("setWorker", ABSENT, True)  # noqa: FBT003 - an argument of a contract
    workers = chain.oracle.read("workers")
    while True:  # Until the first turn is the absent worker's.
        snapshot = chain.ask("evm_snapshot")
        chain.agent = chain.deploy_agent()
        request = chain.ask_agent()
        if workers[request.commitment.request_id % len(workers)].lower() == ABSENT:
            break
        chain.ask("evm_revert", snapshot)
        chain.deploy("CounterTool")  # The next agent has another address, its request another ID.
    with working(chain, tmp_path, turn_seconds=1) as events:
        wait_until(lambda: have_ended(chain, [1]), events)
    assert chain.agent.read("statusOf", 1) == ANSWERED


@ON_WHOLE_CHAINS
def test_an_answer_that_reverts_is_seen_to_be_mined(chain: OracleChain, tmp_path: Path) -> None:
    """Hardhat refuses such a transaction, and mines it nevertheless."""
    runs = start_runs(chain, 1)
    with overtaking_proxy(chain) as url, working(chain, tmp_path, url=url) as events:
        wait_until(lambda: len(events.find("mined")) == 2, events)
        wait_until(lambda: len(events.find("settled")) == 2, events)
    assert have_ended(chain, runs)
    assert [each["succeeded"] for each in events.find("mined")] == [False, False]
    assert chain.counter.read("number") == 7
