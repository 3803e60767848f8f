"""Who is told what happens on a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.tracing.console_log import iter_console_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI, ComputationAPI, SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeListener:
    """Who is told what happens. Each is called in the thread that executes, and must be quick."""

    on_mined: Callable[[MinedBlock], None] | None = None
    on_pending: Callable[[SignedTransactionAPI], None] | None = None
    """Is called in the thread that sends."""

    on_reorg: Callable[[list[BlockHeaderAPI]], None] | None = None
    """Gets the headers of the blocks that are no longer on the chain, the latest first."""

    on_console_log: Callable[[str], None] | None = None
    """Gets each line that a contract prints with `console.log`, in a transaction when it is mined,
    or in a call: then in the thread that asked for it."""


class NodeListeners:
    """All of them, in the order in which they came."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: list[NodeListener] = []

    def add(self, watcher: NodeListener) -> Callable[[], None]:
        """Tell somebody what happens; return what ends that."""
        self._all.append(watcher)
        return lambda: self._all.remove(watcher)

    def on_mined(self, mined: MinedBlock) -> None:
        """Tell of a new block, and what was printed in it."""
        for computation in mined.computations:
            self.on_console_log(computation)
        for watcher in [*self._all]:
            if watcher.on_mined is not None:
                watcher.on_mined(mined)

    def on_pending(self, transaction: SignedTransactionAPI) -> None:
        """Tell of a transaction that waits."""
        for watcher in [*self._all]:
            if watcher.on_pending is not None:
                watcher.on_pending(transaction)

    def on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        """Tell of blocks that are no longer on the chain, where there are any."""
        for watcher in [*self._all]:
            if watcher.on_reorg is not None and headers:
                watcher.on_reorg(headers)

    def on_console_log(self, computation: ComputationAPI) -> None:
        """Tell what was printed in a transaction or a call, where somebody wants to know."""
        takers = [
            listener.on_console_log
            for listener in [*self._all]
            if listener.on_console_log is not None
        ]
        if takers:
            for line in iter_console_lines(computation):
                for take in takers:
                    take(line)
