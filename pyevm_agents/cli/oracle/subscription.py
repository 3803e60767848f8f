"""`pyevm-agents oracle subscription`: prepaid runs of an application's agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.sender import Sender, add_sender_options, oracle_option
from pyevm_agents.cli.options.sent_transactions import print_sent
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import out
from pyevm_agents.display import format_amount
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.contracts import open_agent, open_oracle

if TYPE_CHECKING:
    from pyevm_agents.client.contract import RemoteContract

OPTIONS = "--oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore owner.json"
AGENT = "0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9"
number_argument = click.argument("number", type=click.IntRange(1, 2**64 - 1), metavar="ID")
agent_argument = click.argument("agent", type=ADDRESS_TYPE, metavar="AGENT")


@click.group()
def subscription() -> None:
    """Pay for the runs of an application's users: the agents' `run` takes from a subscription."""


@subscription.command(
    "create",
    short_help="Create a subscription.",
    epilog=f"""\b
Example:
  pyevm-agents oracle subscription create --fund 0.5ether {OPTIONS}
""",
)
@click.option(
    "--fund", type=AMOUNT_TYPE, default="0", metavar="AMOUNT", help="Pay in so much at once."
)
@oracle_option
@add_sender_options
def create_subscription(sender: Sender, *, oracle_address: bytes, fund: int) -> None:
    """Create a subscription, which the account owns; print the ID."""
    oracle = open_oracle(sender.client, oracle_address)
    call = oracle.artifact.encode_call("subscribe")
    sent = sender.account.transact(oracle.address, call, value_wei=fund)
    [created] = oracle.decode_logs("SubscriptionCreated", sent.logs)
    number = created.values[0]
    print_sent(f"Created subscription {number:,} with {format_amount(fund)}", sent)


@subscription.command(
    "fund",
    short_help="Pay into a subscription.",
    epilog=f"""\b
Example:
  pyevm-agents oracle subscription fund 1 0.5ether {OPTIONS}
""",
)
@number_argument
@click.argument("amount", type=AMOUNT_TYPE)
@oracle_option
@add_sender_options
def fund_subscription(number: int, amount: int, sender: Sender, *, oracle_address: bytes) -> None:
    """Pay AMOUNT into the subscription ID. For everybody."""
    oracle = open_oracle(sender.client, oracle_address)
    _require_subscription(oracle, number)
    call = oracle.artifact.encode_call("fund", number)
    sent = sender.account.transact(oracle.address, call, value_wei=amount)
    balance = oracle.read("subscriptions", number)[1]
    print_sent(
        f"Paid {format_amount(amount)} into subscription {number:,}; it has "
        f"{format_amount(balance)}",
        sent,
    )


@subscription.command(
    "add-consumer",
    short_help="Let an agent take from a subscription.",
    epilog=f"""\b
Example:
  pyevm-agents oracle subscription add-consumer 1 {AGENT} --pay-runs {OPTIONS}
""",
)
@number_argument
@agent_argument
@click.option(
    "--pay-runs",
    is_flag=True,
    help="Also make it the subscription that pays for the agent's `run`. For the agent's owner.",
)
@oracle_option
@add_sender_options
def add_consumer(
    number: int, agent: bytes, sender: Sender, *, oracle_address: bytes, pay_runs: bool
) -> None:
    """Let AGENT take from the subscription ID. For the subscription's owner."""
    oracle = open_oracle(sender.client, oracle_address)
    contract = open_agent(sender.client, agent) if pay_runs else None
    _set_consumer(oracle, sender, number, agent, is_allowed=True)
    if contract is not None:
        call = contract.artifact.encode_call("setSubscription", number)
        sent = sender.account.transact(agent, call)
        print_sent(f"Subscription {number:,} pays for runs of {contract.checksum_address}", sent)


@subscription.command(
    "remove-consumer",
    short_help="Forbid an agent to take from a subscription.",
    epilog=f"""\b
Example:
  pyevm-agents oracle subscription remove-consumer 1 {AGENT} {OPTIONS}
""",
)
@number_argument
@agent_argument
@oracle_option
@add_sender_options
def remove_consumer(number: int, agent: bytes, sender: Sender, *, oracle_address: bytes) -> None:
    """Forbid AGENT to take from the subscription ID. For the owner. Open budgets go on."""
    oracle = open_oracle(sender.client, oracle_address)
    _set_consumer(oracle, sender, number, agent, is_allowed=False)


@subscription.command(
    "cancel",
    short_help="End a subscription; its balance becomes claimable.",
    epilog=f"""\b
Example:
  pyevm-agents oracle subscription cancel 1 {OPTIONS}
""",
)
@number_argument
@oracle_option
@add_sender_options
def cancel_subscription(number: int, sender: Sender, *, oracle_address: bytes) -> None:
    """End the subscription ID; the balance becomes claimable. For the owner. Open budgets go on."""
    oracle = open_oracle(sender.client, oracle_address)
    balance = _require_subscription(oracle, number)
    sent = sender.account.transact(oracle.address, oracle.artifact.encode_call("cancel", number))
    print_sent(f"Cancelled subscription {number:,}; {format_amount(balance)} claimable", sent)
    if balance:
        out.print("`pyevm-agents oracle claim` withdraws it.")


def _set_consumer(
    oracle: RemoteContract, sender: Sender, number: int, agent: bytes, *, is_allowed: bool
) -> None:
    _require_subscription(oracle, number)
    name = to_checksum_address(agent)
    if oracle.read("isConsumer", number, agent) == is_allowed:
        state = "takes from it already" if is_allowed else "does not take from it"
        out.print(f"Subscription {number:,}: {name} {state}", soft_wrap=True)
        return
    call = oracle.artifact.encode_call("setConsumer", number, agent, is_allowed)
    done = "may take from it" if is_allowed else "may no longer take from it"
    print_sent(
        f"Subscription {number:,}: {name} {done}", sender.account.transact(oracle.address, call)
    )


def _require_subscription(oracle: RemoteContract, number: int) -> int:
    """Return a subscription's balance in wei.

    Raises: AgentsError: cancelled, or never created.
    """
    owner, balance = oracle.read("subscriptions", number)
    if not int(owner, 16):
        is_past = number <= oracle.read("subscriptionCount")
        raise AgentsError(
            f"subscription {number:,}: {'was cancelled' if is_past else 'does not exist'}; "
            "`pyevm-agents oracle status` lists the others"
        )
    return int(balance)
