"""`agent.json`: an agent's capabilities, limits, identity and endpoints.

Members beside those of OpenFi's document are optional: `image`, `erc8004.chainId`,
`supportedTrust`, `x402Support` and `active`, which the registration documents need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import MANIFEST_SCHEMA, DocumentKind, read_document
from pyevm_agents.manifests.validation import require_valid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyevm_agents.manifests.documents import Document

DEFAULT_MAX_STEPS = 10
DEFAULT_MAX_TOOL_CALLS = 50
DEFAULT_MAX_RUNTIME_MS = 300_000
DEFAULT_MAX_ONCHAIN_WRITES = 5
"""Defaults of the compute budget. Source: OpenFi's agent standard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeConstraints:
    """Limits that an agent states for runs."""

    max_steps: int = DEFAULT_MAX_STEPS
    max_tool_calls: int = DEFAULT_MAX_TOOL_CALLS
    max_runtime_ms: int = DEFAULT_MAX_RUNTIME_MS
    max_onchain_writes: int = DEFAULT_MAX_ONCHAIN_WRITES
    max_gas_wei: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyRules:
    """Requirements for a run of an agent."""

    requires_dry_run: bool = True
    requires_verification: bool = True
    max_onchain_writes_per_run: int = DEFAULT_MAX_ONCHAIN_WRITES


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageIdentity:
    """An entry of ERC-8004's identity registry."""

    registry: str
    """The registry's address."""

    agent_id: int
    registration_hash: str
    """Hash of the transaction that registered the agent."""

    chain_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageTool:
    """A tool of an agent, as named in the manifest."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageManifest:
    """The contents of `agent.json`: the published facts.

    Runs have an `AgentManifest` of `pyevm_agents.lifecycle`, which
    `pyevm_agents.control.agent_loader.build_module_manifest` makes of these contents: without the
    endpoints and other facts that only readers of the documents need.
    """

    name: str
    slug: str
    version: str
    description: str
    owner_wallet: str | None = None
    operator_wallet: str | None = None
    identity: PackageIdentity | None = None
    """None before the agent is registered."""

    capabilities: tuple[str, ...] = ()
    tools: tuple[PackageTool, ...] = ()
    constraints: ComputeConstraints = field(default_factory=ComputeConstraints)
    task_categories: tuple[str, ...] = ("general",)
    safety: SafetyRules = field(default_factory=SafetyRules)
    endpoints: Mapping[str, str] = field(default_factory=dict)
    """URLs by `api`, `mcp`, `web`, `a2a` and `oasf`."""

    image: str | None = None
    supported_trust: tuple[str, ...] = ()
    """Tags of ERC-8004, such as `reputation`."""

    x402_support: bool = False
    active: bool = True


def read_manifest(path: Path) -> PackageManifest:
    """Read `agent.json`.

    Raises: ConfigError: no such file, or an invalid one.
    """
    if not path.exists():
        raise ConfigError(
            f"{path}: no such file; name an agent's folder, or make one by `pyevm-agents agent new "
            "NAME`"
        )
    return parse_manifest(read_document(path), str(path))


def parse_manifest(form: Document, name: str = DocumentKind.MANIFEST.file_name) -> PackageManifest:
    """Return the manifest of a document. Input: the document; the name in errors.

    Raises: ConfigError: an invalid document.
    """
    require_valid(form, DocumentKind.MANIFEST, name)
    return PackageManifest(
        name=form["name"],
        slug=form["slug"],
        version=form["version"],
        description=form["description"],
        owner_wallet=form.get("ownerWallet"),
        operator_wallet=form.get("operatorWallet"),
        identity=_parse_identity(form.get("erc8004")),
        capabilities=tuple(form["capabilities"]),
        tools=tuple(PackageTool(**each) for each in form["tools"]),
        constraints=_parse_constraints(form["computeConstraints"]),
        task_categories=tuple(form["taskCategories"]),
        safety=_parse_safety(form["safety"]),
        endpoints=dict(form["endpoints"]),
        image=form.get("image"),
        supported_trust=tuple(form.get("supportedTrust", ())),
        x402_support=form.get("x402Support", False),
        active=form.get("active", True),
    )


def serialize_manifest(manifest: PackageManifest) -> dict[str, Any]:
    """Return the document of a manifest."""
    identity = manifest.identity
    form = {
        "schema": MANIFEST_SCHEMA,
        "name": manifest.name,
        "slug": manifest.slug,
        "version": manifest.version,
        "description": manifest.description,
        "image": manifest.image,
        "ownerWallet": manifest.owner_wallet,
        "operatorWallet": manifest.operator_wallet,
        "erc8004": None if identity is None else _serialize_identity(identity),
        "capabilities": [*manifest.capabilities],
        "tools": [{"name": each.name, "description": each.description} for each in manifest.tools],
        "computeConstraints": _serialize_constraints(manifest.constraints),
        "taskCategories": [*manifest.task_categories],
        "safety": {
            "requiresDryRun": manifest.safety.requires_dry_run,
            "requiresVerification": manifest.safety.requires_verification,
            "maxOnchainWritesPerRun": manifest.safety.max_onchain_writes_per_run,
        },
        "endpoints": {**manifest.endpoints},
        "supportedTrust": [*manifest.supported_trust] or None,
        "x402Support": manifest.x402_support or None,
        "active": None if manifest.active else False,
    }
    return _drop_empty(form)


def _parse_identity(form: Document | None) -> PackageIdentity | None:
    if form is None:
        return None
    return PackageIdentity(
        registry=form["agentRegistry"],
        agent_id=form["agentId"],
        registration_hash=form["registrationTxHash"],
        chain_id=form.get("chainId"),
    )


def _serialize_identity(identity: PackageIdentity) -> dict[str, Any]:
    return _drop_empty(
        {
            "agentRegistry": identity.registry,
            "agentId": identity.agent_id,
            "registrationTxHash": identity.registration_hash,
            "chainId": identity.chain_id,
        }
    )


def _parse_constraints(form: Document) -> ComputeConstraints:
    gas = form.get("maxGasWei")
    return ComputeConstraints(
        max_steps=form["maxSteps"],
        max_tool_calls=form["maxToolCalls"],
        max_runtime_ms=form["maxRuntimeMs"],
        max_onchain_writes=form["maxOnchainWrites"],
        max_gas_wei=None if gas is None else int(gas),
    )


def _serialize_constraints(constraints: ComputeConstraints) -> dict[str, Any]:
    gas = constraints.max_gas_wei
    return _drop_empty(
        {
            "maxSteps": constraints.max_steps,
            "maxToolCalls": constraints.max_tool_calls,
            "maxRuntimeMs": constraints.max_runtime_ms,
            "maxOnchainWrites": constraints.max_onchain_writes,
            "maxGasWei": None if gas is None else str(gas),
        }
    )


def _parse_safety(form: Document) -> SafetyRules:
    return SafetyRules(
        requires_dry_run=form["requiresDryRun"],
        requires_verification=form["requiresVerification"],
        max_onchain_writes_per_run=form["maxOnchainWritesPerRun"],
    )


def _drop_empty(form: dict[str, Any]) -> dict[str, Any]:
    """Leave out optional members that are not set."""
    return {name: value for name, value in form.items() if value is not None}
