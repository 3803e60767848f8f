"""Confirmations that are used again, elsewhere or late: nothing is spent on them."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import BlockSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope, RunTerms
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.phases import CONFIRMATION
from pyevm_agents.lifecycle.records import ReceiptType, RunReceipt
from pyevm_agents.lifecycle.run_view import RunView
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from tests.pyevm_agents.lifecycle.run_bench import (
    BEGUN,
    RUNNER_KEY,
    build_task,
    open_bench,
)
from tests.pyevm_agents.lifecycle.spending import (
    CLOSED,
    NO_RUN,
    OnceListener,
    count_writes,
    get_status,
    take_picture,
)
from tests.pyevm_agents.lifecycle.test_orchestrator import require_signatures, sign_dry_run
from tests.pyevm_agents.lifecycle.test_treasury_runs import (
    Treasury,
    begin_draft,
    sign_pending,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyevm_agents.lifecycle.envelopes import Confirmation
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

pytestmark = pytest.mark.slow


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    """A treasury on the bench whose operator confirms every run."""
    return open_treasury(bench)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RunBench]:
    """The same contracts at the same addresses on a chain with another ID."""
    opened = open_bench(tmp_path / "elsewhere", chain_id=77)
    yield opened
    opened.store.close()
    opened.chain.close()


def open_treasury(bench: RunBench) -> Treasury:
    treasury = Treasury(bench)
    treasury.limit(confirms=True)
    return treasury


def wait(bench: RunBench, task_id: str = "task-1") -> StoredRun:
    """Run a task until it waits for its confirmation."""
    run = bench.run(task_id=task_id)
    assert (run.phase, run.failure) == (Phase.EXECUTE, None)
    return run


def confirm_and_run(bench: RunBench, run_id: str, confirmation: Confirmation) -> StoredRun:
    orchestrator = Orchestrator(bench.host)
    orchestrator.confirm(run_id, confirmation)
    return orchestrator.run(run_id)


def refuse_replay(treasury: Treasury, run: StoredRun, confirmation: Confirmation) -> None:
    """Check that neither the orchestrator nor the treasury takes a confirmation for a run."""
    bench = treasury.bench
    orchestrator, before = Orchestrator(bench.host), take_picture(treasury)
    pending = orchestrator.find_pending_confirmation(run.run_id)
    assert pending is not None
    replayed = replace(confirmation, trace=pending.digests.trace)
    if replayed != confirmation:
        with pytest.raises(ConfigError, match="must be of the dry run that run"):
            orchestrator.confirm(run.run_id, confirmation)
    with pytest.raises(ConfigError, match="must be signed by the operator"):
        orchestrator.confirm(run.run_id, replayed)
    assert orchestrator.find_pending_confirmation(run.run_id) == pending, "it still waits"
    refuse_in_treasury(treasury, run.run_id, confirmation)
    with bench.store.commit():  # What a flawed orchestrator would do.
        bench.store.set_value(run.run_id, CONFIRMATION, replayed)
    ended = orchestrator.run(run.run_id)
    assert (ended.status, ended.failed_phase) == (RunStatus.FAILED, Phase.EXECUTE)
    assert "opening of the run: InvalidConfirmation" in (ended.failure or "")
    assert take_picture(treasury) == before
    assert get_status(treasury, run.run_id) == NO_RUN


def refuse_in_treasury(treasury: Treasury, run_id: str, confirmation: Confirmation) -> None:
    """Check that a treasury refuses a confirmation of the same writes, given as it was signed.

    It can't check the trace, so the run, the task, the chain and the treasury must tell.
    """
    bench = treasury.bench
    record = bench.store.get_result(DryRunRecord, run_id, Phase.DRY_RUN)
    writes = [each.write for each in record.trace.writes]
    draft, envelope = begin_draft(bench), treasury.open_envelope(build_terms(bench, run_id))
    opening, confirming = envelope.build_opening(writes, confirmation.trace, confirmation)
    assert draft.send_envelope(opening) is None
    assert "InvalidConfirmation" in (draft.send_envelope(confirming) or "")


# -- used elsewhere, or again -- #


def test_a_confirmation_for_another_run_of_the_task(bench: RunBench, treasury: Treasury) -> None:
    first = wait(bench)
    confirmation = sign_pending(bench, first.run_id)
    Orchestrator(bench.host).cancel(first.run_id)
    assert Orchestrator(bench.host).run(first.run_id).status is RunStatus.CANCELLED
    refuse_replay(treasury, wait(bench), confirmation)


def test_a_confirmation_for_another_task(
    bench: RunBench, treasury: Treasury, tmp_path: Path
) -> None:
    """Of another store, so that even the run's ID is the same."""
    run = wait(bench)
    with open_store(bench, tmp_path) as beside:
        orchestrator = Orchestrator(beside.host)
        same = orchestrator.run(orchestrator.start(build_task("task-2"), run.run_id))
        refuse_replay(copy_treasury(treasury, beside), same, sign_pending(bench, run.run_id))


