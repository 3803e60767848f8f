"""The error of what breaks a rule of the chain: a transaction, a block or a call."""

from __future__ import annotations

from eth_utils import ValidationError

from pyevm_agents.errors import AgentsError


class RuleError(AgentsError, ValidationError):
    """A transaction, a block or a call breaks a rule: the sender is told, and it is no bug.

    Any other `ValidationError` is one of py-evm, outside of its checks of transactions and headers,
    and is a bug. So only this class is caught.
    """
