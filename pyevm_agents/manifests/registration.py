"""Registration documents of an agent: OpenFi's form and that of ERC-8004, from one manifest.

| | OpenFi | ERC-8004 |
|---|---|---|
| services | `kind`, `url`, `description` | `name`, `endpoint`, `version` |
| registrations | `agentRegistry: ADDRESS`, `chainId` | `agentRegistry: eip155:CHAIN:ADDRESS` |
| supportedTrust | objects | tags |
| also | | `active`, `x402Support` |

Source: OpenFi's agent standard; ERC-8004, section "Agent URI and Agent Registration File".
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import REGISTRATION_TYPE, DocumentKind, serialize_document

if TYPE_CHECKING:
    from pyevm_agents.manifests.agent_manifest import PackageManifest

MCP_VERSION = "2025-06-18"
"""Version of MCP that ERC-8004's example names."""

DEFAULT_IMAGE = (
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%208%208'"
    "%3E%3Crect%20width='8'%20height='8'%20rx='2'/%3E%3C/svg%3E"
)
"""A square: both forms require an image, and no document should name another host."""

TRUST_PROTOCOL = {"protocol": "erc-8004", "version": "1.0"}


class ServiceNames(NamedTuple):
    """Names of an endpoint in both forms."""

    openfi_kind: str
    erc8004_name: str
    description: str
    version: str | None = None


SERVICES = {
    "api": ServiceNames("openfi-api", "openfi-api", "OpenFi control plane API"),
    "mcp": ServiceNames("mcp", "MCP", "MCP endpoint", MCP_VERSION),
    "web": ServiceNames("web", "web", "Page for people"),
    "a2a": ServiceNames("a2a", "A2A", "A2A agent card"),
    "oasf": ServiceNames("oasf", "OASF", "OASF record"),
}
"""Names of the endpoints of `agent.json`."""


def build_openfi_registration(manifest: PackageManifest) -> dict[str, Any]:
    """Return the registration document of a manifest in OpenFi's form.

    Raises: ConfigError: the agent is registered, and the manifest lacks the chain's ID.
    """
    identity = manifest.identity
    registrations = []
    if identity is not None:
        registrations = [
            {
                "agentRegistry": identity.registry,
                "agentId": identity.agent_id,
                "chainId": require_chain_id(manifest),
            }
        ]
    return {
        **_build_common_members(manifest),
        "services": [
            {"kind": names.openfi_kind, "url": url, "description": names.description}
            for names, url in _iter_services(manifest)
        ],
        "registrations": registrations,
        "supportedTrust": [TRUST_PROTOCOL],
    }


def build_erc8004_registration(manifest: PackageManifest) -> dict[str, Any]:
    """Return the registration document of a manifest in ERC-8004's form.

    Raises: ConfigError: the agent is registered, and the manifest lacks the chain's ID.
    """
    identity = manifest.identity
    registrations = []
    if identity is not None:
        registry = f"eip155:{require_chain_id(manifest)}:{identity.registry}"
        registrations = [{"agentId": identity.agent_id, "agentRegistry": registry}]
    return {
        **_build_common_members(manifest),
        "services": [
            {"name": names.erc8004_name, "endpoint": url}
            | ({} if names.version is None else {"version": names.version})
            for names, url in _iter_services(manifest)
        ],
        "x402Support": manifest.x402_support,
        "active": manifest.active,
        "registrations": registrations,
        "supportedTrust": [*manifest.supported_trust],
    }


BUILDERS = {
    DocumentKind.REGISTRATION: build_erc8004_registration,
    DocumentKind.OPENFI_REGISTRATION: build_openfi_registration,
}
"""Builders of the registration documents, by their kind."""


def build_data_uri(manifest: PackageManifest) -> str:
    """Return ERC-8004's registration document as a `data:` URI, for a registry on the chain."""
    text = serialize_document(build_erc8004_registration(manifest))
    return "data:application/json;base64," + base64.b64encode(text.encode()).decode()


def require_chain_id(manifest: PackageManifest) -> int:
    """Return the ID of the chain that an agent is registered on.

    Raises: ConfigError: the manifest lacks the ID.
    """
    identity = manifest.identity
    if identity is None or identity.chain_id is None:
        raise ConfigError(
            f"agent.json of {manifest.slug}: erc8004.chainId must be there for the registration "
            "documents; add the ID of the registry's chain"
        )
    return identity.chain_id


def _build_common_members(manifest: PackageManifest) -> dict[str, Any]:
    return {
        "type": REGISTRATION_TYPE,
        "name": manifest.name,
        "description": manifest.description,
        "image": manifest.image or DEFAULT_IMAGE,
    }


def _iter_services(manifest: PackageManifest) -> list[tuple[ServiceNames, str]]:
    endpoints = manifest.endpoints
    return [(names, endpoints[key]) for key, names in SERVICES.items() if key in endpoints]
