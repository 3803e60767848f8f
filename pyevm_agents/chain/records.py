"""Blocks as a chain gives them and as it is told to make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth.abc import BlockAPI, ComputationAPI, MetaWitnessAPI, ReceiptAPI
    from eth_typing import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedBlock:
    """A block, with a receipt and a computation for each of its transactions."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    computations: tuple[ComputationAPI, ...]
    witness: MetaWitnessAPI
    """Which accounts and slots it asked for: the state's trie holds nothing but their hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRecord:
    """A block of the chain with its receipts."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    root_before: bytes | None = None
    """Root of the state that it begins with, of one that was never made; None: the chain knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSettings:
    """What a block to be mined is told to be. None: what follows from its parent."""

    timestamp_seconds: int | None = None
    """A second after its parent's where None."""

    coinbase: Address | None = None
    gas_limit: int | None = None
    """The configuration's where None."""

    base_fee_wei: int | None = None
    prev_randao: bytes | None = None
    parent_beacon_root: bytes | None = None
