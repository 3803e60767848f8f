"""Runs whose writes go through a treasury on the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.chain import Call
from pyevm_agents.lifecycle.envelopes import Confirmation, RunTerms
from pyevm_agents.lifecycle.host import Moment
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.phases import NOT_DONE
from pyevm_agents.lifecycle.records import NotDone, ReceiptType, RunReceipt
from pyevm_agents.lifecycle.run_trace import RunWrite, hash_id
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.lifecycle.run_bench import (
    COUNTER,
    OPERATOR,
    OPERATOR_KEY,
    RUNNER,
    RUNNER_KEY,
    AddingAgent,
    Addition,
    answer_by_prompt,
    build_manifest,
    build_task,
    deploy,
    narrow,
    send,
)

if TYPE_CHECKING:
    from eth_keys.datatypes import PrivateKey

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.local_chain import LocalDraft
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from tests.pyevm_agents.lifecycle.run_bench import RunBench

pytestmark = pytest.mark.slow

FREELY = 2**256 - 1
RECIPIENT = Address(b"\x44" * 20)
TREASURY = load_artifact("RunTreasury")
TOKEN = load_artifact("DemoToken")


class Treasury:
    """A treasury of the operator on a bench's chain, with wei and a token."""

    def __init__(self, bench: RunBench) -> None:
        self.bench = bench
        self.always_confirms = False
        self.address = deploy(bench.chain, "RunTreasury", OPERATOR, [])
        self.token = deploy(bench.chain, "DemoToken", "Dollar", "USD", 6, 10**9)
        send(bench.chain, self.address, b"", value=10**18)
        send(bench.chain, self.token, TOKEN.encode_call("transfer", self.address, 10**6))
        self.set("setOperator", OPERATOR, True)  # noqa: FBT003 - the ABI has places
        self.set("setDelegate", RUNNER, True)  # noqa: FBT003
        self.limit(writes=5)
        self.set("setAsset", NATIVE_ASSET, 100, FREELY)
        self.set("setAsset", self.token, 1_000, FREELY)
        for target in (RECIPIENT, bench.counter):
            for asset in (NATIVE_ASSET, self.token):
                self.set("setTargetCap", target, asset, 1_000)
        self.set("setSelector", bench.counter, COUNTER.encode_call("add", 0)[:4], True)  # noqa: FBT003
        bench.change(open_envelope=self.open_envelope)

    def open_envelope(self, terms: RunTerms) -> TreasuryEnvelope:
        port = self.bench.host.port
        return TreasuryEnvelope(terms, port, self.address, always_confirms=self.always_confirms)

    def set(self, function: str, *arguments: object) -> None:
        """Change the owner's policy."""
        send(self.bench.chain, self.address, TREASURY.encode_call(function, *arguments))

    def limit(self, *, steps: int = 10, writes: int = 5, confirms: bool = False) -> None:
        self.set("setLimits", steps, writes, confirms)

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        call = Call(to=self.address, data=TREASURY.encode_call(function, *arguments))
        return TREASURY.decode_result(function, self.bench.chain.call(call).output)

    def get_tokens(self, account: Address) -> int:
        data = TOKEN.encode_call("balanceOf", account)
        return int.from_bytes(self.bench.chain.call(Call(to=self.token, data=data)).output)


@pytest.fixture
def treasury(bench: RunBench) -> Treasury:
    return Treasury(bench)


def sign_pending(
    bench: RunBench, run_id: str, key: PrivateKey = OPERATOR_KEY, expiry: int = 2**40
) -> Confirmation:
    orchestrator = Orchestrator(bench.host)
    pending = orchestrator.find_pending_confirmation(run_id)
    assert pending is not None
    signed = key.sign_msg_hash(orchestrator.hash_confirmation(run_id, expiry)).to_bytes()
    signature = signed[:64] + bytes([signed[64] + 27])
    return Confirmation(trace=pending.digests.trace, expiry=expiry, signature=signature)


class PayingAgent(AddingAgent):
    """Pays amounts to the recipient, in wei or tokens."""

    token: Address | None = None

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task
        for amount in self.additions[step.step_id].amounts:
            if self.token is None:
                outcome = context.session.write(RECIPIENT, value_wei=amount)
            else:
                data = TOKEN.encode_call("transfer", RECIPIENT, amount)
                outcome = context.session.write(self.token, data)
            if not outcome.is_success:
                raise ValueError(outcome.failure)
        return "paid"


