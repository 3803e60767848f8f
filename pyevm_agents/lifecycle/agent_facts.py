"""What an agent states of itself: read with care, since the properties of an agent are its code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.lifecycle.agent_answers import AgentFailedError, ask_agent
from pyevm_agents.lifecycle.budget import RunStoppedError
from pyevm_agents.lifecycle.manifest import AgentManifest
from pyevm_agents.lifecycle.results import describe_exception

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.lifecycle.module import AgentModule

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What an agent states of itself: a copy, with the declared types alone."""

    slug: str
    version: str
    identity_mode: str
    manifest: AgentManifest


def read_agent(modules: Mapping[str, AgentModule], slug: str) -> AgentFacts:
    """Return what an installed agent states of itself.

    Input:  the installed agents; the slug of one of them.
    Raises: AgentFailedError: it raised an exception, or stated something of another type; the
            message names the property. ConfigError: the folder of the agent was changed. A fault of
            the host: as it is.
    """
    module = modules[slug]
    return AgentFacts(  # The manifest comes first: other properties may be read from it.
        manifest=_read_property(slug, "manifest", AgentManifest, module),
        slug=_read_property(slug, "slug", str, module),
        version=_read_property(slug, "version", str, module),
        identity_mode=_read_property(slug, "identity_mode", str, module),
    )


def _read_property(slug: str, name: str, kind: type[T], module: AgentModule) -> T:
    place = f"{slug}: {name}"
    try:
        return ask_agent(place, kind, lambda: getattr(module, name))
    except RunStoppedError as error:  # The agent's own: to read a property stops no run.
        reason = describe_exception(error, is_named=True)
        raise AgentFailedError(f"agent {place}: {reason}") from error
