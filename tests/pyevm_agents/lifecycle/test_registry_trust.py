"""Trust from the registries of a chain, and what a validator posts there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.lifecycle.local_chain import MAX_CALL_DRAFTS, LocalChainPort
from pyevm_agents.lifecycle.manifest import ManifestIdentity
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import ReceiptType
from pyevm_agents.lifecycle.registry_trust import (
    RegistryTrust,
    RegistryValidator,
    compute_request_hash,
    read_status,
)
from pyevm_agents.lifecycle.run_block import MovedStateError
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.trust import TrustedSources, TrustThreshold
from tests.pyevm_agents.lifecycle.run_bench import (
    OPERATOR_KEY,
    AddingAgent,
    Addition,
    RunBench,
    build_host,
    build_task,
    create_chain,
    deploy,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import (
        ExecutionResult,
        PlanStep,
        Task,
        TaskPlan,
        VerificationResult,
    )
    from pyevm_agents.lifecycle.run_block import PreparedBlock, RunBlock

REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
IDENTITY = load_artifact("IdentityRegistry")
REPUTATION = load_artifact("ReputationRegistry")
VALIDATION = load_artifact("ValidationRegistry")
VALIDATOR_KEY, CLIENT_KEY, SYBIL_KEY = (PrivateKey(bytes([n]) * 32) for n in (3, 4, 5))
AGENT_ID = 0


def address_of(key: PrivateKey) -> Address:
    return Address(key.public_key.to_canonical_address())


class HidingAgent(AddingAgent):
    """Hides its receipts, so that its verification fails."""

    def execute(self, task: Task, plan: TaskPlan, context: AgentContext) -> ExecutionResult:
        return replace(super().execute(task, plan, context), receipt_ids=())


@pytest.fixture
def registered(tmp_path: Path) -> Iterator[RunBench]:
    """A bench on a chain with registries; the operator has registered the agent."""
    chain = create_chain(accounts=build_registries())
    for key in (VALIDATOR_KEY, CLIENT_KEY, SYBIL_KEY):
        send(chain, address_of(key), b"", value=10**20)
    send(chain, REGISTRIES.identity, bytes.fromhex("1aa3a008"))  # register()
    counter = deploy(chain, "Counter")
    host = build_host(chain, RunStore(tmp_path / "runs.sqlite"))
    bench = RunBench(chain=chain, counter=counter, host=host)
    sources = TrustedSources(
        validators=frozenset({address_of(VALIDATOR_KEY)}),
        clients=frozenset({address_of(CLIENT_KEY)}),
    )
    owner, validator = (LocalChainPort(chain, key) for key in (OPERATOR_KEY, VALIDATOR_KEY))
    bench.install(register(AddingAgent(counter, {"step-1": Addition()})))
    bench.change(
        trust=RegistryTrust(host.port, REGISTRIES, sources),
        sources=sources,
        validator=RegistryValidator(owner, validator, REGISTRIES.validation),
    )
    yield bench
    bench.store.close()
    chain.close()


def register(agent: AddingAgent, agent_id: int = AGENT_ID) -> AddingAgent:
    """Give an agent's manifest an identity; return the agent."""
    identity = ManifestIdentity(agent_registry=REGISTRIES.identity, agent_id=agent_id)
    agent.manifest = replace(agent.manifest, erc8004=identity)
    return agent


def install(bench: RunBench, agent: AddingAgent) -> None:
    """Install an agent, and leave the registries as the source of trust."""
    trust = bench.host.trust
    bench.install(agent)
    bench.change(trust=trust)


def give_feedback(bench: RunBench, key: PrivateKey, value: int) -> None:
    given = (AGENT_ID, value, 0, "", "", "", "", bytes(32))
    send(bench.chain, REGISTRIES.reputation, REPUTATION.encode_call("giveFeedback", *given), key)


