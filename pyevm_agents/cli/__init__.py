"""The command line: the only package that prints, exits, and reads argv or the environment.

One file for each command; this one has the table of them.
"""

from __future__ import annotations

import io
import sys

import click
from rich.markup import escape

from pyevm_agents import __version__
from pyevm_agents.cli.demo import demo
from pyevm_agents.cli.screen import err
from pyevm_agents.errors import AgentsError, ConfigError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class AgentsGroup(click.Group):
    """Commands whose failures are a message, not a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; a mistake of the user exits with 2, a failure of the engine with 1."""
        try:
            return super().invoke(ctx)
        except AgentsError as error:
            err.print(f"[bold red]Error:[/] {escape(str(error))}", soft_wrap=True)
            sys.exit(2 if isinstance(error, ConfigError) else 1)


@click.group(cls=AgentsGroup, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pyevm-agents")
def main() -> None:
    """AI agents on a local EVM: deterministic inference inside one transaction."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # A character that the terminal lacks is no error.
            stream.reconfigure(errors="replace")


for command in (demo,):
    main.add_command(command)
