"""Workers of a test: on an oracle's chain, round by round, with a computer that refuses."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from pyevm_agents.oracle.messages import Answer, ComputedAnswer, Evidence
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.oracle.worker import Worker, WorkerSettings
from pyevm_agents.workers.identity import StoreIdentity
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.oracle.oracle_chain import WORKER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.json_rpc import Request
    from pyevm_agents.client.transaction_manager import FeeSettings
    from pyevm_agents.oracle.messages import AgentRequest, AnswerComputer
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain

REFUSAL = b"\x12\x34\x56\x78"
"""The answer of all requests: the agent's run ends with it."""


class KilledError(BaseException):
    """The worker's process ends here."""


class RefusingComputer:
    """Answers every request with a refusal. Implements `AnswerComputer`."""

    def __init__(self) -> None:
        self.computed: list[AgentRequest] = []
        self.failures: list[Exception] = []
        """Raised by the next computations instead."""

        self.gate = threading.Event()
        """Computations wait until it is set."""

        self.gate.set()

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        self.computed.append(request)
        assert self.gate.wait(HANG_SECONDS)
        if self.failures:
            raise self.failures.pop(0)
        evidence = Evidence(
            block_hash=request.block_hash,
            model_digest=bytes(32),
            profile_fingerprint=bytes(32),
            prompt_hash=bytes(32),
            output_hash=keccak(REFUSAL),
        )
        return ComputedAnswer(Answer(refused=True, output=REFUSAL), evidence)

    def close(self) -> None:
        """Nothing to close."""


class Events:
    """Keeps the events of a worker. Implements `WorkerLog`."""

    def __init__(self) -> None:
        self.all: list[tuple[str, dict[str, object]]] = []

    def write(self, event: str, **fields: object) -> None:
        self.all.append((event, fields))

    @property
    def counts(self) -> Counter[str]:
        return Counter(name for name, _ in self.all)


class MortalClient(OracleClient):
    """A client whose process can end before or after one of its calls."""

    calls = 0
    last_call: int | None = None
    is_answered = False
    """Whether the last call reaches the node."""

    def request(self, method: str, params: Sequence[object]) -> object:
        return self._call(lambda: super(MortalClient, self).request(method, params))

    def request_all(self, requests: Sequence[Request]) -> list[object]:
        results: list[object] = self._call(lambda: super(MortalClient, self).request_all(requests))
        return results

    def _call(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
        is_last = self.calls == self.last_call
        self.calls += 1
        if is_last and not self.is_answered:
            raise KilledError
        result = call()
        if is_last:
            raise KilledError
        return result


class Life:
    """One process of a worker."""

    def __init__(
        self, chain: OracleChain, client: MortalClient, worker: Worker, events: Events
    ) -> None:
        self.chain, self.client, self.worker, self.events = chain, client, worker, events

    def work_until(self, is_reached: Callable[[], object]) -> None:
        """Do rounds until something is reached."""
        end = time.monotonic() + HANG_SECONDS
        while not is_reached():
            assert time.monotonic() < end, self.events.all
            self.worker.do_round()
            time.sleep(0.002)

    def wait_until(self, is_reached: Callable[[], object]) -> None:
        """Wait for what another thread reaches."""
        end = time.monotonic() + HANG_SECONDS
        while not is_reached():
            assert time.monotonic() < end, self.events.all
            time.sleep(0.01)

    def work(self, rounds: int = 4) -> None:
        """Do some rounds."""
        for _ in range(rounds):
            self.worker.do_round()

    def compute(self) -> None:
        """Work until one more answer is stored, or sent."""
        count = self.events.counts["computed"]
        self.work_until(lambda: self.events.counts["computed"] > count)

    def settle(self) -> None:
        """Work until one more request is settled."""
        count = self.events.counts["settled"]
        self.work_until(lambda: self.events.counts["settled"] > count)


@contextmanager
def living(
    chain: OracleChain,
    path: Path,
    computer: AnswerComputer,
    *,
    key: PrivateKey = WORKER_KEY,
    fees: FeeSettings | None = None,
    **settings: Any,  # noqa: ANN401 - of WorkerSettings
) -> Iterator[Life]:
    """Run a worker inside a context."""
    client = MortalClient(chain.url, chain.oracle.canonical, retries=0)
    identity = StoreIdentity.read(
        client,
        client.read_chain_id(),
        chain.oracle.canonical,
        key.public_key.to_canonical_address(),
    )
    events = Events()
    try:
        with WorkerStore(path, identity) as store:
            worker = Worker(
                client,
                computer,
                store,
                key,
                chain_id=chain.chain_id,
                settings=WorkerSettings(**settings),
                fees=fees,
                log=events,
            )
            yield Life(chain, client, worker, events)
    finally:
        client.close()
