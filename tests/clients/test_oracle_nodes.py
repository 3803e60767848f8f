"""The worker of an oracle on Hardhat's node, on ours, and on a fork that ours continues."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

import pytest
import rlp
from eth_utils import to_canonical_address

from pyevm_agents.forking.remote_client import RemoteClient
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.recomputation import ForkComputer
from pyevm_agents.oracle.store import StoreIdentity, WorkerStore
from pyevm_agents.oracle.transactions import FeeSettings
from pyevm_agents.oracle.verification import find_answers, verify_answer
from pyevm_agents.oracle.worker import Worker, WorkerSettings
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
    from pathlib import Path

    from tests.clients.running_node import RunningNode

pytestmark = pytest.mark.slow

ANSWERED, DEADLINE_PASSED = 4, 9
"""Of `CallbackAgent.Status`."""

GWEI = 10**9
POLL_SECONDS = 0.05
STEP_SECONDS = 3_600
"""`stepTimeout` of the agents of `OracleChain`."""


@pytest.fixture(params=["hardhat", "own", "fork"])
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
    """The events of a worker."""

    def __init__(self) -> None:
        self.all: list[tuple[str, dict[str, object]]] = []

    def write(self, event: str, **fields: object) -> None:
        self.all.append((event, fields))

    def find(self, name: str) -> list[dict[str, object]]:
        return [fields for event, fields in [*self.all] if event == name]


@contextmanager
def working(
    chain: OracleChain,
    folder: Path,
    *,
    confirmations: int = 1,
    fees: FeeSettings | None = None,
    client: type[OracleClient] = OracleClient,
) -> Iterator[Events]:
    """Run a worker in a thread inside a context."""
    events = Events()
    address = bytes(to_canonical_address(WORKER))
    oracle = chain.oracle.canonical
    with ExitStack() as stack:
        opened = stack.enter_context(closing(client(chain.url, oracle)))
        opened.require_oracle()
        identity = StoreIdentity(
            chain_id=chain.chain_id,
            genesis_hash=opened.read_genesis_hash(),
            oracle=oracle,
            worker=address,
        )
        store = stack.enter_context(WorkerStore(folder / "worker.sqlite", identity))
        worker = Worker(
            opened,
            stack.enter_context(open_computer(chain)),
            store,
            WORKER_KEY,
            chain_id=chain.chain_id,
            settings=WorkerSettings(confirmations=confirmations, poll_seconds=POLL_SECONDS),
            fees=fees,
            log=events,
        )
        running = stack.enter_context(ThreadPoolExecutor(1)).submit(worker.run)
        try:
            yield events
        finally:
            worker.stop()
        running.result(timeout=HANG_SECONDS)


def open_computer(chain: OracleChain) -> ForkComputer:
    return ForkComputer(chain.url, host(ByteModel(count_and_answer)))


def wait_until(is_so: Callable[[], object], events: Events) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not is_so():
        assert time.monotonic() < end, events.all[-20:]
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
            transaction = mined["transaction"]
            assert isinstance(transaction, bytes)
            for stated in find_answers(remote, transaction):
                assert verify_answer(stated, computer, chain.chain_id).is_equal
                count += 1
    return count


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


def test_answers_that_wait_in_the_pool_are_replaced_and_mined(
    chain: OracleChain, tmp_path: Path
) -> None:
    runs = start_runs(chain, 3)
    chain.ask("evm_setAutomine", False)  # noqa: FBT003 - an argument of a method
    fees = FeeSettings(bump_blocks=2)
    with working(chain, tmp_path, fees=fees) as events:
        wait_until(lambda: len(events.find("sent")) == 3, events)

        def mine() -> bool:
            chain.ask("evm_mine")
            return have_ended(chain, runs)

        wait_until(mine, events)
        wait_until(lambda: len(events.find("mined")) == 6, events)
    assert chain.counter.read("number") == 21
    assert verify_all(chain, events) == 6
    assert not events.find("nonce_taken")


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


def test_a_late_request_is_expired(chain: OracleChain, tmp_path: Path) -> None:
    runs = start_runs(chain, 1)
    # Nodes count from the clock, which the last block may be ahead of.
    chain.ask("evm_increaseTime", 2 * STEP_SECONDS)
    chain.ask("evm_mine")
    with working(chain, tmp_path) as events:
        wait_until(lambda: have_ended(chain, runs), events)
    assert [chain.agent.read("statusOf", run) for run in runs] == [DEADLINE_PASSED]
    assert not events.find("computed")


def test_an_answer_that_reverts_is_seen_to_be_mined(chain: OracleChain, tmp_path: Path) -> None:
    """Hardhat refuses such a transaction, and mines it nevertheless."""

    class Overtaken(OracleClient):
        """Sends a transaction after somebody else has handed in the same answer."""

        def send_raw(self, raw: bytes) -> None:
            data = rlp.decode(raw[1:])[7]
            chain.send(chain.oracle.address, data)
            super().send_raw(raw)

    runs = start_runs(chain, 1)
    with working(chain, tmp_path, client=Overtaken) as events:
        wait_until(lambda: len(events.find("mined")) == 2, events)
        wait_until(lambda: len(events.find("settled")) == 2, events)
    assert have_ended(chain, runs)
    assert [each["succeeded"] for each in events.find("mined")] == [False, False]
    assert chain.counter.read("number") == 7
