"""Snapshots: `evm_snapshot`, `evm_revert`; what leaves the chain in a reorganization."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import Chain

MAX_SNAPSHOTS = 10_000
"""Upper bound of snapshots; the oldest is dropped. One takes 1 KB and the changes after it."""


Checkpoint: TypeAlias = "Callable[[], Callable[[], None]]"
"""Records the state of an object; returns a function that restores it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    head: BlockHeaderAPI
    restore: tuple[Callable[[], None], ...]


class History:
    """A chain's snapshots. Only the write queue's thread may call this."""

    def __init__(
        self,
        chain: Chain,
        beside: tuple[Checkpoint, ...],
        undone: Callable[[list[BlockHeaderAPI]], None],
    ) -> None:
        """Start without snapshots.

        Input:
            beside: checkpoints of the objects that are restored with the chain.
            undone: called after each revert with the headers of the removed blocks, latest first.
        """
        self._chain = chain
        self._checkpoints = beside
        self._on_reorg = undone
        self._snapshots: dict[int, _Snapshot] = {}

    def snapshot(self) -> int:
        """Take a snapshot; return the number for `revert`. Numbers are never reused."""
        while len(self._snapshots) >= MAX_SNAPSHOTS:
            self.forget(next(iter(self._snapshots)))
        number = self._chain.snapshot()
        restore = tuple(keep() for keep in self._checkpoints)
        self._snapshots[number] = _Snapshot(head=self._chain.head, restore=restore)
        return number

    def revert(self, number: int) -> None:
        """Revert to a snapshot, and delete this and all later ones.

        Raises: ConfigError: unknown snapshot.
        """
        with self.track_reorg():
            self._chain.revert(number)
            for restore in self._snapshots[number].restore:
                restore()
            self._snapshots = {n: snapshot for n, snapshot in self._snapshots.items() if n < number}

    def forget(self, number: int) -> None:
        """Delete a snapshot; later ones stay."""
        del self._snapshots[number]
        self._chain.forget_snapshot(number)

    def forget_all(self) -> None:
        """Delete all snapshots."""
        for number in sorted(self._snapshots):
            self.forget(number)

    @property
    def snapshots(self) -> dict[int, BlockHeaderAPI]:
        """The snapshots by number, with the head of each."""
        return {number: snapshot.head for number, snapshot in self._snapshots.items()}

    def count_blocks_since(self, number: int) -> int:
        """Return how many blocks a revert to a snapshot removes; 0 if unknown."""
        snapshot = self._snapshots.get(number)
        return 0 if snapshot is None else self._chain.head.block_number - snapshot.head.block_number

    def require_height(self, depth: int) -> None:
        """Reject a number of blocks that the chain does not have after the first one.

        Raises: ConfigError: the chain is shorter; on a fork, has fewer local blocks.
        """
        height, first = self._chain.head.block_number, self._chain.first_number
        if depth > height - first:
            since = f", fork block {first}" if first else ""
            raise ConfigError(
                f"depth must not exceed current chain height: current height {height}{since}, "
                f"depth {depth}"
            )

    @contextmanager
    def track_reorg(self) -> Iterator[None]:
        """Report, after the block of code, which blocks left the chain."""
        header = self._chain.head
        yield
        undone = []
        while not self._chain.is_canonical(header):
            undone.append(header)
            header = self._chain.header_by_hash(header.parent_hash)
        self._on_reorg(undone)
