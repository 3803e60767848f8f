"""Click groups whose commands are imported when run, because importing all is slow."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

COMMANDS_PACKAGE = "pyevm_agents.cli"


def _import_with_dependencies(name: str) -> ModuleType:
    """Import a module without garbage collection, and exempt the objects from later collections.

    Modules are never freed; collecting during the import takes a tenth of its time.
    """
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class LazyCommand(NamedTuple):
    """A command in a module that is imported when the command is used."""

    place: str
    """Module in `cli`; with `:function`, if the function's name is not the command's."""

    help: str
    """Its line in the group's help."""


class LazyGroup(click.Group):
    """A group that imports the module of a command on use; its own help imports none."""

    def __init__(self, *, commands: Mapping[str, LazyCommand], **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(**settings)
        self._places = commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the names of all commands."""
        return [*self._places]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the commands' lines of the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in self._places.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Return the command of a name; None if unknown."""
        if cmd_name not in self._places:
            return None
        file, _, function = self._places[cmd_name].place.partition(":")
        module = _import_with_dependencies(f"{COMMANDS_PACKAGE}.{file}")
        command: click.Command = getattr(module, function or cmd_name.replace("-", "_"))
        command.short_help = self._places[cmd_name].help
        return command
