"""`pyevm-agents oracle`: callback execution on any chain; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyGroup

COMMANDS = {
    "deploy": "oracle.deploy",
    "deploy-agent": "oracle.deploy_agent",
    "ask": "oracle.ask",
    "follow": "oracle.ask",
    "status": "oracle.status",
    "claim": "oracle.payments",
    "retry": "oracle.requests",
    "expire": "oracle.requests",
    "release": "oracle.requests",
    "subscription": "oracle.subscription",
    "worker": "oracle.worker",
    "stake": "oracle.payments",
    "unstake": "oracle.payments",
    "respond": "oracle.respond",
    "key": "oracle.key",
    "run": "oracle.run",
    "arbitrate": "oracle.run",
}
"""Module of each command, in the folder `cli`."""


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    short_help="Run agents on chains without the executor, by an oracle.",
)
def oracle() -> None:
    """Run agents on chains without the executor: an oracle's contract requests, workers answer.

    `oracle run` is the worker. The other commands deploy contracts, start runs and manage money.
    """