def test_a_run_is_validated_on_the_chain(registered: RunBench) -> None:
    run = registered.run()
    assert run.failure is None
    receipt = registered.store.list_receipts(run.run_id)[-1]
    assert receipt.type is ReceiptType.VERIFICATION
    request = bytes.fromhex(receipt.ref.removeprefix("0x"))
    status = read_status(registered.host.port, REGISTRIES.validation, request)
    assert status is not None
    assert (status.agent_id, status.response, status.tag) == (AGENT_ID, 100, "reexecution")
    assert status.validator == address_of(VALIDATOR_KEY)


class PostingHostEnd(BaseException):
    """The host ends after the response was posted, before it is stored."""


def test_an_agent_that_changes_its_mind_after_a_kill_has_one_response(
    registered: RunBench,
) -> None:
    said = iter((1.0, 0.0))

    class WaveringAgent(AddingAgent):
        def verify(
            self, task: Task, result: ExecutionResult, context: AgentContext
        ) -> VerificationResult:
            stated = super().verify(task, result, context)
            score = next(said)
            return replace(stated, is_passed=score > 0, score=score)

    install(registered, register(WaveringAgent(registered.counter, {"step-1": Addition()})))
    poster = registered.host.validator
    assert poster is not None
    post = poster.respond

    class EndingPoster:
        def respond(self, *words: Any) -> str:  # noqa: ANN401 - those of a validator
            post(*words)
            raise PostingHostEnd

    registered.change(validator=EndingPoster())
    orchestrator = Orchestrator(registered.host)
    run_id = orchestrator.start(build_task())
    with pytest.raises(PostingHostEnd):
        orchestrator.run(run_id)
    registered.change(validator=poster)
    number = registered.chain.head.block_number
    run = Orchestrator(registered.host).run(run_id)
    assert (run.status, run.failure) == (RunStatus.COMPLETED, None)
    assert registered.chain.head.block_number == number, "nothing was posted again"


