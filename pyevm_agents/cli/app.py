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
from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "agent": LazyCommand("agent.command", "Make, check, register and serve agents."),
    "bench": LazyCommand("bench.command", "Measure the time and gas of inference."),
    "contracts": LazyCommand("contracts", "Print the folder of the Solidity sources."),
    "council": LazyCommand("council.command", "Take part in councils of agents (ERC-8033)."),
    "demo": LazyCommand("demo.command", "Run a scenario of agents on a real model."),
    "estimate": LazyCommand("node_methods", "Estimate the exact gas of a transaction."),
    "export-replay": LazyCommand("export_replay", "Export a run to test suites of any EVM."),
    "model": LazyCommand("model.command", "Add, list, show and remove models; inspect ONNX files."),
    "models": LazyCommand("node_methods", "List the models of a node."),
    "node": LazyCommand("node.command", "Run a local node with a JSON-RPC server."),
    "oracle": LazyCommand("oracle.command", "Run agents on any chain, by an oracle."),
    "record": LazyCommand("record", "Record a chain to a file that anyone can check."),
    "replay": LazyCommand("replay", "Check recorded chains: execute all blocks again."),
    "run": LazyCommand("run", "Give agents a goal; show the nine phases."),
    "schedule": LazyCommand("node_methods", "Show the gas prices and limits of a node's executor."),
    "script": LazyCommand("node_methods", "Replace a node's model by a script."),
    "show": LazyCommand("show", "Show a recorded chain or a cassette in a browser."),
    "store": LazyCommand("store", "Show, verify or clear the generation store."),
    "tools": LazyCommand("tools.command", "Use any contract as a tool of an agent."),
    "trace": LazyCommand("trace", "Show the steps of agents in a transaction."),
    "verify": LazyCommand("verify", "Check an oracle's answer: compute it again."),
}


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


@click.group(cls=AgentsGroup, commands=COMMANDS, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pyevm-agents")
def main() -> None:
    """AI agents on a local EVM: deterministic inference inside one transaction."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # The terminal may lack a character.
            stream.reconfigure(errors="replace")
    require_stdout()
