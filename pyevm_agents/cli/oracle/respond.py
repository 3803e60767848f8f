"""`pyevm-agents oracle respond`: a person's answer to an agent's question."""

from __future__ import annotations

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.sent_transactions import print_sent
from pyevm_agents.cli.options.types import ADDRESS_TYPE, format_time
from pyevm_agents.cli.output import out
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.contracts import open_human_tool

EXAMPLES = """\b
Examples:
  pyevm-agents oracle respond 0x5FbDB2315678afecb367f032d93F642f64180aa3 1 "Take USDC" --keystore me.json
"""  # noqa: E501 - an address


@click.command(cls=TextCommand, epilog=EXAMPLES)
@click.argument("tool", type=ADDRESS_TYPE)
@click.argument("question", type=click.IntRange(1))
@click.argument("text")
@add_sender_options
def respond(tool: bytes, question: int, text: str, sender: Sender) -> None:
    """Answer QUESTION, a number, of an agent in the AskHumanTool TOOL. For the tool's person.

    `pyevm-agents oracle ask` prints questions; the agent's run goes on with TEXT.
    """
    contract = open_human_tool(sender.client, tool)
    asker, deadline, asked = contract.read("questionOf", question)
    if not int(asker, 16):
        count = contract.read("questionCount")
        state = "was answered, or has expired" if question <= count else "was never asked"
        raise AgentsError(f"question {question:,} of {contract.checksum_address}: {state}")
    person = contract.read("person")
    own = to_checksum_address(sender.account.address)
    if to_checksum_address(person) != own:
        raise AgentsError(
            f"{own}: not the person whom the tool asks; sign with the key of "
            f"{to_checksum_address(person)}"
        )
    out.print(f"{sanitize(asked)}", soft_wrap=True, markup=False)
    out.print(f"  [dim]asked by[/] {to_checksum_address(asker)}", soft_wrap=True)
    out.print(f"  [dim]answer until[/] {format_time(deadline)}")
    call = contract.artifact.encode_call("respond", question, text)
    print_sent(f"Answered question {question:,}", sender.account.transact(tool, call))
