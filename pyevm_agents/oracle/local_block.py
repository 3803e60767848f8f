"""A block of a chain in this process, opened to be continued by another chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.config import ForkOrigin
from pyevm_agents.state import RemoteAccount

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.chain import ChainSimulator


class LocalState:
    """The state of a chain after a block. Implements `RemoteState`; thread-safe."""

    def __init__(self, chain: ChainSimulator, header: BlockHeaderAPI) -> None:
        """Input: the chain; the header of a block of the chain."""
        self._chain, self._header = chain, header

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account; None if absent."""
        state = self._chain.state(self._header)
        if state.account_is_empty(address):
            return None
        return RemoteAccount(
            state.get_nonce(address), state.get_balance(address), state.get_code(address)
        )

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot, 0 if empty."""
        return self._chain.state(self._header).get_storage(address, slot)

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of the block or of one below."""
        return bytes(self._chain.header(number).hash)


@dataclass(frozen=True, slots=True)
class LocalBlock:
    """A block of a chain in this process. Implements `ForkBlock`."""

    origin: ForkOrigin
    header: BlockHeaderAPI
    state: LocalState

    @classmethod
    def from_header(cls, chain: ChainSimulator, header: BlockHeaderAPI) -> LocalBlock:
        """Return the block of a chain with a header."""
        origin = ForkOrigin(
            chain_id=chain.config.chain_id,
            block_number=header.block_number,
            block_hash=bytes(header.hash),
        )
        return cls(origin, header, LocalState(chain, header))