@pytest.mark.parametrize("blocks", [MAX_CALL_DRAFTS - 1, MAX_CALL_DRAFTS])
def test_a_posting_is_drafted_anew_after_a_block_in_between(
    registered: RunBench, monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    validator = registered.host.validator
    assert validator is not None
    commit, left = LocalChainPort.commit, iter(range(blocks))

    def come_in_between(port: LocalChainPort, block: PreparedBlock) -> RunBlock:
        if next(left, None) is not None:
            registered.chain.mine()
        return commit(port, block)

    monkeypatch.setattr(LocalChainPort, "commit", come_in_between)
    if blocks == MAX_CALL_DRAFTS:
        with pytest.raises(MovedStateError):
            validator.respond(AGENT_ID, "run-x", 100, bytes(32))
        return
    request = bytes.fromhex(validator.respond(AGENT_ID, "run-x", 100, bytes(32))[2:])
    status = read_status(registered.host.port, REGISTRIES.validation, request)
    assert status is not None
    assert status.response == 100


def test_posting_again_does_nothing(registered: RunBench) -> None:
    registered.run()
    validator = registered.host.validator
    assert validator is not None
    first = validator.respond(AGENT_ID, "run-x", 100, bytes(32))
    number = registered.chain.head.block_number
    assert validator.respond(AGENT_ID, "run-x", 100, bytes(32)) == first
    assert registered.chain.head.block_number == number


def test_a_taken_request_hash_is_passed_over(registered: RunBench) -> None:
    """Whoever sees a request hash first can take it for an agent of theirs."""
    taken = compute_request_hash(AGENT_ID, "run-x/0", bytes(32))
    send(registered.chain, REGISTRIES.identity, bytes.fromhex("1aa3a008"), SYBIL_KEY)
    call = VALIDATION.encode_call("validationRequest", address_of(SYBIL_KEY), 1, "", taken)
    send(registered.chain, REGISTRIES.validation, call, SYBIL_KEY)
    validator = registered.host.validator
    assert validator is not None
    reference = validator.respond(AGENT_ID, "run-x", 100, bytes(32))
    assert reference == "0x" + compute_request_hash(AGENT_ID, "run-x/1", bytes(32)).hex()


def test_a_failed_verification_is_posted_and_rejects_the_agent(registered: RunBench) -> None:
    needed = TrustThreshold(requires_validation=True, min_score=0.9)
    assert registered.run().status is RunStatus.COMPLETED
    assert registered.run(task_id="task-2", trust_threshold=needed).failure is None
    install(registered, register(HidingAgent(registered.counter, {"step-1": Addition()})))
    assert registered.run(task_id="task-3").failed_phase is Phase.VERIFY
    run = registered.run(task_id="task-4", trust_threshold=needed)
    assert run.failed_phase is Phase.TRUST_CHECK
    assert "a trusted validator's re-execution gave another result" in (run.failure or "")


def test_a_crowd_of_clients_changes_no_score(registered: RunBench) -> None:
    needed = TrustThreshold(min_score=0.5)
    give_feedback(registered, SYBIL_KEY, 100)
    run = registered.run(trust_threshold=needed)
    assert "trust score 0.00: must be at least 0.50" in (run.failure or "")
    give_feedback(registered, CLIENT_KEY, 60)
    assert registered.run(task_id="task-2", trust_threshold=needed).failure is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"erc8004": None}, "identity: the agent has no entry"),
        (
            {"erc8004": ManifestIdentity(agent_registry=REGISTRIES.identity, agent_id=99)},
            "identity: the agent has no entry",
        ),
        (
            {"erc8004": ManifestIdentity(agent_registry=bytes(20), agent_id=AGENT_ID)},
            "identity: the agent has no entry",
        ),
        ({"owner_wallet": bytes(20)}, "registration: the identity's owner"),
    ],
)
def test_an_identity_that_is_not_the_agents_is_rejected(
    registered: RunBench, change: dict[str, object], words: str
) -> None:
    agent = register(AddingAgent(registered.counter, {"step-1": Addition()}))
    agent.manifest = replace(agent.manifest, **change)  # type: ignore[arg-type]
    install(registered, agent)
    run = registered.run(trust_threshold=TrustThreshold(min_score=0.0))
    assert (run.failed_phase, registered.number) == (Phase.TRUST_CHECK, 0)
    assert words in (run.failure or "")


class IdentityAgent(AddingAgent):
    """Rewrites the URI of its own identity."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        data = IDENTITY.encode_call("setAgentURI", AGENT_ID, "ipfs://better")
        context.session.write(REGISTRIES.identity, data)
        return "done"


def test_no_run_changes_an_identity(registered: RunBench) -> None:
    owner = LocalChainPort(registered.chain, OPERATOR_KEY)
    registered.change(port=owner)
    install(registered, register(IdentityAgent(registered.counter, {"step-1": Addition()})))
    run = registered.run()
    assert run.failed_phase is Phase.DRY_RUN
    assert "no run may change it" in (run.failure or "")


class RenouncingAgent(AddingAgent):
    """Names another agent's identity once its own run is verified, and so fails verification."""

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        register(self, AGENT_ID + 1)
        return super().verify(task, execution_result, context)


def test_a_failed_verification_is_posted_about_the_agent_that_was_discovered(
    registered: RunBench,
) -> None:
    send(registered.chain, REGISTRIES.identity, bytes.fromhex("1aa3a008"))
    install(registered, register(RenouncingAgent(registered.counter, {"step-1": Addition()})))
    run = registered.run()
    assert run.failed_phase is Phase.VERIFY
    request = bytes.fromhex(registered.store.list_receipts(run.run_id)[-1].ref[2:])
    status = read_status(registered.host.port, REGISTRIES.validation, request)
    assert status is not None
    assert (status.agent_id, status.response) == (AGENT_ID, 0)
