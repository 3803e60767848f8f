"""Two stores, as of two data folders, whose runs have the same IDs in one treasury on one chain."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.orchestrator import MAX_DRY_RUNS, Orchestrator
from pyevm_agents.lifecycle.records import ExecutionRecord
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from tests.pyevm_agents.lifecycle.run_bench import (
    RUNNER,
    AddingAgent,
    Addition,
    build_task,
    narrow,
    send,
)
from tests.pyevm_agents.lifecycle.spending import (
    CLOSED,
    NO_RUN,
    OnceListener,
    count_writes,
    get_status,
    take_picture,
)
from tests.pyevm_agents.lifecycle.test_treasury_runs import (
    TREASURY,
    PayingAgent,
    Treasury,
    sign_pending,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pyevm_agents.lifecycle.run_bench import RunBench

pytestmark = pytest.mark.slow

RUN = "task-1-run-1"
OTHER_KEY = PrivateKey(b"\x07" * 32)
OTHER = Address(OTHER_KEY.public_key.to_canonical_address())


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    return Treasury(bench)


@pytest.fixture
def beside(bench: RunBench, treasury: Treasury, tmp_path: Path) -> Iterator[RunBench]:
    """The same host with a store of its own."""
    with RunStore(tmp_path / "other" / "runs.sqlite") as store:
        opened = copy(bench)
        opened.change(store=store)
        assert opened.host.open_envelope == treasury.open_envelope
        yield opened


def test_a_run_that_another_store_has_done(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    assert bench.run().status is RunStatus.COMPLETED
    before, head = take_picture(treasury), bench.chain.head.hash
    run = beside.run()
    assert (run.run_id, run.status, run.failed_phase) == (RUN, RunStatus.FAILED, Phase.DRY_RUN)
    failure = run.failure or ""
    assert failure.startswith("opening of the run: RunExists(")
    assert failure.endswith(
        "; the treasury has had a run with this ID, of this store or another one; run the task "
        "under another run ID"
    )
    assert (take_picture(treasury), bench.chain.head.hash) == (before, head)
    assert (count_writes(treasury), get_status(treasury, RUN)) == (2, CLOSED)


def test_a_run_that_another_store_does_meanwhile(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    """Both wait with one digest; one operator's signature is good for the run, and only once."""
    treasury.limit(confirms=True)
    first, second = Orchestrator(bench.host), Orchestrator(beside.host)
    assert first.run(first.start(build_task())).run_id == RUN
    assert second.run(second.start(build_task())).run_id == RUN
    pending = first.find_pending_confirmation(RUN)
    assert pending is not None
    assert pending == second.find_pending_confirmation(RUN)
    confirmation = sign_pending(bench, RUN)
    first.confirm(RUN, confirmation)
    assert first.run(RUN).status is RunStatus.COMPLETED
    before, head = take_picture(treasury), bench.chain.head.hash
    second.confirm(RUN, sign_pending(beside, RUN, expiry=2**41))
    run = second.run(RUN)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "RunExists(" in (run.failure or "")
    assert (take_picture(treasury), bench.chain.head.hash) == (before, head)
    assert count_writes(treasury) == 2


