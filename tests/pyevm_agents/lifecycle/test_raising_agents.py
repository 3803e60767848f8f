"""Agents whose properties raise, and agents that keep a fault of the host: each fails alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from precompiles.numeric_model import NumericFaultError
from pyevm_agents.errors import EngineFault, NotDoneError
from pyevm_agents.lifecycle.budget import BudgetExceededError, RunCancelledError
from pyevm_agents.lifecycle.execution import get_child_starter
from pyevm_agents.lifecycle.local_chain import LocalDraft
from pyevm_agents.lifecycle.onchain_agent import OnchainRunError
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import DiscoverResult
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.untrusted_agents import describe_exception
from tests.pyevm_agents.lifecycle.run_bench import (
    AddingAgent,
    Addition,
    build_manifest,
    build_task,
    build_trust,
)

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep, Task
    from pyevm_agents.lifecycle.store import StoredRun
    from tests.pyevm_agents.lifecycle.run_bench import RunBench


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OnchainRunError("run of payer: OverLimit"), "run of payer: OverLimit"),
        (NotDoneError("not done: I can't", "I can't"), "not done: I can't"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (EngineFault("died"), "EngineFault: died"),
        (RunCancelledError("by nobody"), "RunCancelledError: by nobody"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_failure_names_a_class_where_the_text_alone_does_not_tell(
    error: Exception, text: str
) -> None:
    assert describe_exception(error, is_named=True) == text


ONE_STEP = {"step-1": Addition()}
PROPERTIES = ("slug", "version", "identity_mode", "manifest")


class UnreadableAgent:
    """An agent with one property that raises, or is of another type; from a moment on."""

    def __init__(self, agent: AddingAgent, name: str, value: Any) -> None:  # noqa: ANN401 - anything
        self._agent, self._name, self._value = agent, name, value
        self.is_broken = True
        self.at = ""
        """The method whose call breaks the property."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the agent has
        if name == self.at:
            self.is_broken = True
        if name != self._name or not self.is_broken:
            return getattr(self._agent, name)
        if issubclass(type(self._value), BaseException):
            raise self._value
        return self._value


def install(bench: RunBench, **agents: object) -> None:
    """Install agents whose slugs can't be read."""
    bench.change(modules=agents, trust=build_trust(*agents))


def make_broken(bench: RunBench, slug: str, name: str, value: object) -> UnreadableAgent:
    """Return an agent with a broken property."""
    return UnreadableAgent(AddingAgent(bench.counter, ONE_STEP, slug=slug), name, value)


def get_discovery(bench: RunBench, run: StoredRun) -> DiscoverResult:
    return bench.store.get_result(DiscoverResult, run.run_id, Phase.DISCOVER)


class DisguisedError(Exception):
    """Says that it stops runs."""

    __class__ = RunCancelledError  # type: ignore[assignment]


class UnspeakableError(Exception):
    """Ends the host when somebody reads its text."""

    def __str__(self) -> str:
        raise SystemExit(9)


class Disguise:
    """Has a class that can't be read."""

    @property
    def __class__(self) -> type:
        raise SystemExit(9)

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise SystemExit(9)


RAISED = [
    (DisguisedError("no such book"), "DisguisedError: no such book"),
    (UnspeakableError(), "UnspeakableError"),
    (ValueError("no such book"), "ValueError: no such book"),
    (SystemExit(3), "SystemExit: 3"),
    (RunCancelledError("stop all"), "RunCancelledError: stop all"),
    (BudgetExceededError("too much"), "BudgetExceededError: too much"),
    (EngineFault("mine"), "EngineFault: mine"),
    (NumericFaultError("mine"), "NumericFaultError: mine"),
]


@pytest.mark.parametrize(("error", "words"), RAISED, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", PROPERTIES)
def test_an_agent_whose_property_raises_is_rejected_alone(
    bench: RunBench, name: str, error: BaseException, words: str
) -> None:
    adder = AddingAgent(bench.counter, ONE_STEP)
    install(bench, adder=adder, other=make_broken(bench, "other", name, error))
    run = bench.run()
    assert (run.status, run.failure, bench.number) == (RunStatus.COMPLETED, None, 1)
    found = get_discovery(bench, run)
    assert (found.rejected_agents, [*found.manifest_digests]) == (
        {"other": f"{name}: {words}"},
        ["adder"],
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("slug", 5, "slug: returned a int; must be a str"),
        ("version", None, "version: returned a NoneType; must be a str"),
        ("manifest", {"name": "Other"}, "manifest: returned a dict; must be a AgentManifest"),
        (
            "manifest", build_manifest("other", description=7),
            "manifest: returned a wrong value: AgentManifest.description 7: must be of type str",
        ),
        (
            "manifest", build_manifest("other", compute_constraints=object()),
            "manifest: returned a wrong value: a object: must be a dataclass or a JSON value",
        ),
    ],
)  # fmt: skip
def test_an_agent_whose_property_is_of_another_type_is_rejected_alone(
    bench: RunBench, name: str, value: object, words: str
) -> None:
    adder = AddingAgent(bench.counter, ONE_STEP)
    install(bench, adder=adder, other=make_broken(bench, "other", name, value))
    run = bench.run()
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 1)
    assert get_discovery(bench, run).rejected_agents == {"other": words}


