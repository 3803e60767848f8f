"""The click group with the table of commands.

A command's module is imported when the command runs, because importing all of them is slow.
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
    "model": "model",
    "models": "agents",
    "node": "node.command",
    "record": "record",
    "replay": "replay",
    "schedule": "agents",
    "script": "agents",
    "store": "store",
    "trace": "trace",
    "verify": "verify",
}
"""Module of each command."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

HASH_BACKEND = "ETH_HASH_BACKEND"
"""Environment variable that eth-hash reads before the first hash."""

FASTEST_HASH_BACKEND, FASTEST_MODULE = "pysha3", "sha3"
"""Optional backend: hashes a trie node in a quarter of pycryptodome's time."""


def choose_hash_backend() -> None:
    """Select the fastest installed hash backend, unless the environment selects one."""
    if find_spec(FASTEST_MODULE) is not None:
        os.environ.setdefault(HASH_BACKEND, FASTEST_HASH_BACKEND)


def _import_with_dependencies(name: str) -> ModuleType:
    """Import a module without garbage collection, and exempt its objects from later collections.

    Modules are never freed; collecting during the import takes a tenth of its time.
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
    """A group of commands that report errors as a message, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Return the command of a name; None if it is unknown."""
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
        """Parse the arguments; `--help` prints here."""
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
        if isinstance(stream, io.TextIOWrapper):  # The terminal may lack a character.
            stream.reconfigure(errors="replace")
    require_stdout()
