"""Options of anvil that the node does not have: accepted without an effect, or refused.

An option that changes no result is accepted, with a warning on standard error, so that programs
that start anvil can start this node. (Some end a node at lines that are not called a "Warning".)
One that would change what a test sees is refused, with advice.

Source: anvil 1.7.1, `--help`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import click
from click.core import ParameterSource

REMARKS_KEY = "pyevm_agents.node.remarks"
"""Key of the context's list of lines about options without an effect."""


def _ignore(*names: str, because: str, **settings: Any) -> click.Option:  # noqa: ANN401 - of click
    """Return an option that has no effect; without settings, one with a whole number."""

    def remark(context: click.Context, option: click.Parameter, _value: object) -> None:
        if context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
            line = f"{names[0]} has no effect: {because}"
            context.meta.setdefault(REMARKS_KEY, []).append(line)

    return click.Option(
        names, hidden=True, expose_value=False, callback=remark, **settings or {"type": click.INT}
    )


FLAG: dict[str, Any] = {"is_flag": True}
ON_DISK = "history is stored on disk, and memory is bounded"
BUSY = "a remote node that is busy is asked again later"


def build_ignored_options() -> list[click.Option]:
    """Return the options that are accepted without an effect."""
    return [
        _ignore("--cache-path", because=ON_DISK, type=click.Path()),
        _ignore(
            "--color",
            because="colors follow the terminal, and NO_COLOR",
            type=click.Choice(["auto", "always", "never"]),
        ),
        _ignore("--compute-units-per-second", "--cups", because=BUSY),
        _ignore(
            "--disable-console-log",
            "--no-console-log",
            because="the log has the lines of console.log",
            **FLAG,
        ),
        _ignore(
            "--enable-tx-gas-limit",
            "--tx-gas-limit",
            because="the limit is part of Osaka: --hardfork osaka",
            **FLAG,
        ),
        _ignore(
            "--fork-retry-backoff",
            because="a retry follows after 0.5 s, each further one after twice that",
        ),
        _ignore("--gas-price", because="gas prices follow from the base fee: --base-fee"),
        _ignore("--max-persisted-states", because=ON_DISK),
        _ignore("--md", because="the log is text, or JSON with --json-logs", **FLAG),
        _ignore("--no-cors", because="pages need --allow-origin", **FLAG),
        _ignore("--no-rate-limit", "--no-rpc-rate-limit", because=BUSY, **FLAG),
        _ignore("--no-request-size-limit", because="a request has at most 16 MiB", **FLAG),
        _ignore("--prune-history", because=ON_DISK, is_flag=False, flag_value="0", type=click.INT),
        _ignore("--slots-in-an-epoch", because="safe and finalized are the latest block"),
        _ignore(
            "--steps-tracing",
            "--tracing",
            because="debug_traceTransaction traces every transaction",
            **FLAG,
        ),
        _ignore("--transaction-block-keeper", because=ON_DISK),
        _ignore(
            "-v",
            "--verbosity",
            because="--print-traces prints the calls of transactions",
            count=True,
        ),
    ]


ONLY_ETHEREUM = "only Ethereum's rules are supported"
MIN_TIP = "send transactions with maxPriorityFeePerGas 0"
STATE_DIR = "--state-dir stores every block when it is mined"

REFUSALS = {
    "--celo": ONLY_ETHEREUM,
    "--disable-min-priority-fee": MIN_TIP,
    "--disable-pool-balance-checks": "fund the sender with --balance or anvil_setBalance",
    "--fork-header": "put credentials into the URL, as https://user:password@host",
    "--fork-transaction-hash": "--fork-block-number forks after a whole block",
    "--max-transactions": "--gas-limit bounds a block",
    "--memory-limit": "the gas of a transaction bounds its memory",
    "--mnemonic-seed-unsafe": "pass a mnemonic with --mnemonic, or --mnemonic-random",
    "--no-priority-fee": MIN_TIP,
    "--number": "the first block is 0; anvil_mine mines to a number",
    "--optimism": ONLY_ETHEREUM,
    "--preserve-historical-states": STATE_DIR,
    "--state-interval": STATE_DIR,
    "-s": STATE_DIR,
}
"""Reason of refused options, or what to do instead, by name."""


class NodeCommand(click.Command):
    """A command that accepts anvil's options without an effect, and explains the refused ones."""

    def __init__(self, name: str | None, **settings: Any) -> None:  # noqa: ANN401 - of click
        """Input: those of `click.Command`."""
        super().__init__(name, **settings)
        self.params += build_ignored_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises: click.UsageError: an argument is invalid.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            reason = REFUSALS.get(error.option_name)
            if reason is not None:
                raise click.UsageError(
                    f"unsupported option {error.option_name}: {reason}", ctx
                ) from error
            nearest = self._find_nearest(ctx, error.option_name)
            raise click.NoSuchOption(error.option_name, possibilities=nearest, ctx=ctx) from error

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - of click
        """Run the command, after a warning of each option without an effect."""
        if not ctx.params.get("quiet"):
            for line in dict.fromkeys(ctx.meta.get(REMARKS_KEY, ())):
                click.echo(f"Warning: {line}", err=True)
        return super().invoke(ctx)

    def _find_nearest(self, ctx: click.Context, name: str) -> list[str]:
        """Return the option whose name is nearest to an unknown one, if one is near."""
        known = [option for parameter in self.get_params(ctx) for option in parameter.opts]
        by_name = {option.lower(): option for option in (*known, *REFUSALS) if option[:2] == "--"}
        nearest = get_close_matches(name.lower().replace("_", "-"), by_name, n=1)
        return [by_name[one] for one in nearest]