@pytest.mark.parametrize(
    ("name", "kind"), [("slug", "str"), ("version", "str"), ("manifest", "AgentManifest")]
)
def test_an_agent_whose_property_hides_its_type_is_rejected_alone(
    bench: RunBench, name: str, kind: str
) -> None:
    adder = AddingAgent(bench.counter, ONE_STEP)
    install(bench, adder=adder, other=make_broken(bench, "other", name, Disguise()))
    run = bench.run()
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 1)
    words = f"{name}: returned a Disguise; must be a {kind}"
    assert get_discovery(bench, run).rejected_agents == {"other": words}


def test_an_agent_that_nobody_chose_is_not_asked_for_the_task(bench: RunBench) -> None:
    other = make_broken(bench, "other", "can_handle", ValueError("no such book"))
    install(bench, adder=AddingAgent(bench.counter, ONE_STEP), other=other)
    run = bench.run()
    assert (run.status, get_discovery(bench, run).rejected_agents) == (RunStatus.COMPLETED, {})


@pytest.mark.parametrize("name", [*PROPERTIES, "can_handle"])
def test_a_run_whose_agent_can_not_be_read_fails_in_discovery_and_others_go_on(
    bench: RunBench, name: str
) -> None:
    broken = make_broken(bench, "adder", name, ValueError("no such book"))
    install(bench, adder=broken, other=AddingAgent(bench.counter, ONE_STEP, slug="other"))
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DISCOVER)
    place = "" if name == "can_handle" else f"{name}: "
    assert run.failure == f"agent adder: {place}ValueError: no such book"
    assert bench.store.list_phases(run.run_id) == [(Phase.RECORD, 1)]
    step = {"step-1": Addition(agent="other")}
    bench.change(modules={"adder": broken, "other": AddingAgent(bench.counter, step, slug="other")})
    other = bench.run(task_id="task-2", agent_slug="other")
    assert (other.status, bench.number) == (RunStatus.COMPLETED, 1)


def test_an_agent_that_was_rejected_takes_no_part_in_a_plan(bench: RunBench) -> None:
    """Also not if it can be read later: its manifest has no digest to compare with."""
    other = make_broken(bench, "other", "manifest", ValueError("no such book"))
    other.is_broken = True
    steps = {"step-1": Addition(agent="other")}
    install(bench, adder=AddingAgent(bench.counter, steps), other=other)
    orchestrator = Orchestrator(bench.host)
    run_id = orchestrator.start(build_task())
    orchestrator.advance(run_id)
    other.is_broken = False
    run = orchestrator.run(run_id)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.TRUST_CHECK)
    assert run.failure == (
        "agent other: was rejected in discovery: manifest: ValueError: no such book"
    )


class DelegatingAgent(AddingAgent):
    """Gives its step to the agent `other`."""

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del step
        child = replace(task, task_id="child", agent_slug="other")
        return get_child_starter(context).run_child(child, context).run_id


def test_an_agent_that_was_rejected_takes_no_part_in_a_child_run(bench: RunBench) -> None:
    other = make_broken(bench, "other", "version", ValueError("no such book"))
    install(bench, adder=DelegatingAgent(bench.counter, ONE_STEP), other=other)
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, Phase.DRY_RUN)
    assert "agent other: was rejected in discovery: version: ValueError" in (run.failure or "")


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize(
    ("method", "phase"),
    [
        ("can_handle", Phase.PLAN),
        ("plan", Phase.TRUST_CHECK),
        ("dry_run", Phase.DRY_RUN),
        ("execute", Phase.EXECUTE),
        ("verify", Phase.VERIFY),
    ],
)
def test_an_agent_that_can_not_be_read_any_more_fails_its_run(
    bench: RunBench, method: str, phase: Phase, name: str
) -> None:
    agent = make_broken(bench, "adder", name, ValueError("no such book"))
    agent.is_broken, agent.at = False, method
    install(bench, adder=agent)
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert f"agent adder: {name}: ValueError: no such book" in (run.failure or "")


