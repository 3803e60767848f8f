"""`pyevm-agents tools account`: an account for an agent that does not exist yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.sender import add_sender_options, json_option
from pyevm_agents.cli.options.sent_transactions import TransactionList
from pyevm_agents.cli.output import out
from pyevm_agents.contract_intelligence.agent_deployment import deploy_account

if TYPE_CHECKING:
    from pyevm_agents.cli.options.sender import OracleSession

EXAMPLES = """\b
Examples:
  pyevm-agents tools account --keystore me.json
  pyevm-agents tools deploy --account ACCOUNT --address CLUB --function vote --keystore me.json
"""


@click.command(short_help="Deploy an account for an agent, without tools.", epilog=EXAMPLES)
@add_sender_options
@json_option
def account(session: OracleSession, *, as_json: bool) -> None:
    """Deploy an AgentAccount that an agent will act through. The sender owns it.

    Some functions are for accounts that were admitted: members of a club, holders of a role, owners
    of an item. Admit the account first. `tools deploy --account` then makes tools of them.
    """
    sent = TransactionList(session, is_quiet=as_json)
    place = to_checksum_address(deploy_account(sent))
    if as_json:
        sent.print_json(account=place, owner=session.account.checksum_address)
        return
    out.print(
        f"Once it is admitted where it needs to be:  pyevm-agents tools deploy --account {place} "
        "--address CONTRACT --keystore FILE",
        soft_wrap=True,
    )
