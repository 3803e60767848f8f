"""Block records: mined blocks, stored blocks with receipts, and settings of a block to mine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth.abc import BlockAPI, ComputationAPI, MetaWitnessAPI, ReceiptAPI
    from eth_typing import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedBlock:
    """A block, with a receipt and a computation for each transaction."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    computations: tuple[ComputationAPI, ...]
    witness: MetaWitnessAPI
    """The accounts and slots that the block read, in the clear; the state trie has only hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRecord:
    """A block of the chain with receipts."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    root_before: bytes | None = None
    """State root before a draft block; None for blocks of the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSettings:
    """Header fields of a block to be mined. None: derived from the parent."""

    timestamp_seconds: int | None = None
    """Unix seconds; None for one second after the parent's."""

    coinbase: Address | None = None
    gas_limit: int | None = None
    """None for the chain config's."""

    base_fee_wei: int | None = None
    prev_randao: bytes | None = None
    parent_beacon_root: bytes | None = None
