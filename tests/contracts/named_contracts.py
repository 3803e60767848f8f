"""Contracts by name, deployed on a plain EVM or on an agent chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class DeployedContract(Protocol):
    """A deployed contract: `contract("function", …)` sends a transaction, or reads."""

    @property
    def address(self) -> str: ...

    def __call__(self, function: str, *arguments: object) -> Any: ...  # noqa: ANN401 - what Solidity returns


class Deployer(Protocol):
    """Where contracts are deployed."""

    @property
    def owner(self) -> str: ...

    def deploy(self, name: str, *arguments: object) -> DeployedContract: ...

    def deploy_uniswap(self, name: str, *arguments: object) -> DeployedContract: ...

    def at_pair(self, address: str) -> DeployedContract: ...


@dataclass
class NamedContracts:
    """Contracts that a deployer deployed, by name."""

    deployer: Deployer
    contracts: dict[str, DeployedContract] = field(default_factory=dict, kw_only=True)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a contract of either kind
        return self.contracts[name]

    def address(self, name: str) -> str:
        return self.contracts[name].address

    def add(self, key: str, name: str, *arguments: object) -> DeployedContract:
        self.contracts[key] = self.deployer.deploy(name, *arguments)
        return self.contracts[key]
