"""The owner of a worker's store: one account at one contract of one chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pyevm_agents.client.chain_client import ChainClient


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreIdentity:
    """The owner of a store, which no other account, contract or chain may use."""

    chain_id: int
    genesis_hash: bytes
    contract: bytes
    """Address of the oracle, or of the council."""

    account: bytes

    @classmethod
    def read(cls, client: ChainClient, chain_id: int, contract: bytes, account: bytes) -> Self:
        """Read the genesis block of a chain, whose ID is known; return the identity.

        Raises: RemoteFault: the node does not answer.
        """
        return cls(
            chain_id=chain_id,
            genesis_hash=client.read_genesis_hash(),
            contract=contract,
            account=account,
        )

    @property
    def file_name(self) -> str:
        """Name of the store's file in the user's state folder."""
        return f"{self.chain_id}-{self.contract.hex()}-{self.account.hex()}.sqlite3"

    def list_values(self, store_format: str, contract: str, account: str) -> dict[str, str]:
        """Return the values under names for people.

        Input: the format of the store; names of the contract and of the account.
        """
        return {
            "format": store_format,
            "chain": str(self.chain_id),
            "genesis block": "0x" + self.genesis_hash.hex(),
            contract: "0x" + self.contract.hex(),
            account: "0x" + self.account.hex(),
        }
