"""`pyevm-agents oracle worker`: the workers of an oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.sender import Sender, add_sender_options, oracle_option
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import out
from pyevm_agents.display import format_amount
from pyevm_agents.oracle.contracts import open_oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

workers_argument = click.argument(
    "workers", metavar="ADDRESS...", nargs=-1, required=True, type=ADDRESS_TYPE
)


@click.group()
def worker() -> None:
    """Register and remove an oracle's workers. For the owner."""


@worker.command(
    "add",
    short_help="Register workers.",
    epilog="""\b
Example:
  pyevm-agents oracle worker add 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --fund 1ether --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore owner.json
""",  # noqa: E501 - addresses
)
@workers_argument
@click.option(
    "--fund", type=AMOUNT_TYPE, default="0", metavar="AMOUNT",
    help="Also send each worker this much, for its gas, such as 1ether.",
)  # fmt: skip
@oracle_option
@add_sender_options
def add_workers(
    workers: Sequence[bytes], sender: Sender, *, oracle_address: bytes, fund: int
) -> None:
    """Register the workers ADDRESS. For the oracle's owner."""
    _set_workers(workers, sender, oracle_address, is_registered=True)
    for each in dict.fromkeys(workers) if fund else ():
        name = to_checksum_address(each)
        purpose = f"Sent {format_amount(fund)} to {name}"
        sender.account.transact(each, b"", value_wei=fund, purpose=purpose)


@worker.command(
    "remove",
    short_help="Remove workers.",
    epilog="""\b
Example:
  pyevm-agents oracle worker remove 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore owner.json
""",  # noqa: E501 - addresses
)
@workers_argument
@oracle_option
@add_sender_options
def remove_workers(workers: Sequence[bytes], sender: Sender, *, oracle_address: bytes) -> None:
    """Remove the workers ADDRESS. For the oracle's owner. Removed workers keep earned fees."""
    _set_workers(workers, sender, oracle_address, is_registered=False)


def _set_workers(
    workers: Sequence[bytes], sender: Sender, oracle_address: bytes, *, is_registered: bool
) -> None:
    oracle = open_oracle(sender.client, oracle_address)
    for each in dict.fromkeys(workers):
        name = to_checksum_address(each)
        if oracle.read("isWorker", each) == is_registered:
            state = "is registered already" if is_registered else "is not registered"
            out.print(f"Worker {name} {state}", soft_wrap=True)
            continue
        call = oracle.artifact.encode_call("setWorker", each, is_registered)
        done = "Registered" if is_registered else "Removed"
        sender.account.transact(oracle.address, call, purpose=f"{done} worker {name}")
