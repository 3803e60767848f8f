"""Resolving a block id: a number, a hash or a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

    from pyevm_agents.node import Node
    from pyevm_agents.rpc.params import BlockId


class BlockNotFoundError(LookupError):
    """An unknown block."""


def resolve_header(node: Node, block: BlockId) -> BlockHeaderAPI:
    """Return the header of a block id; for "pending", the header that the next block starts with.

    A local chain has no finality: "safe" and "finalized" are the latest block. For the state after
    a block, use `block_views.resolve_view`.

    Raises: BlockNotFoundError: the block is unknown.
    """
    chain = node.chain
    try:
        if block.hash is not None:
            header = chain.header_by_hash(block.hash)
            if block.requires_canonical and not chain.is_canonical(header):
                raise BlockNotFoundError("hash is not currently canonical")
            return header
        if block.number is not None:
            return chain.header(block.number)
        if block.tag == "earliest":
            return chain.header(0)
    except HeaderNotFound as error:
        raise BlockNotFoundError("header not found") from error
    return node.next_block.build_header() if block.tag == "pending" else chain.head


def find_first_number(node: Node) -> int:
    """Return the number of the first block with transactions: 0, or on a fork the local one's."""
    first: int = node.chain.first_number
    return first if node.chain.fork_block is None else first + 1


def resolve_number(block: BlockId, latest: int, earliest: int = 0) -> int:
    """Return a bound of a range as a number, which may be beyond the latest block.

    Both bounds are resolved by one latest block: another client may remove it.

    Input:  the bound, no hash; the numbers of the chain's latest and first block.
    """
    if block.number is not None:
        return block.number
    match block.tag:
        case "earliest":
            return earliest
        case "pending":
            return latest + 1
        case _:
            return latest
