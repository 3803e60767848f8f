"""The command line: the only package that prints, exits, and reads argv or the environment.

One file for each command; this one has the table of them.
"""

from __future__ import annotations

import io
import sys

import click

from pyevm_agents import __version__
from pyevm_agents.cli.agents import estimate, models, schedule, script
from pyevm_agents.cli.demo import demo
from pyevm_agents.cli.endings import require_output, told_failures
from pyevm_agents.cli.node import node
from pyevm_agents.cli.record import record
from pyevm_agents.cli.replay import replay
from pyevm_agents.cli.store import store
from pyevm_agents.cli.trace import trace

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class AgentsGroup(click.Group):
    """Commands whose failures are a message, not a traceback."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the arguments; `--help` prints here."""
        with told_failures():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with told_failures():
            return super().invoke(ctx)


@click.group(cls=AgentsGroup, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pyevm-agents")
def main() -> None:
    """AI agents on a local EVM: deterministic inference inside one transaction."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # A character that the terminal lacks is no error.
            stream.reconfigure(errors="replace")
    require_output()


for command in (demo, estimate, models, node, record, replay, schedule, script, store, trace):
    main.add_command(command)
