"""Click groups whose commands are imported when run, because importing all is slow."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

COMMANDS_PACKAGE = "pyevm_agents.cli"

HASH_BACKEND = "ETH_HASH_BACKEND"
"""Environment variable that eth-hash reads before the first hash."""

FASTEST_HASH_BACKEND, FASTEST_MODULE = "pysha3", "sha3"
"""Optional backend: hashes a trie node in a quarter of pycryptodome's time."""


def choose_hash_backend() -> None:
    """Select the fastest installed hash backend, unless the environment selects one."""
    if find_spec(FASTEST_MODULE) is not None:
        os.environ.setdefault(HASH_BACKEND, FASTEST_HASH_BACKEND)


def _import_with_dependencies(name: str) -> ModuleType:
    """Import a module without garbage collection, and exempt the objects from later collections.

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


class LazyGroup(click.Group):
    """A group that imports the module of a command on use."""

    def __init__(self, *, modules: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401 - click's
        """Input: modules: for each command the module in `cli` that has the command's name."""
        super().__init__(**settings)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the names of all commands."""
        return [*self._modules]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Return the command of a name; None if unknown."""
        file = self._modules.get(cmd_name)
        if file is None:
            return None
        module = _import_with_dependencies(f"{COMMANDS_PACKAGE}.{file}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command
