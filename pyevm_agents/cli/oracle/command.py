"""`pyevm-agents oracle`: callback execution on any chain; the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "deploy": LazyCommand("oracle.deploy", "Deploy an oracle and register its workers."),
    "deploy-agent": LazyCommand("oracle.deploy_agent", "Deploy an agent made of options."),
    "ask": LazyCommand("oracle.ask", "Ask an agent, and wait for its answer."),
    "follow": LazyCommand("oracle.ask", "Print a run that was started, and wait."),
    "status": LazyCommand("oracle.status", "Show an oracle's requests, workers and money."),
    "claim": LazyCommand("oracle.payments", "Withdraw what an oracle owes an account."),
    "retry": LazyCommand("oracle.requests", "Call a client again that failed to take its answer."),
    "expire": LazyCommand("oracle.requests", "End a request whose deadline is over."),
    "release": LazyCommand("oracle.requests", "Give back what is left of a budget."),
    "subscription": LazyCommand("oracle.subscription", "Pay for runs of an application's users."),
    "worker": LazyCommand("oracle.worker", "Register and remove workers."),
    "stake": LazyCommand("oracle.payments", "Pay a stake, from which answers take their bonds."),
    "unstake": LazyCommand("oracle.payments", "Take back a stake that no answer has locked."),
    "respond": LazyCommand("oracle.respond", "Answer the question of an agent's AskHumanTool."),
    "key": LazyCommand("oracle.key", "Make and show keystores."),
    "run": LazyCommand("oracle.run", "Answer an oracle's requests."),
    "arbitrate": LazyCommand("oracle.run", "Rule on the challenges of an oracle."),
}


@click.group(
    cls=LazyGroup,
    commands=COMMANDS,
)
def oracle() -> None:
    """Run agents on chains without the executor: an oracle's contract requests, workers answer.

    `oracle run` is the worker. The other commands deploy contracts, start runs and manage money.
    """
