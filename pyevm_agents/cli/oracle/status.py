"""`pyevm-agents oracle status`: an oracle's requests, workers, subscriptions and money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from pyevm_agents.cli.options.sender import add_client_option, from_block_option, oracle_option
from pyevm_agents.cli.options.types import ADDRESS_TYPE, format_request, format_time
from pyevm_agents.cli.output import json_option, out, print_json
from pyevm_agents.display import format_amount
from pyevm_agents.oracle.contracts import open_oracle
from pyevm_agents.oracle.oracle_state import read_oracle_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.oracle.oracle_state import (
        AccountState,
        OracleState,
        SubscriptionState,
        UnsettledRequest,
    )

EXAMPLES = """\b
Examples:
  pyevm-agents oracle status --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3
  pyevm-agents oracle status --oracle 0x5FbD…0aa3 --account 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --json
"""  # noqa: E501 - addresses


@click.command(epilog=EXAMPLES)
@oracle_option
@click.option(
    "--account", "accounts", multiple=True, type=ADDRESS_TYPE, metavar="ADDRESS",
    help="Also show what this account can claim. Repeatable.",
)  # fmt: skip
@from_block_option
@add_client_option
@json_option
def status(
    client: RemoteClient,
    *,
    oracle_address: bytes,
    accounts: Sequence[bytes],
    first_block: int,
    as_json: bool,
) -> None:
    """Show an oracle's prices, workers, subscriptions, and the requests that are not settled."""
    oracle = open_oracle(client, oracle_address)
    state = read_oracle_state(oracle, first_block=first_block, accounts=accounts)
    if as_json:
        print_json(serialize_state(state))
    else:
        print_state(state)


# -- text -- #


def print_state(state: OracleState) -> None:
    """Print an oracle's state."""
    inference, gas, answer_gas = state.prices
    pairs = [
        ("owner", to_checksum_address(state.owner)),
        ("holds", format_amount(state.balance)),
        (
            "prices",
            (
                f"{format_amount(inference)} an inference, {format_amount(gas)} a gas, "
                f"{answer_gas:,} gas an answer"
            ),
        ),
    ]
    if state.terms is not None:
        terms = state.terms
        pairs += [
            ("bond", format_amount(terms.bond)),
            ("challenges", f"for {terms.challenge_window:,} s"),
            (
                "arbiter",
                f"{to_checksum_address(terms.arbiter)}, within {terms.arbitration_time:,} s",
            ),
        ]
    pairs.append(("requests", f"{state.request_count:,}"))
    _print_item(state.kind, to_checksum_address(state.address), pairs)
    for worker in state.workers:
        _print_account("Worker", worker)
    if not state.workers:
        out.print("No workers: nobody answers.")
    for account in state.accounts:
        _print_account("Account", account)
    for subscription in state.subscriptions:
        _print_subscription(subscription)
    for request in state.requests:
        _print_request(request, state.timestamp)
    if not state.requests:
        out.print("No request waits.")


def _print_account(heading: str, account: AccountState) -> None:
    pairs = [
        ("has", format_amount(account.balance)),
        ("can claim", format_amount(account.claimable)),
    ]
    if account.free_stake is not None:
        pairs.append(("free stake", format_amount(account.free_stake)))
    _print_item(heading, to_checksum_address(account.address), pairs)


def _print_subscription(subscription: SubscriptionState) -> None:
    consumers = ", ".join(map(to_checksum_address, subscription.consumers))
    pairs = [
        ("owner", to_checksum_address(subscription.owner)),
        ("has", format_amount(subscription.balance)),
        ("consumers", consumers or "none"),
    ]
    _print_item("Subscription", str(subscription.subscription_id), pairs)


def _print_request(request: UnsettledRequest, now: int) -> None:
    commitment = request.commitment
    pairs = [
        ("client", to_checksum_address(commitment.client)),
        ("fee", f"{format_amount(commitment.fee)}, budget {commitment.budget_id:,}"),
        ("state", describe_request(request, now)),
    ]
    _print_item("Request", format_request(commitment.request_id), pairs)


