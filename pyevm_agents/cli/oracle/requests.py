"""`pyevm-agents oracle retry`, `expire` and `release`: requests and budgets that are stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.sender import (
    Sender,
    add_sender_options,
    from_block_option,
    oracle_option,
)
from pyevm_agents.cli.options.sent_transactions import explain_reverts, print_sent
from pyevm_agents.cli.options.types import REQUEST_TYPE, format_request
from pyevm_agents.cli.output import out
from pyevm_agents.client.chain_client import MAX_TRANSACTION_GAS
from pyevm_agents.display import format_amount, sanitize
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.codec import encode_expire
from pyevm_agents.oracle.contracts import open_oracle
from pyevm_agents.oracle.oracle_state import find_commitment, read_requests

if TYPE_CHECKING:
    from pyevm_agents.client.accounts import SentTransaction
    from pyevm_agents.client.contract import RemoteContract
    from pyevm_agents.oracle.oracle_state import UnsettledRequest

request_argument = click.argument("request_id", type=REQUEST_TYPE, metavar="REQUEST")

EXAMPLE = """\b
Example:
  pyevm-agents oracle {} 0x8ef3…0b21 --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore me.json
"""  # noqa: E501 - an address


@click.command(
    epilog=EXAMPLE.format("retry"),
)
@request_argument
@click.option(
    "--gas", type=click.IntRange(21_000), metavar="GAS",
    help="Gas limit of the transaction.  [default: the most that a block and EIP-7825 allow]",
)  # fmt: skip
@oracle_option
@from_block_option
@add_sender_options
def retry(
    request_id: int,
    sender: Sender,
    *,
    oracle_address: bytes,
    first_block: int,
    gas: int | None,
) -> None:
    """Call the client of REQUEST again, with more gas. For everybody.

    The answer is the one that the oracle keeps. Nothing is sent if the client would fail again.
    """
    oracle = open_oracle(sender.client, oracle_address)
    state = _read_request(oracle, request_id, first_block)
    if state.is_waiting or state.outcome == "none":
        raise AgentsError(f"request {format_request(request_id)}: has no answer yet")
    gas = gas or _read_gas_limit(sender)
    call = oracle.artifact.encode_call("retry", request_id)
    with explain_reverts():
        output = sender.account.read(oracle.address, call, gas=gas)
    if not oracle.artifact.decode_result("retry", output):
        raise AgentsError(
            f"request {format_request(request_id)}: its client "
            f"{to_checksum_address(state.commitment.client)} fails again with a gas limit of "
            f"{gas:,}; nothing was sent{_describe_failure(oracle, request_id, first_block)}"
        )
    sent = sender.account.transact(oracle.address, call, gas=gas)
    if not _is_delivered(oracle, sent):
        raise AgentsError(
            f"transaction 0x{sent.hash.hex()}: the client failed again, in another block"
        )
    print_sent(f"Delivered the answer of {format_request(request_id)}", sent)


@click.command(
    epilog=EXAMPLE.format("expire"),
)
@request_argument
@oracle_option
@from_block_option
@add_sender_options
def expire(request_id: int, sender: Sender, *, oracle_address: bytes, first_block: int) -> None:
    """End REQUEST after the deadline; the fee goes back. For everybody."""
    oracle = open_oracle(sender.client, oracle_address)
    state = _read_request(oracle, request_id, first_block)
    name = format_request(request_id)
    if state.proposal is not None:
        raise AgentsError(f"request {name}: has an answer that waits for challenges")
    if not state.is_waiting:
        raise AgentsError(f"request {name}: {state.outcome} already")
    sent = sender.account.transact(oracle.address, encode_expire(state.commitment))
    fee = format_amount(state.commitment.fee)
    print_sent(f"Ended {name}; its fee of {fee} went back", sent)
    if not _is_delivered(oracle, sent):
        out.print("Its client failed when it was told so; `pyevm-agents oracle retry` calls again.")


@click.command(
    epilog="""\b
Example:
  pyevm-agents oracle release 7 --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore me.json
""",  # noqa: E501 - an address
)
@click.argument("budget", type=click.IntRange(1))
@oracle_option
@add_sender_options
def release(budget: int, sender: Sender, *, oracle_address: bytes) -> None:
    """Give back the rest of BUDGET, a number. For the client; for everybody after the lifetime.

    A run's budget is released when the run ends.
    """
    oracle = open_oracle(sender.client, oracle_address)
    if budget > oracle.read("budgetCount"):
        raise AgentsError(f"budget {budget:,}: never opened at {oracle.checksum_address}")
    _, subscription, _, is_released, payer, _, _, balance = oracle.read("budgets", budget)
    if is_released:
        raise AgentsError(f"budget {budget:,}: was released before")
    sent = sender.account.transact(oracle.address, oracle.artifact.encode_call("release", budget))
    receiver = f"subscription {subscription:,}" if subscription else to_checksum_address(payer)
    print_sent(f"Released budget {budget:,}: {format_amount(balance)} for {receiver}", sent)


def _read_request(oracle: RemoteContract, request_id: int, first_block: int) -> UnsettledRequest:
    commitment = find_commitment(oracle, request_id, first_block=first_block)
    if commitment is None:
        raise AgentsError(
            f"request {format_request(request_id)}: {oracle.checksum_address} has no such request; "
            "check --oracle and --from-block"
        )
    return read_requests(oracle, [commitment])[0]


def _read_gas_limit(sender: Sender) -> int:
    block: Any = sender.client.request("eth_getBlockByNumber", ["latest", False])
    return min(int(block["gasLimit"], 16), MAX_TRANSACTION_GAS)


def _is_delivered(oracle: RemoteContract, sent: SentTransaction) -> bool:
    logs = oracle.decode_logs("CallbackFinished", sent.logs)
    return bool(logs) and bool(logs[-1].values[1])


def _describe_failure(oracle: RemoteContract, request_id: int, first_block: int) -> str:
    """Return the reason of the last failure, as logged by the oracle."""
    from pyevm_agents.abi.revert_reasons import decode_revert  # noqa: PLC0415 - slow to import

    logs = oracle.find_logs("CallbackFinished", request_id, first=first_block)
    if not logs or not logs[-1].values[2]:
        return "; it gave no reason"
    return f"; the last reason was {sanitize(decode_revert(logs[-1].values[2]))}"
