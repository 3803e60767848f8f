"""The table of commands: each is in its module, which is imported on use."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from pyevm_agents.cli.app import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_in_its_file(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name


def test_what_is_no_command_is_none() -> None:
    assert main.get_command(click.Context(main), "nod") is None
    assert main.list_commands(click.Context(main)) == [*COMMANDS]


def test_the_table_alone_imports_no_chain() -> None:
    script = (
        "import sys, pyevm_agents.cli.app; print(*sorted(m for m in sys.modules if m in "
        "{'aiohttp', 'eth', 'py_ecc', 'pyevm_agents.chain', 'pyevm_agents.server'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
