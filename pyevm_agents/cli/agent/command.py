"""`pyevm-agents agent`: the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "new": LazyCommand("agent.new", "Make the folder of a new agent."),
    "validate": LazyCommand("agent.validate", "Check the manifests of an agent."),
    "register": LazyCommand("agent.register", "Give an agent an identity on a chain."),
    "serve": LazyCommand("agent.serve", "Serve agents to REST and MCP clients."),
}


class AgentGroup(LazyGroup):
    """A group whose commands need the extra `agents`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name; None if unknown.

        Raises: ConfigError: the extra is not installed.
        """
        require_agents_extra()
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=AgentGroup,
    commands=COMMANDS,
)
def agent() -> None:
    """Make, check, register and serve agents that are run in nine phases.

    `agent new` makes the folder of an agent, `agent validate` checks the manifests, `agent
    register` gives the agent an identity on a chain, and `agent serve` runs agents for REST and MCP
    clients.
    """
