"""Runs by the doors of a control plane: what each state admits, what is answered, and what is next.

The doors are REST and MCP as they are served, and the plane that the command line uses.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.identity import register_agent
from pyevm_agents.control.mcp_tools import build_mcp_server
from pyevm_agents.control.requests import (
    BudgetRequest,
    ConfirmationRequest,
    RegistrationRequest,
    StartRequest,
    TaskRequest,
)
from pyevm_agents.control.rest import build_rest_app
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.lifecycle.envelopes import PlainRunEnvelope
from pyevm_agents.lifecycle.next_steps import (
    ADMITTED,
    NEXT_STEPS,
    UNFINISHED,
    Door,
    RunAction,
    RunState,
    RunStateError,
    describe_next_step,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus
from pyevm_agents.manifests.agent_folder import AgentFolder
from tests.pyevm_agents.control.agents_of_tests import FAIL, PAY, READ, make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane
from tests.pyevm_agents.control.test_mcp import fail, talk_to, use
from tests.pyevm_agents.control.test_plane import sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp import Client

    from pyevm_agents.control.plane import ControlPlane
    from pyevm_agents.control.results import RunResult
    from pyevm_agents.lifecycle.envelopes import RunTerms

PAYEE = Address(bytes.fromhex("00" * 18 + "beef"))
EXPIRY = 2**33
CONFIRMED = "confirmed"
"""Beginning of the IDs of tasks whose runs wait for a signature."""

REGISTRY = REGISTRY_ADDRESSES[TESTNET].identity


@dataclass
class Office:
    """A control plane of two agents, one of which always fails, on a chain with registries."""

    plane: ControlPlane
    chain: Chain
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def paid(self) -> int:
        return int(self.chain.state().get_balance(PAYEE))

    def create(self, kind: str = "plain", agent: str | None = None, **members: Any) -> str:  # noqa: ANN401
        """Create a task; return its ID."""
        task_id = f"{kind}-{next(self.numbers)}"
        form = TaskRequest(goal="Pay", task_id=task_id, agent_slug=agent, **members)
        return self.plane.create_task(form).task_id

    def start(self, task_id: str, until: str | None = None) -> RunResult:
        return self.plane.start_run(task_id, StartRequest(until=until), waits=True)

    def confirm(self, run_id: str) -> RunResult:
        """Sign and confirm a dry run."""
        digest = bytes.fromhex(self.plane.get_confirmation(run_id, EXPIRY).digest[2:])
        form = ConfirmationRequest(expiry=EXPIRY, signature=sign(DEVELOPMENT_KEY, digest))
        return self.plane.confirm_run(run_id, form, waits=True)

    def reach(self, state: RunState) -> RunResult:
        """Return a run in a state that a stopped control plane can have."""
        match state:
            case RunState.STOPPED:
                return self.start(self.create(), "plan")
            case RunState.WAITING:
                return self.start(self.create(CONFIRMED))
            case RunState.COMPLETED:
                return self.start(self.create())
            case RunState.FAILED:
                return self.start(self.create(agent="failing"))
            case RunState.REJECTED:
                return self.start(self.create(budget=BudgetRequest(max_steps=51)))
            case RunState.CANCELLED:
                return self.plane.cancel_run(self.start(self.create(), "dry_run").run_id)
            case _:
                raise AssertionError(state)


def open_office(folder: Path, stack: ExitStack, action: str = PAY) -> Office:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    chain = Chain(
        ChainConfig(), {}, accounts={DEVELOPMENT_ADDRESS: funds, **build_registries(TESTNET)}
    )

    def open_envelope(terms: RunTerms) -> PlainRunEnvelope:
        is_confirmed = terms.task_id.startswith(CONFIRMED)
        return PlainRunEnvelope(terms, chain.config.chain_id, requires_confirmation=is_confirmed)

    folders = [
        make_agent(folder, action=action).path,
        make_agent(folder, "failing", FAIL).path,
    ]
    plane = stack.enter_context(
        open_development_plane(
            folders,
            folder,
            chain=chain,
            open_envelope=open_envelope,
            identity_account=LocalAccount(chain),
            identity_registry=REGISTRY,
        )
    )
    return Office(plane, chain)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with ExitStack() as stack:
        yield open_office(tmp_path, stack)


ACTIONS: dict[RunAction, Callable[[ControlPlane, RunResult], object]] = {
    RunAction.START: lambda plane, run: plane.start_run(
        run.task_id, StartRequest(until="plan"), waits=True
    ),
    RunAction.CONTINUE: lambda plane, run: plane.continue_run(run.run_id, "plan", waits=True),
    RunAction.READ_CONFIRMATION: lambda plane, run: plane.get_confirmation(run.run_id, EXPIRY),
    RunAction.CONFIRM: lambda plane, run: plane.confirm_run(
        run.run_id,
        ConfirmationRequest(
            expiry=EXPIRY,
            signature=sign(
                DEVELOPMENT_KEY,
                bytes.fromhex(plane.get_confirmation(run.run_id, EXPIRY).digest[2:]),
            ),
        ),
        waits=True,
    ),
    RunAction.CANCEL: lambda plane, run: plane.cancel_run(run.run_id),
}


def describe(door: Door, run: RunResult, until: Phase | None = None) -> str:
    ids = (run.run_id, run.task_id)
    return describe_next_step(door, run.state, run_id=ids[0], task_id=ids[1], until=until)


DOORS = (Door.COMMAND_LINE, Door.REST, Door.MCP)
REACHABLE = [each for each in RunState if each not in {RunState.ADVANCING, RunState.FAULTED}]


@pytest.mark.parametrize("state", REACHABLE)
def test_every_state_admits_a_request_or_names_what_comes_next(
    office: Office, state: RunState
) -> None:
    """By every door; each admitted request is made of a run of its own."""
    run = office.reach(state)
    assert run.state is state
    for door in DOORS:
        plane = office.plane.through(door)
        assert plane.get_run(run.run_id).next_step == describe(door, run)
        for request in (each for each in RunAction if state not in ADMITTED[each]):
            with pytest.raises(RunStateError) as told:
                ACTIONS[request](plane, run)
            until = Phase.PLAN if request is RunAction.START else None
            expected = describe(door, run, until)
            assert str(told.value).endswith(f"; {expected}")
    assert office.plane.get_run(run.run_id).state is state
    for request in (each for each in RunAction if state in ADMITTED[each]):
        ACTIONS[request](office.plane, office.reach(state))


@pytest.mark.parametrize("state", REACHABLE)
def test_a_result_that_is_not_there_yet_is_refused_with_what_comes_next(
    office: Office, state: RunState
) -> None:
    plane, run = office.plane, office.reach(state)
    done = {each.phase for each in run.phases}
    for phase, read in (
        (Phase.DRY_RUN, plane.get_dry_run),
        (Phase.EXECUTE, plane.verify_run),
    ):
        if phase in done:
            read(run.run_id)
            continue
        with pytest.raises(RunStateError) as told:
            read(run.run_id)
        assert str(told.value).endswith(run.next_step)


def test_a_cancelled_run_says_so_at_once_and_offers_nothing_to_sign(office: Office) -> None:
    for state in (RunState.STOPPED, RunState.WAITING):
        run = office.reach(state)
        answer = office.plane.cancel_run(run.run_id)
        assert (answer.status, answer.is_cancelled, answer.state) == (
            RunStatus.CANCELLED,
            True,
            RunState.CANCELLED,
        )
        assert (answer.task_status, answer.waits_for_confirmation) == (TaskStatus.CANCELLED, False)
        with pytest.raises(RunStateError):
            office.plane.get_confirmation(run.run_id, EXPIRY)
        assert office.plane.cancel_run(run.run_id).status is RunStatus.CANCELLED
        again = office.start(run.task_id, "plan")
        assert (again.run_id, again.state) == (f"{run.task_id}-run-2", RunState.STOPPED)
        recorded = office.plane.get_run(run.run_id, waits=True)
        assert (recorded.phase, recorded.ended_at is None) == (None, False)
        assert office.plane.get_task(run.task_id).status is TaskStatus.ASSIGNED
    assert office.paid == 0


# -- the texts name what is served -- #


def test_the_routes_of_the_next_steps_exist(office: Office) -> None:
    document = build_rest_app(office.plane).openapi()
    named = [
        (match[1].lower(), re.sub(r"\{(run|task)\}", r"{\1_id}", match[2]))
        for text in NEXT_STEPS[Door.REST].values()
        for match in re.finditer(r"(GET|POST) (/[^\s?;,]*)", text)
    ]
    assert len(named) > len(RunState)
    for method, path in named:
        assert method in document["paths"][path], (method, path)


@pytest.mark.anyio
async def test_the_tools_of_the_next_steps_exist_and_take_the_arguments(office: Office) -> None:
    tools = {each.name: each for each in await build_mcp_server(office.plane).list_tools()}
    for state in RunState:
        told = describe_next_step(Door.MCP, state, run_id="r", task_id="t")
        for name, given in re.findall(r"(openfi_\w+)(?: (\{[^}]*\}))?", told):
            schema = tools[name].input_schema
            if given:
                arguments = json.loads(given.replace("SECONDS", "1"))
                assert set(schema.get("required", ())) <= set(arguments)
                assert set(arguments) <= set(schema["properties"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_doors_themselves_answer_with_the_next_step(tmp_path: Path) -> None:
    """REST with the status 409, MCP with an error of the tool."""
    agent = make_agent(tmp_path, action=PAY)
    with open_served_plane(agent.path, tmp_path) as client:
        client.post("/tasks", {"goal": "Pay", "taskId": "pay"}, status=201)

        async def talk(session: Client) -> None:
            await use(session, "openfi_plan_task", taskId="pay")
            told = await fail(session, "openfi_dry_run_task", taskId="pay")
            assert "text='task pay: run pay-run-1 has not ended; call" in told, "without a prefix"
            assert 'openfi_continue_run {"runId": "pay-run-1", "until": "dry_run"}' in told

        talk_to(client.url, talk)
        told = client.post("/tasks/pay/runs", {"until": "dry_run"}, status=409)["error"]
        assert 'POST /runs/pay-run-1/continue {"until": "dry_run"}' in told
        done = client.post("/runs/pay-run-1/continue?wait=true", {"until": None})
        assert (done["status"], done["state"]) == ("completed", "completed")
        told = client.post("/runs/pay-run-1/cancel", status=409)["error"]
        assert "GET /runs/pay-run-1/receipts" in told
        run = client.get("/runs/pay-run-1")
        assert (run["status"], run["isCancelled"]) == ("completed", False)


# -- registered between -- #


PLANE, OTHER = "the plane", "another program"


@pytest.mark.parametrize(
    ("door", "until", "action"),
    [
        (PLANE, "discover", READ), (OTHER, "plan", PAY), (PLANE, "dry_run", PAY),
        (OTHER, "dry_run", READ), (PLANE, None, READ), (OTHER, None, PAY),
    ],
)  # fmt: skip
def test_a_run_that_waits_goes_on_after_its_agent_was_registered(
    tmp_path: Path, door: str, until: str | None, action: str
) -> None:
    """None is a run that waits for its confirmation: the one that is given counts."""
    with ExitStack() as stack:
        office = open_office(tmp_path, stack, action)
        run = office.start(office.create("plain" if until else CONFIRMED), until)
        if door == PLANE:
            assert office.plane.register_identity("gas-watcher", RegistrationRequest()).is_new
        else:
            account = LocalAccount(office.chain)
            register_agent(AgentFolder(tmp_path / "gas-watcher"), account, REGISTRY)
        assert office.plane.get_run(run.run_id).state is run.state
        if until:
            run = office.plane.continue_run(run.run_id, None, waits=True)
        else:
            run = office.confirm(run.run_id)
        assert (run.status, run.failure, run.attempt) == (RunStatus.COMPLETED, None, 1)
        assert office.plane.list_agents()[0].agent_id == 0
        assert office.start(office.create()).status is RunStatus.COMPLETED


# -- any order of requests -- #


class RunsMachine(RuleBasedStateMachine):
    """Any requests by any door: the plane does what its states admit, and nothing else."""

    tasks, runs = Bundle("tasks"), Bundle("runs")
    doors = st.sampled_from(DOORS)
    phases = st.sampled_from(["plan", "dry_run", None])

    @initialize()
    def open(self) -> None:
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.office = open_office(Path(folder), self.stack)
        self.ended: dict[str, RunState] = {}

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()

    def try_request(self, request: RunAction, run_id: str, door: Door, until: str | None) -> object:
        """Make a request; check that it is admitted or refused as the run's state says."""
        plane = self.office.plane.through(door)
        run = plane.get_run(run_id, waits=True)
        if request is RunAction.START:
            latest = plane.get_task(run.task_id).run_ids[-1]
            run = plane.get_run(latest, waits=True)
        actions: dict[RunAction, Callable[[ControlPlane, RunResult], object]] = {
            **ACTIONS,
            RunAction.START: lambda at, of: at.start_run(
                of.task_id, StartRequest(until=until), waits=True
            ),
            RunAction.CONTINUE: lambda at, of: at.continue_run(of.run_id, until, waits=True),
        }
        if run.state in ADMITTED[request]:
            return actions[request](plane, run)
        with pytest.raises(RunStateError) as told:
            actions[request](plane, run)
        wanted = Phase(until or "record") if request is RunAction.START else None
        assert str(told.value).endswith(describe(door, run, wanted))
        return None

    @rule(target=tasks, kind=st.sampled_from([CONFIRMED, "plain"]), fails=st.booleans())
    def create(self, kind: str, fails: bool) -> str:
        return self.office.create(kind, "failing" if fails else None)

    @rule(target=runs, task=tasks, until=phases)
    def start(self, task: str, until: str | None) -> Any:  # noqa: ANN401 - of Hypothesis
        known = self.office.plane.get_task(task).run_ids
        if known:
            found = self.try_request(RunAction.START, known[-1], Door.REST, until)
            if found is None:
                return multiple()
            return self.office.plane.get_task(task).run_ids[-1]
        return self.office.start(task, until).run_id

    @rule(run=runs, door=doors, until=phases)
    def go_on(self, run: str, door: Door, until: str | None) -> None:
        self.try_request(RunAction.CONTINUE, run, door, until)

    @rule(run=runs, door=doors)
    def confirm(self, run: str, door: Door) -> None:
        self.try_request(RunAction.CONFIRM, run, door, None)

    @rule(run=runs, door=doors)
    def cancel(self, run: str, door: Door) -> None:
        answer = self.try_request(RunAction.CANCEL, run, door, None)
        if answer is not None:
            assert answer.status is RunStatus.CANCELLED  # type: ignore[attr-defined]

    @rule(slug=st.sampled_from(["gas-watcher", "failing"]), door=doors)
    def register(self, slug: str, door: Door) -> None:
        self.office.plane.through(door).register_identity(slug, RegistrationRequest())

    @invariant()
    def nothing_else_happened(self) -> None:
        if not hasattr(self, "office"):
            return
        plane, completed = self.office.plane, 0
        for each in plane.list_runs():
            run = plane.get_run(each.run_id, waits=True)
            assert run.state not in {RunState.ADVANCING, RunState.FAULTED}
            assert run.waits_for_confirmation == (run.state is RunState.WAITING)
            assert (run.phase is None) == (run.state not in UNFINISHED)
            ids = [receipt.receipt_id for receipt in run.receipts]
            assert len(ids) == len(set(ids))
            is_failing = plane.get_task(run.task_id).agent_slug == "failing"
            assert not (is_failing and run.state is RunState.COMPLETED)
            if run.state not in UNFINISHED:
                assert self.ended.setdefault(run.run_id, run.state) is run.state
                expected = "division" if run.state is RunState.FAILED else ""
                is_cancelled = run.state is RunState.CANCELLED
                assert is_cancelled or expected in (run.failure or ""), run.failure
            completed += run.state is RunState.COMPLETED
        assert self.office.paid == completed


TestRunsMachine = RunsMachine.TestCase
TestRunsMachine.settings = settings(
    max_examples=8,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
