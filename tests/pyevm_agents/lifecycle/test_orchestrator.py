"""Runs from their beginning to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.phase_results import ExecutionRecord
from pyevm_agents.lifecycle.results import VerificationResult
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus

if TYPE_CHECKING:
    from tests.pyevm_agents.lifecycle.run_bench import RunBench


def test_a_run_has_nine_phases_and_the_digest_of_its_dry_run(bench: RunBench) -> None:
    before = bench.chain.head.block_number
    run = bench.run()
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    assert bench.store.get_task_status(run.task_id) is TaskStatus.COMPLETED
    assert bench.store.list_phases(run.run_id) == [(phase, 1) for phase in Phase]
    assert bench.number == 3
    assert bench.chain.head.block_number == before + 1
    dry_run = bench.store.get_result(DryRunRecord, run.run_id, Phase.DRY_RUN)
    execution = bench.store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
    assert dry_run.digests.trace == execution.digest
    assert execution.block is not None
    assert execution.block.block_hash == bench.chain.head.hash
    verification = bench.store.get_result(VerificationResult, run.run_id, Phase.VERIFY)
    assert verification.is_passed, verification
    assert verification.score == 1.0
