"""`agent register`: an agent's entry by JSON-RPC, on a node with the registries."""

from __future__ import annotations

import base64
import json
import urllib.request
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.pending_registration import (
    PENDING_FILE,
    PendingRegistration,
    read_pending,
    write_pending,
)
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from pyevm_agents.manifests.documents import DocumentKind
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.forking.fake_remote import FakeRemote, fake_remote
from tests.pyevm_agents.manifests.documents_of_tests import read_written
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

SENDER, OTHER = (to_checksum_address(each) for each in ADDRESSES[:2])
URI = "https://me.example/a"
REGISTRY = to_checksum_address(REGISTRY_ADDRESSES[TESTNET].identity)


@pytest.fixture(scope="module")
def remote() -> Iterator[FakeRemote]:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    accounts = {**dict.fromkeys(ADDRESSES, funds), **build_registries(TESTNET)}
    served = Served(chain=Chain(ChainConfig(), {}, accounts=accounts))
    with fake_remote(served) as remote:
        yield remote
    served.close()


@pytest.fixture(scope="module")
def url(remote: FakeRemote) -> str:
    return remote.url


def run(url: str, folder: Path, *words: str, sender: str = SENDER, status: int = 0) -> Result:
    """Run `agent register`; check its exit status."""
    command = ["agent", "register", str(folder), *words, "--rpc-url", url, "--unlocked", sender]
    result = CliRunner().invoke(main, command, env={"ETH_KEYSTORE": None, "ETH_RPC_URL": None})
    assert result.exit_code == status, result.output
    return result