def test_a_confirmation_for_another_chain(
    bench: RunBench, treasury: Treasury, elsewhere: RunBench
) -> None:
    other = open_treasury(elsewhere)
    assert other.address == treasury.address, "only the chain's ID differs"
    here, there = wait(bench), wait(elsewhere)
    assert here.run_id == there.run_id
    refuse_replay(other, there, sign_pending(bench, here.run_id))


def test_a_confirmation_for_another_treasury(
    bench: RunBench, treasury: Treasury, tmp_path: Path
) -> None:
    with open_store(bench, tmp_path) as beside:
        other = open_treasury(beside)
        assert other.address != treasury.address
        run, same = wait(bench), wait(beside)
        assert run.run_id == same.run_id
        refuse_replay(other, same, sign_pending(bench, run.run_id))


def copy_treasury(treasury: Treasury, bench: RunBench) -> Treasury:
    """Return a treasury as it is used from another bench on its chain."""
    same = copy(treasury)
    same.bench = bench
    return same


@contextmanager
def open_store(bench: RunBench, folder: Path) -> Iterator[RunBench]:
    """Return a bench with a store of its own on the same chain."""
    with RunStore(folder / "beside.sqlite") as store:
        yield replace(bench, host=replace(bench.host, store=store))


def test_a_confirmation_that_was_used(bench: RunBench, treasury: Treasury) -> None:
    run = wait(bench)
    confirmation = sign_pending(bench, run.run_id)
    assert confirm_and_run(bench, run.run_id, confirmation).status is RunStatus.COMPLETED
    before = take_picture(treasury)
    with pytest.raises(ConfigError, match="must be of the dry run that run"):
        Orchestrator(bench.host).confirm(run.run_id, confirmation)
    record = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    writes = [each.write for each in record.trace.writes]
    terms = build_terms(bench, run.run_id)
    opening, confirming = treasury.open_envelope(terms).build_opening(
        writes, confirmation.trace, confirmation
    )
    draft = begin_draft(bench)
    assert "RunExists" in (draft.send_envelope(opening) or "")
    assert "RunNotOpen" in (draft.send_envelope(confirming) or "")
    assert "RunNotOpen" in (
        draft.send(writes[0], treasury.open_envelope(terms).wrap(writes[0])).failure or ""
    )
    assert (take_picture(treasury), bench.number) == (before, 3)
    assert (get_status(treasury, run.run_id), count_writes(treasury)) == (CLOSED, 2)


def test_a_used_confirmation_for_a_retry_of_the_task(bench: RunBench, treasury: Treasury) -> None:
    """The block is mined, the verification fails: the retry needs a confirmation of its own."""
    run = wait(bench)
    confirmation = sign_pending(bench, run.run_id)
    bench.change(
        listener=OnceListener(Phase.EXECUTE, Moment.STORED, lambda: forge(bench, run.run_id))
    )
    assert confirm_and_run(bench, run.run_id, confirmation).failed_phase is Phase.VERIFY
    before = take_picture(treasury)
    refuse_replay(treasury, wait(bench), confirmation)
    assert (take_picture(treasury), bench.number) == (before, 3)


