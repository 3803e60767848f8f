"""The click group with the table of commands.

A command's module is imported when the command runs, because importing all is slow.
"""

from __future__ import annotations

import io
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from pyevm_agents import __version__
from pyevm_agents.cli.errors import FAULT_STATUS, report_errors, require_stdout
from pyevm_agents.cli.interrupt import is_interrupt
from pyevm_agents.cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "agent": "agent.command",
    "bench": "bench.command",
    "contracts": "contracts",
    "council": "council.command",
    "demo": "demo.command",
    "estimate": "node_methods",
    "export-replay": "export_replay",
    "model": "model",
    "models": "node_methods",
    "node": "node.command",
    "oracle": "oracle.command",
    "record": "record",
    "replay": "replay",
    "run": "run",
    "schedule": "node_methods",
    "script": "node_methods",
    "show": "show",
    "store": "store",
    "tools": "tools.command",
    "trace": "trace",
    "verify": "verify",
}
"""Module of each command, in this folder."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class AgentsGroup(LazyGroup):
    """The group of all commands: reports errors as a message, not a traceback."""

    def main(  # type: ignore[override]  # click has one overload for each mode
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's
        **extra: object,
    ) -> object:
        """Run the command line and exit.

        Ctrl-C between click's own lines ends the program as it does within a command. In its
        standalone mode click would end with `Aborted!` and status 1.
        """
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with report_errors():
            try:
                status: object = run()
            except click.ClickException as error:
                error.show()
                sys.exit(error.exit_code)
            except click.Abort as error:
                if is_interrupt(error):
                    raise
                click.echo("Aborted!", err=True)
                sys.exit(FAULT_STATUS)
        sys.exit(status if isinstance(status, int) else 0)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Parse the arguments; `--help` prints here."""
        with report_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with report_errors():
            return super().invoke(ctx)


@click.group(cls=AgentsGroup, modules=COMMANDS, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pyevm-agents")
def main() -> None:
    """AI agents on a local EVM: deterministic inference inside one transaction."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # The terminal may lack a character.
            stream.reconfigure(errors="replace")
    require_stdout()
