"""Errors of requests to a node: no key for an account, or a transaction that geth would refuse too.

ConfigError
└── SignerError                the node does not sign or send for an account
AgentsError
└── RequestError               refused; the message is geth's
├── ChainIdError           the request is for another chain
├── InvalidRequestError    no block may hold such a transaction
├── AllowanceError         its sender cannot pay for it
└── ExecutionFailedError   it fails with all the gas that it may have
└── OutOfGasError      because that gas is too little
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from eth.exceptions import VMError


class SignerError(ConfigError):
    """An account for which the node does not sign or send."""


class RequestError(AgentsError):
    """A request that the node refuses, in geth's words."""


class ChainIdError(RequestError):
    """A request for another chain."""


class InvalidRequestError(RequestError):
    """A request for a transaction that no block may hold."""


class AllowanceError(RequestError):
    """A request whose sender cannot pay for it."""


class ExecutionFailedError(RequestError):
    """A request that fails with all the gas that it may have."""

    def __init__(self, error: VMError, output: bytes) -> None:
        """Keep the error of the execution, and its output: the revert data of a revert."""
        super().__init__(str(error))
        self.error = error
        self.output = output


class OutOfGasError(ExecutionFailedError):
    """A request that needs more gas than it may have."""

    def __init__(self, error: VMError, allowance: int) -> None:
        """Keep the gas that it may have."""
        super().__init__(error, b"")
        self.allowance = allowance

    def __str__(self) -> str:
        """Return geth's message."""
        return f"gas required exceeds allowance ({self.allowance})"
