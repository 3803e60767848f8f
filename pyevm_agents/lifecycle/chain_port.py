"""The chain's interface for runs: drafts of the next block, one block for a run, and re-execution.

A run's transactions stand in one block. The dry run and the execution are drafts of that block; a
draft becomes a block only when complete and with the digest of the dry run. So a run that is
stopped, for any reason, leaves nothing on the chain.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.lifecycle.run_trace import RunWrite, WriteTrace


MAX_CALL_DRAFTS = 10
"""How often `mine_call` drafts a transaction."""


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


class Draft(Protocol):
    """A draft of the next block."""

    @property
    def is_moved(self) -> bool:
        """Whether the draft starts from another state than the dry run did."""
        ...

    @property
    def touched_addresses(self) -> frozenset[bytes]:
        """Addresses in calls of the transactions that could change state."""
        ...

    def send(self, write: RunWrite, wrapped: EnvelopeCall | None = None) -> WriteTrace:
        """Execute a write as the next transaction.

        Input:
            write: of the agent.
            wrapped: the call that makes the write; None to send the write itself.

        Raises: DraftError: no part of the block. EngineFault: the host failed.
        """
        ...

    def send_envelope(self, call: EnvelopeCall) -> str | None:
        """Execute a transaction that is no write; return why that failed, None on success.

        Raises: see `send`.
        """
        ...

    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract after the transactions so far; return the output.

        Raises: CallFailedError: the call failed.
        """
        ...

    def prepare(self) -> PreparedBlock:
        """Return the draft as a block to commit."""
        ...


class RefusedCallError(AgentsError):
    """A transaction outside of runs fails; nothing was mined."""


class CallFailedError(AgentsError):
    """A call that reads the chain failed."""


class ChainPort(Protocol):
    """A chain that runs are executed on."""

    @property
    def address(self) -> bytes:
        """The account that signs the transactions of runs."""
        ...

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        ...

    def pin_next_block(self) -> BlockPin:
        """Return the next block's values."""
        ...

    def begin_draft(self, pin: BlockPin, *, is_free: bool = False) -> Draft:
        """Start a draft of the next block with pinned values, on the present state.

        Input: is_free: whether gas costs nothing, so that any account can send.
        """
        ...

    def commit(self, block: PreparedBlock) -> RunBlock:
        """Mine a complete draft. If its transactions are in a block, return that.

        Raises: MovedStateError: the state is not the draft's any more.
        """
        ...

    def find_block(self, hashes: Sequence[bytes]) -> RunBlock | None:
        """Return the block that has all of these transactions; None if no block has."""
        ...

    def reexecute(self, block: RunBlock) -> str | None:
        """Execute a block again; return how the results differ from the header, None if not.

        A block that is not on the chain any more, such as after `evm_revert`, differs as well.
        The chain's models compute the generations again, or repeat the cached ones.
        """
        ...

    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract at the head; return the output.

        Raises: CallFailedError: the call failed.
        """
        ...


def mine_call(port: ChainPort, call: EnvelopeCall) -> RunBlock:
    """Mine a transaction in a separate block; return the block.

    After a block that comes in between, the transaction is drafted anew.

    Raises: RefusedCallError: the call fails. MovedStateError: a block came in between each time.
    """
    for _ in range(MAX_CALL_DRAFTS - 1):
        with suppress(MovedStateError):
            return _mine_draft(port, call)
    return _mine_draft(port, call)


def _mine_draft(port: ChainPort, call: EnvelopeCall) -> RunBlock:
    draft = port.begin_draft(port.pin_next_block())
    failure = draft.send_envelope(call)
    if failure is not None:
        raise RefusedCallError(failure)
    return port.commit(draft.prepare())
