"""The JSON-RPC client: retries, limits, and messages without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client import http_transport
from pyevm_agents.client import json_rpc as remote_client
from pyevm_agents.client.json_rpc import SHOWN_CHARACTERS, RemoteClient, RemoteError, Request
from pyevm_agents.errors import ConfigError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.forking.fake_remote import FakeRemote

KEY = "S3CR3T-KEY"
NOTHING: list[object] = []


@pytest.fixture(autouse=True)
def _no_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_client, "FIRST_DELAY_SECONDS", 0.0)


@pytest.fixture
def client(remote: FakeRemote) -> Iterator[RemoteClient]:
    client = RemoteClient(remote.url, retries=2)
    yield client
    client.close()


def fault_of(client: RemoteClient, method: str = "eth_chainId") -> str:
    with pytest.raises(RemoteFault) as raised:
        client.request(method, NOTHING)
    message = str(raised.value)
    assert "S3CR3T" not in message
    assert "T0KEN" not in message
    assert message.startswith(f"remote chain at {client.host}: {method}: ")
    return message


def test_connections_are_kept_between_requests(client: RemoteClient, remote: FakeRemote) -> None:
    for _ in range(3):
        assert client.request("eth_chainId", NOTHING) == hex(31_337)
    assert remote.connections == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again(
    client: RemoteClient, remote: FakeRemote, status: int
) -> None:
    remote.faults.statuses = [(status, {"Retry-After": "0"})] * 2
    assert client.request("eth_chainId", NOTHING) == hex(31_337)
    remote.faults.statuses = [(status, {})] * 3
    assert f"HTTP status {status}" in fault_of(client)
    assert remote.faults.statuses == []


def test_a_rate_limit_in_json_is_asked_again(client: RemoteClient, remote: FakeRemote) -> None:
    remote.faults.rate_limits = 2
    requests = [Request("eth_chainId", []), Request("eth_blockNumber", [])]
    assert client.request_all(requests) == [hex(31_337), "0x3"]
    remote.faults.rate_limits = 3
    assert "exceeded its compute units per second capacity (after 3 tries)" in fault_of(client)


def test_a_revert_is_an_answer_whatever_its_reason_says(
    client: RemoteClient, remote: FakeRemote
) -> None:
    for form in ({"code": 3}, {"code": -32000, "data": "0x08c379a0"}):
        remote.faults.error = {"message": "withdrawal request exceeded the limit", **form}
        asked = len(remote.asked)
        with pytest.raises(RemoteError) as raised:
            client.request("eth_chainId", NOTHING)
        assert (raised.value.code, len(remote.asked)) == (form["code"], asked + 1)


def test_a_result_that_is_no_quantity_is_a_fault(client: RemoteClient, remote: FakeRemote) -> None:
    assert client.request_quantity("eth_chainId") == 31_337
    remote.faults.change_result = lambda _method, _result: "odd"
    with pytest.raises(RemoteFault, match="eth_chainId: not a quantity"):
        client.request_quantity("eth_chainId")


def test_a_long_wait_that_the_server_wants_is_a_fault(
    client: RemoteClient, remote: FakeRemote
) -> None:
    remote.faults.statuses = [(429, {"Retry-After": "3600"})]
    assert "HTTP status 429 Too Many Requests (after 1 try)" in fault_of(client)


def test_another_status_is_not_asked_again(client: RemoteClient, remote: FakeRemote) -> None:
    remote.faults.statuses = [(404, {})]
    assert "HTTP status 404 Not Found; check the URL and its key" in fault_of(client)
    assert client.request("eth_chainId", NOTHING) == hex(31_337)


def test_an_answer_that_breaks_off_is_asked_again(client: RemoteClient, remote: FakeRemote) -> None:
    remote.faults.breaks_off = True
    assert "the answer broke off, or is not HTTP (after 3 tries)" in fault_of(client)
    assert len(remote.asked) == 3


@pytest.mark.parametrize("fault", ["is_silent", "stops_in_body"])
def test_a_server_that_does_not_answer_is_left(remote: FakeRemote, fault: str) -> None:
    setattr(remote.faults, fault, True)
    client = RemoteClient(remote.url, retries=0, timeout_seconds=0.05)
    assert "no complete answer within 0.05 s (after 1 try)" in fault_of(client)
    client.close()


def test_a_request_that_runs_a_model_waits_once(
    remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.faults.is_silent = True
    client = RemoteClient(remote.url, retries=2, timeout_seconds=0.05, repeats_timeouts=False)
    monkeypatch.setattr(client, "wait", lambda *_: pytest.fail("it is asked again"))
    assert "no complete answer within 0.05 s; look at the node" in fault_of(client)
    client.close()


def test_a_large_answer_is_not_read(
    client: RemoteClient, remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_transport, "MAX_ANSWER_BYTES", 100)
    remote.faults.change_result = lambda _method, _result: "x" * (100 - EMPTY_ANSWER_BYTES)
    assert client.request("eth_chainId", NOTHING)
    remote.faults.change_result = lambda _method, _result: "x" * (101 - EMPTY_ANSWER_BYTES)
    assert "the answer has more than 67,108,864 bytes" in fault_of(client)


EMPTY_ANSWER_BYTES = len('{"jsonrpc": "2.0", "id": 0, "result": ""}')


def test_an_error_response_is_passed_on_without_the_key(
    client: RemoteClient, remote: FakeRemote
) -> None:
    with pytest.raises(RemoteError) as raised:
        client.request("eth_unknown", NOTHING)
    assert raised.value.code == -32601
    message = f"no project {KEY} at /v2/{KEY}?token=T0KEN-VALUE " + "x" * 300
    remote.faults.error = {"code": "odd", "message": message, "data": [5, KEY]}
    with pytest.raises(RemoteError) as other:
        client.request("eth_chainId", NOTHING)
    assert str(other.value).startswith("no project … at …?… xxx")
    assert len(str(other.value)) == SHOWN_CHARACTERS + 1
    assert (other.value.code, other.value.data) == (0, [5, "…"])


def test_a_closed_client_asks_nothing(remote: FakeRemote) -> None:
    client = RemoteClient(remote.url)
    client.close()
    assert "the fork was closed; open it again" in fault_of(client)
    assert remote.asked == []


def test_no_server_is_a_fault() -> None:
    client = RemoteClient("http://127.0.0.1:1/v2/S3CR3T-KEY", retries=0)
    assert "connection refused (after 1 try); check the URL and the network" in fault_of(client)


@pytest.mark.parametrize(
    "url", ["ws://host/S3CR3T", "host", "", "http://", "http://host:0/S3CR3T", "http://[::1"]
)
def test_another_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="must be an HTTP URL") as raised:
        RemoteClient(url)
    assert "S3CR3T" not in str(raised.value)


@pytest.mark.parametrize(("retries", "seconds"), [(-1, 1.0), (101, 1.0), (0, 0.0)])
def test_options_have_limits(retries: int, seconds: float) -> None:
    with pytest.raises(ConfigError, match="must be"):
        RemoteClient("http://host", retries=retries, timeout_seconds=seconds)


def test_a_password_is_sent_as_a_header_and_shown_nowhere(remote: FakeRemote) -> None:
    url = remote.url.replace("127.0.0.1", "user:S3CR3T-PASS@127.0.0.1")
    client = RemoteClient(url, retries=0)
    assert client.request("eth_chainId", NOTHING) == hex(31_337)
    assert remote.authorizations == ["Basic dXNlcjpTM0NSM1QtUEFTUw=="]
    client.close()
