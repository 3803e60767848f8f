"""Each state of a request, seen by each role, has one action."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pyevm_agents.oracle.decisions import Action, Role, Situation, decide, has_turn
from pyevm_agents.oracle.oracle_client import (
    CHALLENGED,
    OPEN,
    UPHELD,
    ProposedAnswer,
    RequestState,
)

ME, OTHER, THIRD = (bytes([each]) * 20 for each in (1, 2, 3))
COMMITMENT, RIGHT, WRONG = (bytes([each]) * 32 for each in (7, 8, 9))
WAITING = RequestState(COMMITMENT, 0, bytes(20), None)
ROLE = Role(address=ME, workers=(ME, OTHER, THIRD), turn_seconds=60)
SITUATION = Situation(
    request_id=0,
    commitment_hash=COMMITMENT,
    deadline=1_600,
    requested_at=1_000,
    state=WAITING,
    computed_hash=None,
    now=1_000,
)


def propose(worker: bytes, answer_hash: bytes, status: int, **times: int) -> RequestState:
    proposal = ProposedAnswer(
        proposal_id=b"\x05" * 32,
        answer_hash=answer_hash,
        worker=worker,
        challengeable_until=times.get("until", 2_000),
        status=status,
        challenger=THIRD if status == CHALLENGED else bytes(20),
        ruleable_until=times.get("ruleable", 3_000),
    )
    return RequestState(bytes(32), 0, bytes(20), proposal)


@pytest.mark.parametrize(
    ("changes", "role", "action"),
    [
        ({}, {}, Action.COMPUTE),
        ({"computed_hash": RIGHT}, {}, Action.ANSWER),
        ({"computed_hash": RIGHT, "was_rejected": True}, {}, Action.WAIT),
        ({"now": 1_600, "computed_hash": RIGHT}, {}, Action.ANSWER),
        ({"now": 1_601}, {}, Action.EXPIRE),
        ({"now": 1_601, "was_rejected": True}, {}, Action.EXPIRE),
        ({"request_id": 1}, {}, Action.WAIT),
        ({}, {"workers": (OTHER, THIRD)}, Action.WAIT),
        ({"now": 1_601}, {"workers": (OTHER, THIRD)}, Action.WAIT),
        ({"now": 1_721}, {"workers": (OTHER, THIRD)}, Action.EXPIRE),
        ({"state": replace(WAITING, commitment_hash=bytes(32))}, {}, Action.GONE),
        ({"state": replace(WAITING, commitment_hash=WRONG)}, {}, Action.GONE),
        ({"state": RequestState(bytes(32), 1, OTHER, None)}, {}, Action.DONE),
        ({"state": RequestState(bytes(32), 3, bytes(20), None)}, {}, Action.DONE),
    ],
)
def test_request(changes: dict[str, Any], role: dict[str, Any], action: Action) -> None:
    assert decide(replace(SITUATION, **changes), replace(ROLE, **role)) is action


@pytest.mark.parametrize(
    ("state", "changes", "role", "action"),
    [
        (propose(ME, RIGHT, OPEN), {}, {"is_watching": True}, Action.WAIT),
        (propose(OTHER, RIGHT, OPEN), {}, {}, Action.WAIT),
        (propose(OTHER, RIGHT, OPEN), {}, {"is_watching": True}, Action.COMPUTE),
        (
            propose(OTHER, RIGHT, OPEN),
            {"computed_hash": RIGHT},
            {"is_watching": True},
            Action.WAIT,
        ),
        (
            propose(OTHER, WRONG, OPEN),
            {"computed_hash": RIGHT},
            {"is_watching": True},
            Action.CHALLENGE,
        ),
        (
            propose(OTHER, WRONG, OPEN, until=999),
            {"computed_hash": RIGHT},
            {"is_watching": True},
            Action.FINALIZE,
        ),
        (propose(ME, RIGHT, OPEN, until=999), {"request_id": 1}, {}, Action.FINALIZE),
        (propose(ME, RIGHT, OPEN, until=1_000), {}, {}, Action.WAIT),
        (propose(THIRD, RIGHT, OPEN, until=999), {"request_id": 1}, {}, Action.WAIT),
        (propose(OTHER, RIGHT, CHALLENGED), {}, {}, Action.WAIT),
        (propose(OTHER, RIGHT, CHALLENGED), {}, {"arbiter": ME}, Action.COMPUTE),
        (
            propose(OTHER, RIGHT, CHALLENGED),
            {"computed_hash": RIGHT},
            {"arbiter": ME, "workers": ()},
            Action.RULE,
        ),
        (propose(OTHER, RIGHT, CHALLENGED, ruleable=999), {}, {"arbiter": ME}, Action.END_UNRULED),
        (propose(OTHER, RIGHT, UPHELD), {"request_id": 1}, {}, Action.WAIT),
        (propose(ME, RIGHT, UPHELD), {"request_id": 1}, {}, Action.FINALIZE),
    ],
)
def test_proposal(
    state: RequestState, changes: dict[str, Any], role: dict[str, Any], action: Action
) -> None:
    situation = replace(SITUATION, state=state, **changes)
    assert decide(situation, replace(ROLE, **role)) is action


def test_turns_go_round_the_workers_from_the_one_that_the_request_names() -> None:
    """Who began to act stays in: each worker has its turn from one second on."""
    for request_id in range(6):
        situation = replace(SITUATION, request_id=request_id)
        for place in range(3):
            role = replace(ROLE, address=ROLE.workers[(request_id + place) % 3])
            first = 1_000 + 60 * place
            assert has_turn(replace(situation, now=first), role)
            assert place == 0 or not has_turn(replace(situation, now=first - 1), role)
