"""The remote chain of a recorded fork: the fork block's header, and everything that was read.

A replay has the recorded accounts, slots and block hashes, and nothing else: another read is a
fault, and never an empty account.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import rlp
from eth.vm.header import HeaderSedes

from pyevm_agents.config import ForkOrigin
from pyevm_agents.errors import FixtureError, UnrecordedFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.state import RemoteAccount, RemoteState
    from pyevm_agents.vm import ForkBlock

MAX_READ_BYTES = 1 << 26
"""Upper bound of the reads of a recorded fork, 64 MiB: a fixture is read into memory as a whole."""

ACCOUNT_BYTES, WORDS_BYTES = 64, 64
"""Size of an account without its code, and of a slot or block hash with its key."""


@dataclass(frozen=True, kw_only=True)
class RecordedFork:
    """A fork block with the reads of the state, for `Chain(fork=…)`."""

    chain_id: int
    """EIP-155 chain ID of the remote chain."""

    encoded_header: bytes
    """RLP of the fork block's header."""

    accounts: Mapping[Address, RemoteAccount | None]
    """The accounts that were read; None for one that does not exist."""

    slots: Mapping[Address, Mapping[int, int]]
    """The slots of these accounts that were read."""

    block_hashes: Mapping[int, bytes]
    """The hashes that BLOCKHASH read, by block number."""

    @cached_property
    def header(self) -> BlockHeaderAPI:
        """The fork block's header.

        Raises: FixtureError: not a header.
        """
        try:
            header: BlockHeaderAPI = rlp.decode(self.encoded_header, sedes=HeaderSedes)
        except (rlp.exceptions.RLPException, ValueError, TypeError) as error:
            raise FixtureError(
                f"fork.headerRLP of {len(self.encoded_header)} bytes: not the RLP of a header: "
                f"{error}"
            ) from error
        return header

    @property
    def origin(self) -> ForkOrigin:
        """The fork block's place."""
        return ForkOrigin(
            chain_id=self.chain_id,
            block_number=self.header.block_number,
            block_hash=bytes(self.header.hash),
        )

    @property
    def state(self) -> RemoteState:
        """The state after the fork block, as far as read."""
        return self

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account that was read.

        Raises: UnrecordedFault: not read.
        """
        if address not in self.accounts:
            raise self._missing_fault(f"account 0x{address.hex()}")
        return self.accounts[address]

    def get_slot(self, address: Address, slot: int) -> int:
        """Return a slot that was read.

        Raises: UnrecordedFault: not read.
        """
        value = self.slots.get(address, {}).get(slot)
        if value is None:
            raise self._missing_fault(f"slot {hex(slot)} of account 0x{address.hex()}")
        return value

    def get_block_hash(self, number: int) -> bytes:
        """Return a block hash that was read.

        Raises: UnrecordedFault: not read.
        """
        if number not in self.block_hashes:
            raise self._missing_fault(f"hash of block {number}")
        return self.block_hashes[number]

    def _missing_fault(self, subject: str) -> UnrecordedFault:
        origin = self.origin
        return UnrecordedFault(
            f"{subject} at block {origin.block_number} of chain {origin.chain_id}: not in the "
            "recording, which has only the remote state that its own blocks read; fork the chain "
            "itself with --fork-url"
        )


class ForkRecorder:
    """A fork block that records the reads of the state."""

    def __init__(self, fork_block: ForkBlock) -> None:
        self.origin = fork_block.origin
        self.header = fork_block.header
        self._source = fork_block.state
        self._accounts: dict[Address, RemoteAccount | None] = {}
        self._slots: dict[Address, dict[int, int]] = {}
        self._block_hashes: dict[int, bytes] = {}

    @property
    def state(self) -> RemoteState:
        """The state after the fork block."""
        return self

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account."""
        self._accounts[address] = account = self._source.get_account(address)
        return account

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot."""
        value = self._source.get_slot(address, slot)
        self._slots.setdefault(address, {})[slot] = value
        return value

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of a block."""
        self._block_hashes[number] = block_hash = self._source.get_block_hash(number)
        return block_hash

    def finish(self) -> RecordedFork:
        """Return the fork block with the reads until now, in order of keys.

        Raises: FixtureError: the reads exceed `MAX_READ_BYTES`.
        """
        size = self._count_bytes()
        if size > MAX_READ_BYTES:
            raise FixtureError(
                f"the blocks read {size:,} bytes of the remote chain's state: must be at most "
                f"{MAX_READ_BYTES:,}; record fewer blocks"
            )
        return RecordedFork(
            chain_id=self.origin.chain_id,
            encoded_header=rlp.encode(self.header),
            accounts=dict(sorted(self._accounts.items())),
            slots={
                address: dict(sorted(self._slots.get(address, {}).items()))
                for address, account in sorted(self._accounts.items())
                if account is not None
            },
            block_hashes=dict(sorted(self._block_hashes.items())),
        )

    def _count_bytes(self) -> int:
        codes = sum(len(account.code) for account in self._accounts.values() if account)
        words = len(self._block_hashes) + sum(map(len, self._slots.values()))
        return codes + ACCOUNT_BYTES * len(self._accounts) + WORDS_BYTES * words
