"""Identity and trust from registries in a genesis."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.agent_loader import build_module_manifest
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.identity import register_agent
from pyevm_agents.control.requests import RegistrationRequest
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.registry_trust import RegistryTrust
from pyevm_agents.lifecycle.statuses import Phase, RunStatus
from pyevm_agents.lifecycle.trust import (
    REEXECUTION_TAG,
    TrustedSources,
    TrustThreshold,
    compute_score,
)
from pyevm_agents.manifests.agent_folder import validate_folder
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.manifests.registration import build_erc8004_registration
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane
from tests.pyevm_agents.manifests.documents_of_tests import read_written
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS

if TYPE_CHECKING:
    from pathlib import Path

REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
OWNER = to_checksum_address(DEVELOPMENT_ADDRESS)


@pytest.fixture
def chain() -> Chain:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    funded = dict.fromkeys([DEVELOPMENT_ADDRESS, *ADDRESSES], funds)
    return Chain(ChainConfig(), {}, accounts={**funded, **build_registries(TESTNET)})


@pytest.fixture
def port(chain: Chain) -> LocalChainPort:
    return LocalChainPort(chain, DEVELOPMENT_KEY)


def read_uri(port: LocalChainPort, agent_id: int) -> str:
    artifact = load_artifact("IdentityRegistry")
    output = port.call(REGISTRIES.identity, artifact.encode_call("tokenURI", agent_id))
    return str(artifact.decode_result("tokenURI", output))


def test_an_agent_is_registered_once_and_its_document_is_on_the_chain(
    tmp_path: Path, chain: Chain, port: LocalChainPort
) -> None:
    folder, account = make_agent(tmp_path), LocalAccount(chain)
    first = register_agent(folder, account, REGISTRIES.identity)
    identity = first.manifest.identity
    assert identity is not None
    assert (first.is_new, len(first.transaction_hashes)) == (True, 2)
    assert identity.registration_hash == "0x" + first.transaction_hashes[0].hex()
    assert first.manifest.owner_wallet == OWNER
    assert folder.read_manifest() == first.manifest
    assert validate_folder(folder) == ()
    document = json.loads(base64.b64decode(read_uri(port, identity.agent_id).partition(",")[2]))
    assert document == build_erc8004_registration(first.manifest)
    place = f"eip155:{port.chain_id}:{to_checksum_address(REGISTRIES.identity)}"
    assert document["registrations"] == [{"agentId": identity.agent_id, "agentRegistry": place}]
    again = register_agent(folder, account, REGISTRIES.identity)
    assert (again.is_new, again.transaction_hashes) == (False, ())
    changed = register_agent(folder, account, REGISTRIES.identity, uri="https://me.example/a")
    assert (changed.is_new, len(changed.transaction_hashes)) == (False, 1)
    assert read_uri(port, identity.agent_id) == "https://me.example/a"


def test_a_registration_that_may_not_be_changes_nothing(tmp_path: Path, chain: Chain) -> None:
    folder, account = make_agent(tmp_path), LocalAccount(chain)
    other = LocalAccount(chain, KEYS[1])
    with pytest.raises(AgentsError):
        register_agent(folder, account, b"\x11" * 20)
    assert folder.read_manifest().identity is None
    registered = register_agent(folder, account, REGISTRIES.identity).manifest
    with pytest.raises(ConfigError, match="must be the account that registers"):
        register_agent(folder, other, REGISTRIES.identity)
    identity = registered.identity
    assert identity is not None
    folder.write_manifest(replace(registered, identity=replace(identity, agent_id=99)))
    with pytest.raises(ConfigError, match=r"agent 99 of .*: not in the registry"):
        register_agent(folder, account, REGISTRIES.identity)
    folder.write_manifest(replace(registered, owner_wallet=to_checksum_address(other.address)))
    with pytest.raises(ConfigError, match=f"its owner is {OWNER}; sign with the owner's key"):
        register_agent(folder, other, REGISTRIES.identity)


def test_trust_is_of_named_validators_and_clients_alone(
    tmp_path: Path, chain: Chain, port: LocalChainPort
) -> None:
    folder = make_agent(tmp_path)
    trust = RegistryTrust(port, REGISTRIES, TrustedSources(clients=frozenset({ADDRESSES[2]})))
    before = trust.take_snapshot(build_module_manifest(folder.read_manifest()))
    assert (before.has_identity, before.is_registered) == (False, False)
    package = register_agent(folder, LocalAccount(chain), REGISTRIES.identity).manifest
    assert package.identity is not None
    agent_id = package.identity.agent_id
    request = load_artifact("ValidationRegistry")
    for number, (place, response) in enumerate([(1, 100), (3, 0)]):
        validator, request_hash = ADDRESSES[place], bytes([number]) * 32
        asked = request.encode_call("validationRequest", validator, agent_id, "", request_hash)
        LocalAccount(chain).transact(REGISTRIES.validation, asked)
        answer = request.encode_call(
            "validationResponse", request_hash, response, "", b"\0" * 32, REEXECUTION_TAG
        )
        LocalAccount(chain, KEYS[place]).transact(REGISTRIES.validation, answer)
    feedback = load_artifact("ReputationRegistry")
    for place, value in ((2, 50), (3, 100)):
        given = feedback.encode_call("giveFeedback", agent_id, value, 0, "", "", "", "", b"\0" * 32)
        LocalAccount(chain, KEYS[place]).transact(REGISTRIES.reputation, given)
    manifest = build_module_manifest(package)
    snapshot = trust.take_snapshot(manifest)
    assert (snapshot.has_identity, snapshot.is_registered) == (True, True)
    assert [each.response for each in snapshot.validations] == [100, 0]
    assert [(each.client, each.score) for each in snapshot.feedback] == [(ADDRESSES[2], 0.5)]
    sources = TrustedSources(
        validators=frozenset({ADDRESSES[1]}), clients=frozenset({ADDRESSES[2]})
    )
    assert compute_score(snapshot, sources) == 0.75
    stranger = replace(manifest, owner_wallet=ADDRESSES[1])
    assert trust.take_snapshot(stranger).is_registered is False


def test_a_control_plane_registers_an_agent_that_may_then_be_run(
    tmp_path: Path, chain: Chain, port: LocalChainPort
) -> None:
    folder = make_agent(tmp_path)
    with open_development_plane(
        [folder.path], tmp_path, chain=chain, threshold=TrustThreshold(),
        trust=RegistryTrust(port, REGISTRIES, TrustedSources()),
        identity_account=LocalAccount(chain), identity_registry=REGISTRIES.identity,
        protected=frozenset({REGISTRIES.identity}),
    ) as plane:  # fmt: skip
        rejected = plane.run_goal("What is my balance?")
        assert rejected.failed_phase is Phase.TRUST_CHECK
        assert "register it" in (rejected.failure or "")
        registered = plane.register_identity("gas-watcher", RegistrationRequest())
        assert (registered.is_new, registered.chain_id) == (True, port.chain_id)
        assert plane.list_agents()[0].agent_id == registered.agent_id
        assert plane.run_goal("What is my balance?").status is RunStatus.COMPLETED
        document = plane.get_document(None, DocumentKind.OPENFI_REGISTRATION)
        assert document["registrations"][0]["agentId"] == registered.agent_id
        assert (
            plane.get_document(None, DocumentKind.LOG)["agent"]["erc8004AgentId"]
            == registered.agent_id
        )


def test_what_is_served_passes_the_schemas(tmp_path: Path, chain: Chain) -> None:
    """Below `/.well-known/`, before an agent is registered and after, with a run in its log."""
    folder = make_agent(tmp_path)
    with open_served_plane(
        folder.path, tmp_path, chain=chain, identity_account=LocalAccount(chain),
        identity_registry=REGISTRIES.identity,
    ) as client:  # fmt: skip
        paths = {kind: f"/.well-known/{kind.file_name}" for kind in DocumentKind}
        before = {kind: read_written(client.send("GET", paths[kind])[2], kind) for kind in paths}
        assert before[DocumentKind.REGISTRATION]["registrations"] == []
        registered = client.post("/agents/gas-watcher/registration", status=200)
        client.post("/tasks", {"goal": "What is my balance?", "taskId": "ask"}, status=201)
        assert client.post("/tasks/ask/runs?wait=true")["status"] == "completed"
        after = {kind: read_written(client.send("GET", paths[kind])[2], kind) for kind in paths}
    assert after[DocumentKind.REGISTRATION]["registrations"] == [
        {
            "agentId": registered["agentId"],
            "agentRegistry": f"eip155:{registered['chainId']}:{registered['agentRegistry']}",
        }
    ]
    [run] = after[DocumentKind.LOG]["runs"]
    assert (run["goal"], run["status"]) == ("What is my balance?", "completed")
    assert after[DocumentKind.LOG]["agent"]["erc8004AgentId"] == registered["agentId"]
