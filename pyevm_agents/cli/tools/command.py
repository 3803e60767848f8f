"""`pyevm-agents tools`: any contract as a tool of an agent; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "inspect": LazyCommand("tools.inspect", "Show what an account can do with contracts."),
    "account": LazyCommand("tools.account", "Deploy an account for an agent, without tools."),
    "deploy": LazyCommand("tools.deploy", "Deploy an agent with contracts' functions as tools."),
    "ask": LazyCommand("tools.ask", "Give an agent of `tools deploy` an instruction."),
}


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
)
def tools() -> None:
    """Use any contract as a tool of an agent.

    `tools inspect` shows an account's capabilities at a contract, `tools deploy` makes an agent
    with the functions as tools, and `tools ask` gives the agent an instruction. `tools account`
    makes the account of an agent alone.
    """