def test_an_agent_is_registered_and_keeps_its_entry(url: str, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    printed = run(url, folder.path).stdout
    identity = folder.read_manifest().identity
    assert identity is not None
    assert "2 transactions, " in printed
    assert printed.splitlines()[-1] == (
        f"gas-watcher is registered: agent {identity.agent_id} of {REGISTRY} on chain "
        f"{identity.chain_id}"
    )
    assert validate_folder(folder) == ()
    form = json.loads(run(url, folder.path, "--uri", "https://me.example/a", "--json").stdout)
    assert (form["agentId"], form["isNew"]) == (identity.agent_id, False)
    assert [each["purpose"] for each in form["transactions"]] == [
        f"Set the URI of agent {identity.agent_id}"
    ]
    assert (
        "was registered before"
        in run(url, folder.path, "--registry", REGISTRY, "--uri", "https://me.example/a").stdout
    )
    error = run(url, folder.path, sender=OTHER, status=2).stderr
    assert "must be the account that registers" in error


def test_what_is_written_passes_the_schemas(url: str, tmp_path: Path) -> None:
    """In the folder, and on the chain: the registry's URI holds the document."""
    folder = make_agent(tmp_path)
    form = json.loads(run(url, folder.path, "--json").stdout)
    written = {kind: read_written(folder.locate(kind).read_bytes(), kind) for kind in DocumentKind}
    agent_id, registration = form["agentId"], written[DocumentKind.REGISTRATION]
    [entry] = registration["registrations"]
    chain_id = int(call_rpc(url, "eth_chainId"), 16)
    assert entry == {"agentId": agent_id, "agentRegistry": f"eip155:{chain_id}:{REGISTRY}"}
    [openfi] = written[DocumentKind.OPENFI_REGISTRATION]["registrations"]
    assert openfi == {"agentRegistry": REGISTRY, "agentId": agent_id, "chainId": chain_id}
    assert written[DocumentKind.MANIFEST]["erc8004"]["agentId"] == agent_id
    artifact = load_artifact("IdentityRegistry")
    data = "0x" + artifact.encode_call("tokenURI", agent_id).hex()
    output = call_rpc(url, "eth_call", {"to": REGISTRY, "data": data}, "latest")
    uri = artifact.decode_result("tokenURI", bytes.fromhex(output[2:]))
    scheme, _, document = uri.partition(",")
    assert scheme == "data:application/json;base64"
    assert read_written(base64.b64decode(document), DocumentKind.REGISTRATION) == registration


def call_rpc(url: str, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    request = urllib.request.Request(  # noqa: S310 - HTTP
        url, body.encode(), {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as answer:
        return json.loads(answer.read())["result"]


@pytest.mark.parametrize("uri", ["", "me.example/a", "https://me.example/a b", "https:"])
def test_a_uri_without_a_scheme_registers_nothing(url: str, tmp_path: Path, uri: str) -> None:
    folder = make_agent(tmp_path)
    printed = run(url, folder.path, "--uri", uri, status=2).stderr
    assert printed.startswith(f"Error: URI '{uri}': must begin with a scheme")
    assert folder.read_manifest().identity is None


def test_a_registry_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    before = folder.path.joinpath("agent.json").read_bytes()
    error = run(url, folder.path, "--registry", OTHER, status=2).stderr
    assert OTHER in error
    assert folder.path.joinpath("agent.json").read_bytes() == before


def interrupt(remote: FakeRemote, folder: AgentFolder) -> str:
    """Register an agent, and put its folder back to before agent.json was written.

    Output: the transaction's hash.
    """
    before = folder.read_manifest()
    run(remote.url, folder.path, "--uri", URI)
    identity = folder.read_manifest().identity
    assert identity is not None
    assert identity.chain_id is not None
    ask = remote.served.ask
    transaction = ask("eth_getTransactionByHash", identity.registration_hash)
    folder.write_manifest(before)
    pending = PendingRegistration(
        chain_id=identity.chain_id,
        genesis_hash=bytes.fromhex(ask("eth_getBlockByNumber", "0x0", False)["hash"][2:]),  # noqa: FBT003 - JSON-RPC has places
        registry=REGISTRY_ADDRESSES[TESTNET].identity,
        sender=ADDRESSES[0],
        nonce=int(transaction["nonce"], 16),
        block_number=int(transaction["blockNumber"], 16) - 1,
        uri=URI,
    )
    write_pending(folder.path / PENDING_FILE, pending)
    return str(identity.registration_hash)


def test_an_interrupted_registration_is_completed(
    remote: FakeRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_agent(tmp_path)
    registration_hash = interrupt(remote, folder)
    remote.served.ask("evm_mine")
    ask, widths = remote.served.ask, []

    def ask_narrowly(method: str, *params: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_getLogs":
            widths.append(int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16))
            if widths[-1] > 1:
                raise RefusedError({"code": -32005, "message": "query exceeds max block range"})
        return ask(method, *params)

    monkeypatch.setattr(remote.served, "ask", ask_narrowly)
    result = run(remote.url, folder.path, "--uri", URI, "--json")
    form = json.loads(result.stdout)
    assert (form["isNew"], form["transactions"], form["uri"]) == (True, [], URI)
    assert f"made agent {form['agentId']}, in transaction {registration_hash}." in result.stderr
    assert widths[0] > 1
    assert min(widths) <= 1
    identity = folder.read_manifest().identity
    assert identity is not None
    assert (identity.agent_id, identity.registration_hash) == (form["agentId"], registration_hash)
    assert not (folder.path / PENDING_FILE).exists()


def test_a_node_that_searches_no_logs_leaves_the_file(
    remote: FakeRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_agent(tmp_path)
    interrupt(remote, folder)
    ask = remote.served.ask

    def refuse_logs(method: str, *params: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_getLogs":
            raise RefusedError({"code": -32601, "message": "no such method"})
        return ask(method, *params)

    monkeypatch.setattr(remote.served, "ask", refuse_logs)
    error = run(remote.url, folder.path, status=1).stderr
    assert "does not search block 0 (no such method); pass the URL of another node" in error
    assert (folder.path / PENDING_FILE).exists()
    assert folder.read_manifest().identity is None


def test_a_file_of_another_sender_or_damaged_is_refused(remote: FakeRemote, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    interrupt(remote, folder)
    path = folder.path / PENDING_FILE
    error = run(remote.url, folder.path, sender=OTHER, status=2).stderr
    assert f"sender {SENDER} was interrupted, and this one has sender {OTHER}; complete" in error
    path.write_text("{")
    error = run(remote.url, folder.path, status=2).stderr
    assert error.startswith(f"Error: {path}: not a pending registration: ")
    assert path.read_text() == "{"


def test_a_chain_without_the_transaction_gets_an_entry(remote: FakeRemote, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    interrupt(remote, folder)
    path = folder.path / PENDING_FILE
    pending = read_pending(path)
    assert pending is not None
    write_pending(path, replace(pending, block_number=10**6))  # A chain that was started anew.
    printed = run(remote.url, folder.path).stdout
    assert "is not on the chain: another transaction has the nonce. It begins anew." in printed
    assert "gas-watcher is registered: agent " in printed
    assert not path.exists()


def test_a_transaction_in_between_does_not_move_the_registration_to_another_nonce(
    remote: FakeRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_agent(tmp_path)
    ask = remote.served.ask
    nonce = int(ask("eth_getTransactionCount", SENDER, "latest"), 16)

    def ask_late(method: str, *params: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_sendTransaction":
            ask(method, {"from": SENDER, "to": OTHER, "value": "0x1"})
        return ask(method, *params)

    monkeypatch.setattr(remote.served, "ask", ask_late)
    error = run(remote.url, folder.path, status=1).stderr
    assert f"nonce {nonce}" in error
    assert int(ask("eth_getTransactionCount", SENDER, "latest"), 16) == nonce + 1
    assert not (folder.path / PENDING_FILE).exists()
    assert folder.read_manifest().identity is None
    monkeypatch.undo()
    run(remote.url, folder.path)
    assert int(ask("eth_getTransactionCount", SENDER, "latest"), 16) == nonce + 3
