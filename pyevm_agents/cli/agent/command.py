"""`pyevm-agents agent`: the table of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.lazy_group import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "new": "agent.new",
    "validate": "agent.validate",
    "register": "agent.register",
    "serve": "agent.serve",
}
"""Module of each command, in the folder `cli`."""


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
    modules=COMMANDS,
    short_help="Make, check, register and serve agents.",
)
def agent() -> None:
    """Make, check, register and serve agents that are run in nine phases.

    `agent new` makes the folder of an agent, `agent validate` checks the manifests, `agent
    register` gives the agent an identity on a chain, and `agent serve` runs agents for REST and MCP
    clients.
    """
