"""The account that registers agents: what a registration needs of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ContractLog(NamedTuple):
    """A log of a transaction."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


class MinedCall(NamedTuple):
    """A transaction that succeeded."""

    hash: bytes
    logs: Sequence[ContractLog]


class AccountNonces(NamedTuple):
    """An account's next nonce: after the last block, and after the pool's transactions too."""

    mined: int
    pending: int


class FoundLog(NamedTuple):
    """A log of a search, with the transaction that wrote it."""

    log: ContractLog
    transaction_hash: bytes
    sender: bytes
    nonce: int


class IdentityAccount(Protocol):
    """An account that registers agents on its chain."""

    @property
    def address(self) -> bytes:
        """The account's address, which owns the entries that it makes."""
        ...

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        ...

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the chain's first block. A failure is an AgentsError."""
        ...

    def read_block_number(self) -> int:
        """Return the number of the latest block. A failure is an AgentsError."""
        ...

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonces. A failure is an AgentsError."""
        ...

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Iterator[FoundLog]:
        """Yield the logs of a contract from a block to the latest one, in order.

        Input: topics: as in `eth_getLogs`; None: any. A failure is an AgentsError.
        """
        ...

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output. A failure is an AgentsError."""
        ...

    def transact(
        self, purpose: str, to: bytes, data: bytes, *, nonce: int | None = None
    ) -> MinedCall:
        """Mine a transaction; return its logs.

        Input: nonce: of the transaction; None: the account's next one. A failure is an AgentsError,
        and an EngineFault if the transaction may be mined nevertheless.
        """
        ...
