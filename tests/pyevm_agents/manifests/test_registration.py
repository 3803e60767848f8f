"""Registration documents: both forms come from one manifest, and say the same."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_manifest import parse_manifest, serialize_manifest
from pyevm_agents.manifests.documents import DocumentKind, detect_kind
from pyevm_agents.manifests.registration import (
    BUILDERS,
    SERVICES,
    build_data_uri,
    build_erc8004_registration,
    build_openfi_registration,
)
from pyevm_agents.manifests.validation import validate_document
from tests.pyevm_agents.manifests.documents_of_tests import (
    REGISTRY,
    build_manifest,
    manifests,
    read_example,
)

if TYPE_CHECKING:
    from pyevm_agents.manifests.agent_manifest import PackageManifest


@given(manifest=manifests())
def test_a_manifest_survives_its_document(manifest: PackageManifest) -> None:
    form = serialize_manifest(manifest)
    assert detect_kind(form) is DocumentKind.MANIFEST
    assert parse_manifest(json.loads(json.dumps(form))) == manifest


@given(manifest=manifests())
def test_both_forms_are_valid_and_say_the_same(manifest: PackageManifest) -> None:
    erc8004, openfi = build_erc8004_registration(manifest), build_openfi_registration(manifest)
    assert validate_document(erc8004, DocumentKind.REGISTRATION) == ()
    assert validate_document(openfi, DocumentKind.OPENFI_REGISTRATION) == ()
    for name in ("type", "name", "description", "image"):
        assert erc8004[name] == openfi[name]
    kinds = {names.erc8004_name: names.openfi_kind for names in SERVICES.values()}
    assert [(kinds[each["name"]], each["endpoint"]) for each in erc8004["services"]] == [
        (each["kind"], each["url"]) for each in openfi["services"]
    ]
    assert [(each["agentId"], each["agentRegistry"]) for each in erc8004["registrations"]] == [
        (each["agentId"], f"eip155:{each['chainId']}:{each['agentRegistry']}")
        for each in openfi["registrations"]
    ]


def test_the_documents_of_a_manifest() -> None:
    manifest = build_manifest(image="https://example.com/icon.png", supported_trust=("reputation",))
    assert build_erc8004_registration(manifest) == {
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
        "name": "My Agent",
        "description": "What this agent does",
        "image": "https://example.com/icon.png",
        "services": [
            {"name": "openfi-api", "endpoint": "http://127.0.0.1:3001"},
            {"name": "MCP", "endpoint": "http://127.0.0.1:3001/mcp", "version": "2025-06-18"},
        ],
        "x402Support": False,
        "active": True,
        "registrations": [{"agentId": 7, "agentRegistry": f"eip155:31337:{REGISTRY}"}],
        "supportedTrust": ["reputation"],
    }
    assert build_openfi_registration(manifest)["registrations"] == [
        {"agentRegistry": REGISTRY, "agentId": 7, "chainId": 31_337}
    ]


def test_a_data_uri_holds_the_document() -> None:
    scheme, _, data = build_data_uri(build_manifest()).partition(",")
    assert scheme == "data:application/json;base64"
    assert json.loads(base64.b64decode(data)) == build_erc8004_registration(build_manifest())


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_registration_without_a_chain_is_refused(kind: DocumentKind) -> None:
    manifest = build_manifest()
    assert manifest.identity is not None
    manifest = replace(manifest, identity=replace(manifest.identity, chain_id=None))
    with pytest.raises(ConfigError, match=r"erc8004\.chainId must be there"):
        BUILDERS[kind](manifest)


def test_an_invalid_manifest_is_refused_with_all_its_problems() -> None:
    form = read_example(DocumentKind.MANIFEST) | {"slug": "Bad", "version": "x"}
    with pytest.raises(ConfigError) as caught:
        parse_manifest(form, "folder/agent.json")
    lines = str(caught.value).split("\n")
    assert [line.split(" ")[:2] for line in lines] == [
        ["folder/agent.json:", "slug"],
        ["folder/agent.json:", "version"],
    ]