def forge(bench: RunBench, run_id: str) -> None:
    """Add a receipt that nobody wrote, which fails the verification."""
    forged = RunReceipt(receipt_id="forged", type=ReceiptType.API, ref="x", summary="x")
    bench.store.add_receipts(run_id, [forged])


@pytest.mark.parametrize("replayed", ["run", "task", "chain"])
def test_a_confirmation_without_a_treasury(
    bench: RunBench, elsewhere: RunBench, replayed: str
) -> None:
    """The orchestrator alone refuses it."""
    for each in (bench, elsewhere):
        each.change(open_envelope=build_plain_envelope(each))
    orchestrator = Orchestrator(bench.host)
    first = wait(bench)
    confirmation = sign_dry_run(orchestrator, first.run_id)
    if replayed == "run":
        orchestrator.cancel(first.run_id)
        orchestrator.run(first.run_id)
    place = elsewhere if replayed == "chain" else bench
    second = wait(place, "task-2" if replayed == "task" else "task-1")
    place_orchestrator = Orchestrator(place.host)
    pending = place_orchestrator.find_pending_confirmation(second.run_id)
    assert pending is not None
    assert pending.digests.trace == confirmation.trace, "only the signature tells them apart"
    with pytest.raises(ConfigError, match="must be signed by the operator"):
        place_orchestrator.confirm(second.run_id, confirmation)
    assert Orchestrator(place.host).run(second.run_id).phase is Phase.EXECUTE, "it waits"
    assert place.number == 0


def build_plain_envelope(bench: RunBench) -> Callable[[RunTerms], PlainRunEnvelope]:
    chain_id = bench.host.port.chain_id
    return lambda terms: PlainRunEnvelope(terms, chain_id, requires_confirmation=True)


def build_terms(bench: RunBench, run_id: str) -> RunTerms:
    """Return the terms of a run of the task, as the run itself has them."""
    run = bench.store.get_run(run_id)
    view = RunView(bench.host, run)
    pin = view.dry_run.pin
    return RunTerms(
        task_id=run.task_id,
        run_id=run_id,
        agent=bench.host.port.address,
        operator=view.task.operator_wallet,
        budget=view.budget,
        timestamp=pin.timestamp,
    )


# -- the boundary second -- #

EXPIRES = int(BEGUN) + 10**6
"""Unix seconds; the chain's clock and the host's are set around it."""


def set_clocks(bench: RunBench, *, chain: int, host: float) -> None:
    """Let the next block have a timestamp, and the host's clock stand at a time."""
    settings = BlockSettings(timestamp_seconds=chain)
    port = LocalChainPort(bench.chain, RUNNER_KEY, get_settings=lambda: settings)
    bench.change(port=port, now=lambda: host)


@pytest.mark.parametrize("late", [-1, 0, 1])
def test_the_treasury_takes_a_confirmation_up_to_its_expiry(
    bench: RunBench, treasury: Treasury, late: int
) -> None:
    """A draft of the run's block, as the treasury judges it; the host's clock is not asked."""
    set_clocks(bench, chain=EXPIRES + late, host=BEGUN)
    run = wait(bench)
    confirmation = sign_pending(bench, run.run_id, expiry=EXPIRES)
    record = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    assert record.pin.timestamp == EXPIRES + late
    draft, envelope = begin_draft(bench), treasury.open_envelope(build_terms(bench, run.run_id))
    writes = [each.write for each in record.trace.writes]
    opening, confirming = envelope.build_opening(writes, confirmation.trace, confirmation)
    assert draft.send_envelope(opening) is None
    failure = draft.send_envelope(confirming)
    if late > 0:
        assert "ConfirmationExpired" in (failure or "")
    else:
        assert failure is None
        assert [draft.send(each, envelope.wrap(each)).is_success for each in writes] == [True, True]


