"""Documents name the control plane that serves them, wherever they are read or written."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_typing import Address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.identity import TOKEN_URI
from pyevm_agents.control.requests import RegistrationRequest
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.errors import AgentsError
from pyevm_agents.manifests.agent_folder import validate_folder
from pyevm_agents.manifests.documents import DocumentKind, read_document
from pyevm_agents.manifests.endpoints import build_endpoints
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.control.served_plane import open_served_plane
from tests.pyevm_agents.control.test_mcp import talk_to, use

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

    from pyevm_agents.manifests.agent_folder import AgentFolder

URL = "http://127.0.0.1:19110"
ENDPOINTS = build_endpoints(URL)
REGISTRY = REGISTRY_ADDRESSES[TESTNET].identity

NAMING = [each for each in DocumentKind if each is not DocumentKind.LOG]


def list_urls(kind: DocumentKind, form: Any) -> set[str]:  # noqa: ANN401 - JSON
    """Return the endpoints that a document names."""
    if kind is DocumentKind.MANIFEST:
        return set(form["endpoints"].values())
    return {each.get("url") or each["endpoint"] for each in form["services"]}


@pytest.mark.parametrize("has_endpoints", [True, False])
def test_every_door_serves_documents_with_its_own_address(
    tmp_path: Path, *, has_endpoints: bool
) -> None:
    """An agent that names none, as a deployed one, gets the control plane's too."""
    folder = make_agent(tmp_path)
    if not has_endpoints:
        folder.write_manifest(replace(folder.read_manifest(), endpoints={}))
    before = folder.read_manifest()
    with open_served_plane(folder.path, tmp_path, endpoints=ENDPOINTS) as client:
        served = {each: client.get(f"/.well-known/{each.file_name}") for each in NAMING}
        assert client.get("/agents/gas-watcher") == served[DocumentKind.MANIFEST]

        async def talk(session: Client) -> None:
            for kind, form in served.items():
                assert list_urls(kind, form) == set(ENDPOINTS.values())
                assert await use(session, "openfi_get_manifest", document=kind.file_name) == form

        talk_to(client.url, talk)
    assert folder.read_manifest() == before, "to serve a folder does not change it"


def read_chains_document(chain: Chain) -> Any:  # noqa: ANN401 - JSON
    """Return the registration document of the first agent, as the registry has it."""
    call = Call(to=Address(REGISTRY), data=TOKEN_URI + encode(["uint256"], [0]))
    [uri] = decode(["string"], chain.call(call).output)
    return json.loads(base64.b64decode(uri.partition(",")[2]))


@pytest.fixture
def chain() -> Chain:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    accounts = {DEVELOPMENT_ADDRESS: funds, **build_registries(TESTNET)}
    return Chain(ChainConfig(), {}, accounts=accounts)


def test_the_document_of_a_registration_names_the_served_address(
    tmp_path: Path, chain: Chain
) -> None:
    """Also that of a second registration, from another port."""
    folder = make_agent(tmp_path)
    for url in (URL, "http://127.0.0.1:19111"):
        endpoints = build_endpoints(url)
        register(folder, chain, tmp_path, endpoints)
        document = read_chains_document(chain)
        assert list_urls(DocumentKind.REGISTRATION, document) == set(endpoints.values())
        assert read_document(folder.locate(DocumentKind.REGISTRATION)) == document
        for kind in NAMING:
            assert list_urls(kind, read_document(folder.locate(kind))) == set(endpoints.values())
        assert validate_folder(folder) == ()


def register(
    folder: AgentFolder,
    chain: Chain,
    data: Path,
    endpoints: dict[str, str],
    registry: bytes = REGISTRY,
) -> None:
    with open_development_plane(
        [folder.path],
        data,
        chain=chain,
        endpoints=endpoints,
        identity_account=LocalAccount(chain),
        identity_registry=registry,
    ) as plane:
        plane.register_identity("gas-watcher", RegistrationRequest())


def test_a_registration_that_fails_leaves_the_endpoints(tmp_path: Path, chain: Chain) -> None:
    folder = make_agent(tmp_path)
    before = folder.read_manifest()
    with pytest.raises(AgentsError):
        register(folder, chain, tmp_path, ENDPOINTS, registry=b"\x99" * 20)
    assert folder.read_manifest() == before
