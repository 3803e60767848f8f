"""The worker's loop on a node of this process: kills, reorganisations, turns, deadlines, faults."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_checksum_address

from pyevm_agents.errors import EngineFault
from pyevm_agents.oracle.codec import get_topic
from pyevm_agents.oracle.recomputation import ForkComputer
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import WORKER, WORKER_KEY
from tests.pyevm_agents.oracle.working import KilledError, RefusingComputer, living

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.oracle.messages import AgentRequest
    from tests.byte_model import ByteModel
    from tests.pyevm_agents.forking.fake_remote import FakeRemote
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain

REFUSED, EXPIRED = 2, 3
"""`Outcome`."""

OTHER_KEY = PrivateKey(b"\x66" * 32)
OTHER = OTHER_KEY.public_key.to_checksum_address()
DEPTHS = (1, 2, 3)
STEP = 9
"""Calls of the node between two kills, in the sample."""

CALLS = 18
"""What an answer takes at least."""


@pytest.fixture
def chain(oracle_chain: OracleChain) -> OracleChain:
    oracle_chain.send(WORKER, b"", value=10**18)
    return oracle_chain


@pytest.fixture
def computer() -> RefusingComputer:
    return RefusingComputer()


def list_events(chain: OracleChain, name: str, request: AgentRequest) -> list[Any]:
    topics = ["0x" + get_topic(name).hex(), f"0x{request.commitment.request_id:064x}"]
    query = {"fromBlock": "0x0", "toBlock": "latest", "topics": topics}
    found: list[Any] = chain.ask("eth_getLogs", query)
    return found


def outcome(chain: OracleChain, request: AgentRequest) -> int:
    return int(chain.oracle.read("answerOf", request.commitment.request_id)[0])


def is_answered_on(chain: OracleChain, request: AgentRequest) -> bool:
    return outcome(chain, request) == REFUSED


def test_a_request_is_answered_and_paid_once(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    request = chain.ask_agent()
    with living(chain, tmp_path / "store", computer) as life:
        life.settle()
        life.work()
        assert life.events.counts["sent"] == 1
    assert outcome(chain, request) == REFUSED
    assert len(list_events(chain, "RequestAnswered", request)) == 1
    assert chain.oracle.read("claimable", WORKER) == request.commitment.fee


@pytest.mark.parametrize("is_answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.slow), pytest.param(STEP)], ids=["each", "sample"]
)
def test_an_answer_survives_a_kill_at_a_call(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path, step: int, *, is_answered: bool
) -> None:
    last_call, was_killed = step // 2, True
    while was_killed:
        request = chain.ask_agent()
        path, was_killed = tmp_path / f"{last_call}", False
        computer.computed.clear()
        with living(chain, path, computer) as first:
            first.client.is_answered = is_answered
            first.client.last_call = first.client.calls + last_call
            try:
                first.settle()
            except KilledError:
                was_killed = True
        with living(chain, path, computer) as second:
            second.work_until(partial(is_answered_on, chain, request))
            second.work()
            if first.events.counts["computed"]:
                assert second.events.counts["computing"] == 0
        assert outcome(chain, request) == REFUSED
        assert len(list_events(chain, "RequestAnswered", request)) == 1
        last_call += step
    assert last_call > CALLS


def test_a_confirmed_request_alone_is_answered(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    chain.ask_agent()
    with living(chain, tmp_path / "store", computer, confirmations=3) as life:
        life.work(20)
        assert life.events.counts["computing"] == 0
        chain.ask("anvil_mine", "0x2")
        life.settle()


@pytest.mark.parametrize("stage", ["found", "computing", "sent"])
def test_a_removed_request_is_not_answered(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path, stage: str
) -> None:
    removed = chain.ask_agent()
    with living(chain, tmp_path / "store", computer, confirmations=2) as life:
        life.work()
        chain.ask("evm_setAutomine", False)  # noqa: FBT003 - a parameter of the method
        chain.ask("evm_mine")
        if stage == "computing":
            computer.gate.clear()
            life.work_until(lambda: life.worker.is_computing)
        if stage == "sent":
            life.work_until(lambda: life.events.counts["sent"])
        chain.ask("anvil_dropAllTransactions")
        chain.ask("anvil_reorg", 2, [])
        chain.ask("anvil_mine", "0x3")
        chain.ask("evm_setAutomine", True)  # noqa: FBT003 - as above
        computer.gate.set()
        life.work_until(lambda: not life.worker.is_computing)
        life.work(10)
        assert life.events.counts["reorganized"] == 1
        answers = [
            fields["request"]
            for name, fields in life.events.all
            if name in {"sent", "resent"} and fields["kind"] == "answer"
        ]
        assert len(answers) == (stage == "sent")
        # A nonce that was signed for it is used otherwise, and work goes on.
        assert chain.ask("eth_getTransactionCount", WORKER, "latest") == hex(stage == "sent")
        moved = chain.ask_agent()
        chain.ask("anvil_mine", "0x2")
        life.settle()
    assert moved.block_hash != removed.block_hash
    assert outcome(chain, moved) == REFUSED


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_removed_answer_is_handed_in_again(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path, depth: int
) -> None:
    request = chain.ask_agent()
    chain.ask("anvil_mine", "0x3")
    with living(chain, tmp_path / "store", computer) as life:
        life.settle()
        chain.ask("anvil_mine", hex(depth - 1))
        life.work()
        chain.ask("anvil_reorg", depth, [])
        chain.ask("anvil_dropAllTransactions")
        assert outcome(chain, request) == 0
        life.settle()
    assert outcome(chain, request) == REFUSED
    assert len(computer.computed) == 1


def test_a_request_in_another_block_is_another_one(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    request = chain.ask_agent()
    with living(chain, tmp_path / "store", computer, confirmations=2) as life:
        life.work()
        chain.ask("anvil_reorg", 1, [])
        moved = chain.ask_agent()
        assert moved.commitment.request_id == request.commitment.request_id
        assert moved.block_hash != request.block_hash
        chain.ask("evm_mine")
        life.settle()
    assert [each.block_hash for each in computer.computed] == [moved.block_hash]
    assert outcome(chain, moved) == REFUSED


def test_a_late_request_expires(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    request = chain.ask_agent()
    chain.ask("evm_increaseTime", 3_700)
    chain.ask("evm_mine")
    with living(chain, tmp_path / "store", computer) as life:
        life.settle()
    assert outcome(chain, request) == EXPIRED
    assert computer.computed == []


def test_a_dead_worker_s_turn_ends(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    chain.send(OTHER, b"", value=10**18)
    chain.oracle.send("setWorker", OTHER, True)  # noqa: FBT003 - an argument of a contract
    workers = [to_checksum_address(each) for each in chain.oracle.read("workers")]
    request = chain.ask_agent()
    first = workers[request.commitment.request_id % 2]
    living_key = OTHER_KEY if first == WORKER else WORKER_KEY
    with living(chain, tmp_path / "store", computer, key=living_key, turn_seconds=600) as life:
        chain.ask("evm_increaseTime", 500)
        chain.ask("evm_mine")
        life.work(20)
        assert computer.computed == []
        chain.ask("evm_increaseTime", 200)
        chain.ask("evm_mine")
        life.settle()
    assert outcome(chain, request) == REFUSED
    worker = living_key.public_key.to_checksum_address()
    assert chain.oracle.read("claimable", worker) == request.commitment.fee


def test_a_model_s_fault_is_tried_again(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    computer.failures = [EngineFault("the engine died"), RuntimeError("a bug")]
    chain.ask_agent()
    with living(chain, tmp_path / "store", computer) as life:
        life.settle()
        assert life.events.counts["fault"] == 2
    assert len(computer.computed) == 3


def test_a_node_s_fault_ends_nothing(
    chain: OracleChain, remote: FakeRemote, computer: RefusingComputer, tmp_path: Path
) -> None:
    chain.ask_agent()
    with living(chain, tmp_path / "store", computer) as life:
        remote.faults.statuses = [(502, {})] * 2
        threading.Thread(target=life.worker.run, daemon=True).start()
        life.wait_until(lambda: life.events.counts["settled"])
        life.worker.stop()
        life.wait_until(lambda: life.events.counts["stopped"])
        assert life.events.counts["unreachable"] == 1


def test_two_workers_compute_each_request_once(
    chain: OracleChain, computer: RefusingComputer, tmp_path: Path
) -> None:
    chain.send(OTHER, b"", value=10**18)
    chain.oracle.send("setWorker", OTHER, True)  # noqa: FBT003 - an argument of a contract
    requests = [chain.ask_agent() for _ in range(6)]
    with (
        living(chain, tmp_path / "first", computer) as first,
        living(chain, tmp_path / "second", computer, key=OTHER_KEY) as second,
    ):

        def are_settled() -> bool:
            second.work(1)
            return all(is_answered_on(chain, each) for each in requests)

        first.work_until(are_settled)
    assert len(computer.computed) == len(requests)
    paid = sum(chain.oracle.read("claimable", each) for each in (WORKER, OTHER))
    assert paid == sum(each.commitment.fee for each in requests)


def test_a_run_is_answered_by_the_executor(
    chain: OracleChain, model: ByteModel, tmp_path: Path
) -> None:
    chain.ask_agent()
    with (
        ForkComputer(chain.url, host(model)) as computer,
        living(chain, tmp_path / "store", computer) as life,
    ):
        life.settle()
        life.settle()
    assert chain.agent.read("resultOf", 1) == "The counter has it."
    assert chain.counter.read("number") == 7