@pytest.mark.parametrize("late", [-1, 0, 1])
@pytest.mark.parametrize("has_treasury", [True, False])
def test_the_orchestrator_takes_a_confirmation_as_the_treasury_does(
    bench: RunBench, *, has_treasury: bool, late: int
) -> None:
    """The timestamp of the run's block decides, with a treasury and without one."""
    if has_treasury:
        open_treasury(bench)
    else:
        bench.change(open_envelope=require_signatures)
    set_clocks(bench, chain=EXPIRES + late, host=BEGUN)
    expect_outcome(bench, EXPIRES, is_taken=late <= 0)


@pytest.mark.parametrize("late", [-1.0, -0.001, 0.0, 0.999, 1.0])
@pytest.mark.parametrize("has_treasury", [True, False])
def test_the_hosts_clock_counts_whole_seconds(
    bench: RunBench, *, has_treasury: bool, late: float
) -> None:
    """Within the second of the expiry a confirmation counts, as in a block of that second."""
    if has_treasury:
        open_treasury(bench)
    else:
        bench.change(open_envelope=require_signatures)
    set_clocks(bench, chain=int(BEGUN), host=EXPIRES + late)
    expect_outcome(bench, EXPIRES, is_taken=late < 1)


def expect_outcome(bench: RunBench, expiry: int, *, is_taken: bool) -> None:
    """Confirm a run with an expiry: it is executed, or refused in words and waits on."""
    run = wait(bench)
    confirmation = sign_pending(bench, run.run_id, expiry=expiry)
    if is_taken:
        assert confirm_and_run(bench, run.run_id, confirmation).status is RunStatus.COMPLETED
        assert bench.number == 3
        return
    with pytest.raises(ConfigError, match=f"expired at {expiry}"):
        Orchestrator(bench.host).confirm(run.run_id, confirmation)
    assert Orchestrator(bench.host).run(run.run_id).phase is Phase.EXECUTE, "it waits"
    assert bench.number == 0


@pytest.mark.parametrize("late", [0, 1])
def test_a_confirmation_that_expires_while_the_run_waits(
    bench: RunBench, treasury: Treasury, late: int
) -> None:
    set_clocks(bench, chain=int(BEGUN), host=BEGUN)
    run = wait(bench)
    before = take_picture(treasury)
    Orchestrator(bench.host).confirm(run.run_id, sign_pending(bench, run.run_id, expiry=EXPIRES))
    bench.change(now=lambda: EXPIRES + late)
    ended = Orchestrator(bench.host).run(run.run_id)
    if late == 0:
        assert (ended.status, bench.number) == (RunStatus.COMPLETED, 3)
        return
    assert (ended.status, ended.failed_phase) == (RunStatus.FAILED, Phase.EXECUTE)
    assert f"has expired at {EXPIRES}" in (ended.failure or "")
    assert take_picture(treasury) == before


@pytest.mark.parametrize("has_treasury", [True, False])
def test_a_later_block_than_the_expiry_asks_for_another_confirmation(
    bench: RunBench, *, has_treasury: bool
) -> None:
    """A block of somebody else puts the run's own behind the expiry; the clock is not there yet."""
    if has_treasury:
        open_treasury(bench)
    else:
        bench.change(open_envelope=require_signatures)
    set_clocks(bench, chain=EXPIRES, host=BEGUN)
    run = wait(bench)
    Orchestrator(bench.host).confirm(run.run_id, sign_pending(bench, run.run_id, expiry=EXPIRES))
    mine_at(bench, EXPIRES)
    set_clocks(bench, chain=EXPIRES + 1, host=BEGUN)
    waiting = Orchestrator(bench.host).run(run.run_id)
    assert (waiting.phase, waiting.attempt, bench.number) == (Phase.EXECUTE, 2, 0)
    again = sign_pending(bench, run.run_id, expiry=EXPIRES + 1)
    assert confirm_and_run(bench, run.run_id, again).status is RunStatus.COMPLETED
    assert bench.number == 3


def mine_at(bench: RunBench, timestamp: int) -> None:
    """Mine an empty block with a timestamp."""
    bench.chain.mine([], settings=BlockSettings(timestamp_seconds=timestamp))
