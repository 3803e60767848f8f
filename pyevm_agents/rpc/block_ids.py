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

    A local chain has no finality: "safe" and "finalized" are its latest block. For the state
    after a block, use `block_views.resolve_view`.

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
    except HeaderNotFound as error:
        raise BlockNotFoundError("header not found") from error
    match block.tag:
        case "pending":
            return node.next_block.build_header()
        case "earliest":
            return chain.header(0)
        case _:
            return chain.head
