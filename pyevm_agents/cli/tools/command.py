"""`pyevm-agents tools`: any contract as a tool of an agent; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyGroup

COMMANDS = {
    "inspect": "tools.inspect",
    "account": "tools.account",
    "deploy": "tools.deploy",
    "ask": "tools.ask",
}
"""Module of each command, in the folder `cli`."""


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    short_help="Use any contract as a tool of an agent.",
)
def tools() -> None:
    """Use any contract as a tool of an agent.

    `tools inspect` shows an account's capabilities at a contract, `tools deploy` makes an agent
    with the functions as tools, and `tools ask` gives the agent an instruction. `tools account`
    makes the account of an agent alone.
    """