def _print_item(heading: str, name: str, pairs: Iterable[tuple[str, str]]) -> None:
    out.print(f"[bold]{heading}[/] {name}", soft_wrap=True)
    for label, text in pairs:
        out.print(f"  [dim]{label:<12}[/] {escape(text)}", soft_wrap=True)


def describe_request(request: UnsettledRequest, now: int) -> str:
    """Return the awaited event of a request, and the command that goes on."""
    deadline, proposal = request.commitment.deadline, request.proposal
    if proposal is not None:
        worker = to_checksum_address(proposal.worker)
        if proposal.status == "open":
            is_over = now > proposal.challengeable_until
            verb = "could be" if is_over else "can be"
            return (
                f"answered by {worker}; {verb} challenged until "
                f"{format_time(proposal.challengeable_until)}"
            )
        if proposal.status == "challenged":
            return (
                f"answered by {worker}, challenged; the arbiter rules until "
                f"{format_time(proposal.ruleable_until)}"
            )
        return f"answered by {worker}, upheld; anybody may finalize it"
    if request.is_waiting:
        if now > deadline:
            return f"no answer before {format_time(deadline)}; `pyevm-agents oracle expire` ends it"
        return f"waits for an answer until {format_time(deadline)}"
    return f"{request.outcome}, but its client failed; `pyevm-agents oracle retry` calls it again"


# -- JSON -- #


def serialize_state(state: OracleState) -> dict[str, Any]:
    """Return an oracle's state in JSON. Amounts are decimal strings in wei."""
    inference, gas, answer_gas = state.prices
    terms = state.terms
    return {
        "oracle": to_checksum_address(state.address),
        "kind": state.kind,
        "owner": to_checksum_address(state.owner),
        "balanceWei": str(state.balance),
        "timestamp": state.timestamp,
        "prices": {"inferenceWei": str(inference), "gasWei": str(gas), "answerGas": answer_gas},
        "requestCount": state.request_count,
        "terms": None
        if terms is None
        else {
            "arbiter": to_checksum_address(terms.arbiter),
            "bondWei": str(terms.bond),
            "challengeWindow": terms.challenge_window,
            "arbitrationTime": terms.arbitration_time,
        },
        "workers": [_serialize_account(each) for each in state.workers],
        "accounts": [_serialize_account(each) for each in state.accounts],
        "subscriptions": [
            {
                "id": each.subscription_id,
                "owner": to_checksum_address(each.owner),
                "balanceWei": str(each.balance),
                "consumers": [to_checksum_address(consumer) for consumer in each.consumers],
            }
            for each in state.subscriptions
        ],
        "requests": [_serialize_request(each) for each in state.requests],
    }


def _serialize_account(account: AccountState) -> dict[str, Any]:
    return {
        "address": to_checksum_address(account.address),
        "balanceWei": str(account.balance),
        "claimableWei": str(account.claimable),
        "freeStakeWei": None if account.free_stake is None else str(account.free_stake),
    }


def _serialize_request(request: UnsettledRequest) -> dict[str, Any]:
    commitment, proposal = request.commitment, request.proposal
    return {
        "id": format_request(commitment.request_id),
        "client": to_checksum_address(commitment.client),
        "budgetId": commitment.budget_id,
        "callbackGasLimit": commitment.callback_gas_limit,
        "feeWei": str(commitment.fee),
        "blockNumber": commitment.block_number,
        "deadline": commitment.deadline,
        "isWaiting": request.is_waiting,
        "outcome": request.outcome,
        "worker": None if request.worker is None else to_checksum_address(request.worker),
        "proposal": None
        if proposal is None
        else {
            "worker": to_checksum_address(proposal.worker),
            "status": proposal.status,
            "challengeableUntil": proposal.challengeable_until,
            "challenger": None
            if proposal.challenger is None
            else to_checksum_address(proposal.challenger),
            "ruleableUntil": proposal.ruleable_until,
        },
    }
