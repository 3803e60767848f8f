"""`pyevm-agents oracle deploy`: a new oracle with prices and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.models import is_given
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE, DURATION_TYPE
from pyevm_agents.cli.output import json_option, out
from pyevm_agents.client.contract_kinds import require_arbiter
from pyevm_agents.display import format_amount

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ANSWER_GAS = 2**32 - 1

EXAMPLES = """\b
Examples:
  pyevm-agents oracle deploy --unlocked 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --worker 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
  pyevm-agents oracle deploy --keystore owner.json --worker 0x7099…79C8 --inference-price 0.001ether
  pyevm-agents oracle deploy --keystore owner.json --challengeable --bond 1ether --arbiter 0x15d3…6A65
"""  # noqa: E501 - addresses


@click.command(epilog=EXAMPLES)
@click.option(
    "--worker", "workers", multiple=True, type=ADDRESS_TYPE, metavar="ADDRESS",
    help="Register this worker. Repeatable.",
)  # fmt: skip
@click.option(
    "--fund-workers", type=AMOUNT_TYPE, default="0", metavar="AMOUNT",
    help="Send each worker this much, for its gas, such as 1ether.",
)  # fmt: skip
@click.option(
    "--inference-price", type=AMOUNT_TYPE, default="0.0001ether", show_default=True,
    metavar="AMOUNT", help="Price of one inference.",
)  # fmt: skip
@click.option(
    "--gas-price", type=AMOUNT_TYPE, default="1gwei", show_default=True, metavar="AMOUNT",
    help="Price of one gas of an answer and its callback. Workers pay the chain's gas price.",
)  # fmt: skip
@click.option(
    "--answer-gas", type=click.IntRange(0, MAX_ANSWER_GAS), default=300_000, show_default=True,
    metavar="GAS", help="Gas of an answer without its callback, as it is charged.",
)  # fmt: skip
@click.option(
    "--owner", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="Who registers workers and sets prices.  [default: the account that deploys]",
)  # fmt: skip
@click.option(
    "--challengeable", is_flag=True,
    help="Answers wait for a time in which anybody may challenge them.",
)  # fmt: skip
@click.option(
    "--bond", type=AMOUNT_TYPE, metavar="AMOUNT",
    help="With --challengeable: what an answer locks and a challenge costs. At least what a client "
    "may do with one answer.",
)  # fmt: skip
@click.option(
    "--challenge-window", type=DURATION_TYPE, default="1h", show_default=True,
    metavar="TIME", help="With --challengeable: how long an answer can be challenged.",
)  # fmt: skip
@click.option(
    "--arbiter", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="With --challengeable: who rules on challenges.",
)  # fmt: skip
@click.option(
    "--arbitration-time", type=DURATION_TYPE, default="1d", show_default=True,
    metavar="TIME", help="With --challengeable: how long the arbiter can rule.",
)  # fmt: skip
@add_sender_options
@json_option
def deploy(  # noqa: PLR0913 - one for each option
    sender: Sender,
    *,
    workers: Sequence[bytes],
    fund_workers: int,
    inference_price: int,
    gas_price: int,
    answer_gas: int,
    owner: bytes | None,
    challengeable: bool,
    bond: int | None,
    challenge_window: int,
    arbiter: bytes | None,
    arbitration_time: int,
    as_json: bool,
) -> None:
    """Deploy an AgentOracle, and register workers.

    A request costs the inference price, and the gas price for each gas of the callback's limit and
    of an answer. The worker earns that.
    """
    _require_terms(challengeable=challengeable, arbiter=arbiter, bond=bond)
    if arbiter is not None:
        require_arbiter(sender.client, arbiter)
    if owner is not None and workers and owner != sender.account.address:
        raise click.UsageError(
            "--worker: only the owner registers workers; omit --owner, or register them later by "
            "`pyevm-agents oracle worker add`"
        )
    prices = (inference_price, gas_price, answer_gas)
    arguments: list[object] = [owner or sender.account.address, prices]
    kind = "AgentOracle"
    if challengeable:
        kind = "ChallengeableOracle"
        arguments.append((arbiter, bond, challenge_window, arbitration_time))
    artifact = load_artifact(kind)
    sent = sender.account
    address = sent.deploy(artifact.encode_creation(*arguments), purpose=kind)
    for worker in dict.fromkeys(workers):
        name = to_checksum_address(worker)
        call = artifact.encode_call("setWorker", worker, True)  # noqa: FBT003 - Solidity's
        sent.transact(address, call, purpose=f"Registered worker {name}")
        if fund_workers:
            purpose = f"Sent {format_amount(fund_workers)} to {name}"
            sent.transact(worker, b"", value_wei=fund_workers, purpose=purpose)
    if as_json:
        sent.print_json(
            oracle=to_checksum_address(address),
            kind=kind,
            owner=to_checksum_address(owner or sender.account.address),
            workers=[to_checksum_address(each) for each in dict.fromkeys(workers)],
            prices={
                "inferenceWei": str(inference_price),
                "gasWei": str(gas_price),
                "answerGas": answer_gas,
            },
        )
        return
    sent.print_total()
    name = to_checksum_address(address)
    out.print(
        f"Run a worker:  pyevm-agents oracle run --oracle {name} --keystore FILE", soft_wrap=True
    )


def _require_terms(*, challengeable: bool, arbiter: bytes | None, bond: int | None) -> None:
    """Check that the options of challenges come with `--challengeable`, and it with its terms.

    A bond has no default: only who knows what clients do with answers knows what one is worth.

    Raises: click.UsageError.
    """
    if challengeable:
        if arbiter is None:
            raise click.UsageError("--challengeable needs --arbiter: who rules on challenges")
        if bond is None:
            raise click.UsageError(
                "--challengeable needs --bond: at least what a client may do with one answer, such "
                "as 1ether"
            )
        return
    context = click.get_current_context()
    for name in ("bond", "challenge_window", "arbiter", "arbitration_time"):
        if is_given(context, name):
            raise click.UsageError(f"--{name.replace('_', '-')} needs --challengeable")
