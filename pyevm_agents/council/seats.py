"""Seats of a council: whether an account can commit, and a lock among those who race for one."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.council.decisions import Act, pass_time
from pyevm_agents.council.messages import RequestPhase
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.worker import explain_rejection
from pyevm_agents.private_files import OWNER_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.limits import RequestLimits

PROBE = b"\1" * 32
"""A commitment to nothing."""


ADVICE = {
    "NotCapable": "the council's reputation lacks what the request requires of this account",
    "NotEligible": "the account takes part already, or may not in this role",
    "NotJudge": "another judge was drawn",
    "ReputationTooLow": "the council requires more reputation of this account",
    "CopiedCommitment": "another agent has this commitment",
    "NotOracle": "the council's CouncilReputation serves another council, so nobody can take part; "
    "its deployer calls setOracle",
    "WrongHeader": "the block's hash can't be read any more; `advance` ends the draw",
    "WrongPhase": "the deadline is over, or the council is full",
}
"""What errors of the oracle mean for a participant."""


def require_seats(
    client: CouncilClient, account: bytes, request_ids: Sequence[int], limits: RequestLimits
) -> None:
    """Check that an account can commit to requests that it was told to join.

    Requests that are not made yet, that the account has joined, or that the limits refuse are left
    out: the participant reports them.

    Raises: ConfigError: the commitment would revert, or no request takes one any more.
    """
    head = client.read_head()
    known = {*client.list_request_ids(head.number)}
    views = client.read_views([each for each in request_ids if each in known], head.number)
    now, terms = client.read_time(head), client.read_terms()
    views = [pass_time(each, now, terms) for each in views]
    own = [each for each in views if account in each.commits]
    open_ones = [
        each for each in views if each.phase is RequestPhase.COMMIT and now <= each.ends_at
    ]
    if len(views) == len(request_ids) > 0 and not own and not open_ones:
        closed = views[-1]
        raise ConfigError(
            f"request {closed.request.request_id}: can't be joined any more; it has "
            f"{len(closed.commits)} of {closed.request.agent_count} agents, and is in the phase "
            f"{closed.phase.name.lower()}"
        )
    for view in open_ones:
        is_refused = limits.explain_refusal(view.request) is not None
        if account in view.commits or is_refused:
            continue
        if client.read_balance(account) <= view.request.bond:
            continue
        call = UnsignedCall(
            sender=account,
            to=client.oracle,
            data=client.encode_act(Act.COMMIT, view, PROBE),
            value_wei=view.request.bond,
        )
        try:
            client.simulate(call)
        except RejectedCallError as error:
            raise ConfigError(
                f"request {view.request.request_id}: {to_checksum_address(account)} can't commit "
                f"to an answer: {explain(error)}"
            ) from error


@contextmanager
def hold_seat(oracle: bytes) -> Iterator[None]:
    """Hold an oracle's lock, among this user's processes, from a look at the pool to a sending.

    Without a folder for temporary files the agents are not kept apart: a lost race costs gas alone.
    """
    name = f"pyevm-agents-council-{os.getuid()}-{oracle.hex()}.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        descriptor = os.open(Path(tempfile.gettempdir()) / name, flags, OWNER_ONLY)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def explain(error: RejectedCallError) -> str:
    """Return why the oracle refuses a call, and what that means for a participant."""
    reason = explain_rejection(error)
    advice = ADVICE.get(reason.partition("(")[0])
    return reason if advice is None else f"{reason}: {advice}"
