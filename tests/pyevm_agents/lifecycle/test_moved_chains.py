"""Chains that go back, as by `evm_revert`, or on, between two moments of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.chain import BlockSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.host import Moment, ignore_event
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.orchestrator import MAX_DRY_RUNS, Orchestrator
from pyevm_agents.lifecycle.records import ReceiptType, VerificationResult
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.testing import AgentChain
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    RUNNER,
    AddingAgent,
    Addition,
    RunBench,
    build_host,
    build_manifest,
    build_task,
    deploy,
    send,
)
from tests.pyevm_agents.lifecycle.spending import (
    CLOSED,
    NO_RUN,
    OnceListener,
    advance_to,
    count_writes,
    get_status,
    take_picture,
)
from tests.pyevm_agents.lifecycle.test_evading_agents import KilledError
from tests.pyevm_agents.lifecycle.test_treasury_runs import Treasury, sign_pending

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.store import StoredRun

pytestmark = pytest.mark.slow

FOREIGN = 5
"""What somebody else adds to the counter."""


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    return Treasury(bench)


def add_foreign(bench: RunBench, amount: int = FOREIGN) -> None:
    """Mine a block of somebody else."""
    send(bench.chain, bench.counter, COUNTER.encode_call("add", amount))


class Going:
    """Goes back at a moment of a phase; the block that is undone comes before each dry run."""

    def __init__(self, bench: RunBench, phase: Phase, moment: Moment, times: int = 1) -> None:
        self.bench, self.phase, self.moment, self.times = bench, phase, moment, times
        self.snapshot: int | None = None

    def __call__(self, event: RunEvent) -> None:
        moment = (event.phase, event.moment)
        if moment == (Phase.DRY_RUN, Moment.BEGUN) and self.times:
            self.snapshot = self.bench.chain.snapshot()
            add_foreign(self.bench)
        if moment == (self.phase, self.moment) and self.snapshot is not None:
            self.bench.chain.revert(self.snapshot)
            self.snapshot, self.times = None, self.times - 1


def expect_once(treasury: Treasury, run: StoredRun, *, attempt: int) -> None:
    """Check that a run ended with each of its writes made once."""
    bench = treasury.bench
    assert (run.failure, run.status, run.attempt) == (None, RunStatus.COMPLETED, attempt)
    assert (bench.number, count_writes(treasury)) == (3, 2)
    assert get_status(treasury, run.run_id) == CLOSED
    kinds = Counter(receipt.type for receipt in bench.store.list_receipts(run.run_id))
    assert kinds == {
        ReceiptType.DRY_RUN: 1,
        ReceiptType.TRANSACTION: 2,
        ReceiptType.VERIFICATION: 1,
    }


# -- before the execution -- #


@pytest.mark.parametrize(
    ("phase", "moment"), [(Phase.DRY_RUN, Moment.STORED), (Phase.EXECUTE, Moment.BEGUN)]
)
def test_a_revert_after_the_dry_run_repeats_it(
    bench: RunBench, treasury: Treasury, phase: Phase, moment: Moment
) -> None:
    bench.change(listener=Going(bench, phase, moment))
    expect_once(treasury, bench.run(), attempt=2)


def test_a_revert_between_draft_and_block_repeats_the_dry_run(
    bench: RunBench, treasury: Treasury
) -> None:
    bench.change(listener=Going(bench, Phase.EXECUTE, Moment.PREPARED))
    expect_once(treasury, bench.run(), attempt=2)


def test_a_revert_after_each_dry_run_fails_the_run(bench: RunBench, treasury: Treasury) -> None:
    before, head = take_picture(treasury), bench.chain.head.hash
    listener = Going(bench, Phase.DRY_RUN, Moment.STORED, times=9)
    bench.change(listener=listener)
    run = bench.run()
    assert (run.status, run.failed_phase, run.attempt) == (RunStatus.FAILED, Phase.EXECUTE, 3)
    assert "the state moved after each of 3 dry runs: write 1: another log" in (run.failure or "")
    assert listener.times == 9 - MAX_DRY_RUNS
    assert (take_picture(treasury), bench.chain.head.hash) == (before, head)
    assert get_status(treasury, run.run_id) == NO_RUN


def test_a_revert_of_what_the_run_does_not_read_repeats_nothing(
    bench: RunBench, treasury: Treasury
) -> None:
    """The operator's confirmation still counts."""
    treasury.limit(confirms=True)
    snapshot = bench.chain.snapshot()
    bench.chain.mine([], settings=BlockSettings())
    run = bench.run()
    Orchestrator(bench.host).confirm(run.run_id, sign_pending(bench, run.run_id))
    bench.chain.revert(snapshot)
    expect_once(treasury, Orchestrator(bench.host).run(run.run_id), attempt=1)


