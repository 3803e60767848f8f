"""`pyevm-agents oracle claim`, `stake` and `unstake`: an account's ether at an oracle."""

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
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.contracts import open_oracle
from pyevm_agents.oracle.oracle_state import has_challenges

if TYPE_CHECKING:
    from pyevm_agents.client.contract import RemoteContract


@click.command(
    epilog="""\b
Example:
  pyevm-agents oracle claim --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore worker.json
""",  # noqa: E501 - an address
)
@click.option(
    "--to", "receiver", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="Who gets the ether.  [default: the account that signs]",
)  # fmt: skip
@oracle_option
@add_sender_options
def claim(sender: Sender, *, oracle_address: bytes, receiver: bytes | None) -> None:
    """Withdraw the account's claims: fees of answers, and refunds of runs."""
    oracle = open_oracle(sender.client, oracle_address)
    account = sender.account
    amount = oracle.read("claimable", account.address)
    if not amount:
        out.print(f"{to_checksum_address(account.address)} has nothing to claim", soft_wrap=True)
        return
    receiver = receiver or account.address
    call = oracle.artifact.encode_call("withdraw", receiver)
    text = f"Withdrew {format_amount(amount)} to {to_checksum_address(receiver)}"
    print_sent(text, sender.account.transact(oracle.address, call))


@click.command(
    epilog="""\b
Example:
  pyevm-agents oracle stake 1ether --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore worker.json
""",  # noqa: E501 - an address
)
@click.argument("amount", type=AMOUNT_TYPE)
@oracle_option
@add_sender_options
def stake(amount: int, sender: Sender, *, oracle_address: bytes) -> None:
    """Add AMOUNT to the account's stake at an oracle whose answers can be challenged."""
    oracle = _open_challengeable(sender, oracle_address)
    call = oracle.artifact.encode_call("stake")
    sent = sender.account.transact(oracle.address, call, value_wei=amount)
    print_sent(f"Staked {format_amount(amount)}; {_describe_stake(oracle, sender)}", sent)


@click.command(
    epilog="""\b
Example:
  pyevm-agents oracle unstake 0.5ether --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore worker.json
""",  # noqa: E501 - an address
)
@click.argument("amount", type=AMOUNT_TYPE)
@oracle_option
@add_sender_options
def unstake(amount: int, sender: Sender, *, oracle_address: bytes) -> None:
    """Make AMOUNT of the account's stake claimable."""
    oracle = _open_challengeable(sender, oracle_address)
    sent = sender.account.transact(oracle.address, oracle.artifact.encode_call("unstake", amount))
    print_sent(f"Unstaked {format_amount(amount)}; {_describe_stake(oracle, sender)}", sent)
    out.print("`pyevm-agents oracle claim` withdraws it.")


def _open_challengeable(sender: Sender, address: bytes) -> RemoteContract:
    oracle = open_oracle(sender.client, address)
    if not has_challenges(oracle):
        raise ConfigError(
            f"{oracle.checksum_address}: takes no stakes; its answers are final at once"
        )
    return oracle


def _describe_stake(oracle: RemoteContract, sender: Sender) -> str:
    (free, bond) = oracle.read_all([("freeStakeOf", (sender.account.address,)), ("bond", ())])
    return f"free stake {format_amount(free)}, an answer locks {format_amount(bond)}"
