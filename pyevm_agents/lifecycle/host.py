"""The host of runs: the chain, the installed agents, limits, and the listener."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.json_codec import compute_json_digest
from pyevm_agents.lifecycle.policy import SYSTEM_LIMITS
from pyevm_agents.lifecycle.trust import TrustedSources, TrustTable, TrustThreshold
from pyevm_agents.lifecycle.untrusted_agents import AgentFailedError, read_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.chain_tools import HostTool
    from pyevm_agents.lifecycle.envelopes import RunEnvelope, RunTerms
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.recorder import RunRecorder
    from pyevm_agents.lifecycle.statuses import Phase
    from pyevm_agents.lifecycle.store import RunStore, StoredRun
    from pyevm_agents.lifecycle.trust import TrustSource
    from pyevm_agents.lifecycle.untrusted_agents import AgentAnswers
    from pyevm_agents.lifecycle.verification import RunValidator


class Moment(Enum):
    """A moment of a phase, for listeners."""

    BEGUN = "begun"
    PREPARED = "prepared"
    """The execution's block is stored, and not mined yet."""

    MINED = "mined"
    """The block is mined, and the phase's result not stored yet."""

    COMPUTED = "computed"
    """The phase's result is not stored yet."""

    STORED = "stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """A moment of a run."""

    run: StoredRun
    """The row of the run: after the phase for `Moment.STORED`, otherwise before."""

    phase: Phase
    moment: Moment
    result: object = None
    """Of the phase, for `Moment.STORED`; None for a phase that failed before there was one."""

    @property
    def run_id(self) -> str:
        """The ID of the run."""
        return self.run.run_id


def ignore_event(event: RunEvent) -> None:
    """Do nothing: for hosts without a listener."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleHost:
    """The host of runs."""

    port: LocalChainPort
    store: RunStore
    modules: Mapping[str, AgentModule]
    """The installed agents, by slug."""

    now: Callable[[], float]
    """Returns Unix seconds."""

    limits: ComputeBudget = SYSTEM_LIMITS
    trust: TrustSource = field(default_factory=TrustTable)
    sources: TrustedSources = field(default_factory=TrustedSources)
    threshold: TrustThreshold = field(default_factory=TrustThreshold)
    """For all tasks; a task, or the parent of a child run, may need more."""

    tools: Mapping[str, HostTool] = field(default_factory=dict)
    """Tools that only read, for agents' use: a function of the arguments, whose results are stored
    and read back, or a `ChainTool`, which reads the run's draft."""

    protected: frozenset[bytes] = frozenset()
    """Contracts that no run may change, beside those that `trust` reads."""

    open_envelope: Callable[[RunTerms], RunEnvelope] | None = None
    """Returns the envelope of a run; None for no treasury and no confirmation."""

    validator: RunValidator | None = None
    recorder: RunRecorder | None = None
    listener: Callable[[RunEvent], None] = ignore_event


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredAgents:
    """The installed agents, as each was read once."""

    readable: Mapping[str, AgentAnswers]
    """What the agents state of themselves, by slug."""

    rejected: Mapping[str, str]
    """Why the other agents can't be read, by slug."""


def discover_agents(modules: Mapping[str, AgentModule]) -> DiscoveredAgents:
    """Read all installed agents. One that can't be read is rejected alone.

    Raises: a fault of the host.
    """
    readable, rejected = {}, {}
    for slug in sorted(modules):
        try:
            readable[slug] = read_agent(modules, slug)
        except (AgentFailedError, ConfigError) as error:
            rejected[slug] = str(error).removeprefix(f"agent {slug}: ")
    return DiscoveredAgents(readable=readable, rejected=rejected)


def hash_manifest(manifest: AgentManifest) -> str:
    """Return the digest of a manifest, in hexadecimal."""
    return "0x" + compute_json_digest(manifest).hex()
