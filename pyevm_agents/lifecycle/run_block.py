"""The block of a run: pinned, prepared and mined, and the errors of drafts.

A run's transactions stand in one block. The dry run and the execution are drafts of that block; a
draft becomes a block only when complete and with the digest of the dry run. So a run that is
stopped, for any reason, leaves nothing on the chain.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyevm_agents.errors import AgentsError


class MovedStateError(AgentsError):
    """The chain's state is not that of the draft any more; nothing was mined."""


class DraftError(AgentsError):
    """A transaction can't be part of the block: the sender can't pay, or the block is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPin:
    """The block of a dry run: the values that a contract can read, and the state below."""

    parent_hash: bytes
    state_root: bytes
    """Of the state that the block starts from."""

    number: int
    timestamp: int
    base_fee_wei: int
    prev_randao: bytes
    coinbase: bytes
    gas_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBlock:
    """A complete draft, with which a run continues after a kill."""

    pin: BlockPin
    """The pinned values, on the state that the draft started from."""

    transactions: tuple[bytes, ...]
    """Encoded and signed, in order."""

    hashes: tuple[bytes, ...]
    """Of the transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBlock:
    """The block of a run."""

    number: int
    block_hash: bytes
    transaction_hashes: tuple[bytes, ...]


def describe_lost_block(block: RunBlock) -> str:
    """Return that a run's block was reverted, and the next step."""
    return (
        f"block {block.number}, 0x{block.block_hash.hex()}: is not on the chain any more; run the "
        "task again"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeCall:
    """A transaction as sent: a write in a treasury's call, or the opening of a run there."""

    target: bytes
    data: bytes
    value_wei: int = 0
    sender: bytes | None = None
    """An account whose key is not needed, in a dry run alone; None for the orchestrator's."""


class RefusedCallError(AgentsError):
    """A transaction that is no part of a run fails; nothing was mined."""


class CallFailedError(AgentsError):
    """A call that reads the chain failed."""
