"""ABIs from servers: requests, answers, faults and the cache, against a local server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.contract_intelligence import abi_services
from pyevm_agents.contract_intelligence.abi_services import (
    AbiCache,
    AbiServiceError,
    DeployedContract,
    EtherscanService,
    SourcifyService,
    fetch_interface,
)
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.contract_intelligence.abi_server import (
    AbiServer,
    answer_as_etherscan,
    serve_abis,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.contract_intelligence.abi_services import AbiService

ABI = [{"type": "function", "name": "f", "inputs": [{"name": "p", "type": "uint8"}], "outputs": []}]
CONTRACT = DeployedContract(chain_id=56, address=bytes.fromhex("5f" * 20), code=b"\x01")
CHECKSUMMED = CONTRACT.checksum_address
KEY = "S3CR3T-KEY"
NOT_VERIFIED = "Contract source code not verified"


@pytest.fixture
def server() -> Iterator[AbiServer]:
    with serve_abis() as served:
        yield served


def open_services(server: AbiServer, timeout_seconds: float = 20.0) -> list[AbiService]:
    return [
        EtherscanService(f"{server.url}/v2/api", key=KEY, timeout_seconds=timeout_seconds),
        SourcifyService(f"{server.url}/server", timeout_seconds=timeout_seconds),
    ]


def test_an_api_like_etherscans(server: AbiServer) -> None:
    server.answer = answer_as_etherscan(ABI)
    interface = fetch_interface(EtherscanService(f"{server.url}/v2/api", key=KEY), CONTRACT)
    assert interface is not None
    assert (interface.name, interface.source) == ("Token", "explorer")
    assert interface.functions[0].signature == "f(uint8)"
    [(path, query)] = server.requests
    assert path == "/v2/api"
    assert query == {
        "chainid": "56",
        "module": "contract",
        "action": "getsourcecode",
        "address": CHECKSUMMED,
        "apikey": KEY,
    }


def test_an_api_without_a_key_and_with_a_query(server: AbiServer) -> None:
    server.answer = answer_as_etherscan(ABI)
    fetch_interface(EtherscanService(f"{server.url}/api?tenant=7"), CONTRACT)
    [(path, query)] = server.requests
    assert path == "/api"
    assert query["tenant"] == "7"
    assert "apikey" not in query


def test_sourcify(server: AbiServer) -> None:
    devdoc = {"methods": {"f(uint8)": {"details": "Does it."}}}
    server.answer = lambda _path, _query: {
        "match": "exact_match",
        "abi": ABI,
        "devdoc": devdoc,
        "userdoc": None,
        "compilation": {"name": "Token"},
    }
    interface = fetch_interface(SourcifyService(f"{server.url}/server/"), CONTRACT)
    assert interface is not None
    assert (interface.name, interface.source) == ("Token", "sourcify")
    assert interface.functions[0].description == "Does it."
    [(path, query)] = server.requests
    assert path == f"/server/v2/contract/56/{CHECKSUMMED}"
    assert query == {"fields": "abi,devdoc,userdoc,compilation.name"}


def test_a_contract_that_is_not_verified_has_no_interface(server: AbiServer) -> None:
    explorer, sourcify = open_services(server)
    results: list[object] = [[{"ABI": NOT_VERIFIED}], [{"ABI": ""}], NOT_VERIFIED]
    server.answer = lambda _path, _query: {"status": "0", "result": results.pop()}
    while results:
        assert fetch_interface(explorer, CONTRACT) is None
    server.status = 404
    server.answer = lambda _path, _query: {"match": None, "chainId": "56"}
    assert fetch_interface(sourcify, CONTRACT) is None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("Max calls per sec rate limit reached (5/sec)", "rate limit reached; wait"),
        ("Max rate limit reached", "rate limit reached; wait"),
        (f"Invalid API Key ({KEY})", r"Invalid API Key \(\.\.\.\); set ETHERSCAN_API_KEY"),
        ("Missing/Invalid API Key", "set ETHERSCAN_API_KEY to a key"),
        ("Unsupported\nchain 56\u202e", "the answer is an error: Unsupported chain 56$"),
        ("", "the answer is an error: no reason given"),
        (None, "HTTP 200 without a result; the URL must be that of an API"),
        ([], "without a result"),
        ([{"ABI": 5}], "without a result"),
        ([{"ABI": "{"}], "the ABI is not JSON; pass a file with --abi"),
        ([{"ABI": "[" * 100_000}], "the ABI is not JSON"),
        ([{"ABI": "5"}], f"the answer for {CHECKSUMMED} has no ABI"),
    ],
)
def test_errors_of_an_api_like_etherscans(server: AbiServer, result: object, message: str) -> None:
    server.answer = lambda _path, _query: {"status": "0", "message": "NOTOK", "result": result}
    service = EtherscanService(f"{server.url}/v2/api", key=KEY)
    with pytest.raises(AbiServiceError, match=message) as raised:
        fetch_interface(service, CONTRACT)
    assert KEY not in str(raised.value)


def test_errors_of_sourcify(server: AbiServer) -> None:
    _, sourcify = open_services(server)
    server.status = 400
    server.answer = lambda _path, _query: {
        "customCode": "unsupported_chain", "message": "Chain 56 is not\nsupported",
    }  # fmt: skip
    with pytest.raises(AbiServiceError, match=r"HTTP 400: Chain 56 is not supported$"):
        fetch_interface(sourcify, CONTRACT)
    server.answer = lambda _path, _query: [5]
    with pytest.raises(AbiServiceError, match="HTTP 400 without a contract; check the URL"):
        fetch_interface(sourcify, CONTRACT)
    server.status = 200
    server.answer = lambda _path, _query: {"match": "exact_match"}
    with pytest.raises(AbiServiceError, match="has no ABI"):
        fetch_interface(sourcify, CONTRACT)


@pytest.mark.parametrize("index", [0, 1])
def test_faults_of_a_server(server: AbiServer, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    service = open_services(server)[index]

    def fail(message: str) -> None:
        with pytest.raises(AbiServiceError, match=message) as raised:
            fetch_interface(service, CONTRACT)
        assert KEY not in str(raised.value)
        assert f"127.0.0.1:{server.url.rpartition(':')[2]}" in str(raised.value)

    server.answer = lambda _path, _query: b"<html>down for a while</html>"
    fail("HTTP 200 with an answer that is not JSON; check the URL")
    server.answer = lambda _path, _query: b"[" * 100_000
    fail("that is not JSON")
    server.status = 302
    server.headers = {"Location": "http://127.0.0.1:1/elsewhere"}
    fail("HTTP 302: it redirects; pass the URL it names")
    server.status, server.headers = 429, {}
    fail("rate limit reached")
    server.status = 200
    monkeypatch.setattr(server, "is_cut", True)
    fail("no answer: the answer broke off")
    monkeypatch.setattr(server, "is_cut", False)
    server.answer = lambda _path, _query: b"x" * (abi_services.MAX_ANSWER_BYTES + 1)
    fail("answer of more than 16 MiB: must be smaller")


@pytest.mark.parametrize("index", [0, 1])
def test_a_silent_server_is_left_after_a_time(server: AbiServer, index: int) -> None:
    server.is_silent = True
    service = open_services(server, timeout_seconds=0.05)[index]
    with pytest.raises(AbiServiceError, match=r"no complete answer within 0.05 s; try again later"):
        fetch_interface(service, CONTRACT)


def test_a_server_that_is_not_there() -> None:
    with serve_abis() as gone:
        service = EtherscanService(gone.url)
    with pytest.raises(AbiServiceError, match="no answer: connection refused"):
        fetch_interface(service, CONTRACT)


def test_a_url_of_another_scheme() -> None:
    with pytest.raises(ConfigError, match="URL of the explorer service with scheme ftp: must be"):
        EtherscanService("ftp://x/y")


# -- cache -- #


def test_an_answer_is_kept(server: AbiServer, tmp_path: Path) -> None:
    server.answer = answer_as_etherscan(ABI)
    service = EtherscanService(server.url)
    cache = AbiCache(tmp_path / "new" / "abis")
    first = fetch_interface(service, CONTRACT, cache=cache)
    assert first == fetch_interface(service, CONTRACT, cache=cache)
    assert len(server.requests) == 1
    others = (
        DeployedContract(chain_id=1, address=CONTRACT.address, code=CONTRACT.code),
        DeployedContract(chain_id=56, address=bytes(20), code=CONTRACT.code),
        DeployedContract(chain_id=56, address=CONTRACT.address, code=b"\x02"),
    )
    for number, other in enumerate(others, start=2):
        fetch_interface(service, other, cache=cache)
        assert len(server.requests) == number
    for other_service in (EtherscanService(f"{server.url}/other"), service):
        fetch_interface(other_service, CONTRACT, cache=cache)
    assert len(server.requests) == 5


@pytest.mark.parametrize("content", [b"", b"{", b"5", b'{"abi": 5}', b"[" * 100_000])
def test_a_damaged_file_is_fetched_again(server: AbiServer, tmp_path: Path, content: bytes) -> None:
    server.answer = answer_as_etherscan(ABI)
    service, cache = EtherscanService(server.url), AbiCache(tmp_path)
    expected = fetch_interface(service, CONTRACT, cache=cache)
    [path] = tmp_path.iterdir()
    path.write_bytes(content)
    assert fetch_interface(service, CONTRACT, cache=cache) == expected
    assert json.loads(path.read_bytes())["abi"] == ABI


def test_nothing_is_kept_of_a_contract_without_an_abi(server: AbiServer, tmp_path: Path) -> None:
    service, cache = EtherscanService(server.url), AbiCache(tmp_path)
    server.answer = lambda _path, _query: {"result": [{"ABI": NOT_VERIFIED}]}
    assert fetch_interface(service, CONTRACT, cache=cache) is None
    server.answer = lambda _path, _query: {"result": [{"ABI": "5"}]}
    with pytest.raises(AbiServiceError):
        fetch_interface(service, CONTRACT, cache=cache)
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_can_not_be_written_is_no_error(server: AbiServer, tmp_path: Path) -> None:
    server.answer = answer_as_etherscan(ABI)
    occupied = tmp_path / "file"
    occupied.write_text("")
    cache = AbiCache(occupied / "abis")
    assert fetch_interface(EtherscanService(server.url), CONTRACT, cache=cache) is not None
