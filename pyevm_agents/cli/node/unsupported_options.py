"""Options of anvil's that this node does not have, and what to do instead."""

from __future__ import annotations

import click

from pyevm_agents.rpc.unsupported import NO_FORK

ON_DISK = "history is kept on the disk, memory stays bounded: leave it out"
ALWAYS = "transactions can always be traced (debug_traceTransaction): leave it out"
STATE_DIR = "--state-dir keeps every block as it is made"

REASONS = {
    "--fork-url": NO_FORK,
    "--rpc-url": NO_FORK,
    "-f": NO_FORK,
    "--fork-block-number": NO_FORK,
    "--prune-history": ON_DISK,
    "--max-persisted-states": ON_DISK,
    "--transaction-block-keeper": ON_DISK,
    "--preserve-historical-states": STATE_DIR,
    "--state-interval": STATE_DIR,
    "-s": STATE_DIR,
    "--steps-tracing": ALWAYS,
    "--tracing": ALWAYS,
    "--print-traces": ALWAYS,
    "--gas-price": "a transaction's price follows from the base fee: set --base-fee",
    "--disable-block-gas-limit": "set --gas-limit as high as you need it",
    "--code-size-limit": "py-evm has the limit of Ethereum (EIP-170)",
    "--disable-code-size-limit": "py-evm has the limit of Ethereum (EIP-170)",
    "--no-cors": "no page may ask unless --allow-origin names it: leave it out",
    "--order": "transactions are ordered by fees, as anvil's are by default",
    "--number": "a chain begins with block 0",
    "--ipc": "there is no IPC: connect by HTTP or WebSocket",
    "--ipcpath": "there is no IPC: connect by HTTP or WebSocket",
    "--config-out": "--json-logs prints its address and accounts as its first line",
    "--mnemonic-random": "give words of your own with --mnemonic",
    "--mnemonic-seed-unsafe": "give words of your own with --mnemonic",
    "--optimism": "there is no network but Ethereum's",
}
"""By option, in few words."""


class NodeCommand(click.Command):
    """A command that says of an option it lacks why it does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises: click.UsageError: they are none.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            reason = REASONS.get(error.option_name)
            if reason is None:
                raise
            raise click.UsageError(f"No option {error.option_name}: {reason}", ctx) from error
