"""An info agent of a council in a process of its own, which kills itself at a moment.

    python -m tests.council_participant URL ORACLE KEY STORE [MOMENT IN JSON]

Its answers are random, so only a kept one can be revealed. It prints its events as JSON lines. The
moment has an event, and may have a kind and a request's number.
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

from pyevm_agents.cli.oracle.run import run_until_signal
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.council_worker import CouncilSettings
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.participants import Participant
from pyevm_agents.council.store import CouncilIdentity, CouncilStore
from tests.scripted_worker import serialize

if TYPE_CHECKING:
    from pyevm_agents.council.messages import CouncilRequest


class RandomAnswer:
    """Chooses one of the options, another one each time."""

    def answer(self, request: CouncilRequest) -> bytes:
        return secrets.choice(request.options).encode()


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


def main() -> None:
    url, oracle, key_text, path, *more = sys.argv[1:]
    key = PrivateKey(bytes.fromhex(key_text))
    client = CouncilClient(url, bytes.fromhex(oracle[2:]))
    identity = CouncilIdentity(
        chain_id=client.read_chain_id(),
        genesis_hash=client.read_genesis_hash(),
        oracle=client.oracle,
        account=key.public_key.to_canonical_address(),
    )
    with CouncilStore(Path(path), identity) as store:
        worker = Participant(
            client,
            store,
            key,
            chain_id=identity.chain_id,
            limits=RequestLimits(max_bond=10**18),
            settings=CouncilSettings(poll_seconds=0.1),
            source=RandomAnswer(),
            log=MortalLog(json.loads(more[0]) if more else None),
        )
        run_until_signal(worker)


if __name__ == "__main__":
    main()
