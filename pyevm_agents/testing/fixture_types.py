"""Types of the fixtures, for annotations in a test suite.

    def test_it(agent_chain: AgentChain, deploy: Deploy, as_account: AsAccount) -> None: ...

A contract is web3.py's `web3.contract.Contract`, a receipt is `web3.types.TxReceipt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from web3.contract import Contract

    from pyevm_agents.testing.inputs import AddressLike


class Deploy(Protocol):
    """The fixture `deploy`: `deploy("Token", supply=10)`."""

    def __call__(
        self,
        contract: str | Path,
        /,
        *arguments: object,
        sender: AddressLike | None = None,
        value: int = 0,
        libraries: Mapping[str, AddressLike] | None = None,
        **named: object,
    ) -> Contract:
        """Deploy a contract; see `AgentChain.deploy`."""


class AsAccount(Protocol):
    """The fixture `as_account`: `with as_account(address): …`."""

    def __call__(self, account: AddressLike) -> AbstractContextManager[str]:
        """Impersonate an account; see `AgentChain.as_account`."""
