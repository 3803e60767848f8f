"""Remote states for tests of forks: from a dict, or from another chain of ours at its head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.config import ForkOrigin
from pyevm_agents.errors import RemoteFault
from pyevm_agents.state import RemoteAccount

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.chain import Chain


@dataclass
class DictRemote:
    """A remote state in dicts."""

    accounts: dict[Address, RemoteAccount] = field(default_factory=dict)
    slots: dict[tuple[Address, int], int] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)
    reads: list[object] = field(default_factory=list)
    is_gone: bool = False

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account."""
        self._note(address)
        return self.accounts.get(address)

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot."""
        self._note((address, slot))
        return self.slots.get((address, slot), 0)

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of a block."""
        self._note(number)
        return self.hashes[number]

    def _note(self, read: object) -> None:
        if self.is_gone:
            raise RemoteFault("remote chain test: connection refused")
        self.reads.append(read)


class ChainRemote(DictRemote):
    """The state of another chain at its head, which has to stay there or go on."""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self._chain = chain
        self._header = chain.head
        self._root = chain.state_root(chain.head)

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account."""
        self._note(address)
        state = self._chain.state(self._header)
        if state.account_is_empty(address):
            return None
        return RemoteAccount(
            state.get_nonce(address), state.get_balance(address), state.get_code(address)
        )

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot."""
        self._note((address, slot))
        return self._chain.state(self._header).get_storage(address, slot)

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of a block."""
        self._note(number)
        return bytes(self._chain.header(number).hash)


@dataclass
class RemoteBlock:
    """A fork block of a remote state."""

    header: BlockHeaderAPI
    state: DictRemote
    chain_id: int = 1

    @property
    def origin(self) -> ForkOrigin:
        """The fork block's place."""
        return ForkOrigin(
            chain_id=self.chain_id,
            block_number=self.header.block_number,
            block_hash=bytes(self.header.hash),
        )


def fork_head(chain: Chain) -> RemoteBlock:
    """Return the head of a chain as a fork block."""
    return RemoteBlock(chain.head, ChainRemote(chain), chain.config.chain_id)
