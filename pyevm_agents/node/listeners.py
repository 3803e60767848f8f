"""Listeners: callbacks for blocks, pending transactions, reorganizations and console.log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS, iter_console_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI, ComputationAPI, SignedTransactionAPI
    from eth_typing import Address

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.node.txpool import Departure


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeListener:
    """Callbacks of one listener. Each is called in the executing thread, and must be quick."""

    on_mined: Callable[[MinedBlock], None] | None = None
    on_pending: Callable[[SignedTransactionAPI], None] | None = None
    """Called in the sending thread with a transaction that entered the pool."""

    on_dropped: Callable[[SignedTransactionAPI, Departure], None] | None = None
    """Called with a transaction that left the pool without a block, and why."""

    on_reorg: Callable[[list[BlockHeaderAPI]], None] | None = None
    """Called with the headers of the blocks that left the chain, the latest first."""

    on_console_log: Callable[[str], None] | None = None
    """Called with each line that a contract prints with `console.log`: when its transaction is
    mined, or in the calling thread of a call."""

    on_warning: Callable[[str], None] | None = None
    """Called with the text of a warning, when and where `on_console_log` is called."""


class NodeListeners:
    """The listeners of a node, in the order of addition."""

    def __init__(self) -> None:
        self._all: list[NodeListener] = []

    def add(self, watcher: NodeListener) -> Callable[[], None]:
        """Add a listener; return a function that removes the listener."""
        self._all.append(watcher)
        return lambda: self._all.remove(watcher)

    def on_mined(self, mined: MinedBlock) -> None:
        """Announce a new block, and the console output of the transactions."""
        for computation in mined.computations:
            self.on_console_log(computation)
            self.on_warning(find_warning(computation))
        for watcher in [*self._all]:
            if watcher.on_mined is not None:
                watcher.on_mined(mined)

    def on_pending(self, transaction: SignedTransactionAPI) -> None:
        """Announce a transaction that entered the pool."""
        for watcher in [*self._all]:
            if watcher.on_pending is not None:
                watcher.on_pending(transaction)

    def on_dropped(self, transaction: SignedTransactionAPI, departure: Departure) -> None:
        """Announce a transaction that left the pool without a block."""
        for watcher in [*self._all]:
            if watcher.on_dropped is not None:
                watcher.on_dropped(transaction, departure)

    def on_reorg(self, headers: list[BlockHeaderAPI]) -> None:
        """Announce the blocks that left the chain, if any."""
        for watcher in [*self._all]:
            if watcher.on_reorg is not None and headers:
                watcher.on_reorg(headers)

    def on_warning(self, text: str | None) -> None:
        """Announce a warning, if there is one."""
        for listener in [*self._all]:
            if listener.on_warning is not None and text is not None:
                listener.on_warning(text)

    def on_console_log(self, computation: ComputationAPI) -> None:
        """Announce the console output of a transaction or a call."""
        callbacks = [
            listener.on_console_log
            for listener in [*self._all]
            if listener.on_console_log is not None
        ]
        if callbacks:
            for line in iter_console_lines(computation):
                for callback in callbacks:
                    callback(line)


def find_warning(computation: ComputationAPI) -> str | None:
    """Return the warning about an executed transaction or call: calldata for no contract."""
    message = computation.msg
    if message.is_create or message.code or not message.data:
        return None
    if message.code_address in computation.precompiles:
        return None
    return warn_of_missing_code(message.to)


def warn_of_missing_code(address: Address) -> str | None:
    """Return the warning about calldata sent to an address without code.

    None for the address of `console.log`, which has no code. Source: Hardhat's warning.
    """
    if address == CONSOLE_ADDRESS:
        return None
    return f"Calling an account which is not a contract: {to_checksum_address(address)}"