def test_a_block_that_another_store_mined_first(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    """Without confirmations the two blocks are equal in every byte: one is mined, both have it."""
    mine_first = OnceListener(
        Phase.EXECUTE, Moment.PREPARED, lambda: Orchestrator(bench.host).run(RUN)
    )
    first = Orchestrator(bench.host)
    first.start(build_task())
    head = bench.chain.head.block_number
    beside.change(listener=mine_first)
    run = beside.run()
    assert mine_first.times == 0
    stored = [
        each.store.get_result(ExecutionRecord, RUN, Phase.EXECUTE).block for each in (bench, beside)
    ]
    assert stored[0] == stored[1] is not None
    assert (run.status, bench.store.get_run(RUN).status) == (RunStatus.COMPLETED,) * 2
    assert (bench.chain.head.block_number, bench.number) == (head + 1, 3)
    assert count_writes(treasury) == 2


def test_another_block_of_the_run_that_another_store_mined_first(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    """The two plans differ: the later block is not mined, and its run fails."""
    beside.install(AddingAgent(bench.counter, {"step-1": Addition(amounts=(1, 1))}))
    first = Orchestrator(bench.host)
    first.start(build_task())
    listener = OnceListener(
        Phase.EXECUTE, Moment.PREPARED, lambda: Orchestrator(bench.host).run(RUN)
    )
    beside.change(listener=listener)
    run = beside.run()
    assert listener.times == 0
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "RunExists(" in (run.failure or "")
    assert (bench.number, count_writes(treasury)) == (3, 2)


def test_the_same_task_under_another_run_id_makes_no_write_again(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    assert bench.run().status is RunStatus.COMPLETED
    second = Orchestrator(beside.host)
    run = second.run(second.start(build_task(), "run-b"))
    assert (run.failure, bench.number, count_writes(treasury)) == (None, 3, 2)
    assert treasury.read("getTask", hash_id("task-1"))[2:4] == (2, 2)


def test_other_writes_of_a_task_with_the_same_id_are_refused(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    assert bench.run().status is RunStatus.COMPLETED
    before = take_picture(treasury)
    beside.install(AddingAgent(bench.counter, {"step-1": Addition(amounts=(4,))}))
    second = Orchestrator(beside.host)
    run = second.run(second.start(build_task(goal="Another one"), "run-b"))
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "WriteDiffers(" in (run.failure or "")
    assert take_picture(treasury) == before
    assert get_status(treasury, "run-b") == NO_RUN


def test_a_task_with_the_same_id_has_one_budget(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    """Of 100 wei, the first store's run takes 60; that of the other can't take 60 more."""
    bench.install(PayingAgent(bench.counter, {"step-1": Addition(amounts=(60,))}))
    assert bench.run().status is RunStatus.COMPLETED
    before = take_picture(treasury)
    beside.install(PayingAgent(bench.counter, {"step-2": Addition(amounts=(60,))}))
    second = Orchestrator(beside.host)
    run = second.run(second.start(build_task(), "run-b"))
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "AssetCapExceeded(" in (run.failure or "")
    assert take_picture(treasury) == before
    assert treasury.read("spentOf", hash_id("task-1"), NATIVE_ASSET) == 60


def test_a_task_with_the_same_id_has_its_writes_counted_together(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    budget = narrow(max_onchain_writes=3)
    assert bench.run(budget=budget).status is RunStatus.COMPLETED
    beside.install(AddingAgent(bench.counter, {"step-9": Addition(amounts=(1, 1))}))
    second = Orchestrator(beside.host)
    run = second.run(second.start(build_task(budget=budget), "run-b"))
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 3)
    assert "TooManyWrites(" in (run.failure or "")
    assert count_writes(treasury) == 2


def test_another_operators_task_with_the_same_id_is_refused(
    bench: RunBench, beside: RunBench, treasury: Treasury
) -> None:
    """It neither spends the first operator's budget, nor has a confirmation of theirs."""
    send(bench.chain, OTHER, b"", value=10**20)
    treasury.set("setOperator", OTHER, True)  # noqa: FBT003 - the ABI has places
    delegate = TREASURY.encode_call("setDelegate", RUNNER, True)  # noqa: FBT003
    send(bench.chain, treasury.address, delegate, key=OTHER_KEY)
    assert bench.run().status is RunStatus.COMPLETED
    before = take_picture(treasury)
    second = Orchestrator(beside.host)
    run = second.run(second.start(build_task(operator_wallet=OTHER), "run-b"))
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "opening of the run: TaskOfAnother(" in (run.failure or "")
    assert (run.failure or "").endswith("choose another task ID")
    assert take_picture(treasury) == before
    own = second.run(second.start(build_task("task-2", operator_wallet=OTHER)))
    assert (own.failure, bench.number) == (None, 6)


@pytest.mark.parametrize("confirms", [True, False])
def test_two_stores_that_advance_by_turns_make_each_write_once(
    bench: RunBench, beside: RunBench, treasury: Treasury, *, confirms: bool
) -> None:
    treasury.limit(confirms=confirms)
    benches = (bench, beside)
    for each in benches:
        Orchestrator(each.host).start(build_task())
    for _ in range(len(Phase) * MAX_DRY_RUNS):
        for each in benches:
            orchestrator = Orchestrator(each.host)
            if orchestrator.find_pending_confirmation(RUN) is not None:
                orchestrator.confirm(RUN, sign_pending(each, RUN))
            orchestrator.advance(RUN)
    statuses = [each.store.get_run(RUN).status for each in benches]
    assert statuses == [RunStatus.COMPLETED, RunStatus.FAILED]
    assert "RunExists(" in (beside.store.get_run(RUN).failure or "")
    assert (bench.number, count_writes(treasury), get_status(treasury, RUN)) == (3, 2, CLOSED)
