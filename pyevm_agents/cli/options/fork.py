"""Options of commands that fork a live chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.client.json_rpc import MAX_RETRIES
from pyevm_agents.forking import DEFAULT_RETRIES, DEFAULT_TIMEOUT_SECONDS
from pyevm_agents.forking.fork import MAX_BLOCK_NUMBER
from pyevm_agents.forking.options import ForkOptions, split_url

if TYPE_CHECKING:
    from collections.abc import Callable


FORK_OPTIONS = (
    *("fork_block_number", "fork_chain_id", "fork_retries", "fork_timeout", "timeout_milliseconds"),
    "no_fork_cache",
)
"""Parameters that need `fork_url`."""


def add_fork_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, as the parameter `remote`: None without `--fork-url`."""
    return add_option_group(command, "remote", _build_options, _OPTIONS)


def _build_options(  # noqa: PLR0913 - one for each option
    *,
    fork_url: str | None,
    fork_block_number: int | None,
    fork_chain_id: int | None,
    fork_retries: int,
    fork_timeout: float,
    timeout_milliseconds: int | None,
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
        timeout_seconds=(
            fork_timeout if timeout_milliseconds is None else timeout_milliseconds / 1_000
        ),
        is_cached=not no_fork_cache,
    )


_OPTIONS = (
    click.option(
        "-f", "--fork-url", "--rpc-url", "fork_url", metavar="URL",
        help="Continue the chain of the node at this HTTP URL: its state and blocks are read when "
        "they are needed. URL@BLOCK names a block.",
    ),
    click.option(
        "--fork-block-number", type=click.IntRange(-MAX_BLOCK_NUMBER, MAX_BLOCK_NUMBER),
        metavar="NUMBER",
        help="Block to continue; a negative number counts back from the latest block.  "
        "[default: the latest]",
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
        "--timeout", "timeout_milliseconds", type=click.IntRange(1), metavar="MILLISECONDS",
        hidden=True, help="The same as --fork-timeout, in milliseconds, as in anvil.",
    ),
    click.option(
        "--no-fork-cache", "--no-storage-caching", "no_fork_cache", is_flag=True,
        help="Neither read nor write the cache of the remote chain on disk.",
    ),
)  # fmt: skip
