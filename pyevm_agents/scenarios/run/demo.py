"""The demo of runs: a task over two deployed agents, and three runs that are stopped.

The bills of two suppliers are read by one agent and paid by another, in one block, from a treasury.
Then a run exceeds its budget, one would pay more than the treasury's cap, and one has an agent that
is not trusted. Each is stopped in a certain phase. The spent amounts are read from the chain.

Nothing here prints.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pyevm_agents.errors import FixtureError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.dry_run import DryRunRecord
from pyevm_agents.lifecycle.envelopes import Confirmation
from pyevm_agents.lifecycle.host import LifecycleHost, ignore_event
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.manifest import AgentManifest, ManifestIdentity
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import ExecutionRecord, ReceiptType, Task
from pyevm_agents.lifecycle.registry_trust import (
    RegistryTrust,
    RegistryValidator,
    read_status,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.lifecycle.trust import MAX_RESPONSE, TrustedSources, TrustThreshold
from pyevm_agents.scenarios.recorded import Scenario
from pyevm_agents.scenarios.run.agents import Bookkeeper, ToolAnswerAgent
from pyevm_agents.scenarios.run.world import (
    AGENT_IDS,
    BILLS,
    BOOKKEEPER,
    CLERK,
    CLIENT_KEY,
    NEWCOMER,
    OPERATOR_KEY,
    PAYER,
    REGISTRIES,
    RUNNER_KEY,
    TRAINEE,
    UNIT,
    VALIDATOR_KEY,
    RunWorld,
    find_address,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.chain import Chain
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.recorder import RunRecorder
    from pyevm_agents.lifecycle.registry_trust import RequestStatus
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.scenarios.run.world import ChainState

RUNTIME_MS = 3_600_000
"""Of each run: a slow machine takes long for its generations."""

MIN_SCORE = 0.8
"""The trust that the operator wants."""

CONFIRMATION_EXPIRY = 4_102_444_800
"""2100-01-01 in Unix seconds: the clocks of the chain and of the host differ."""

VERSION = "1.0.0"
DESCRIPTIONS = {
    BOOKKEEPER: "Plans the payment of bills",
    CLERK: "Reads bills",
    PAYER: "Pays bills",
    TRAINEE: "Plans the payment of bills by the newcomer",
    NEWCOMER: "Pays bills",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTask:
    """A task of the demo, and the expected end of the run."""

    task_id: str
    title: str
    goal: str
    agent_slug: str = BOOKKEEPER
    max_writes: int = 5
    stopped_in: Phase | None = None
    """None for a run that completes."""

    reason: str = ""
    """Words of why it is stopped."""

    suppliers: tuple[str, ...] = ()
    """Who are paid."""


TASKS = (
    DemoTask(
        task_id="bills-1",
        title="Two bills are read and paid",
        goal="Pay the bills of Acme and Omar",
        suppliers=("Acme", "Omar"),
    ),
    DemoTask(
        task_id="bills-2",
        title="More writes than the budget",
        goal="Pay the bill of Quinn",
        max_writes=1,
        stopped_in=Phase.DRY_RUN,
        reason="maxOnchainWrites 1: 2 would be spent",
    ),
    DemoTask(
        task_id="bills-3",
        title="More tokens than the treasury's cap",
        goal="Pay the bill of Quinn",
        stopped_in=Phase.DRY_RUN,
        reason="CapExceeded",
    ),
    DemoTask(
        task_id="bills-4",
        title="An agent that only strangers praise",
        goal="Pay the bill of Quinn",
        agent_slug=TRAINEE,
        stopped_in=Phase.TRUST_CHECK,
        reason="trust score 0.00: must be at least 0.80",
    ),
)
"""In their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOutcome:
    """How the run of a task ended."""

    task: DemoTask
    run: StoredRun
    before: ChainState
    after: ChainState
    confirmation: Confirmation | None
    """None if the run was stopped before it had to be confirmed."""

    validation: RequestStatus | None
    """As the registry has it; None without a validation."""

    dry_run_digest: bytes | None
    execution_digest: bytes | None

    @property
    def differences(self) -> tuple[str, ...]:
        """Differences of the run from the demo's expectations, a sentence each."""
        return tuple(self._iter_differences())

    def _iter_differences(self) -> Iterator[str]:
        run, task = self.run, self.task
        if run.failed_phase != task.stopped_in:
            yield (
                f"expected {_tell_end(task.stopped_in)}; it is {_tell_end(run.failed_phase)}: "
                f"{run.failure or run.status.value}"
            )
        if task.stopped_in is None:
            yield from self._iter_missing()
            return
        if task.reason not in (run.failure or ""):
            yield f"expected the reason {task.reason!r}; it is {run.failure!r}"
        if self.before != self.after:
            yield "expected nothing to be spent; the chain has changed"

    def _iter_missing(self) -> Iterator[str]:
        if self.run.status is not RunStatus.COMPLETED:
            yield f"expected a completed run; it is {self.run.status.value}"
        if self.dry_run_digest is None or self.dry_run_digest != self.execution_digest:
            yield "expected the digest of the dry run in the execution; it is another"
        found = self.validation
        wanted = (find_address(VALIDATOR_KEY), AGENT_IDS[self.task.agent_slug], MAX_RESPONSE)
        if found is None or (found.validator, found.agent_id, found.response) != wanted:
            yield "expected a validation of 100 in the registry; it has another or none"
        if self.confirmation is None:
            yield "expected a confirmation of the operator; there is none"
        paid = {name: BILLS[name] * UNIT for name in self.task.suppliers}
        spent = {"treasury": -sum(paid.values()), **dict.fromkeys(BILLS, 0), **paid}
        for name, amount in spent.items():
            changed = self.after.tokens[name] - self.before.tokens[name]
            if changed != amount:
                yield f"{name}: expected a change of {amount} base units; it is {changed}"


