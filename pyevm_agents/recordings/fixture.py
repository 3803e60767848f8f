"""Data classes of a fixture."""

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
    """The result of a transaction."""

    hash: bytes
    sender: Address
    gas_used: int
    """Gas of this transaction alone."""

    is_success: bool


@dataclass(frozen=True, kw_only=True)
class RecordedBlock:
    """A block, and the results of its transactions."""

    encoded: bytes
    """RLP of the block."""

    transactions: tuple[RecordedTransaction, ...]

    @cached_property
    def block(self) -> BlockAPI:
        """The decoded block."""
        return decode_block(self.encoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One step of an agent in a block: its request and generation."""

    block: int
    """Number of the block."""

    transaction: int
    """Index of the transaction in the block, from 0."""

    step: int
    """Index of the step in the transaction, from 0; includes steps of nested agents."""

    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """A recorded chain."""

    name: str
    comment: str
    """What the chain shows, and the origin of its generations."""

    tool: str
    """Name and version of the program that recorded it."""

    config: ChainConfig
    genesis: bytes
    """RLP of block 0."""

    pre: Mapping[Address, GenesisAccount]
    """State of block 0."""

    blocks: tuple[RecordedBlock, ...]
    """Blocks from number 1."""

    steps: tuple[RecordedStep, ...]
    """Steps in the order of execution."""

    post: Mapping[Address, GenesisAccount]
    """State of the last block."""

    def get_steps(self, block: int, transaction: int) -> tuple[RecordedStep, ...]:
        """Return the steps of one transaction."""
        return tuple(s for s in self.steps if (s.block, s.transaction) == (block, transaction))
