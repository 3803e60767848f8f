"""The config of a control plane with the chain. Needs no package of the extra `agents`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.control.treasury_policy import TreasuryPolicy
from pyevm_agents.lifecycle.trust import TrustedSources, TrustThreshold
from pyevm_agents.local_node import NodeConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

NEW = "new"
CAP_WEI = 10**17
DEPOSIT_WEI = 10**18

DEFAULT_POLICY = TreasuryPolicy(cap_wei=CAP_WEI, deposit_wei=DEPOSIT_WEI)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedAgent:
    """A deployed agent, and the slug in the control plane."""

    slug: str
    address: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TreasuryConfig:
    """The treasury that runs write through."""

    treasury: bytes | str | None = None
    """The address, or `NEW` for one that is deployed; None for the folder's, or for none."""

    policy: TreasuryPolicy = DEFAULT_POLICY
    """The rules of a new treasury."""

    given_rules: Mapping[str, str] = field(default_factory=dict)
    """Fields of the policy that a user gave, each with the option's name for errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneConfig:
    """Agents, the chain on which the agents run, and the terms of runs."""

    agents: tuple[Path | DeployedAgent, ...]
    """Folders of agents, and deployed agents of the chain."""

    node: NodeConfig = field(default_factory=NodeConfig)
    """The chain: models, generation store and fixture. The folder is that of `data_folder`."""

    data_folder: Path | None = None
    """Folder that keeps the chain and the runs; None to keep nothing but logs."""

    min_score: float = 0.0
    """The trust score that an agent needs, from 0 to 1."""

    requires_identity: bool = False
    """Whether agents must be registered on the chain."""

    trusted_validators: tuple[bytes, ...] = ()
    """Validators whose re-executions count for the score."""

    trusted_clients: tuple[bytes, ...] = ()
    """Clients whose feedback counts for the score."""

    validator: bytes | None = None
    """An account of the chain that executes each run again; None for none."""

    abi_files: tuple[Path, ...] = ()
    """Files with ABIs whose errors are named."""

    treasury: TreasuryConfig = field(default_factory=TreasuryConfig)
    operator_key: PrivateKey | None = None
    """The operator's key; None for the development account."""

    confirms: bool = False
    """Whether the operator must sign every dry run, without a treasury too."""

    endpoints: Mapping[str, str] = field(default_factory=dict)
    """The URLs at which clients reach the control plane; empty for one that serves no port."""

    resumes: bool = True
    """Whether runs that had not ended go on at once."""

    @property
    def is_registration_needed(self) -> bool:
        """Whether agents must be registered: if required, or if a validator answers for agents."""
        return self.requires_identity or self.validator is not None

    @property
    def threshold(self) -> TrustThreshold:
        """The trust that an agent needs to be run."""
        return TrustThreshold(
            min_score=self.min_score,
            requires_identity=self.is_registration_needed,
            requires_registration=self.is_registration_needed,
        )

    @property
    def sources(self) -> TrustedSources:
        """The accounts whose word counts."""
        return TrustedSources(
            validators=frozenset(self.trusted_validators), clients=frozenset(self.trusted_clients)
        )
