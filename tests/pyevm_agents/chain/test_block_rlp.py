"""Blocks as RLP: read back as they were, in one encoding only. Imports: see test_chain.py."""

from __future__ import annotations

import pytest
import rlp

from pyevm_agents.chain import Chain
from pyevm_agents.chain.block_rlp import decode_block, require_same
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError


def test_a_block_is_read_from_its_rlp() -> None:
    block = Chain(ChainConfig()).mine().block
    assert decode_block(rlp.encode(block)) == block


@pytest.mark.parametrize("cut", [1, 5, 400])
def test_half_a_block_is_none(cut: int) -> None:
    encoded = rlp.encode(Chain(ChainConfig()).mine().block)
    with pytest.raises(BlockError, match="not the RLP of a block"):
        decode_block(encoded[:-cut])
    with pytest.raises(BlockError, match="not the RLP of a block"):
        decode_block(encoded + b"\x00")


def test_a_field_that_differs_is_named() -> None:
    block = Chain(ChainConfig()).mine().block
    require_same(block, block)
    other = block.copy(header=block.header.copy(gas_used=7))
    with pytest.raises(BlockError, match="block 1: gas_used is 0, its header has 7"):
        require_same(other, block)
