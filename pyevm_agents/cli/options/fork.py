"""Options of commands that fork a live chain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.cache_folder import get_forks_folder
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.client.json_rpc import MAX_RETRIES
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking import DEFAULT_RETRIES, DEFAULT_TIMEOUT_SECONDS, open_fork
from pyevm_agents.forking.fork import MAX_BLOCK_NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.forking import RemoteFork

FORK_OPTIONS = (
    *("fork_block_number", "fork_chain_id", "fork_retries", "fork_timeout", "no_fork_cache"),
)
"""Parameters that need `fork_url`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOptions:
    """A block of a live chain, and how to ask for it."""

    url: str
    block_number: int | None = None
    chain_id: int | None = None
    retries: int = DEFAULT_RETRIES
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    is_cached: bool = True

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


def add_fork_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as `remote`: None without `--fork-url`."""
    return add_option_group(command, "remote", _build_options, _OPTIONS)


def _build_options(  # noqa: PLR0913 - one for each option
    *,
    fork_url: str | None,
    fork_block_number: int | None,
    fork_chain_id: int | None,
    fork_retries: int,
    fork_timeout: float,
    no_fork_cache: bool,
) -> ForkOptions | None:
    url, stated_number = split_url(fork_url)
    if url is None:
        return None
    return ForkOptions(
        url=url,
        block_number=stated_number if fork_block_number is None else fork_block_number,
        chain_id=fork_chain_id,
        retries=fork_retries,
        timeout_seconds=fork_timeout,
        is_cached=not no_fork_cache,
    )


def split_url(text: str | None) -> tuple[str | None, int | None]:
    """Split `URL@BLOCK`, as anvil does. The block is None without one."""
    url, separator, number = (text or "").rpartition("@")
    if separator and number.isdecimal() and "://" in url:
        return url, int(number)
    return text, None


_OPTIONS = (
    click.option(
        "-f", "--fork-url", "--rpc-url", "fork_url", metavar="URL",
        help="Continue the chain of the node at this HTTP URL: its state and blocks are read when "
        "they are needed. URL@BLOCK names a block.",
    ),
    click.option(
        "--fork-block-number", type=click.IntRange(0, MAX_BLOCK_NUMBER), metavar="NUMBER",
        help="Block to continue.  [default: the latest]",
    ),
    click.option(
        "--fork-chain-id", type=click.IntRange(1), metavar="ID",
        help="Chain ID that the remote chain must have.",
    ),
    click.option(
        "--fork-retries", "--retries", type=click.IntRange(0, MAX_RETRIES), metavar="NUMBER",
        default=DEFAULT_RETRIES, show_default=True,
        help="Retries of a request that finds no server, or a busy one.",
    ),
    click.option(
        "--fork-timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
        default=DEFAULT_TIMEOUT_SECONDS, show_default=True, help="Limit of one try of a request.",
    ),
    click.option(
        "--no-fork-cache", is_flag=True,
        help="Neither read nor write the cache of the remote chain on disk.",
    ),
)  # fmt: skip