def test_a_revert_after_the_confirmation_asks_for_another(
    bench: RunBench, treasury: Treasury
) -> None:
    treasury.limit(confirms=True)
    snapshot = bench.chain.snapshot()
    add_foreign(bench)
    run = bench.run()
    first = sign_pending(bench, run.run_id)
    orchestrator = Orchestrator(bench.host)
    orchestrator.confirm(run.run_id, first)
    bench.chain.revert(snapshot)
    before = take_picture(treasury)
    waiting = orchestrator.run(run.run_id)
    assert (waiting.phase, waiting.attempt, waiting.failure) == (Phase.EXECUTE, 2, None)
    assert take_picture(treasury) == before
    with pytest.raises(ConfigError, match="must be of the dry run that run"):
        orchestrator.confirm(run.run_id, first)
    pending = orchestrator.find_pending_confirmation(run.run_id)
    assert pending is not None
    with pytest.raises(ConfigError, match="must be signed by the operator"):
        orchestrator.confirm(run.run_id, replace(first, trace=pending.digests.trace))
    orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
    expect_once(treasury, orchestrator.run(run.run_id), attempt=2)


def test_a_revert_after_each_confirmation_fails_the_run(
    bench: RunBench, treasury: Treasury
) -> None:
    treasury.limit(confirms=True)
    before, head = take_picture(treasury), bench.chain.head.hash
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    for attempt in range(1, MAX_DRY_RUNS + 1):
        snapshot = bench.chain.snapshot()
        add_foreign(bench)
        assert orchestrator.run(run_id).attempt == attempt
        orchestrator.confirm(run_id, sign_pending(bench, run_id))
        bench.chain.revert(snapshot)
        assert orchestrator.advance(run_id)
    run = orchestrator.run(run_id)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.EXECUTE)
    assert "the state moved after each of 3 dry runs" in (run.failure or "")
    assert (take_picture(treasury), bench.chain.head.hash) == (before, head)
    assert get_status(treasury, run_id) == NO_RUN


@pytest.mark.parametrize("confirms", [True, False])
def test_a_revert_that_removes_the_treasury_fails_the_run(
    bench: RunBench, *, confirms: bool
) -> None:
    snapshot = bench.chain.snapshot()
    treasury = Treasury(bench)
    treasury.limit(confirms=confirms)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    advance_to(bench, run_id, Phase.EXECUTE, sign_pending)
    if confirms:
        orchestrator.confirm(run_id, sign_pending(bench, run_id))
    bench.chain.revert(snapshot)
    head = bench.chain.head.hash
    run = orchestrator.run(run_id)
    assert (run.status, bench.number) == (RunStatus.FAILED, 0)
    assert f"treasury 0x{treasury.address.hex()}: " in (run.failure or "").lower()
    assert bench.chain.head.hash == head


# -- after the execution -- #


@pytest.mark.parametrize(
    ("phase", "moment"),
    [
        (Phase.EXECUTE, Moment.MINED),
        (Phase.EXECUTE, Moment.STORED),
        (Phase.VERIFY, Moment.STORED),
        (Phase.SUMMARIZE, Moment.STORED),
    ],
)
def test_a_revert_after_the_execution_fails_the_run(
    bench: RunBench, treasury: Treasury, phase: Phase, moment: Moment
) -> None:
    """It is not called completed, and the task is run again: each write is made once."""
    snapshot = bench.chain.snapshot()
    revert = OnceListener(phase, moment, lambda: bench.chain.revert(snapshot))
    bench.change(listener=revert)
    before = take_picture(treasury)
    run = bench.run()
    assert revert.times == 0
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.VERIFY)
    assert "is not on the chain any more; run the task again" in (run.failure or "")
    verification = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    assert verification.is_passed == (phase is not Phase.EXECUTE), "as it was at its moment"
    assert take_picture(treasury) == before
    assert bench.store.get_task_status(run.task_id) is TaskStatus.FAILED
    again = bench.run()
    assert again.run_id != run.run_id
    expect_once(treasury, again, attempt=1)


def test_a_block_in_the_place_of_the_runs_own_fails_it_as_well(
    bench: RunBench, treasury: Treasury
) -> None:
    snapshot = bench.chain.snapshot()

    def replace_block() -> None:
        bench.chain.revert(snapshot)
        add_foreign(bench)

    bench.change(listener=OnceListener(Phase.EXECUTE, Moment.STORED, replace_block))
    run = bench.run()
    assert (run.failed_phase, bench.number, count_writes(treasury)) == (Phase.VERIFY, FOREIGN, 0)
    assert "is not on the chain any more" in (run.failure or "")


