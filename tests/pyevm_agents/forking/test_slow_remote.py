"""A remote node that drips its answers: a request ends in time, and holds up no other one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client import http_transport
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.forking.forked_node import forked_node
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from tests.pyevm_agents.forking.fake_remote import FakeRemote

UNKNOWN = "0x" + "99" * 20
ENGINE_FAULT = -32002


@pytest.mark.parametrize("method", ["eth_getBalance", "eth_getCode", "eth_getTransactionCount"])
def test_a_request_that_drips_ends_in_time(
    remote: FakeRemote, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with forked_node(remote.url) as served:
        remote.faults.drips = True
        monkeypatch.setattr(http_transport, "monotonic", lambda: monotonic() - HANG_SECONDS + 0.5)
        with pytest.raises(RefusedError, match="no complete answer within") as raised:
            served.ask(method, UNKNOWN, "latest")
        assert raised.value.code == ENGINE_FAULT
        assert remote.left.wait(HANG_SECONDS)


def test_others_are_answered_meanwhile(remote: FakeRemote) -> None:
    with ThreadPoolExecutor(1) as pool, forked_node(remote.url) as served:
        remote.faults.drips = True
        waiting = pool.submit(served.ask, "eth_getBalance", UNKNOWN, "latest")
        try:
            assert remote.dripping.wait(HANG_SECONDS)
            assert int(served.ask("eth_blockNumber"), 16) >= 3
            assert int(served.ask("eth_getBalance", "0x" + ADDRESSES[0].hex(), "latest"), 16)
            assert not waiting.done()
        finally:
            remote.flowing.set()
        assert waiting.result(HANG_SECONDS) == "0x0"