def test_writes_go_through_the_treasury(bench: RunBench, treasury: Treasury) -> None:
    run = bench.run()
    assert (run.failure, bench.number) == (None, 3)
    status, task_id, agent, operator = treasury.read("getRun", hash_id(run.run_id))[:4]
    assert (status, task_id) == (2, hash_id("task-1")), "the run is closed"
    assert [bytes.fromhex(each[2:]) for each in (agent, operator)] == [RUNNER, OPERATOR]
    block = bench.chain.block(bench.chain.head.block_number)
    assert len(block.transactions) == 4, "opening, two writes, closing"


def test_wei_and_tokens_are_transferred(bench: RunBench, treasury: Treasury) -> None:
    wei = PayingAgent(bench.counter, {"step-1": Addition(amounts=(7,))})
    bench.install(wei)
    assert bench.run().failure is None
    wei.token = treasury.token
    assert bench.run(task_id="task-2").failure is None
    assert (bench.chain.balance(RECIPIENT), treasury.get_tokens(RECIPIENT)) == (7, 7)


@pytest.mark.parametrize("has_acted", [False, True])
def test_an_agent_that_is_not_done_fails_its_step(
    bench: RunBench, treasury: Treasury, *, has_acted: bool
) -> None:
    """The treasury wraps the revert of an agent that undid its run."""
    tool = deploy(bench.chain, "CounterTool")
    texts = ("counting", "Counts", "what to count", "You count.")
    address = deploy(bench.chain, "SimpleAgent", EXECUTOR_ADDRESS, PROFILE.name, *texts, [tool], 4)
    treasury.set("setSelector", address, encode_run("")[:4], True)  # noqa: FBT003
    agent = OnchainAgent(build_manifest("counting"), address)
    bench.install(AddingAgent(bench.counter, {"ask": Addition(agent="counting")}), agent)
    model = bench.chain.models[PROFILE.name]
    assert isinstance(model, ByteModel)
    said = "I can't do that: pay Carol"

    def refuse(request: GenerationRequest) -> str:
        step = answer_by_prompt(request)
        acts = has_acted and "Action:" in step
        return step if acts else f" Hm\nFinal Answer: {said}"

    model._script = refuse  # noqa: SLF001
    run = bench.run()
    assert (run.failed_phase, run.failure) == (Phase.DRY_RUN, f"step ask: not done: {said}")
    assert bench.store.find_value(NotDone, run.run_id, NOT_DONE) == NotDone(answer=said)


def test_a_policy_violation_stops_the_run_in_its_dry_run(
    bench: RunBench, treasury: Treasury
) -> None:
    bench.install(PayingAgent(bench.counter, {"step-1": Addition(amounts=(60, 60))}))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "AssetCapExceeded" in (run.failure or "")
    assert bench.chain.balance(RECIPIENT) == 0
    assert treasury.read("getRun", hash_id(run.run_id))[0] == 0


def test_a_budget_above_the_treasurys_limits_is_refused(
    bench: RunBench, treasury: Treasury
) -> None:
    treasury.limit(writes=2)
    run = bench.run()
    assert (run.failed_phase, bench.number) == (Phase.DRY_RUN, 0)
    assert "opening of the run: BudgetAboveLimit" in (run.failure or "")
    assert bench.run(build_task(budget=narrow(max_onchain_writes=2), task_id="b")).failure is None


def test_a_treasury_confirms_above_its_threshold(bench: RunBench, treasury: Treasury) -> None:
    treasury.set("setAsset", NATIVE_ASSET, 100, 50)
    bench.install(PayingAgent(bench.counter, {"step-1": Addition(amounts=(40, 20))}))
    run = bench.run()
    assert (run.phase, bench.chain.balance(RECIPIENT)) == (Phase.EXECUTE, 0)
    orchestrator = Orchestrator(bench.host)
    orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
    done = orchestrator.run(run.run_id)
    assert (done.failure, bench.chain.balance(RECIPIENT)) == (None, 60)
    found = treasury.read("getRun", hash_id(run.run_id))
    assert found[7] is True


def test_a_run_below_the_threshold_needs_no_confirmation(
    bench: RunBench, treasury: Treasury
) -> None:
    treasury.set("setAsset", NATIVE_ASSET, 100, 50)
    bench.install(PayingAgent(bench.counter, {"step-1": Addition(amounts=(40,))}))
    assert bench.run().status is RunStatus.COMPLETED


@pytest.mark.parametrize("rule", ["contract", "host"])
def test_every_run_is_confirmed_if_owner_or_host_say_so(
    bench: RunBench, treasury: Treasury, rule: str
) -> None:
    if rule == "contract":
        treasury.limit(confirms=True)
    treasury.always_confirms = rule == "host"
    run = bench.run()
    assert (run.phase, bench.number) == (Phase.EXECUTE, 0)
    orchestrator = Orchestrator(bench.host)
    orchestrator.confirm(run.run_id, sign_pending(bench, run.run_id))
    assert (orchestrator.run(run.run_id).failure, bench.number) == (None, 3)


