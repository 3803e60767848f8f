"""Data classes of a fixture."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    from pyevm_agents.recordings.fork_record import RecordedFork


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
    """A block, and the results of the transactions."""

    encoded: bytes
    """RLP of the block."""

    transactions: tuple[RecordedTransaction, ...]

    @cached_property
    def block(self) -> BlockAPI:
        """The decoded block."""
        return decode_block(self.encoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One step of an agent in a block: request and generation."""

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
    """RLP of block 0; empty for a fork."""

    pre: Mapping[Address, GenesisAccount]
    """State of block 0; for a fork, the accounts that differ from the start."""

    fork: RecordedFork | None = None
    """The fork block of a fork, with the remote state that was read."""

    blocks: tuple[RecordedBlock, ...]
    """Blocks from number 1, or from the one after the fork block."""

    steps: tuple[RecordedStep, ...]
    """Steps in the order of execution."""

    post: Mapping[Address, GenesisAccount]
    """State of the last block; for a fork, the accounts and slots that its blocks read."""

    numeric_files: Mapping[str, bytes] = field(default_factory=dict)
    """The file of each numeric model of the configuration, by name."""

    @property
    def first_number(self) -> int:
        """The number of the block before the first recorded one: 0, or that of the fork block."""
        return 0 if self.fork is None else self.fork.header.block_number

    def get_block(self, number: int) -> RecordedBlock:
        """Return a recorded block."""
        return self.blocks[number - self.first_number - 1]

    def get_steps(self, block: int, transaction: int) -> tuple[RecordedStep, ...]:
        """Return the steps of one transaction."""
        return tuple(s for s in self.steps if (s.block, s.transaction) == (block, transaction))