@pytest.mark.parametrize("confirms", [True, False])
def test_a_revert_after_a_kill_behind_the_block_mines_it_again(
    bench: RunBench, treasury: Treasury, *, confirms: bool
) -> None:
    """The kill comes before the execution is stored, so the run goes on with its prepared block."""
    treasury.limit(confirms=confirms)
    snapshot = bench.chain.snapshot()
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    advance_to(bench, run_id, Phase.EXECUTE, sign_pending)
    if confirms:
        orchestrator.confirm(run_id, sign_pending(bench, run_id))

    def kill() -> None:
        raise KilledError

    bench.change(listener=OnceListener(Phase.EXECUTE, Moment.MINED, kill))
    with pytest.raises(KilledError):
        Orchestrator(bench.host).run(run_id)
    assert bench.number == 3
    mined = bench.chain.head.hash
    bench.chain.revert(snapshot)
    bench.change(listener=ignore_event)
    (run,) = Orchestrator(bench.host).resume()
    expect_once(treasury, run, attempt=1)
    assert bench.chain.head.hash == mined, "the same block"


# -- a generation's input -- #


@pytest.fixture
def payer(bench: RunBench, treasury: Treasury) -> OnchainAgent:
    """An agent whose model reads the counter before it answers; it runs by the treasury."""
    bench.counter = deploy(bench.chain, "CounterTool")
    texts = ("counting", "Counts", "what to count", "You count.")
    given = (EXECUTOR_ADDRESS, "llama_model_3", *texts, [bench.counter], 4)
    address = deploy(bench.chain, "SimpleAgent", *given)
    agent = OnchainAgent(build_manifest("adder"), address)
    treasury.set("setSelector", address, encode_run("")[:4], True)  # noqa: FBT003 - the ABI has places
    bench.install(agent)
    return agent


def list_prompts(bench: RunBench) -> list[str]:
    """Return the prompts that the bench's model was given."""
    model = bench.chain.models[PROFILE.name]
    assert isinstance(model, ByteModel)
    return model.prompts


@pytest.mark.usefixtures("payer")
def test_a_storage_that_the_prompt_reads_repeats_the_dry_run(
    bench: RunBench, treasury: Treasury
) -> None:
    move = OnceListener(Phase.DRY_RUN, Moment.STORED, lambda: add_foreign(bench))
    bench.change(listener=move)
    run = bench.run(goal="Add three")
    assert (run.failure, run.attempt, bench.number) == (None, 2, FOREIGN + 3)
    assert count_writes(treasury) == 1
    assert any(f"The counter is: {FOREIGN + 3}" in prompt for prompt in list_prompts(bench))


@pytest.mark.usefixtures("payer")
def test_a_storage_that_the_prompt_reads_fails_the_run_after_three_dry_runs(
    bench: RunBench, treasury: Treasury
) -> None:
    move = OnceListener(Phase.DRY_RUN, Moment.STORED, lambda: add_foreign(bench), times=9)
    bench.change(listener=move)
    run = bench.run(goal="Add three")
    assert (run.status, run.failed_phase, run.attempt) == (RunStatus.FAILED, Phase.EXECUTE, 3)
    assert run.failure == (
        "the state moved after each of 3 dry runs: write 1: another generation of the model; the "
        "execution is not that of the dry run"
    )
    assert (move.times, bench.number) == (9 - MAX_DRY_RUNS, MAX_DRY_RUNS * FOREIGN)
    assert (count_writes(treasury), get_status(treasury, run.run_id)) == (0, NO_RUN)
    assert bench.chain.state().get_nonce(RUNNER) == 0


# -- a node -- #


@pytest.mark.parametrize("phase", [Phase.DRY_RUN, Phase.EXECUTE])
def test_evm_revert_of_a_node(tmp_path: Path, phase: Phase) -> None:
    """After the dry run it is repeated; after the execution the run fails, and runs again."""
    with AgentChain() as chain, RunStore(tmp_path / "runs.sqlite") as store:
        deployed = chain.deploy("Counter")
        counter = Address(bytes.fromhex(deployed.address.removeprefix("0x")))
        chain.set_balance(RUNNER, 10**20)
        port = LocalChainPort.from_node(chain.node, PrivateKey(b"\x01" * 32))
        agent = AddingAgent(counter, {"step-1": Addition(amounts=(1, 2))})
        host = build_host(chain.chain, store, agent, port=port)
        bench = RunBench(chain=chain.chain, counter=counter, host=host)
        snapshots: list[str] = []

        def go_back(event: RunEvent) -> None:
            if (event.phase, event.moment) == (Phase.DRY_RUN, Moment.BEGUN) and not snapshots:
                snapshots.append(chain.request("evm_snapshot"))
                deployed.functions.add(FOREIGN).transact()
            if (event.phase, event.moment) == (phase, Moment.STORED) and len(snapshots) == 1:
                assert chain.request("evm_revert", snapshots[0]) is True
                snapshots.append("used")

        bench.change(listener=go_back)
        run = bench.run()
        if phase is Phase.EXECUTE:
            assert (run.failed_phase, bench.number) == (Phase.VERIFY, 0)
            assert "is not on the chain any more" in (run.failure or "")
            run = bench.run()
        assert (run.failure, run.status, bench.number) == (None, RunStatus.COMPLETED, 3)
