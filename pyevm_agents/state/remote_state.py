"""State of a fork block: accounts and slots of a remote chain, read when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from eth_typing import Address


class RemoteAccount(NamedTuple):
    """An account of the fork block."""

    nonce: int
    balance_wei: int
    code: bytes


class RemoteState(Protocol):
    """State of a fork block.

    Thread-safe. Every answer is remembered: equal questions have equal answers. A remote chain that
    fails raises `RemoteFault`, and never gives an empty account.
    """

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account; None if absent: no nonce, balance or code (EIP-161).

        Raises: RemoteFault: the remote chain did not answer.
        """

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot, 0 if empty.

        Raises: RemoteFault: the remote chain did not answer.
        """

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of the fork block or of a block below it, as BLOCKHASH does.

        Raises: RemoteFault: the remote chain did not answer.
        """