class RunDemo:
    """The world, a host of runs there, and the tasks."""

    def __init__(
        self,
        world: RunWorld,
        store: RunStore,
        *,
        now: Callable[[], float],
        recorder: RunRecorder | None = None,
        listener: Callable[[RunEvent], None] = ignore_event,
    ) -> None:
        """Install the agents.

        Input:
            world: the contracts.
            store: of the runs.
            now: returns Unix seconds.
            recorder: keeps the agents' logs; None for no logs.
            listener: gets the phases.
        """
        self.world = world
        ports = [
            LocalChainPort(world.chain, key) for key in (RUNNER_KEY, OPERATOR_KEY, VALIDATOR_KEY)
        ]
        self._port, owner, validator = ports
        sources = TrustedSources(
            validators=frozenset({validator.address}),
            clients=frozenset({find_address(CLIENT_KEY)}),
        )
        self.orchestrator = Orchestrator(
            LifecycleHost(
                port=self._port,
                store=store,
                modules={each.slug: each for each in self._build_agents()},
                now=now,
                trust=RegistryTrust(self._port, REGISTRIES, sources),
                sources=sources,
                threshold=TrustThreshold(min_score=MIN_SCORE),
                open_envelope=lambda terms: TreasuryEnvelope(
                    terms, self._port, world.address("treasury")
                ),
                validator=RegistryValidator(owner, validator, REGISTRIES.validation),
                recorder=recorder,
                listener=listener,
            )
        )

    @classmethod
    def deploy(
        cls,
        chain: Chain,
        store: RunStore,
        *,
        now: Callable[[], float],
        recorder: RunRecorder | None = None,
        listener: Callable[[RunEvent], None] = ignore_event,
    ) -> Self:
        """Deploy everything on a chain like another one; see `RunWorld.build`."""
        world = RunWorld.build(chain)
        return cls(world, store, now=now, recorder=recorder, listener=listener)

    @property
    def store(self) -> RunStore:
        """The store of the runs."""
        return self.orchestrator.host.store

    def run(
        self, task: DemoTask, *, confirming: Callable[[Confirmation], None] = lambda _: None
    ) -> DemoOutcome:
        """Run a task: the operator confirms the dry run.

        Input: the task; a callback for the operator's confirmation.
        Raises: EngineFault: the model failed.
        """
        before = self.world.read_state()
        run_id = self.orchestrator.start(self._build_task(task))
        run = self.orchestrator.run(run_id)
        confirmation = None
        while self.orchestrator.find_pending_confirmation(run_id) is not None:
            confirmation = self._sign(run_id)
            confirming(confirmation)
            self.orchestrator.confirm(run_id, confirmation)
            run = self.orchestrator.run(run_id)
        dry_run = self.store.find_result(DryRunRecord, run_id, Phase.DRY_RUN)
        execution = self.store.find_result(ExecutionRecord, run_id, Phase.EXECUTE)
        return DemoOutcome(
            task=task,
            run=run,
            before=before,
            after=self.world.read_state(),
            confirmation=confirmation,
            validation=self._read_validation(run_id),
            dry_run_digest=None if dry_run is None else dry_run.digests.trace,
            execution_digest=None if execution is None else execution.digest,
        )

    def _sign(self, run_id: str) -> Confirmation:
        """Return the operator's EIP-712 signature of the dry run that waits."""
        pending = self.orchestrator.find_pending_confirmation(run_id)
        assert pending is not None  # noqa: S101 - the caller's condition
        expiry = CONFIRMATION_EXPIRY
        message = self.orchestrator.hash_confirmation(run_id, expiry)
        signature = OPERATOR_KEY.sign_msg_hash(message).to_bytes()
        form = signature[:64] + bytes([signature[64] + 27])
        return Confirmation(trace=pending.digests.trace, expiry=expiry, signature=form)

    def _read_validation(self, run_id: str) -> RequestStatus | None:
        for receipt in self.store.list_receipts(run_id):
            if receipt.type is ReceiptType.VERIFICATION and receipt.ref.startswith("0x"):
                request = bytes.fromhex(receipt.ref[2:])
                return read_status(self._port, REGISTRIES.validation, request)
        return None

    def _build_task(self, task: DemoTask) -> Task:
        return Task(
            task_id=task.task_id,
            goal=task.goal,
            agent_slug=task.agent_slug,
            operator_wallet=find_address(OPERATOR_KEY),
            budget=ComputeBudget(max_onchain_writes=task.max_writes, max_runtime_ms=RUNTIME_MS),
        )

    def _build_agents(self) -> Iterator[AgentModule]:
        for slug, payer in ((BOOKKEEPER, PAYER), (TRAINEE, NEWCOMER)):
            yield Bookkeeper(build_demo_manifest(slug), tuple(BILLS), clerk=CLERK, payer=payer)
        for slug in (CLERK, PAYER, NEWCOMER):
            yield ToolAnswerAgent(build_demo_manifest(slug), self.world.address(slug))


