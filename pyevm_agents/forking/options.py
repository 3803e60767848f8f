"""A live chain to fork: URL and block, and how requests are sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.cache_folder import get_forks_folder
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking import DEFAULT_RETRIES, DEFAULT_TIMEOUT_SECONDS, open_fork

if TYPE_CHECKING:
    from pyevm_agents.forking import RemoteFork


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions:
    """A block of a live chain, and how to request the block."""

    url: str
    block_number: int | None = None
    """None for the latest block; a negative number counts back from it."""

    chain_id: int | None = None
    retries: int = DEFAULT_RETRIES
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    is_cached: bool = True

    @classmethod
    def from_text(cls, text: str) -> ForkOptions:
        """Return the options of `URL` or `URL@BLOCK`."""
        url, number = split_url(text)
        return cls(url=url or "", block_number=number)

    def open(self) -> RemoteFork:
        """Open the block.

        Raises: ConfigError: an invalid value. RemoteFault: the node does not answer.
        """
        return open_fork(
            self.url,
            block_number=self.block_number,
            chain_id=self.chain_id,
            retries=self.retries,
            timeout_seconds=self.timeout_seconds,
            cache_folder=get_forks_folder() if self.is_cached else None,
        )


class ForkOpener:
    """Opens other blocks for `anvil_reset`, with the options of the last fork."""

    def __init__(self, options: ForkOptions | None) -> None:
        """Start with a node's options; None if the node is no fork."""
        self._options = options

    def __call__(self, url: str | None, block_number: int | None) -> RemoteFork:
        """Open a block.

        Input:
            url: of a node; None for the last one.
            block_number: of the block; None for the latest, or that of `URL@BLOCK`.

        Raises: ConfigError: there is no URL. RemoteFault: the node does not answer.
        """
        url, stated_number = split_url(url)
        options = self._options
        if url is not None:
            options = ForkOptions(url=url) if options is None else replace(options, url=url)
        if options is None:
            raise ConfigError("forking without jsonRpcUrl: must have the URL of a node")
        number = stated_number if block_number is None else block_number
        options = replace(options, block_number=number, chain_id=None)
        fork = options.open()
        self._options = options
        return fork


def split_url(text: str | None) -> tuple[str | None, int | None]:
    """Split `URL@BLOCK`, as anvil does. The block is None without one."""
    url, separator, number = (text or "").rpartition("@")
    if separator and number.isdecimal() and "://" in url:
        return url, int(number)
    return text, None
