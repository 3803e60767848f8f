"""`pyevm-agents tools account`: an account for an agent that does not exist yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.sender import add_sender_options
from pyevm_agents.cli.output import json_option, out
from pyevm_agents.contract_intelligence.agent_deployment import deploy_account

if TYPE_CHECKING:
    from pyevm_agents.cli.options.sender import Sender

EXAMPLES = """\b
Examples:
  pyevm-agents tools account --keystore me.json
  pyevm-agents tools deploy --account ACCOUNT --address CLUB --function vote --keystore me.json
"""


@click.command(epilog=EXAMPLES)
@add_sender_options
@json_option
def account(sender: Sender, *, as_json: bool) -> None:
    """Deploy an AgentAccount that an agent will act through. The sender is the owner.

    Some functions are for accounts that were admitted: members of a club, holders of a role, owners
    of an item. Admit the account first. `tools deploy --account` then makes tools of such
    functions.
    """
    sent = sender.account
    place = to_checksum_address(deploy_account(sent))
    if as_json:
        sent.print_json(account=place, owner=to_checksum_address(sender.account.address))
        return
    out.print(
        f"Once it is admitted where it needs to be:  pyevm-agents tools deploy --account {place} "
        "--address CONTRACT --keystore FILE",
        soft_wrap=True,
    )
