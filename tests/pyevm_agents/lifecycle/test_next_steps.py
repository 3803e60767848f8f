"""What comes next: a text for each door and state, which names what is there."""

from __future__ import annotations

import pytest

from pyevm_agents.lifecycle.next_steps import (
    ADMITTED,
    NEXT_STEPS,
    UNFINISHED,
    Door,
    RunAction,
    RunState,
    describe_next_step,
    describe_refusal,
    find_final_state,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus


def describe(door: Door, state: RunState, until: Phase | None = None) -> str:
    return describe_next_step(door, state, run_id="my-run", task_id="my-task", until=until)


@pytest.mark.parametrize("door", Door)
@pytest.mark.parametrize("state", RunState)
def test_every_door_has_a_next_step_for_every_state(door: Door, state: RunState) -> None:
    assert set(NEXT_STEPS[door]) == set(RunState)
    told = describe(door, state)
    assert "{" not in told.replace('{"', "")
    is_named = "my-run" in told or "my-task" in told
    is_general = door in {Door.PYTHON, Door.COMMAND_LINE} or state is RunState.COMPLETED
    assert is_named or is_general


@pytest.mark.parametrize("request_", RunAction)
@pytest.mark.parametrize("state", RunState)
def test_a_request_is_admitted_or_refused_with_the_runs_name(
    request_: RunAction, state: RunState
) -> None:
    if state not in ADMITTED[request_]:
        told = describe_refusal(request_, state, run_id="my-run", task_id="my-task")
        assert "my-run" in told
        assert ("has not ended" in told) == (state in UNFINISHED)


@pytest.mark.parametrize("door", [Door.REST, Door.MCP])
def test_a_stopped_run_is_continued_up_to_the_phase_that_is_wanted(door: Door) -> None:
    for until, shown in ((Phase.DRY_RUN, '"dry_run"'), (Phase.RECORD, "null"), (None, "null")):
        told = describe(door, RunState.STOPPED, until)
        assert f'"until": {shown}' in told


def test_a_run_that_was_stopped_by_a_check_is_rejected() -> None:
    found = {
        (status, phase): find_final_state(status, phase)
        for status in RunStatus
        for phase in (None, *Phase)
    }
    for (status, phase), state in found.items():
        assert (state is None) == (not status.is_final)
        if state is RunState.REJECTED:
            assert (status, phase in {Phase.TRUST_CHECK, Phase.POLICY_CHECK}) == (
                RunStatus.FAILED,
                True,
            )
