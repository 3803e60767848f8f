"""Agents of folders: the Python module, and the manifest that the module must have."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.manifest import (
    AgentManifest,
    ManifestIdentity,
    ManifestSafety,
    ManifestTool,
)
from pyevm_agents.lifecycle.module import IDENTITY_MODE
from pyevm_agents.lifecycle.untrusted_agents import AGENTS_FAILURES, AgentFailedError, read_agent
from pyevm_agents.manifests.agent_folder import AGENT_VARIABLE, AgentFolder

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType, ModuleType

    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.manifests.agent_manifest import PackageManifest

MEMBERS = (
    "slug", "display_name", "version", "manifest", "identity_mode", "can_handle", "plan", "execute",
    "verify", "summarize",
)  # fmt: skip
"""Members of `AgentModule`; `dry_run` is optional."""


def load_agent(folder: AgentFolder) -> AgentModule:
    """Return the agent of a folder. The module is imported, so must be trusted like any program.

    Raises: ConfigError: the module can't be imported, has no agent, or the agent's manifest is not
            that of the folder, or its identity mode not the standard's.
    """
    manifest = build_module_manifest(folder.read_manifest())
    agent = _get_agent(_import_module(folder.module_path, manifest.slug), folder.module_path)
    try:
        stated = read_agent({manifest.slug: agent}, manifest.slug)
    except AgentFailedError as error:
        raise ConfigError(f"{folder.module_path}: {error}; correct the module") from error
    if stated.identity_mode != IDENTITY_MODE:
        raise ConfigError(
            f"{folder.module_path}: identity_mode {stated.identity_mode!r:.80} of "
            f"{AGENT_VARIABLE}: must be {IDENTITY_MODE}, the only mode of the standard"
        )
    if stated.manifest != manifest:
        raise ConfigError(
            f"{folder.module_path}: the manifest of {AGENT_VARIABLE} must be that of agent.json; "
            "build it by `read_module_manifest(Path(__file__).parent)`"
        )
    return agent


def read_module_manifest(folder: Path) -> AgentManifest:
    """Return the manifest of an agent's folder, for the module.

    Raises: ConfigError: agent.json is missing or invalid.
    """
    return build_module_manifest(AgentFolder(folder).read_manifest())


def build_module_manifest(manifest: PackageManifest) -> AgentManifest:
    """Return the manifest for runs from a package's manifest: the one conversion between the two.

    The endpoints, `chainId` and other members that only the registration documents need are left
    out.
    """
    constraints, safety, identity = manifest.constraints, manifest.safety, manifest.identity
    gas = constraints.max_gas_wei
    return AgentManifest(
        name=manifest.name,
        slug=manifest.slug,
        version=manifest.version,
        description=manifest.description,
        owner_wallet=_parse_address(manifest.owner_wallet),
        operator_wallet=_parse_address(manifest.operator_wallet),
        erc8004=None
        if identity is None
        else ManifestIdentity(
            agent_registry=_parse_address(identity.registry),
            agent_id=identity.agent_id,
            registration_tx_hash=bytes.fromhex(identity.registration_hash[2:]),
        ),
        capabilities=manifest.capabilities,
        tools=tuple(
            ManifestTool(name=each.name, description=each.description) for each in manifest.tools
        ),
        compute_constraints=ComputeBudget(
            max_steps=constraints.max_steps,
            max_tool_calls=constraints.max_tool_calls,
            max_runtime_ms=constraints.max_runtime_ms,
            max_onchain_writes=constraints.max_onchain_writes,
            max_gas_wei=None if gas is None else str(gas),
        ),
        task_categories=manifest.task_categories,
        safety=ManifestSafety(
            requires_dry_run=safety.requires_dry_run,
            requires_verification=safety.requires_verification,
            max_onchain_writes_per_run=safety.max_onchain_writes_per_run,
        ),
    )


def _parse_address(text: str | None) -> bytes:
    return b"" if text is None else bytes(to_canonical_address(text))


def _import_module(path: Path, slug: str) -> ModuleType:
    """Import a file under a name that no other agent's module has."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; `pyevm-agents agent new NAME` makes an agent")
    name = f"pyevm_agents_of_folders.{slug.replace('-', '_')}"
    loader = _SourceLoader(name, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[name] = module  # Dataclasses of the module look it up.
    try:
        loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(
            f"{path}: can't be imported: {type(error).__name__}: {error}; run it with python"
        ) from error
    return module


class _SourceLoader(SourceFileLoader):
    """Reads and writes no bytecode: a change within the second of the last one would go unseen."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - importlib's
        return self.source_to_code(self.get_data(self.path), self.path)


def _get_agent(module: ModuleType, path: Path) -> AgentModule:
    agent: AgentModule | None = getattr(module, AGENT_VARIABLE, None)
    if agent is None:
        raise ConfigError(f"{path}: must have a variable {AGENT_VARIABLE}, the agent")
    missing = [name for name in MEMBERS if not _has_member(agent, name)]
    if missing:
        raise ConfigError(
            f"{path}: {AGENT_VARIABLE} must have {', '.join(missing)}; subclass BaseAgentModule"
        )
    return agent


def _has_member(agent: AgentModule, name: str) -> bool:
    """Return whether an agent has a member; one that raises is there, and is read later."""
    try:
        return hasattr(agent, name)
    except AGENTS_FAILURES:
        return True
