"""Errors of requests to a node.

ConfigError
└── SignerError                the node has no key of the account
AgentsError
└── RequestError               rejected; the message is geth's
    ├── ChainIdError           the request is for another chain
    ├── InvalidRequestError    the transaction is invalid
    ├── AllowanceError         the sender cannot pay for it
    └── ExecutionFailedError   it fails with all the gas that it may have
        └── OutOfGasError      because that gas is too little
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.agents.failures import RevertContext
from pyevm_agents.errors import AgentsError, ConfigError

if TYPE_CHECKING:
    from eth.exceptions import VMError


class SignerError(ConfigError):
    """The node does not sign or send for an account."""


class RequestError(AgentsError):
    """The node rejects a request; the message is geth's."""


class ChainIdError(RequestError):
    """The request names another chain ID."""


class InvalidRequestError(RequestError):
    """The requested transaction is invalid."""


class AllowanceError(RequestError):
    """The sender cannot pay for the request."""


class ExecutionFailedError(RequestError):
    """The request fails with all the gas allowed."""

    def __init__(self, error: VMError, output: bytes, context: RevertContext) -> None:
        """Input: the error of the execution; the output (revert data); the context of a revert."""
        super().__init__(str(error))
        self.error = error
        self.output = output
        self.context = context


class OutOfGasError(ExecutionFailedError):
    """The request needs more gas than allowed."""

    def __init__(self, error: VMError, allowance: int) -> None:
        """Input: the error of the execution; the gas that the request may have."""
        super().__init__(error, b"", RevertContext())
        self.allowance = allowance

    def __str__(self) -> str:
        return f"gas required exceeds allowance ({self.allowance})"
