"""The agents of a control plane, by slug."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.control.agent_loader import build_module_manifest, load_agent
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.manifest import is_registered_since
from pyevm_agents.manifests.agent_log import require_log_file
from pyevm_agents.manifests.documents import DocumentKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.manifests.agent_folder import AgentFolder
    from pyevm_agents.manifests.agent_manifest import PackageManifest


class UnknownAgentError(ConfigError):
    """No agent of this slug is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installed:
    folder: AgentFolder
    package: PackageManifest
    manifest: AgentManifest
    module: AgentModule


class InstalledAgents(Mapping[str, "AgentModule"]):
    """Agents of folders. One whose `agent.json` was changed since loading is refused.

    One that was registered since, by any program, is loaded again.
    """

    def __init__(
        self,
        folders: Sequence[AgentFolder],
        load: Callable[[AgentFolder], AgentModule] = load_agent,
    ) -> None:
        """Load the agents.

        Input: the folders; the function that loads the agent of one.

        Raises: ConfigError: no folder, an agent can't be loaded, a log can't take the agent's runs,
                or two agents have one slug.
        """
        self._load_module = load
        self._agents: dict[str, _Installed] = {}
        if not folders:
            raise ConfigError(
                "agents: must be at least one; `pyevm-agents agent new NAME` makes one"
            )
        for folder in folders:
            agent = self._load(folder)
            slug = agent.manifest.slug
            if slug in self._agents:
                raise ConfigError(
                    f"{folder.path}: agent {slug} is installed from "
                    f"{self._agents[slug].folder.path}; change one slug, or omit one folder"
                )
            require_log_file(folder.locate(DocumentKind.LOG), agent.package)
            self._agents[slug] = agent

    def __getitem__(self, slug: str) -> AgentModule:
        """Return an agent.

        Raises: KeyError: no such agent. ConfigError: the manifest was changed.
        """
        agent = self._agents[slug]
        manifest = build_module_manifest(agent.folder.read_manifest())
        if manifest == agent.manifest:
            return agent.module
        if not is_registered_since(agent.manifest, manifest):
            raise ConfigError(
                f"agent.json of {slug}: was changed after the agent was loaded; restart the "
                "control plane"
            )
        self.reload(slug)
        return self._agents[slug].module

    def __iter__(self) -> Iterator[str]:
        """Yield the slugs."""
        return iter(self._agents)

    def __len__(self) -> int:
        """Return the number of agents."""
        return len(self._agents)

    def reload(self, slug: str) -> None:
        """Load an agent again, with the present manifest."""
        self._agents[slug] = self._load(self._agents[slug].folder)

    def choose(self, slug: str | None) -> str:
        """Return the slug of an agent, or that of the first one for None.

        Raises: UnknownAgentError: no such agent.
        """
        if slug is None:
            return next(iter(self._agents))
        if slug not in self._agents:
            known = ", ".join(self._agents)
            raise UnknownAgentError(f"agent {slug!r:.80}: not installed; there are {known}")
        return slug

    def get_folder(self, slug: str) -> AgentFolder:
        """Return the folder of an agent."""
        return self._agents[slug].folder

    def get_package(self, slug: str) -> PackageManifest:
        """Return the manifest of an agent's folder as loaded, or as registered since."""
        self._note_registration(slug)
        return self._agents[slug].package

    def list_manifests(self) -> list[AgentManifest]:
        """Return the manifests of all agents as loaded, or as registered since."""
        for slug in self._agents:
            self._note_registration(slug)
        return [each.manifest for each in self._agents.values()]

    def _note_registration(self, slug: str) -> None:
        with suppress(ConfigError):  # Only a run is refused for another change.
            self[slug]

    def _load(self, folder: AgentFolder) -> _Installed:
        module, package = self._load_module(folder), folder.read_manifest()
        manifest = build_module_manifest(package)
        return _Installed(folder=folder, package=package, manifest=manifest, module=module)
