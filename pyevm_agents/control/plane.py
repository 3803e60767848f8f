"""The control plane: agents, tasks and runs, for REST and MCP clients.

One thread advances runs, one phase after the other; others read the store meanwhile. A run is
durable: one that a stop interrupts goes on when the store is opened again.
"""

from __future__ import annotations

import logging
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from eth_utils import to_checksum_address

from pyevm_agents.control.agent_loader import load_agent
from pyevm_agents.control.agent_operator import name_operator
from pyevm_agents.control.identity import register_agent
from pyevm_agents.control.installed_agents import InstalledAgents
from pyevm_agents.control.recorder import LogFileRecorder
from pyevm_agents.control.requests import parse_phase
from pyevm_agents.control.results import (
    AgentResult,
    AgentTrustResult,
    ConfirmationReport,
    IdentityResult,
    PolicyResult,
    ReceiptResult,
    RunOverview,
    TypedData,
    ValidationReport,
)
from pyevm_agents.control.run_results import (
    build_dry_run_report,
    build_run_result,
    build_task_result,
    verify_block,
)
from pyevm_agents.control.write_effects import trace_writes
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.envelopes import Confirmation
from pyevm_agents.lifecycle.host import LifecycleHost, ignore_event
from pyevm_agents.lifecycle.module import IDENTITY_MODE
from pyevm_agents.lifecycle.next_steps import (
    ADMITTED,
    Door,
    RunAction,
    RunState,
    RunStateError,
    describe_next_step,
    describe_refusal,
)
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.policy import SYSTEM_LIMITS
from pyevm_agents.lifecycle.records import ReceiptType, Task
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.trust import (
    TrustedSources,
    TrustTable,
    TrustThreshold,
    evaluate_trust,
)
from pyevm_agents.lifecycle.untrusted_agents import read_agent
from pyevm_agents.manifests.documents import DocumentKind, read_document
from pyevm_agents.manifests.endpoints import name_endpoints
from pyevm_agents.manifests.registration import BUILDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.control.requests import (
        ConfirmationRequest,
        RegistrationRequest,
        StartRequest,
        TaskRequest,
    )
    from pyevm_agents.control.results import (
        DryRunReport,
        RunResult,
        TaskResult,
        TreasuryResult,
        VerificationReport,
        WriteEffects,
    )
    from pyevm_agents.lifecycle.chain_tools import HostTool
    from pyevm_agents.lifecycle.envelopes import RunEnvelope, RunTerms
    from pyevm_agents.lifecycle.host import RunEvent
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.registry_trust import RequestStatus
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.lifecycle.trust import TrustSource
    from pyevm_agents.lifecycle.verification import RunValidator
    from pyevm_agents.manifests.agent_folder import AgentFolder

log = logging.getLogger(__name__)

STOP_AFTER = "control:stop-after"
"""Name of a run's value: the phase after which it waits for a client."""

ID_BYTES = 6
"""Of a new ID: two of a billion tasks are equal with a chance of 0.2 %."""

