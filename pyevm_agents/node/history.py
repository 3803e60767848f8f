"""Going back: to snapshots, and by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import Chain

MAX_SNAPSHOTS = 10_000
"""Snapshots that are kept; the oldest goes. One takes about 1 KB and what was changed after it."""


class Beside(Protocol):
    """What a snapshot keeps beside the chain."""

    def snapshot(self) -> Any:  # noqa: ANN401 - each has its own
        """Return all that is to be kept, as a value."""

    def restore(self, kept: Any) -> None:  # noqa: ANN401
        """Be as it was then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    head: BlockHeaderAPI
    beside: tuple[Any, ...]


class History:
    """A chain's snapshots, and the way back; for the thread that changes the chain."""

    def __init__(
        self,
        chain: Chain,
        beside: tuple[Beside, ...],
        undone: Callable[[list[BlockHeaderAPI]], None],
    ) -> None:
        """Keep no snapshot yet.

        Input: what goes back with the chain; who is told, after each way back, which blocks are no
            longer on the chain, the latest first.
        """
        self._chain = chain
        self._beside = beside
        self._undone = undone
        self._kept: dict[int, _Kept] = {}

    def snapshot(self) -> int:
        """Keep everything as it is now; return a number for `revert`, never given twice."""
        while len(self._kept) >= MAX_SNAPSHOTS:
            self.forget(next(iter(self._kept)))
        number = self._chain.snapshot()
        beside = tuple(one.snapshot() for one in self._beside)
        self._kept[number] = _Kept(head=self._chain.head, beside=beside)
        return number

    def revert(self, number: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        before = self._chain.head
        self._chain.revert(number)
        for one, kept in zip(self._beside, self._kept[number].beside, strict=True):
            one.restore(kept)
        self._kept = {n: one for n, one in self._kept.items() if n < number}
        self._tell_undone(before)

    def forget(self, number: int) -> None:
        """Keep a snapshot no longer; later ones stay."""
        del self._kept[number]
        self._chain.forget_snapshot(number)

    def forget_all(self) -> None:
        """Keep no snapshot any longer."""
        for number in sorted(self._kept):
            self.forget(number)

    @property
    def snapshots(self) -> dict[int, BlockHeaderAPI]:
        """The snapshots that can be gone back to, with what was the latest block then."""
        return {number: kept.head for number, kept in self._kept.items()}

    def blocks_since(self, number: int) -> int:
        """Return how many blocks going back to a snapshot would undo; 0 where there is none."""
        kept = self._kept.get(number)
        return 0 if kept is None else self._chain.head.block_number - kept.head.block_number

    def rollback(self, depth: int) -> None:
        """Go back by so many blocks; their transactions are gone.

        Raises: ConfigError: the chain is not that long.
        """
        before = self._chain.head
        if depth > before.block_number:
            raise ConfigError(
                f"depth must not exceed current chain height: current height "
                f"{before.block_number}, depth {depth}"
            )
        self._chain.rollback(before.block_number - depth)
        self._tell_undone(before)

    def _tell_undone(self, header: BlockHeaderAPI) -> None:
        undone = []
        while header.block_number > self._chain.head.block_number:
            undone.append(header)
            header = self._chain.header_of(header.parent_hash)
        self._undone(undone)
