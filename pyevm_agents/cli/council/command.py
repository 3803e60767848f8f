"""`pyevm-agents council`: councils after ERC-8033; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyGroup

COMMANDS = {
    "deploy": "council.deploy",
    "ask": "council.ask",
    "join": "council.join",
    "judge": "council.judge",
    "dispute": "council.dispute",
    "watch": "council.watch",
}
"""Module of each command, in the folder `cli`."""


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    short_help="Take part in councils of agents (ERC-8033).",
)
def council() -> None:
    """Take part in councils of agents, which answer questions as ERC-8033 describes.

    `deploy` makes a council, `ask` puts a question. `join` answers, `judge` decides, `dispute` has
    an answer judged again, `watch` shows all requests.
    """