@pytest.mark.parametrize("kind", [DisguisedError, UnspeakableError])
@pytest.mark.parametrize(
    ("method", "phase"),
    [
        ("can_handle", Phase.DISCOVER),
        ("plan", Phase.PLAN),
        ("dry_run", Phase.POLICY_CHECK),  # It looks whether there is one.
        ("verify", Phase.VERIFY),
        ("summarize", Phase.SUMMARIZE),
    ],
)
def test_an_exception_in_disguise_is_its_agents_failure(
    bench: RunBench, method: str, phase: Phase, kind: type[Exception]
) -> None:
    agent = make_broken(bench, "adder", method, kind("no such book"))
    install(bench, adder=agent)
    run = bench.run()
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, phase)
    assert kind.__name__ in (run.failure or "")


# -- faults of the host that an agent keeps -- #


class KeepingAgent(AddingAgent):
    """Keeps a fault that its step meets, and raises it again in another method."""

    def __init__(self, counter: Address, at: str, slug: str = "adder") -> None:
        super().__init__(counter, {"step-1": Addition(agent=slug)}, slug=slug)
        self.at = at
        self.kept: Exception | None = None

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever the agent has
        get = super().__getattribute__
        if name not in {"at", "kept"} and name == get("at") and get("kept") is not None:
            raise get("kept")
        return get(name)

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        try:
            return super().perform_step(task, step, context)
        except EngineFault as error:
            self.kept = error
            raise


def meet_fault(bench: RunBench, run_id: str, phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Perform a run up to a phase in which the chain fails: the host's fault, which may end."""

    def fail(*_: object) -> None:
        raise EngineFault("the engine died")

    orchestrator = Orchestrator(bench.host)
    while bench.store.get_run(run_id).phase is not phase:
        assert orchestrator.advance(run_id)
    with monkeypatch.context() as patch:
        patch.setattr(LocalDraft, "_append", fail)
        with pytest.raises(EngineFault, match="the engine died"):
            orchestrator.run(run_id)
    assert bench.store.get_run(run_id).phase is phase


@pytest.mark.parametrize("met", [Phase.DRY_RUN, Phase.EXECUTE])
@pytest.mark.parametrize(
    ("method", "failed"),
    [("perform_step", None), ("verify", Phase.VERIFY), ("summarize", Phase.SUMMARIZE)],
)
def test_a_fault_that_an_agent_kept_is_its_own_in_another_phase(
    bench: RunBench, method: str, failed: Phase | None, met: Phase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the same phase, when that is performed again and the chain has no fault."""
    agent = KeepingAgent(bench.counter, method)
    bench.install(agent)
    run_id = Orchestrator(bench.host).start(build_task())
    meet_fault(bench, run_id, met, monkeypatch)
    run = Orchestrator(bench.host).run(run_id)
    assert (run.status, run.failed_phase) == (RunStatus.FAILED, failed or met)
    is_diverted = (method, met) == ("perform_step", Phase.EXECUTE)
    words = "the engine died: 0 writes and 0 reads: the dry run made 1 and 1"
    assert (words if is_diverted else "the engine died") in (run.failure or "")
    assert bench.number == (0 if failed is None else 1)


@pytest.mark.parametrize("method", ["can_handle", "plan", "perform_step", *PROPERTIES])
def test_a_fault_that_an_agent_kept_is_its_own_in_another_run(
    bench: RunBench, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = KeepingAgent(bench.counter, method)
    install(bench, adder=agent)
    run_id = Orchestrator(bench.host).start(build_task())
    meet_fault(bench, run_id, Phase.EXECUTE, monkeypatch)
    Orchestrator(bench.host).cancel(run_id)
    assert Orchestrator(bench.host).run(run_id).status is RunStatus.CANCELLED
    run = bench.run(task_id="task-2")
    phases = {"plan": Phase.PLAN, "perform_step": Phase.DRY_RUN}
    assert (run.status, run.failed_phase) == (
        RunStatus.FAILED,
        phases.get(method, Phase.DISCOVER),
    )
    assert "the engine died" in (run.failure or "")


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_fault_that_an_agent_kept_stops_no_run_of_another(
    bench: RunBench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping = KeepingAgent(bench.counter, name, slug="other")
    install(bench, adder=AddingAgent(bench.counter, ONE_STEP), other=keeping)
    run_id = Orchestrator(bench.host).start(build_task(agent_slug="other"))
    meet_fault(bench, run_id, Phase.DRY_RUN, monkeypatch)
    run = bench.run(task_id="task-2")
    assert (run.status, bench.number) == (RunStatus.COMPLETED, 1)
    assert get_discovery(bench, run).rejected_agents == {
        "other": f"{name}: EngineFault: the engine died"
    }
