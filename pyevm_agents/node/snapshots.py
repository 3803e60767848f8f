"""Going back: to snapshots, and by blocks."""

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
"""Snapshots that are kept; the oldest goes. One takes about 1 KB and what was changed after it."""


Checkpoint: TypeAlias = "Callable[[], Callable[[], None]]"
"""Takes note of how something is; returns what makes it so again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    head: BlockHeaderAPI
    restore: tuple[Callable[[], None], ...]


class History:
    """A chain's snapshots, and the way back; for the thread that changes the chain."""

    def __init__(
        self,
        chain: Chain,
        beside: tuple[Checkpoint, ...],
        undone: Callable[[list[BlockHeaderAPI]], None],
    ) -> None:
        """Keep no snapshot yet.

        Input: what keeps all that goes back with the chain; who is told, after each way back, which
            blocks are no longer on the chain, the latest first.
        """
        self._chain = chain
        self._checkpoints = beside
        self._on_reorg = undone
        self._snapshots: dict[int, _Snapshot] = {}

    def snapshot(self) -> int:
        """Keep everything as it is now; return a number for `revert`, never given twice."""
        while len(self._snapshots) >= MAX_SNAPSHOTS:
            self.forget(next(iter(self._snapshots)))
        number = self._chain.snapshot()
        restore = tuple(keep() for keep in self._checkpoints)
        self._snapshots[number] = _Snapshot(head=self._chain.head, restore=restore)
        return number

    def revert(self, number: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        with self.track_reorg():
            self._chain.revert(number)
            for restore in self._snapshots[number].restore:
                restore()
            self._snapshots = {n: snapshot for n, snapshot in self._snapshots.items() if n < number}

    def forget(self, number: int) -> None:
        """Keep a snapshot no longer; later ones stay."""
        del self._snapshots[number]
        self._chain.forget_snapshot(number)

    def forget_all(self) -> None:
        """Keep no snapshot any longer."""
        for number in sorted(self._snapshots):
            self.forget(number)

    @property
    def snapshots(self) -> dict[int, BlockHeaderAPI]:
        """The snapshots that can be gone back to, with what was the latest block then."""
        return {number: snapshot.head for number, snapshot in self._snapshots.items()}

    def count_blocks_since(self, number: int) -> int:
        """Return how many blocks going back to a snapshot would undo; 0 where there is none."""
        snapshot = self._snapshots.get(number)
        return 0 if snapshot is None else self._chain.head.block_number - snapshot.head.block_number

    def rollback(self, depth: int) -> None:
        """Go back by so many blocks; their transactions are gone.

        Raises: ConfigError: the chain is not that long.
        """
        height = self._chain.head.block_number
        if depth > height:
            raise ConfigError(
                f"depth must not exceed current chain height: current height {height}, "
                f"depth {depth}"
            )
        with self.track_reorg():
            self._chain.rollback(height - depth)

    @contextmanager
    def track_reorg(self) -> Iterator[None]:
        """Tell at the end, when all is as it was, which blocks were undone meanwhile."""
        header = self._chain.head
        yield
        undone = []
        while not self._chain.is_canonical(header):
            undone.append(header)
            header = self._chain.header_by_hash(header.parent_hash)
        self._on_reorg(undone)
