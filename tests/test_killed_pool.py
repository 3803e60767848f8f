"""A node that is killed while an agent thinks: the next one knows every hash that was returned.

Clients send without waiting for blocks: transfers, transfers of an impersonated account, signed
transactions with a gap of nonces, and runs of an agent whose model takes its time.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_hex

from tests.deadlines import HANG_SECONDS
from tests.kept_node import KEYS
from tests.test_killed_node import GONE, RUN, Connection, deployed, started

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.samples import Sample

    Ask = Callable[..., Any]

MINING = (("yes", "0"), ("yes", "0.05"), ("no", "0.05"), ("no", "0"))
"""Automatic, both, from time to time, by hand."""

THINKING_SECONDS = "0.3"
FIRST, RUNNER, QUEUER = (to_hex(KEYS.addresses[index]) for index in range(3))
STRANGER = "0x" + "5e" * 20
"""Has no key."""

GAP = 10**6
"""Nonces that the node's own choice never reaches."""

QUEUED_A_NODE = 5
"""Transactions behind the gap that a node gets: they stay, and the pool has room for 10,000."""


@dataclass
class Returned:
    """The hashes that the nodes have returned."""

    agent: str = ""
    waiting: dict[str, str] = field(default_factory=dict)
    """Sender by hash, of those that no block is known to have."""

    count: int = 0
    nonces: itertools.count[int] = field(default_factory=lambda: itertools.count(GAP))

    def add(self, sent: str, sender: str) -> None:
        self.waiting[sent] = sender
        self.count += 1


class Senders:
    """Clients of one node, until it is killed."""

    def __init__(self, url: str, returned: Returned) -> None:
        self._url, self._returned = url, returned
        self.failed: list[BaseException] = []
        self.sent = dict.fromkeys((FIRST, RUNNER, QUEUER, STRANGER), 0)
        self._threads = [
            threading.Thread(target=self._work, args=(sender,)) for sender in self.sent
        ]
        for thread in self._threads:
            thread.start()

    def ended(self) -> None:
        for thread in self._threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive()
        assert not self.failed, self.failed

    def _work(self, sender: str) -> None:
        try:
            with closing(Connection(self._url)) as connection:
                while sender != QUEUER or self.sent[sender] < QUEUED_A_NODE:
                    sent = connection.ask("eth_sendTransaction", self._form(sender))
                    self._returned.add(sent, sender)
                    self.sent[sender] += 1
        except GONE:
            return
        except BaseException as error:  # noqa: BLE001 - the test's thread is to know
            self.failed.append(error)

    def _form(self, sender: str) -> dict[str, str]:
        if sender == RUNNER:
            agent = self._returned.agent
            return {"from": sender, "to": agent, "data": RUN, "gas": hex(5_000_000)}
        form = {"from": sender, "to": FIRST, "value": "0x1", "gas": hex(21_000)}
        if sender == QUEUER:
            form["nonce"] = hex(next(self._returned.nonces))
        return form

    def wait_for_each(self) -> None:
        """Wait until each client has a hash."""
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            if all(self.sent.values()):
                return
            time.sleep(0.01)
        raise AssertionError(f"after {HANG_SECONDS} seconds {self.sent}, {self.failed}")


def check_known(ask: Ask, returned: Returned) -> None:
    """Require every hash to be in a block or in the pool, and forget those in blocks."""
    for sent, sender in [*returned.waiting.items()]:
        found = ask("eth_getTransactionByHash", sent)
        assert found is not None, f"{sent} of {sender} is unknown"
        assert (found["hash"], found["from"]) == (sent, sender)
        if found["blockHash"] is not None:
            assert ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
            del returned.waiting[sent]


def prepare(ask: Ask, returned: Returned) -> None:
    ask("anvil_setBalance", STRANGER, hex(10**21))
    ask("anvil_impersonateAccount", STRANGER)
    returned.agent = returned.agent or deployed(ask)


def check_end(folder: Path, returned: Returned) -> None:
    """Require the last node to mine everything but the transactions behind the gap."""
    process, url = started(folder, ("no", "0"))
    try:
        with closing(Connection(url)) as connection:
            check_known(connection.ask, returned)
            end = time.monotonic() + HANG_SECONDS
            while connection.ask("txpool_status")["pending"] != "0x0":
                assert time.monotonic() < end, "the pool does not get empty"
                connection.ask("evm_mine")
            check_known(connection.ask, returned)
    finally:
        process.kill()
        process.communicate()
    assert set(returned.waiting.values()) == {QUEUER}


@pytest.mark.slow
@pytest.mark.sample(count=3, seed=20)
def test_every_hash_is_known_after_each_kill(tmp_path: Path, sample: Sample) -> None:
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at
    returned, restored = Returned(), 0
    for turn in range(sample.count):
        mining = MINING[turn % len(MINING)]
        process, url = started(tmp_path, (*mining, THINKING_SECONDS))
        try:
            with closing(Connection(url)) as connection:
                restored += len(returned.waiting)
                check_known(connection.ask, returned)
                prepare(connection.ask, returned)
            senders = Senders(url, returned)
            senders.wait_for_each()
            time.sleep(chance.random() / 2)
            assert process.poll() is None, "the node ended by itself"
        finally:
            process.kill()
            process.communicate()
        senders.ended()
    check_end(tmp_path, returned)
    sample.figures.update(
        {"kills": sample.count, "hashes": returned.count, "waiting at a kill": restored}
    )
