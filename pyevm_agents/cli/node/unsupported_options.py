"""Unsupported options of anvil, and their replacements."""

from __future__ import annotations

import click

ON_DISK = "history is stored on disk, memory is bounded; omit it"
ALWAYS = "debug_traceTransaction traces all transactions; omit it"
STATE_DIR = "--state-dir stores every block when it is mined"

REASONS = {
    "--fork-transaction-hash": "--fork-block-number forks after a whole block",
    "--fork-header": "put credentials into the URL, as https://user:password@host",
    "--fork-retry-backoff": "a retry follows after 0.5 s, each further one after twice that",
    "--no-storage-caching": "use --no-fork-cache",
    "--timeout": "--fork-timeout has the limit in seconds",
    "--compute-units-per-second": "a node that is busy is asked again later; omit it",
    "--cups": "a node that is busy is asked again later; omit it",
    "--no-rate-limit": "a node that is busy is asked again later; omit it",
    "--no-rpc-rate-limit": "a node that is busy is asked again later; omit it",
    "--prune-history": ON_DISK,
    "--max-persisted-states": ON_DISK,
    "--transaction-block-keeper": ON_DISK,
    "--preserve-historical-states": STATE_DIR,
    "--state-interval": STATE_DIR,
    "-s": STATE_DIR,
    "--steps-tracing": ALWAYS,
    "--tracing": ALWAYS,
    "--gas-price": "gas prices follow from the base fee; set --base-fee",
    "--disable-block-gas-limit": "set a high --gas-limit",
    "--no-cors": "web pages need --allow-origin; omit it",
    "--number": "the first block is 0",
    "--mnemonic-seed-unsafe": "pass a mnemonic with --mnemonic, or --mnemonic-random",
    "--optimism": "only Ethereum's rules are supported",
}
"""Reason and replacement by option."""


class NodeCommand(click.Command):
    """A command that explains unsupported options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises: click.UsageError: an argument is invalid.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            reason = REASONS.get(error.option_name)
            if reason is None:
                raise
            raise click.UsageError(
                f"unsupported option {error.option_name}: {reason}", ctx
            ) from error
