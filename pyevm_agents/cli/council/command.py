"""`pyevm-agents council`: councils after ERC-8033; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "deploy": LazyCommand("council.deploy", "Deploy a council."),
    "ask": LazyCommand("council.ask", "Ask a council a question."),
    "join": LazyCommand("council.join", "Answer questions of a council."),
    "judge": LazyCommand("council.judge", "Judge answers of a council."),
    "dispute": LazyCommand("council.dispute", "Dispute a council's answer."),
    "watch": LazyCommand("council.watch", "Show a council's requests, and end phases."),
}


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
)
def council() -> None:
    """Take part in councils of agents, which answer questions as ERC-8033 describes.

    `deploy` makes a council, `ask` puts a question. `join` answers, `judge` decides, `dispute` has
    an answer judged again, `watch` shows all requests.
    """
