"""The block of a remote chain that a fork continues, as seen by VMs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eth.constants import MAX_PREV_HEADER_DEPTH
from eth_typing import Hash32

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

    from pyevm_agents.config import ForkOrigin
    from pyevm_agents.state import RemoteState


class ForkBlock(Protocol):
    """The block that a fork continues, with the state, for `Chain(fork=…)`."""

    @property
    def origin(self) -> ForkOrigin:
        """Chain ID, number and hash, as in the chain config."""

    @property
    def header(self) -> BlockHeaderAPI:
        """The header, whose hash is that of `origin`."""

    @property
    def state(self) -> RemoteState:
        """The state after the block."""


def get_remote_block_hash(fork_block: ForkBlock, number: int, *, current: int) -> Hash32:
    """Return the value of BLOCKHASH for the fork block or a block below it.

    Input:
        fork_block: the fork block.
        number: of the block, at most the fork block's.
        current: number of the block that executes BLOCKHASH.

    Output: empty if the block is more than 256 blocks below the current one.
    Raises: RemoteFault: the remote chain did not answer.
    """
    header = fork_block.header
    if not max(0, current - MAX_PREV_HEADER_DEPTH) <= number < current:
        return Hash32(b"")
    if number == header.block_number:
        return header.hash
    if number == header.block_number - 1:
        return header.parent_hash
    return Hash32(fork_block.state.get_block_hash(number))
