"""Every group's table names commands that exist, and its help imports none of them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from pyevm_agents.cli.app import main
from pyevm_agents.cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = ("", "agent", "council", "model", "oracle", "tools")


def find_groups(group: click.Command = main, path: str = "") -> Iterator[tuple[str, LazyGroup]]:
    """Give all lazy groups of the command line by the words that call them."""
    if isinstance(group, LazyGroup):
        yield path, group
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from find_groups(command, f"{path} {name}".strip())


def test_the_tables_name_commands_that_exist() -> None:
    groups = dict(find_groups())
    assert sorted(groups) == sorted(GROUPS)
    for group in groups.values():
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert command.get_short_help_str(100).endswith(".")


@pytest.mark.parametrize("words", GROUPS)
def test_the_help_of_a_group_imports_no_command(words: str) -> None:
    code = f"""
import sys
from click.testing import CliRunner
from pyevm_agents.cli.app import main
help = CliRunner().invoke(main, [*{words.split()}, "--help"]).output
assert "Commands:" in help, help
print(*(name for name in ("eth", "eth_utils", "aiohttp") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
