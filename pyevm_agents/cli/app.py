"""The click group with the table of commands.

A command's module is imported when the command runs: all of them together take much longer to
import than one.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from pyevm_agents import __version__
from pyevm_agents.cli.errors import report_errors, require_stdout

if TYPE_CHECKING:
    from types import ModuleType

COMMANDS = {
    "bench": "bench.command",
    "contracts": "contracts",
    "demo": "demo",
    "estimate": "agents",
    "export-replay": "export_replay",
    "models": "agents",
    "node": "node.command",
    "record": "record",
    "replay": "replay",
    "schedule": "agents",
    "script": "agents",
    "store": "store",
    "trace": "trace",
}
"""The file that each is in."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

HASH_BACKEND = "ETH_HASH_BACKEND"
"""What eth-hash reads when something is hashed first."""

FASTEST_HASH_BACKEND, FASTEST_MODULE = "pysha3", "sha3"
"""Takes a quarter of pycryptodome's time for a node of a trie, where it is installed."""


def choose_hash_backend() -> None:
    """Have the fastest library hash, unless somebody chose one."""
    if find_spec(FASTEST_MODULE) is not None:
        os.environ.setdefault(HASH_BACKEND, FASTEST_HASH_BACKEND)


def _import_with_dependencies(name: str) -> ModuleType:
    """Import a module with all it needs.

    What modules hold stays: looking through it for garbage takes a tenth of their import, and some
    of every later look.
    """
    if name in sys.modules:
        return sys.modules[name]
    choose_hash_backend()
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class AgentsGroup(click.Group):
    """Commands whose failures are a message, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Return a command by its name; None where there is none."""
        file = COMMANDS.get(cmd_name)
        if file is None:
            return None
        module = _import_with_dependencies(f"pyevm_agents.cli.{file}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Read the arguments; `--help` prints here."""
        with report_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with report_errors():
            return super().invoke(ctx)


@click.group(cls=AgentsGroup, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pyevm-agents")
def main() -> None:
    """AI agents on a local EVM: deterministic inference inside one transaction."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # A character that the terminal lacks is no error.
            stream.reconfigure(errors="replace")
    require_stdout()
