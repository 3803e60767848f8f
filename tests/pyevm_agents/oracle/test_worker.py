"""The worker against our own node: answers, reorganisations, deadlines, turns, kills, fees."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey

from pyevm_agents.client.transaction_manager import FeeSettings
from pyevm_agents.errors import EngineFault
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.oracle.worker import Worker, WorkerSettings
from pyevm_agents.workers.identity import StoreIdentity
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.oracle.oracle_chain import WORKER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.oracle.messages import AgentRequest, AnswerComputer, ComputedAnswer
    from pyevm_agents.oracle.recomputation import ForkComputer
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain

ANSWERED, OUTCOME_ANSWERED, OUTCOME_EXPIRED = 4, 1, 3
OTHER_KEY = PrivateKey(b"\x78" * 32)
STEP_SECONDS = 3_600
TURN_SECONDS = 100


class KilledError(BaseException):
    """The process ends here."""


class KillingLog:
    """Keeps events, and kills at one of them."""

    def __init__(self, die_at: str = "") -> None:
        self.die_at = die_at
        self.events: list[tuple[str, dict[str, object]]] = []

    def write(self, event: str, **fields: object) -> None:
        self.events.append((event, fields))
        if event == self.die_at:
            raise KilledError

    @property
    def counts(self) -> Counter[str]:
        return Counter(event for event, _ in self.events)

    def find(self, event: str) -> dict[str, object]:
        return next(fields for name, fields in self.events if name == event)


class CountingComputer:
    """Counts computations; fails the first ones if asked to."""

    def __init__(self, computer: AnswerComputer, faults: int = 0) -> None:
        self._computer, self._faults = computer, faults
        self.count = 0

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        self.count += 1
        if self.count <= self._faults:
            raise EngineFault("the engine ended")
        return self._computer.compute(request)

    def close(self) -> None:
        self._computer.close()


class Bench:
    """A worker on a chain, driven round by round."""

    def __init__(self, chain: OracleChain, computer: ForkComputer, folder: Path) -> None:
        self.chain, self.folder = chain, folder
        self.computer = CountingComputer(computer)
        self.client = OracleClient(chain.url, chain.oracle.canonical, retries=0)
        self.log = KillingLog()
        self._open: list[WorkerStore] = []
        for key in (WORKER_KEY, OTHER_KEY):
            chain.ask("anvil_setBalance", key.public_key.to_checksum_address(), hex(10**21))

    def open_store(self, key: PrivateKey = WORKER_KEY) -> WorkerStore:
        address = key.public_key.to_canonical_address()
        identity = StoreIdentity.read(
            self.client, self.client.read_chain_id(), self.chain.oracle.canonical, address
        )
        store = WorkerStore(self.folder / f"{address.hex()}.sqlite3", identity)
        self._open.append(store)
        return store

    def start(
        self,
        key: PrivateKey = WORKER_KEY,
        *,
        log: KillingLog | None = None,
        fees: FeeSettings | None = None,
        **settings: Any,  # noqa: ANN401 - of the worker
    ) -> Worker:
        if log is not None:
            self.log = log
        return Worker(
            self.client,
            self.computer,
            self.open_store(key),
            key,
            chain_id=self.chain.chain_id,
            settings=WorkerSettings(turn_seconds=TURN_SECONDS, **settings),
            fees=fees,
            log=self.log,
        )

    def restart(self, **options: Any) -> Worker:  # noqa: ANN401 - of `start`
        self.close()
        return self.start(**options)

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def work(self, worker: Worker, is_done: Callable[[], bool]) -> None:
        """Do rounds until a condition holds."""
        end = time.monotonic() + HANG_SECONDS
        while not is_done():
            assert time.monotonic() < end, self.log.events[-20:]
            worker.do_round()
            time.sleep(0.005)

    def answer_all(self, worker: Worker) -> None:
        self.work(worker, lambda: self.status() >= ANSWERED)

    def status(self, run: int = 1) -> int:
        return int(self.chain.agent.read("statusOf", run))

    def outcome(self, request: AgentRequest) -> int:
        return int(self.chain.oracle.read("answerOf", request.commitment.request_id)[0])

    def mine(self, seconds: int = 0) -> None:
        if seconds:
            head = self.chain.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC has places
            self.chain.ask("evm_setNextBlockTimestamp", int(head["timestamp"], 16) + seconds)
        self.chain.ask("evm_mine")

    def set_automine(self, *, is_on: bool) -> None:
        self.chain.ask("evm_setAutomine", is_on)

    @property
    def nonce(self) -> int:
        worker = WORKER_KEY.public_key.to_checksum_address()
        return int(self.chain.ask("eth_getTransactionCount", worker, "latest"), 16)


@pytest.fixture
def bench(oracle_chain: OracleChain, computer: ForkComputer, tmp_path: Path) -> Any:  # noqa: ANN401 - a generator
    bench = Bench(oracle_chain, computer, tmp_path)
    with closing(bench.client), closing(bench):
        yield bench


def test_a_run_is_answered_to_its_end(bench: Bench) -> None:
    bench.chain.ask_agent()
    worker = bench.start()
    bench.answer_all(worker)
    assert bench.chain.agent.read("resultOf", 1) == "The counter has it."
    assert bench.computer.count == 2
    assert bench.nonce == 2
    bench.work(worker, lambda: bench.log.counts["settled"] == 2)
    assert not worker.transactions.list_waiting()


def test_requests_wait_for_their_confirmations(bench: Bench) -> None:
    bench.chain.ask_agent()
    worker = bench.start(confirmations=3)
    for _ in range(3):
        worker.do_round()
    assert not bench.log.counts["computing"]
    bench.mine()
    bench.mine()
    bench.work(worker, lambda: bench.log.counts["sent"] == 1)


@pytest.mark.parametrize(
    "event", ["started", "found", "computing", "computed", "signed", "sent", "mined", "settled"]
)
def test_a_kill_at_any_step_neither_loses_nor_doubles(bench: Bench, event: str) -> None:
    bench.chain.ask_agent()
    worker = bench.start(log=KillingLog(event))
    if event != "started":
        with pytest.raises(KilledError):
            bench.answer_all(worker)
    bench.answer_all(bench.restart(log=KillingLog()))
    assert bench.nonce == 2
    assert bench.computer.count == 2


def compute_and_die(bench: Bench) -> None:
    """Compute the first answer, and kill the worker before it sends it."""
    worker = bench.start(log=KillingLog("computed"))
    with pytest.raises(KilledError):
        bench.answer_all(worker)


def test_a_removed_request_is_not_answered(bench: Bench) -> None:
    snapshot = bench.chain.ask("evm_snapshot")
    bench.chain.ask_agent()
    compute_and_die(bench)
    bench.chain.ask("evm_revert", snapshot)
    bench.mine()
    bench.mine()
    worker = bench.restart(log=KillingLog())
    for _ in range(5):
        worker.do_round()
    removed = bench.log.find("reorganized")["requests"]
    assert isinstance(removed, list)
    assert len(removed) == 1
    assert bench.nonce == 0


def test_a_request_mined_again_is_computed_again(bench: Bench) -> None:
    snapshot = bench.chain.ask("evm_snapshot")
    first = bench.chain.ask_agent()
    compute_and_die(bench)
    bench.chain.ask("evm_revert", snapshot)
    bench.mine()
    again = bench.chain.ask_agent()
    assert again.commitment.request_id == first.commitment.request_id
    assert again.block_hash != first.block_hash
    bench.answer_all(bench.restart(log=KillingLog()))
    assert bench.computer.count == 3
    assert bench.nonce == 2


def test_a_removed_answer_is_sent_again(bench: Bench) -> None:
    request = bench.chain.ask_agent()
    compute_and_die(bench)
    snapshot = bench.chain.ask("evm_snapshot")
    worker = bench.restart(log=KillingLog())
    bench.work(worker, lambda: bench.log.counts["mined"] == 1)
    assert bench.outcome(request) == OUTCOME_ANSWERED
    bench.chain.ask("evm_revert", snapshot)
    assert bench.outcome(request) != OUTCOME_ANSWERED
    bench.work(worker, lambda: bench.outcome(request) == OUTCOME_ANSWERED)
    assert bench.log.counts["removed"]


def test_a_late_request_is_expired(bench: Bench) -> None:
    request = bench.chain.ask_agent()
    bench.mine(STEP_SECONDS + 1)
    worker = bench.start()
    bench.work(worker, lambda: bench.outcome(request) == OUTCOME_EXPIRED)
    assert not bench.computer.count
    assert bench.log.find("sent")["kind"] == "expire"


def test_the_turn_passes_by_the_chains_time(bench: Bench) -> None:
    other = OTHER_KEY.public_key.to_checksum_address()
    bench.chain.oracle.send("setWorker", other, True)  # noqa: FBT003 - an argument of a contract
    request = bench.chain.ask_agent()
    first = request.commitment.request_id % 2
    late_key = (OTHER_KEY, WORKER_KEY)[first]
    worker = bench.start(late_key)
    for _ in range(3):
        worker.do_round()
    assert not bench.computer.count
    bench.mine(TURN_SECONDS)
    bench.work(worker, lambda: bench.outcome(request) == OUTCOME_ANSWERED)


def test_two_workers_answer_each_request_once(bench: Bench) -> None:
    other = OTHER_KEY.public_key.to_checksum_address()
    bench.chain.oracle.send("setWorker", other, True)  # noqa: FBT003 - an argument of a contract
    workers = [bench.start(WORKER_KEY), bench.start(OTHER_KEY)]
    runs = 6
    for _ in range(runs):
        bench.chain.ask_agent()
    end = time.monotonic() + HANG_SECONDS
    while not all(bench.status(run) >= ANSWERED for run in range(1, runs + 1)):
        assert time.monotonic() < end, bench.log.events[-20:]
        for each in workers:
            each.do_round()
        time.sleep(0.005)
    assert [bench.status(run) for run in range(1, runs + 1)] == [ANSWERED] * runs
    assert bench.computer.count == bench.log.counts["sent"] == 2 * runs


def test_a_fault_of_the_model_is_tried_again(bench: Bench) -> None:
    bench.computer = CountingComputer(bench.computer, faults=2)
    bench.chain.ask_agent()
    worker = bench.start()
    bench.answer_all(worker)
    assert bench.log.counts["fault"] == 2
    assert bench.log.find("fault")["message"] == "the engine ended"


def test_fees_rise_until_a_transaction_is_mined(bench: Bench) -> None:
    bench.chain.ask_agent()
    bench.set_automine(is_on=False)
    worker = bench.start(fees=FeeSettings(bump_blocks=0, max_bumps=3))
    bench.work(worker, lambda: bench.log.counts["fee_capped"] == 1)
    fees = [int(str(fields["fee"])) for name, fields in bench.log.events if name == "signed"]
    assert all(after * 10 >= before * 11 for before, after in pairwise(fees))
    assert {fields["nonce"] for name, fields in bench.log.events if name == "signed"} == {0}
    bench.mine()
    bench.work(worker, lambda: bench.log.counts["mined"] == 1)


def test_fees_stay_below_their_limit(bench: Bench) -> None:
    limit = 3 * 10**9
    bench.chain.ask_agent()
    bench.set_automine(is_on=False)
    worker = bench.start(fees=FeeSettings(bump_blocks=0, max_bumps=99, max_fee_wei=limit))
    bench.work(worker, lambda: bench.log.counts["fee_capped"] == 1)
    fees = [int(str(fields["fee"])) for name, fields in bench.log.events if name == "signed"]
    assert max(fees) <= limit


def test_a_dropped_transaction_is_sent_again(bench: Bench) -> None:
    request = bench.chain.ask_agent()
    bench.set_automine(is_on=False)
    worker = bench.start()
    bench.work(worker, lambda: bench.log.counts["sent"] == 1)
    dropped = bench.log.find("sent")["transaction"]
    assert isinstance(dropped, bytes)
    bench.chain.ask("anvil_dropTransaction", "0x" + dropped.hex())
    bench.work(worker, lambda: bench.log.counts["resent"] == 1)
    bench.mine()
    bench.work(worker, lambda: bench.outcome(request) == OUTCOME_ANSWERED)


def test_a_transaction_without_purpose_is_replaced(bench: Bench) -> None:
    snapshot = bench.chain.ask("evm_snapshot")
    bench.chain.ask_agent()
    bench.set_automine(is_on=False)
    worker = bench.start()
    bench.work(worker, lambda: bench.log.counts["sent"] == 1)
    raw = bench.chain.ask("eth_getTransactionByHash", _hash(bench.log.find("sent")))
    bench.chain.ask("evm_revert", snapshot)
    bench.mine()
    bench.work(worker, lambda: bench.log.counts["cancelled"] == 1)
    bench.mine()
    bench.work(worker, lambda: bench.log.counts["mined"] == 1)
    assert raw is not None
    assert bench.log.find("mined")["kind"] == "filler"
    assert bench.nonce == 1


def test_a_gap_of_nonces_is_filled(bench: Bench) -> None:
    bench.chain.ask_agent()
    bench.chain.ask_agent()
    bench.set_automine(is_on=False)
    worker = bench.start()
    bench.work(worker, lambda: bench.log.counts["sent"] == 2)
    bench.close()
    bench.open_store().drop_slot(0)
    bench.close()
    bench.chain.ask("anvil_dropTransaction", _hash(bench.log.find("sent")))
    worker = bench.start()
    bench.work(worker, lambda: bench.log.counts["gap"] == 1)
    bench.mine()
    bench.set_automine(is_on=True)
    bench.work(worker, lambda: min(bench.status(1), bench.status(2)) >= ANSWERED)


def test_the_key_of_nobody_waits(bench: Bench) -> None:
    bench.chain.ask_agent()
    worker = bench.start(OTHER_KEY)
    for _ in range(3):
        worker.do_round()
    assert bench.log.counts["not_registered"] == 1
    assert not bench.computer.count


def test_a_silent_node_is_waited_for(bench: Bench) -> None:
    client = OracleClient("http://127.0.0.1:9", bench.chain.oracle.canonical, retries=0)
    worker = Worker(
        client, bench.computer, bench.open_store(), WORKER_KEY, chain_id=1, log=bench.log
    )
    delays = [worker._try_round() for _ in range(8)]  # noqa: SLF001 - without the waiting
    assert delays == sorted(delays)
    assert delays[-1] == 30.0
    assert bench.log.counts["unreachable"] == 1
    assert not worker.describe_health()[0]


def _hash(fields: dict[str, object]) -> str:
    transaction = fields["transaction"]
    assert isinstance(transaction, bytes)
    return "0x" + transaction.hex()
