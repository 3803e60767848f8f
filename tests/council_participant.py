"""A participant of a council in a process of its own, which kills itself at a moment.

    python -m tests.council_participant ROLE URL ORACLE KEY STORE [MOMENT IN JSON]

The role is `agent` or `judge`. Its answers and verdicts are random, so only a kept answer can be
revealed, and a verdict differs from the one that the process would give now. It prints its
events as JSON lines. The moment has an event, and may have a kind and a request's number.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey

from pyevm_agents.cli.options.worker import run_until_signal
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.council_worker import CouncilSettings
from pyevm_agents.council.decisions import JudgeRole
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import Verdict
from pyevm_agents.council.participants import Judge, Participant
from pyevm_agents.council.store import CouncilStore
from pyevm_agents.workers.identity import StoreIdentity
from tests.scripted_worker import serialize

if TYPE_CHECKING:
    from pyevm_agents.council.messages import CouncilRequest, RequestView


class RandomAnswer:
    """Chooses one of the options, another one each time."""

    def answer(self, request: CouncilRequest) -> bytes:
        return secrets.choice(request.options).encode()


class RandomVerdict:
    """Decides for some of the agents, others each time; of a discrete query, for one vote."""

    def judge(self, view: RequestView) -> Verdict:
        answer = secrets.choice([*view.reveals.values()])
        winners = [agent for agent, each in view.reveals.items() if each == answer]
        if not view.request.options:
            answer = secrets.token_hex(8).encode()
            winners = [secrets.choice([*view.reveals])]
        reasoning = secrets.token_hex(8).encode()
        return Verdict(answer=answer, winners=tuple(winners), reasoning=reasoning)


class MortalLog:
    """Prints events; ends the process at a moment."""

    def __init__(self, moment: dict[str, Any] | None) -> None:
        self._moment = moment

    def write(self, event: str, **fields: object) -> None:
        print(json.dumps({"event": event, **serialize(fields)}), flush=True)  # noqa: T201 - who started it reads it
        if self._moment is None:
            return
        key = fields.get("request")
        number = int.from_bytes(key[0]) if isinstance(key, tuple) else None
        found = {"event": event, "kind": fields.get("kind"), "request": number}
        if all(found[name] == value for name, value in self._moment.items()):
            os.kill(os.getpid(), signal.SIGKILL)


ROLES: dict[str, tuple[type[Participant | Judge], Any]] = {
    "agent": (Participant, RandomAnswer()),
    "judge": (Judge, RandomVerdict()),
}


def main() -> None:
    role, url, oracle, key_text, path, *more = sys.argv[1:]
    key = PrivateKey(bytes.fromhex(key_text))
    client = CouncilClient(url, bytes.fromhex(oracle[2:]))
    identity = StoreIdentity.read(
        client, client.read_chain_id(), client.oracle, key.public_key.to_canonical_address()
    )
    with CouncilStore(Path(path), identity) as store:
        kind, source = ROLES[role]
        worker = kind(
            client,
            store,
            key,
            chain_id=identity.chain_id,
            limits=RequestLimits(max_bond=10**18),
            settings=CouncilSettings(poll_seconds=0.1, turn_seconds=1, judge_role=JudgeRole.ALL),
            source=source,
            log=MortalLog(json.loads(more[0]) if more else None),
        )
        run_until_signal(worker)


if __name__ == "__main__":
    main()
