"""What a fixture holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyevm_agents.chain.block_rlp import decode_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockAPI
    from eth_typing import Address

    from pyevm_agents.chain import GenesisAccount
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.models.fakes.recorded import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTransaction:
    """What came of a transaction."""

    hash: bytes
    sender: Address
    gas_used: int
    """Of this transaction alone."""

    is_success: bool


@dataclass(frozen=True, kw_only=True)
class RecordedBlock:
    """A block, and what came of its transactions."""

    encoded: bytes
    """Its RLP."""

    transactions: tuple[RecordedTransaction, ...]

    @cached_property
    def block(self) -> BlockAPI:
        """The block of the RLP."""
        return decode_block(self.encoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One use of a model in a block: what it was asked and what it said."""

    block: int
    """Number of the block."""

    transaction: int
    """Index in the block, from 0."""

    step: int
    """Index among the transaction's steps, from 0: nested agents' are among them."""

    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """A chain that anyone can check."""

    name: str
    comment: str
    """What it shows, and where its generations come from."""

    tool: str
    """Name and version of the program that recorded it."""

    config: ChainConfig
    genesis: bytes
    """RLP of block 0."""

    pre: Mapping[Address, GenesisAccount]
    """The state of block 0."""

    blocks: tuple[RecordedBlock, ...]
    """From block 1 on."""

    steps: tuple[RecordedStep, ...]
    """In the order of execution."""

    post: Mapping[Address, GenesisAccount]
    """The state of the last block."""

    def get_steps(self, block: int, transaction: int) -> tuple[RecordedStep, ...]:
        """Return the steps of one transaction."""
        return tuple(s for s in self.steps if (s.block, s.transaction) == (block, transaction))
