"""What the next block is told to be, and the header that it begins with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.chain import BlockSettings
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.chain import Chain
    from pyevm_agents.node.clock import Clock


class NextBlock:
    """What the next block is told to be, and when it is."""

    def __init__(self, chain: Chain, clock: Clock) -> None:
        """Tell it nothing."""
        self._chain = chain
        self._clock = clock
        self.fixed = BlockSettings()
        """What every block is told to be."""

        self.once = BlockSettings()
        """What the next block is told to be, and none after it."""

    def checkpoint(self) -> Callable[[], None]:
        """Return what tells all that is told now."""
        fixed, once = self.fixed, self.once

        def restore() -> None:
            self.fixed, self.once = fixed, once

        return restore

    def reset(self) -> None:
        """Tell nothing any more."""
        self.fixed = self.once = BlockSettings()

    def on_mined(self) -> None:
        """Take note that the next block is there: the one after it is told only what all are."""
        self.once = BlockSettings()

    def override_next(self, **settings: object) -> None:
        """Tell the next block what to be, once.

        Raises: ConfigError: such a block can't follow.
        """
        self.once = replace(self.once, **settings)  # type: ignore[arg-type]
        try:
            self.build_header()
        except (ConfigError, ValidationError):
            self.once = BlockSettings()
            raise

    def build_settings(
        self, timestamp_seconds: int | None = None, *, parent: BlockHeaderAPI | None = None
    ) -> BlockSettings:
        """Return all that it is told, its time too."""
        settings = _merge(self.fixed, self.once)
        if timestamp_seconds is None:
            parent = self._chain.head if parent is None else parent
            timestamp_seconds = self._clock.compute_next_timestamp(parent.timestamp)
        return replace(settings, timestamp_seconds=timestamp_seconds)

    def build_header(self, parent: BlockHeaderAPI | None = None) -> BlockHeaderAPI:
        """Return the header that it begins with, were it made now.

        Input: the latest block as the caller saw it.
        """
        # Another thread may be making blocks: it is looked at once.
        parent = self._chain.head if parent is None else parent
        return self._chain.build_next_header(self.build_settings(parent=parent), parent=parent)


def _merge(fixed: BlockSettings, once: BlockSettings) -> BlockSettings:
    """Return what two settings say together, the second first."""
    changes = {
        name: getattr(once, name)
        for name in BlockSettings.__slots__
        if getattr(once, name) is not None
    }
    return replace(fixed, **changes)
