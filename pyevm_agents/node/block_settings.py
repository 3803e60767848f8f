"""Overrides of the next block's header fields: `anvil_setNextBlock…`, `anvil_setCoinbase` etc."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.chain import BlockSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import Chain
    from pyevm_agents.node.clock import Clock


class NextBlock:
    """Header overrides and timestamp of the next block."""

    def __init__(self, chain: Chain, clock: Clock) -> None:
        self._chain = chain
        self._clock = clock
        self.fixed = BlockSettings()
        """Overrides of every block from now on."""

        self.once = BlockSettings()
        """Overrides of the next block alone. They win over `fixed`."""

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current overrides."""
        fixed, once = self.fixed, self.once

        def restore() -> None:
            self.fixed, self.once = fixed, once

        return restore

    def reset(self) -> None:
        """Remove all overrides."""
        self.fixed = self.once = BlockSettings()

    def on_mined(self) -> None:
        """Remove the overrides of the block that was just mined."""
        self.once = BlockSettings()

    def override_next(self, **settings: object) -> None:
        """Override fields of the next block alone.

        Input:  settings: fields of `BlockSettings`.
        Raises: ConfigError: no valid block has these fields; no override stays.
        """
        self.once = replace(self.once, **settings)  # type: ignore[arg-type]
        try:
            self.build_header()
        except Exception:
            self.once = BlockSettings()
            raise

    @property
    def overrides(self) -> BlockSettings:
        """The overrides of the next block, without a timestamp."""
        return _merge(self.fixed, self.once)

    def build_settings(self, parent: BlockHeaderAPI | None = None) -> BlockSettings:
        """Return the overrides of the next block, with the clock's timestamp.

        Input: parent: by default the head.
        """
        parent = self._chain.head if parent is None else parent
        timestamp = self._clock.compute_next_timestamp(parent.timestamp)
        return replace(self.overrides, timestamp_seconds=timestamp)

    def build_header(self, parent: BlockHeaderAPI | None = None) -> BlockHeaderAPI:
        """Return the header of the next block, as if made now.

        Input: parent: by default the head.
        """
        # Read the head once: another thread may be mining.
        parent = self._chain.head if parent is None else parent
        return self._chain.build_next_header(self.build_settings(parent), parent=parent)


def _merge(fixed: BlockSettings, once: BlockSettings) -> BlockSettings:
    """Return both settings merged; `once` wins."""
    changes = {
        name: getattr(once, name)
        for name in BlockSettings.__slots__
        if getattr(once, name) is not None
    }
    return replace(fixed, **changes)
