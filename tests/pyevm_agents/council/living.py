"""A participant in a test, round by round, and sources of answers and verdicts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey

from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.council_worker import CouncilSettings
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.messages import Verdict
from pyevm_agents.council.participants import Judge, Participant
from pyevm_agents.council.store import CouncilStore
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.council.council_chain import BOND, CouncilChain
from tests.pyevm_agents.oracle.working import Events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.council.council_worker import CouncilWorker
    from pyevm_agents.council.messages import CouncilRequest, RequestView

KEYS = [PrivateKey(bytes([0x41 + number]) * 32) for number in range(8)]


class CountingAnswer:
    """Answers with the next of some texts."""

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts) or ["yes"]
        self.asked: list[int] = []

    def answer(self, request: CouncilRequest) -> bytes:
        self.asked.append(request.request_id)
        return self._texts[min(len(self.asked), len(self._texts)) - 1].encode()


class FirstWins:
    """Decides for the first answer."""

    def judge(self, view: RequestView) -> Verdict:
        agent, answer = next(iter(view.reveals.items()))
        return Verdict(answer=answer, winners=(agent,), reasoning=b"It came first.")


class Life:
    """A participant, round by round."""

    def __init__(self, worker: CouncilWorker, events: Events) -> None:
        self.worker, self.events = worker, events

    def work(self, rounds: int = 4) -> None:
        for _ in range(rounds):
            self.worker.do_round()

    def work_until(self, event: str, **fields: object) -> dict[str, object]:
        """Do rounds until an event; return its fields."""
        end = time.monotonic() + HANG_SECONDS
        while True:
            for name, found in self.events.all:
                if name == event and fields.items() <= found.items():
                    return found
            assert time.monotonic() < end, self.events.all
            self.worker.do_round()
            time.sleep(0.005)

    def forget(self) -> None:
        self.events.all.clear()


@contextmanager
def living(
    chain: CouncilChain,
    path: Path,
    kind: type[CouncilWorker] = Participant,
    *,
    key: PrivateKey = KEYS[0],
    limits: RequestLimits | None = None,
    source: object = None,
    **settings: Any,  # noqa: ANN401 - of CouncilSettings
) -> Iterator[Life]:
    client, events = CouncilClient(chain.url, chain.canonical, retries=0), Events()
    if kind is Participant:
        sources = {"source": source or CountingAnswer()}
    else:
        sources = {"source": source or FirstWins()} if kind is Judge else {}
    identity = chain.identify(client, key)
    with CouncilStore(path, identity) as store:
        worker = kind(
            client,
            store,
            key,
            chain_id=identity.chain_id,
            limits=limits or RequestLimits(max_bond=BOND),
            settings=CouncilSettings(**{"turn_seconds": 0, **settings}),
            log=events,
            **sources,  # type: ignore[arg-type] # of the subclasses
        )
        yield Life(worker, events)
    client.close()
