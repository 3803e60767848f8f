"""The manifest of an agent for runs: the agent's statements and promises.

`PackageManifest` of `pyevm_agents.manifests` is the text of an agent's `agent.json`: the published
facts, with endpoints and an image. `AgentManifest` has the terms of a run: addresses as bytes,
limits that are enforced, and a digest that must stay. An agent of Python alone has no file and no
`PackageManifest`. `build_module_manifest` of `pyevm_agents.control.agent_loader` is the one
conversion.

Source: the agent standard of OpenFi, `agent.json`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyevm_agents.lifecycle.budget import ComputeBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestTool:
    """A tool that an agent uses."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSafety:
    """Promises of an agent. Each is enforced."""

    requires_dry_run: bool = True
    requires_verification: bool = True
    max_onchain_writes_per_run: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestIdentity:
    """The agent's entry in ERC-8004's identity registry."""

    agent_registry: bytes
    agent_id: int
    registration_tx_hash: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentManifest:
    """The statements of an agent that bind a run.

    The canonical JSON has a digest, which discovery stores: a run whose agent has another one later
    fails. `PackageManifest` is the published document, see above.
    """

    name: str
    slug: str
    version: str
    description: str
    owner_wallet: bytes
    operator_wallet: bytes
    schema: str = "https://openfi.dev/schemas/agent/v1"
    erc8004: ManifestIdentity | None = None
    capabilities: tuple[str, ...] = ()
    tools: tuple[ManifestTool, ...] = ()
    compute_constraints: ComputeBudget = field(default_factory=ComputeBudget)
    task_categories: tuple[str, ...] = ("general",)
    safety: ManifestSafety = field(default_factory=ManifestSafety)


def is_registered_since(before: AgentManifest, after: AgentManifest) -> bool:
    """Whether a manifest is equal to an earlier one, but for a registration in between.

    A registration writes the entry, and fills in an owner and an operator where there were none.
    """
    if after.erc8004 is None:
        return after == before
    registered = replace(
        before,
        erc8004=after.erc8004,
        owner_wallet=before.owner_wallet or after.owner_wallet,
        operator_wallet=before.operator_wallet or after.operator_wallet,
    )
    return after == registered
