"""The port of a chain in this process: drafts, commits and re-execution; a node's chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey

from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.records import ExecutionRecord
from pyevm_agents.lifecycle.run_block import CallFailedError, DraftError, MovedStateError
from pyevm_agents.lifecycle.run_trace import TRACE_PARTS, RunWrite, hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.testing import AgentChain, answer, use
from pyevm_agents.vm import WatchedVM
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    OPERATOR,
    RUNNER,
    RunBench,
    build_host,
    build_manifest,
    build_task,
    send,
)

if TYPE_CHECKING:
    from pathlib import Path

    from eth.abc import BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI


def build_write(bench: RunBench, amount: int, *, value_wei: int = 0, number: int = 0) -> RunWrite:
    return RunWrite(
        step_id="step-1",
        number=number,
        target=bench.counter,
        value_wei=value_wei,
        data=COUNTER.encode_call("add", amount),
    )


def test_equal_drafts_have_equal_blocks(bench: RunBench) -> None:
    port = bench.host.port
    pin = port.pin_next_block()
    drafts = [port.begin_draft(pin) for _ in range(2)]
    traces = [[draft.send(build_write(bench, n, number=n)) for n in (0, 1)] for draft in drafts]
    assert traces[0] == traces[1]
    assert drafts[0].prepare() == drafts[1].prepare()
    block = port.commit(drafts[0].prepare())
    assert port.commit(drafts[1].prepare()) == block, "it is mined once"
    assert (block.block_hash, bench.number) == (bench.chain.head.hash, 1)
    assert port.reexecute(block) is None


def test_each_write_of_a_draft_is_executed_once(
    bench: RunBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after one that reverted, and one that could not be part of the block."""
    executed = []
    execute = WatchedVM.apply_transaction

    def count(
        vm: WatchedVM, header: BlockHeaderAPI, transaction: SignedTransactionAPI
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        executed.append(transaction.hash)
        return execute(vm, header, transaction)

    monkeypatch.setattr(WatchedVM, "apply_transaction", count)
    port = bench.host.port
    draft = port.begin_draft(port.pin_next_block())
    reverting = replace(build_write(bench, 1, number=1), data=COUNTER.encode_call("addThenFail", 7))
    outcomes = [draft.send(build_write(bench, 1)).is_success, draft.send(reverting).is_success]
    with pytest.raises(DraftError):
        draft.send(build_write(bench, 1, value_wei=2**200))
    outcomes += [draft.send(build_write(bench, n, number=n)).is_success for n in range(2, 10)]
    assert outcomes == [True, False, *[True] * 8]
    assert int.from_bytes(draft.call(bench.counter, COUNTER.encode_call("number"))) == 45
    prepared = draft.prepare()
    kept = [each for each in executed if each in prepared.hashes]
    assert [*prepared.hashes] == kept, "each once, in order"
    block = port.commit(prepared)
    assert (bench.number, len(bench.chain.block(block.number).transactions)) == (45, 10)
    assert port.reexecute(block) is None


def test_a_draft_on_another_state_is_not_mined(bench: RunBench) -> None:
    port = bench.host.port
    pin = port.pin_next_block()
    draft = port.begin_draft(pin)
    draft.send(build_write(bench, 1))
    bench.chain.patch_state(lambda state: state.set_balance(OPERATOR, 5))
    with pytest.raises(MovedStateError, match="must be the draft's parent"):
        port.commit(draft.prepare())
    assert port.begin_draft(pin).is_moved


def test_each_part_of_a_trace_is_in_its_digest(bench: RunBench) -> None:
    port = bench.host.port
    first = port.begin_draft(port.pin_next_block()).send(build_write(bench, 1))
    for name in ("calls", "logs", "storage", "generations"):
        changed = replace(first, **{name: hash_id("another one")})  # type: ignore[arg-type]
        assert changed.compute_digest() != first.compute_digest()
        assert first.find_difference(changed) == TRACE_PARTS[name]
    assert replace(first, gas_used=7, gas_wei=7).compute_digest() == first.compute_digest()
    send(bench.chain, bench.counter, COUNTER.encode_call("add", 5))
    later = port.begin_draft(port.pin_next_block()).send(build_write(bench, 1))
    assert first.find_difference(later) == TRACE_PARTS["logs"]


def test_a_block_that_was_removed_is_not_found(bench: RunBench) -> None:
    port = bench.host.port
    draft = port.begin_draft(port.pin_next_block())
    draft.send(build_write(bench, 1))
    block = port.commit(draft.prepare())
    assert port.find_block(block.transaction_hashes) == block
    bench.chain.rollback(block.number - 1)
    assert port.find_block(block.transaction_hashes) is None
    assert port.find_block(()) is None
    assert port.commit(draft.prepare()) == block


def test_a_sender_that_cannot_pay_is_no_part_of_a_block(bench: RunBench) -> None:
    poor = LocalChainPort(bench.chain, PrivateKey(b"\x09" * 32))
    draft = poor.begin_draft(poor.pin_next_block())
    with pytest.raises(DraftError, match="transaction to 0x"):
        draft.send(build_write(bench, 1))
    free = poor.begin_draft(poor.pin_next_block(), is_free=True)
    assert free.send(build_write(bench, 1)).is_success


def test_a_call_that_fails_is_an_error(bench: RunBench) -> None:
    with pytest.raises(CallFailedError):
        bench.host.port.call(bench.counter, b"\xff\xff\xff\xff")


@pytest.mark.slow
def test_a_run_on_a_node(tmp_path: Path) -> None:
    """The node's pool, clock and listeners know the run's block, and its model wrote the steps."""
    with AgentChain() as chain, RunStore(tmp_path / "runs.sqlite") as store:
        chain.model.when("The counter is", answer("It was increased"))
        chain.model.when("Add", use("CounterTool", amount=3))
        tool = chain.deploy("CounterTool")
        executor = "0x0000000000000000000000000000000000000019"
        texts = ("counting", "Counts", "what to count", "You count.")
        agent = chain.deploy("SimpleAgent", executor, "llama_model_3", *texts, [tool.address], 4)
        chain.set_balance(RUNNER, 10**20)
        port = LocalChainPort.from_node(chain.node, PrivateKey(b"\x01" * 32))
        address = bytes.fromhex(agent.address.removeprefix("0x"))
        module = OnchainAgent(build_manifest("adder"), address)
        bench = RunBench(
            chain=chain.chain,
            counter=bytes.fromhex(tool.address[2:]),  # type: ignore[arg-type]
            host=build_host(chain.chain, store, module, port=port),
        )
        run = bench.run(build_task(goal="Add three"))
        assert (run.failure, run.status, bench.number) == (None, RunStatus.COMPLETED, 3)
        record = store.get_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
        assert record.block is not None
        (transaction,) = record.block.transaction_hashes
        assert chain.has(transaction)
        assert [step.action for step in chain.steps(transaction)] == ["CounterTool", None]
        assert chain.time == chain.chain.head.timestamp