def build_demo_manifest(slug: str) -> AgentManifest:
    """Return the manifest of an agent of the demo."""
    operator = find_address(OPERATOR_KEY)
    return AgentManifest(
        name=slug.title(),
        slug=slug,
        version=VERSION,
        description=DESCRIPTIONS[slug],
        owner_wallet=operator,
        operator_wallet=operator,
        erc8004=ManifestIdentity(agent_registry=REGISTRIES.identity, agent_id=AGENT_IDS[slug]),
        compute_constraints=ComputeBudget(max_runtime_ms=RUNTIME_MS),
    )


def _tell_end(phase: Phase | None) -> str:
    return "no stop" if phase is None else f"a stop in {phase.value}"


# -- recording -- #


def _build_run(building: Chain) -> Chain:
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder) / "runs.sqlite")
        try:
            world = RunWorld.build(building)
            demo = RunDemo(world, store, now=lambda: float(world.chain.head.timestamp))
            for task in TASKS:
                outcome = demo.run(task)
                if outcome.differences:
                    raise FixtureError(
                        f"not the scenario: run {task.task_id}: {outcome.differences[0]}; try "
                        "another model, or more gas"
                    )
        finally:
            store.close()
    return world.chain


RUN = Scenario(
    comment="A bookkeeper's plan of four steps in one block of a treasury: one agent reads the "
    "bills of two suppliers, another pays what they say. The operator confirmed the dry run. The "
    "next blocks have the validation of the run in ERC-8004's registry. Three runs that were "
    "stopped have no block.",
    make=_build_run,
)
"""The scenario `run` of `chain_fixtures/`."""