def test_a_confirmation_of_another_key_is_refused(bench: RunBench, treasury: Treasury) -> None:
    treasury.always_confirms = True
    run = bench.run()
    with pytest.raises(ValueError, match="must be signed by the operator"):
        Orchestrator(bench.host).confirm(run.run_id, sign_pending(bench, run.run_id, RUNNER_KEY))


def test_the_treasury_alone_refuses_a_lie_after_the_confirmation(
    bench: RunBench, treasury: Treasury
) -> None:
    """What the orchestrator refuses, the treasury refuses as well."""
    treasury.always_confirms = True
    run = bench.run()
    confirmation = sign_pending(bench, run.run_id)
    envelope, draft = treasury.open_envelope(build_terms(run.run_id)), begin_draft(bench)
    writes = [build_addition(bench, "step-1", 1), build_addition(bench, "step-2", 2)]
    for call in envelope.build_opening(writes, confirmation.trace, confirmation):
        assert draft.send_envelope(call) is None
    lie = build_addition(bench, "step-1", 99)
    assert "WriteNotConfirmed" in (draft.send(lie, envelope.wrap(lie)).failure or "")
    assert draft.send(writes[0], envelope.wrap(writes[0])).is_success
    assert "DigestMismatch" in (draft.send_envelope(envelope.build_closing()[0]) or "")


@pytest.mark.parametrize(
    ("steps", "words"),
    [(["step-1"] * 6, "TooManyWrites"), ([f"step-{n}" for n in range(11)], "TooManySteps")],
)
def test_the_treasury_alone_refuses_a_sixth_write_and_an_eleventh_step(
    bench: RunBench, treasury: Treasury, steps: list[str], words: str
) -> None:
    writes = 5 if words == "TooManyWrites" else 50
    treasury.limit(writes=writes)
    envelope, draft = (
        treasury.open_envelope(build_terms("run-x", writes=writes)),
        begin_draft(bench),
    )
    assert draft.send_envelope(envelope.build_opening(None, None, None)[0]) is None
    failures = []
    for step_id in steps:
        write = build_addition(bench, step_id, 1)
        failures.append(draft.send(write, envelope.wrap(write)).failure)
    assert failures[:-1] == [None] * (len(steps) - 1)
    assert words in (failures[-1] or "")


def test_a_retry_under_another_run_skips_what_was_done(bench: RunBench, treasury: Treasury) -> None:
    """The first run's block is mined, and its verification fails: the task is run again."""
    forged = [RunReceipt(receipt_id="forged", type=ReceiptType.API, ref="x", summary="x")]

    def listen(event: RunEvent) -> None:
        if (event.phase, event.moment) == (Phase.EXECUTE, Moment.STORED) and forged:
            bench.store.add_receipts(event.run_id, [forged.pop()])

    bench.change(listener=listen)
    task = build_task()
    first = bench.run(task)
    assert (first.failed_phase, bench.number) == (Phase.VERIFY, 3)
    second = bench.run(task)
    assert (second.run_id, second.failure, bench.number) == ("task-1-run-2", None, 3)
    assert treasury.read("getTask", hash_id("task-1"))[3] == 2, "two writes in both runs"


def test_a_write_cannot_name_the_treasury(bench: RunBench, treasury: Treasury) -> None:
    bench.install(AddingAgent(treasury.address, {"step-1": Addition()}))
    run = bench.run()
    assert (run.failed_phase, run.status) == (Phase.DRY_RUN, RunStatus.FAILED)
    assert "no run may change it" in (run.failure or "")


def build_terms(run_id: str, *, writes: int = 5) -> RunTerms:
    """Return the terms of a run of the task."""
    return RunTerms(
        task_id="task-1",
        run_id=run_id,
        agent=RUNNER,
        operator=OPERATOR,
        budget=narrow(max_onchain_writes=writes),
        timestamp=2**40,
    )


def begin_draft(bench: RunBench) -> LocalDraft:
    """Return a draft of the next block."""
    return bench.host.port.begin_draft(bench.host.port.pin_next_block())


def build_addition(bench: RunBench, step_id: str, amount: int) -> RunWrite:
    """Return a step's write that adds to the counter."""
    data = COUNTER.encode_call("add", amount)
    return RunWrite(step_id=step_id, number=0, target=bench.counter, value_wei=0, data=data)