PHASES = tuple(Phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneOptions:
    """Everything that a control plane runs agents with."""

    port: LocalChainPort
    store_path: Path
    """The file of tasks and runs."""

    now: Callable[[], float]
    """Returns Unix seconds."""

    operator_wallet: bytes
    """The account that confirms dry runs, for agents whose manifests name none."""

    limits: ComputeBudget = SYSTEM_LIMITS
    threshold: TrustThreshold = field(default_factory=TrustThreshold)
    sources: TrustedSources = field(default_factory=TrustedSources)
    trust: TrustSource = field(default_factory=TrustTable)
    tools: Mapping[str, HostTool] = field(default_factory=dict)
    """Tools of the host, for agents' use."""

    protected: frozenset[bytes] = frozenset()
    open_envelope: Callable[[RunTerms], RunEnvelope] | None = None
    describe_treasury: Callable[[], TreasuryResult] | None = None
    """Returns the treasury's rules; None without one."""

    validator: RunValidator | None = None
    read_response: Callable[[str], RequestStatus | None] | None = None
    """Returns the validator's response to a request by its hash; None without a validator."""

    identity_account: SendingAccount | None = None
    """Registers agents; None if the chain has no identity registry."""

    identity_registry: bytes | None = None
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """The URLs at which clients reach this control plane, by `api` and `mcp`; empty for one that
    serves no port."""

    listener: Callable[[RunEvent], None] = ignore_event
    load: Callable[[AgentFolder], AgentModule] = load_agent
    """Loads the agent of a folder."""


class ControlPlane:
    """Agents of folders, run on a chain."""

    def __init__(
        self, folders: Sequence[AgentFolder], options: PlaneOptions, *, resumes: bool = True
    ) -> None:
        """Load the agents, open the store, and continue the runs that had not ended.

        Input: the agents' folders; the options of runs; whether such runs go on by themselves.

        Raises: ConfigError: an agent or the store can't be opened, or two agents have one slug.
        """
        self._options = options
        self._agents = InstalledAgents(folders, options.load)
        # The worker's connection, and one for all who read meanwhile.
        self._orchestrator = Orchestrator(self._build_host(RunStore(options.store_path)))
        self._reading = Orchestrator(self._build_host(RunStore(options.store_path)))
        self._lock = threading.Lock()
        self._door = Door.COMMAND_LINE
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="runs")
        self._work: dict[str, Future[None]] = {}
        self._closing = threading.Event()
        if resumes:
            for run in self._reading.host.store.list_unfinished():
                self._submit(run.run_id)

    def __enter__(self) -> Self:
        """Return the control plane."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop after the phase that is being performed."""
        self.close()

    def close(self) -> None:
        """Stop after the phase that is being performed; the store has the rest."""
        self._closing.set()
        self._worker.shutdown(cancel_futures=True)
        for each in (self._orchestrator, self._reading):
            each.host.store.close()

    def through(self, door: Door) -> ControlPlane:
        """Return this control plane for a door: results and errors name the next step there."""
        shown = copy(self)
        shown._door = door  # noqa: SLF001 - a copy of this one
        return shown

    # -- agents -- #

    def list_agents(self) -> list[AgentResult]:
        """Return the installed agents."""
        return [
            AgentResult.build(
                each,
                identity_mode=IDENTITY_MODE,
                agent_id=None if each.erc8004 is None else each.erc8004.agent_id,
            )
            for each in self._agents.list_manifests()
        ]

    def get_document(self, slug: str | None, kind: DocumentKind) -> dict[str, Any]:
        """Return a document of an agent; of the first one for None.

        Raises: UnknownAgentError: no such agent.
        """
        chosen = self._agents.choose(slug)
        folder, endpoints = self._agents.get_folder(chosen), self._options.endpoints
        if kind in BUILDERS:
            return BUILDERS[kind](name_endpoints(self._agents.get_package(chosen), endpoints))
        form = {**read_document(folder.locate(kind))}
        if kind is DocumentKind.MANIFEST:
            form["endpoints"] = {**name_endpoints(folder.read_manifest(), endpoints).endpoints}
        return form

    def get_trust(self, slug: str) -> AgentTrustResult:
        """Return an agent's evidence in the registries, the score, and why runs reject the agent.

        Raises: UnknownAgentError: no such agent.
        """
        return self.submit_trust(slug).result()

    def submit_trust(self, slug: str) -> Future[AgentTrustResult]:
        """Begin `get_trust`, which reads the chain after the run that is being performed."""
        manifest = read_agent(self._agents, self._agents.choose(slug)).manifest
        options = self._options

        def read() -> AgentTrustResult:
            snapshot = options.trust.take_snapshot(manifest)
            result = evaluate_trust(snapshot, options.threshold, options.sources)
            return AgentTrustResult.build(result, snapshot=snapshot, threshold=options.threshold)

        return self._worker.submit(read)

    def get_policy(self) -> PolicyResult:
        """Return the limits of budgets, the standard's budget, and the trust that agents need."""
        options = self._options
        return PolicyResult(
            limits=options.limits,
            default_budget=ComputeBudget(),
            trust_threshold=options.threshold,
            trusted_validators=tuple(sorted(map(to_checksum_address, options.sources.validators))),
            trusted_clients=tuple(sorted(map(to_checksum_address, options.sources.clients))),
        )

    def get_treasury(self) -> TreasuryResult:
        """Return the address, the limits and the assets of the treasury that runs write through.

        Raises: ConfigError: no treasury.
        """
        return self.submit_treasury().result()

    def submit_treasury(self) -> Future[TreasuryResult]:
        """Begin `get_treasury`, which reads the chain after the run that is being performed."""
        describe = self._options.describe_treasury
        if describe is None:
            raise ConfigError(
                "treasury: this control plane has none; start it with --treasury ADDRESS or "
                "--treasury new"
            )
        return self._worker.submit(describe)

    def register_identity(self, slug: str, request: RegistrationRequest) -> IdentityResult:
        """Register an agent in the identity registry, or change the URI of the entry.

        The registration waits for the run that is being executed: no run may change a manifest.

        Raises: UnknownAgentError: no such agent. AgentsError: no registry, or a refusal there.
        """
        return self.submit_registration(slug, request).result()

    def submit_registration(
        self, slug: str, request: RegistrationRequest
    ) -> Future[IdentityResult]:
        """Begin `register_identity`."""
        folder = self._agents.get_folder(self._agents.choose(slug))
        account, registry = self._options.identity_account, self._options.identity_registry
        if account is None or registry is None:
            raise ConfigError(
                "identity registry: this chain has none; start with --registries, or register on "
                "another chain by `pyevm-agents agent register`"
            )

        def register() -> IdentityResult:
            options = self._options
            with name_operator(folder, options.operator_wallet, options.endpoints):
                result = register_agent(folder, account, registry, uri=request.uri)
            self._agents.reload(slug)
            identity = result.manifest.identity
            assert identity is not None  # noqa: S101 - registered
            return IdentityResult(
                slug=slug,
                agent_id=identity.agent_id,
                agent_registry=identity.registry,
                chain_id=account.chain_id,
                is_new=result.is_new,
                uri=result.uri,
                transaction_hashes=tuple("0x" + each.hex() for each in result.transaction_hashes),
            )

        return self._worker.submit(register)

    # -- tasks -- #

    def create_task(self, request: TaskRequest) -> TaskResult:
        """Add and return a task.

        Raises: UnknownAgentError: no such agent. ConfigError: another task has the ID.
        """
        slug = self._agents.choose(request.agent_slug)
        manifest = read_agent(self._agents, slug).manifest
        task = Task(
            task_id=request.task_id or f"task-{secrets.token_hex(ID_BYTES)}",
            goal=request.goal,
            agent_slug=slug,
            operator_wallet=manifest.operator_wallet or self._options.operator_wallet,
            category=request.category,
            budget=request.budget.to_budget(),
            trust_threshold=None
            if request.trust_threshold is None
            else request.trust_threshold.to_threshold(),
        )
        with self._lock, self._store.commit():
            self._store.add_task(task)
        return self.get_task(task.task_id)

    def get_task(self, task_id: str) -> TaskResult:
        """Return a task with the status and the IDs of the runs.

        Raises: UnknownRunError: no such task.
        """
        with self._lock:
            return build_task_result(self._store, task_id)

    def list_tasks(self) -> list[TaskResult]:
        """Return all tasks in the order of their creation, with statuses and IDs of runs."""
        with self._lock:
            return [build_task_result(self._store, each) for each in self._store.list_task_ids()]

    # -- runs -- #

    def start_run(self, task_id: str, request: StartRequest, *, waits: bool = False) -> RunResult:
        """Start a run of a task, up to a phase. A run of the same ID is not started again.

        Input:  waits: whether to return when the run has stopped.
        Raises: UnknownRunError: no such task. RunStateError: the task was completed, or has a run
                that has not ended.
        """
        until = parse_phase(request.until)
        with self._lock:
            task = self._store.get_task(task_id)
            runs = self._store.list_runs(task_id)
            is_known = any(each.run_id == request.run_id for each in runs)
            if not is_known:
                for each in runs:
                    self._require(RunAction.START, each, until)
            run_id = self._reading.start(task, request.run_id)
            if not is_known:
                self._set_stop(run_id, until)
        self._submit(run_id)
        return self.get_run(run_id, waits=waits)

    def continue_run(self, run_id: str, until: str | None, *, waits: bool = False) -> RunResult:
        """Go on with a run up to a phase.

        Raises: UnknownRunError: no such run. ConfigError: no such phase. RunStateError: the run has
                ended.
        """
        phase = parse_phase(until)
        with self._lock:
            self._require(RunAction.CONTINUE, self._store.get_run(run_id))
            self._set_stop(run_id, phase)
        self._submit(run_id)
        return self.get_run(run_id, waits=waits)

    def confirm_run(
        self, run_id: str, request: ConfirmationRequest, *, waits: bool = False
    ) -> RunResult:
        """Confirm the dry run of a run by the operator's signature, and go on to the end.

        Raises: UnknownRunError: no such run. RunStateError: no dry run waits. ConfigError: the
                signature is not the operator's.
        """
        with self._lock:
            self._require(RunAction.CONFIRM, self._store.get_run(run_id))
            pending = self._reading.find_pending_confirmation(run_id)
            assert pending is not None  # noqa: S101 - as required
            confirmation = Confirmation(
                trace=pending.digests.trace,
                expiry=request.expiry,
                signature=bytes.fromhex(request.signature[2:]),
            )
            self._reading.confirm(run_id, confirmation)
        return self.continue_run(run_id, None, waits=waits)

    def cancel_run(self, run_id: str) -> RunResult:
        """Cancel a run at once; return the cancelled run. To do so again changes nothing.

        Raises: UnknownRunError: no such run. RunStateError: the run has ended otherwise, or its
                block is mined.
        """
        with self._lock:
            run = self._store.get_run(run_id)
            self._require(RunAction.CANCEL, run)
            try:
                self._reading.cancel(run_id)
            except RunStateError as error:
                raise RunStateError(error.problem, self._describe_next_step(run)) from error
        self._submit(run_id)
        return self.get_run(run_id)

    def get_run(self, run_id: str, *, waits: bool = False) -> RunResult:
        """Return a run with the results of the phases and the receipts.

        Input:  waits: whether to return when the run has stopped.
        Raises: UnknownRunError: no such run. AgentsError: the host failed during the wait.
        """
        work = self.find_work(run_id)
        if waits and work is not None:
            work.result()
        with self._lock:
            error = work.exception() if work is not None and work.done() else None
            fault = None if error is None else str(error)
            run = self._store.get_run(run_id)
            return build_run_result(
                self._reading,
                run_id,
                state=self._find_state(run),
                door=self._door,
                fault=fault,
            )

    def find_work(self, run_id: str) -> Future[None] | None:
        """Return what ends when a run has stopped; None if nothing advances the run."""
        return self._work.get(run_id)

    def get_validation(self, run_id: str) -> ValidationReport:
        """Return the response of the validator about a run, from the chain.

        Raises: UnknownRunError: no such run. ConfigError: there is no validator or no response.
        """
        return self.submit_validation(run_id).result()

    def submit_validation(self, run_id: str) -> Future[ValidationReport]:
        """Begin `get_validation`, which reads the chain after the run that is being performed."""
        read = self._options.read_response
        with self._lock:
            self._store.get_run(run_id)
            receipts = self._store.list_receipts(run_id)
        if read is None:
            raise ConfigError(
                "validator: this control plane has none; start it with --validator ADDRESS"
            )
        with self._lock:
            self._require_phase(Phase.VERIFY, run_id)
        requests = [each.ref for each in receipts if each.type is ReceiptType.VERIFICATION]

        def report() -> ValidationReport:
            found = read(requests[0]) if requests else None
            if found is None:
                raise ConfigError(f"run {run_id}: nobody validated it; it has to be verified first")
            return ValidationReport.build(found, run_id=run_id, request_hash=requests[0])

        return self._worker.submit(report)

    def list_runs(self, task_id: str | None = None) -> list[RunOverview]:
        """Return all runs, or those of a task, without the results of their phases."""
        with self._lock:
            runs = self._store.list_runs(task_id)
            return [RunOverview.build(each, state=self._find_state(each)) for each in runs]

    def list_unfinished(self) -> list[str]:
        """Return the IDs of the runs that have not ended."""
        with self._lock:
            return [each.run_id for each in self._store.list_unfinished()]

    def list_receipts(self, run_id: str) -> list[ReceiptResult]:
        """Return the receipts of a run.

        Raises: UnknownRunError: no such run.
        """
        with self._lock:
            self._store.get_run(run_id)
            return [ReceiptResult.build(each) for each in self._store.list_receipts(run_id)]

    def get_dry_run(self, run_id: str) -> DryRunReport:
        """Return the dry run of a run, and the data for the operator's signature.

        Raises: UnknownRunError: no such run. RunStateError: the run has no dry run.
        """
        with self._lock:
            self._require_phase(Phase.DRY_RUN, run_id)
            return build_dry_run_report(self._reading, run_id)

    def get_confirmation(self, run_id: str, expiry: int) -> ConfirmationReport:
        """Return what the operator signs to confirm a dry run: its effects, typed data, the digest.

        Input:  the run; until when the confirmation counts, in Unix seconds.
        Raises: UnknownRunError: no such run. RunStateError: no dry run waits. EngineFault: the host
                failed.
        """
        with self._lock:
            self._require(RunAction.READ_CONFIRMATION, self._store.get_run(run_id))
            digest = self._reading.hash_confirmation(run_id, expiry)
            typed_data = self._reading.build_typed_data(run_id, expiry)
            task = self._store.get_task(self._store.get_run(run_id).task_id)
        return ConfirmationReport(
            run_id=run_id,
            expiry=expiry,
            digest="0x" + digest.hex(),
            typed_data=TypedData.model_validate(typed_data),
            operator_wallet=to_checksum_address(task.operator_wallet),
            effects=self.trace_writes(run_id),
        )

    def trace_writes(self, run_id: str) -> tuple[WriteEffects, ...]:
        """Return the effects that the writes of a dry run have on the present state.

        Raises: UnknownRunError: no such run. RunStateError: the run has no dry run. EngineFault:
                the host failed.
        """
        with self._lock:
            self._require_phase(Phase.DRY_RUN, run_id)
            pin, writes = self._reading.list_planned_writes(run_id)
        return trace_writes(self._options.port.chain, pin, writes)

    def verify_run(self, run_id: str) -> VerificationReport:
        """Execute the block of a run again, and compare results and digests.

        Raises: UnknownRunError: no such run. RunStateError: the run was not executed.
        """
        return self.submit_verification(run_id).result()

    def submit_verification(self, run_id: str) -> Future[VerificationReport]:
        """Begin `verify_run`, which follows the run that is being performed."""
        with self._lock:
            self._require_phase(Phase.EXECUTE, run_id)
        return self._worker.submit(verify_block, self._orchestrator, run_id)

    def run_goal(self, goal: str, *, agent_slug: str | None = None, **members: Any) -> RunResult:  # noqa: ANN401 - of `TaskRequest`
        """Create and run a task, and return the stopped run.

        Input:  the goal; the coordinator; more members of `TaskRequest`.
        Raises: see `create_task` and `start_run`.
        """
        from pyevm_agents.control.requests import StartRequest, TaskRequest  # noqa: PLC0415 - types above

        task = self.create_task(TaskRequest(goal=goal, agent_slug=agent_slug, **members))
        return self.start_run(task.task_id, StartRequest(), waits=True)

    # -- inside -- #

    @property
    def _store(self) -> RunStore:
        """The store for all but the worker; under the lock."""
        return self._reading.host.store

    def _find_state(self, run: StoredRun) -> RunState:
        """Return where a run stands; under the lock."""
        state = self._reading.find_state(run.run_id)
        work = self._work.get(run.run_id)
        if state is not RunState.STOPPED or work is None or run.parent_run_id is not None:
            return state
        if not work.done():
            return RunState.ADVANCING
        has_fault = not work.cancelled() and work.exception() is not None
        return RunState.FAULTED if has_fault else state

    def _describe_next_step(self, run: StoredRun, until: Phase | None = None) -> str:
        return describe_next_step(
            self._door,
            self._find_state(run),
            run_id=run.run_id,
            task_id=run.task_id,
            until=until,
        )

    def _require(self, request: RunAction, run: StoredRun, until: Phase | None = None) -> None:
        """Accept a request to a run, or to the task of a run; under the lock.

        Raises: RunStateError: the run's state does not admit the request.
        """
        state = self._find_state(run)
        if state not in ADMITTED[request]:
            problem = describe_refusal(request, state, run_id=run.run_id, task_id=run.task_id)
            raise RunStateError(problem, self._describe_next_step(run, until))

    def _require_phase(self, phase: Phase, run_id: str) -> None:
        """Accept a run that has the result of a phase; under the lock."""
        run = self._store.get_run(run_id)
        if all(each is not phase for each, _ in self._store.list_phases(run_id)):
            problem = f"run {run_id}: has no result of phase {phase.value}"
            raise RunStateError(problem, self._describe_next_step(run))

    def _build_host(self, store: RunStore) -> LifecycleHost:
        options = self._options
        return LifecycleHost(
            port=options.port,
            store=store,
            modules=self._agents,
            now=options.now,
            limits=options.limits,
            trust=options.trust,
            sources=options.sources,
            threshold=options.threshold,
            tools=options.tools,
            protected=options.protected,
            open_envelope=options.open_envelope,
            validator=options.validator,
            recorder=LogFileRecorder(self._agents),
            listener=options.listener,
        )

    def _set_stop(self, run_id: str, phase: Phase) -> None:
        with self._store.commit():
            self._store.set_value(run_id, STOP_AFTER, phase.value)

    def _submit(self, run_id: str) -> None:
        self._work[run_id] = self._worker.submit(self._advance, run_id)

    def _advance(self, run_id: str) -> None:
        """Advance a run to the end, to a wait, or to the phase after which the run stops."""
        try:
            while not self._closing.is_set() and not self._has_stopped(run_id):
                if not self._orchestrator.advance(run_id):
                    return
        except AgentsError:
            raise
        except Exception:
            log.exception("run %s stopped", run_id)
            raise

    def _has_stopped(self, run_id: str) -> bool:
        store = self._orchestrator.host.store
        run = store.get_run(run_id)
        if run.phase is None:
            return True
        if run.failure is not None or run.is_cancelled:
            return False  # What is left is to record it.
        stop = store.find_value(str, run_id, STOP_AFTER)
        return stop is not None and PHASES.index(run.phase) > PHASES.index(Phase(stop))
