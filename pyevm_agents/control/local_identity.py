"""The account of a control plane's chain, as it registers agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.control.identity import ContractLog, MinedCall
from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.chain_port import FrameCall, RefusedCallError, mine_call

if TYPE_CHECKING:
    from pyevm_agents.lifecycle.local_chain import LocalChainPort


class LocalIdentityAccount:
    """The account that signs the transactions of runs."""

    def __init__(self, port: LocalChainPort) -> None:
        """Input: the chain, with the account's key."""
        self._port = port

    @property
    def address(self) -> bytes:
        """The account's address."""
        return self._port.address

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self._port.chain_id

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output."""
        return self._port.call(to, data)

    def transact(self, purpose: str, to: bytes, data: bytes) -> MinedCall:
        """Mine a transaction; return its logs."""
        try:
            block = mine_call(self._port, FrameCall(target=to, data=data))
        except RefusedCallError as error:
            raise AgentsError(f"{purpose}: {error}") from error
        [transaction_hash] = block.transaction_hashes
        logs = self._port.chain.receipt(transaction_hash).logs
        return MinedCall(
            hash=transaction_hash,
            logs=[
                ContractLog(
                    address=bytes(log.address),
                    topics=tuple(topic.to_bytes(32, "big") for topic in log.topics),
                    data=bytes(log.data),
                )
                for log in logs
            ],
        )
