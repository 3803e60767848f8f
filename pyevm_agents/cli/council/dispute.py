"""`pyevm-agents council dispute`: has an answer judged again, under a bond."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.council.participation import (
    DEFAULT_MAX_BOND,
    Participation,
    add_participation,
    confirmations_option,
    dry_run_option,
    json_option,
    no_withdraw_option,
    once_option,
    oracle_option,
    store_option,
    take_part,
    turn_option,
)
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.keystore import add_keystore_options
from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.signing import chain_id_option, max_fee_option
from pyevm_agents.cli.options.types import REQUEST_NUMBER_TYPE
from pyevm_agents.cli.options.worker import poll_option
from pyevm_agents.client.chain_client import RejectedCallError, UnsignedCall
from pyevm_agents.client.signing import add_gas_margin, quote_fees
from pyevm_agents.council.disputes import (
    DisputeCase,
    Disputer,
    DisputeStakes,
    compute_stakes,
    encode_dispute,
    open_case,
    require_bond,
    require_reason,
)
from pyevm_agents.council.messages import NOBODY
from pyevm_agents.display import format_amount, sanitize
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.worker import explain_rejection

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.messages import CouncilRequest
    from pyevm_agents.council.store import CouncilStore

MAX_SHOWN = 200
SHOWN_WEI = 10**12

EXAMPLES = """\b
Examples:
  pyevm-agents council dispute 2 --oracle 0x5FbD… --keystore disputer.json --reason "It is 61."
  pyevm-agents council dispute 2 --oracle 0x5FbD… --keystore disputer.json --reason "It is 61." \\
      --dry-run
"""


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    *(rpc_option, oracle_option, add_keystore_options, chain_id_option),
    click.option(
        "--max-bond",
        type=AMOUNT_TYPE,
        default=DEFAULT_MAX_BOND,
        show_default=True,
        metavar="AMOUNT",
        help="Dispute nothing if the dispute's bond is larger.",
    ),
    click.option(
        "--bond",
        "given_bond",
        type=AMOUNT_TYPE,
        metavar="AMOUNT",
        help="The dispute's bond, for an oracle that does not state it.",
    ),
    *(confirmations_option, turn_option, poll_option, max_fee_option, store_option),
    *(no_withdraw_option, dry_run_option, once_option, json_option),
)


@click.command(epilog=EXAMPLES)
@click.argument("request_id", metavar="REQUEST", type=REQUEST_NUMBER_TYPE)
@click.option(
    "--reason", required=True, metavar="TEXT", help="Why the answer is wrong; anybody can read it."
)
@partial(add_participation, options=_OPTIONS)
def dispute(
    request_id: int, participation: Participation, *, reason: str, given_bond: int | None
) -> None:
    """Dispute the answer to a REQUEST of a council, while the window is open.

    The command shows the costs and gains of the dispute, and sends the dispute with the bond.
    Other judges then uphold or overturn the answer. The command follows the dispute to the end,
    ends phases whose time is over, and withdraws. With --once the command ends when the dispute is
    mined.

    Ctrl-C ends the command. After a kill, start again: the dispute goes on from there.
    """
    require_reason(reason)
    limits = replace(participation.limits, request_ids=frozenset({request_id}))
    is_once = participation.is_once or participation.settings.is_dry
    participation = replace(participation, limits=limits, is_once=is_once)

    def prepare(client: CouncilClient, store: CouncilStore) -> dict[str, Any]:
        account = participation.address
        case = open_case(client, request_id, account, store.list_slots())
        bond = _choose_bond(client, request_id, given_bond)
        data = encode_dispute(request_id, reason)
        call = UnsignedCall(sender=account, to=client.oracle, data=data, value_wei=bond)
        if not case.is_made:
            _prepare(participation, client, case, call)
        return {"case": case, "call": call}

    take_part(participation, Disputer, prepare)


def _choose_bond(client: CouncilClient, request_id: int, given: int | None) -> int:
    """Return the wei of a dispute's bond.

    Raises: ConfigError: the oracle states another one, or none is known.
    """
    stated = client.read_dispute_bond(request_id)
    if stated is None and given is None:
        raise ConfigError(
            f"request {request_id}: the oracle does not state the bond of a dispute; pass --bond"
        )
    if stated is not None and given not in {None, stated}:
        raise ConfigError(
            f"--bond {format_amount(given or 0)}: must be {format_amount(stated)}, as the oracle "
            "says; omit it"
        )
    return given or stated or 0


def _prepare(
    participation: Participation, client: CouncilClient, case: DisputeCase, call: UnsignedCall
) -> None:
    """Check that an account can dispute an answer, and show the costs and gains.

    Raises: ConfigError: no dispute is possible.
    """
    bond, max_bond = call.value_wei, participation.limits.max_bond
    request = case.view.request
    if bond > max_bond:
        raise ConfigError(
            f"request {request.request_id}: the dispute's bond of {format_amount(bond)} is above "
            f"--max-bond {format_amount(max_bond)}"
        )
    head, balance = client.read_head(), client.read_balance(call.sender)
    require_bond(balance, call.sender, bond, 0)
    try:
        gas = add_gas_margin(client.estimate_gas(call), head)
    except RejectedCallError as error:
        raise ConfigError(
            f"request {request.request_id}: can't be disputed: {explain_rejection(error)}"
        ) from error
    gas_cost = gas * participation.fees.cap(quote_fees(client, head), gas).fee
    require_bond(balance, call.sender, bond, gas_cost)
    stakes = compute_stakes(request, client.read_dispute_terms(), bond)
    participation.output.write_facts(
        "stakes",
        {
            "request": request.request_id,
            "question": sanitize(request.query, MAX_SHOWN),
            "answer": _describe_answer(client, case),
            "window": f"closes in {case.view.ends_at - case.now:,} s",
            "bond": f"{format_amount(bond)}, sent with the transaction; nothing is approved",
            "gas": f"{gas:,} at most, for {format_amount(_round_up(gas_cost))} at most",
            **_describe_ends(client, request, stakes),
        },
        {
            "request": request.request_id,
            "question": request.query,
            "answer": case.view.answer.decode(errors="replace"),
            "closesAt": case.view.ends_at,
            "bondWei": str(bond),
            "gas": gas,
            "gasCostWei": str(gas_cost),
            "gain": None if stakes is None else str(stakes.gain),
            "gainToken": to_checksum_address(request.reward_token),
            "judgePartWei": None if stakes is None else str(stakes.judge_part),
        },
    )


def _describe_ends(
    client: CouncilClient, request: CouncilRequest, stakes: DisputeStakes | None
) -> dict[str, str]:
    """Return how a dispute can end, and what each end brings."""
    terms = client.read_dispute_terms()
    if stakes is None or terms is None:
        return {"ends": "by the oracle's own rules, which ERC-8033 does not show"}
    count = terms.judge_count
    lost = f"{format_amount(stakes.judge_part)} to the judges"
    return {
        "judges": f"{count}; {count // 2 + 1} must name the same answer and winners to overturn",
        "if overturned": f"the bond comes back, with {_describe_gain(request, stakes)}",
        "if upheld": f"the bond is lost: {lost}, the rest to the winners and the requester",
        "if undecided": "too few judges, or no majority: the answer stands, and the bond comes "
        "back",
    }


def _round_up(wei: int) -> int:
    """Return an amount without the digits below a millionth of an ether."""
    return -(-wei // SHOWN_WEI) * SHOWN_WEI


def _describe_answer(client: CouncilClient, case: DisputeCase) -> str:
    answer = sanitize(case.view.answer.decode(errors="replace"), MAX_SHOWN)
    if case.view.judge == NOBODY:
        return f"{answer}, by more than half of the votes"
    judge = to_checksum_address(case.view.judge)
    said = client.find_event("JudgeReasoned", case.view.request.request_id)
    if said is None:
        return f"{answer}, by the judge {judge}"
    reasons = sanitize(bytes(said[1]).decode(errors="replace"), MAX_SHOWN)
    return f"{answer}, by the judge {judge}: “{reasons}”"


def _describe_gain(request: CouncilRequest, stakes: DisputeStakes) -> str:
    if request.is_native:
        return f"{format_amount(stakes.gain)} of the judge's fee"
    token = to_checksum_address(request.reward_token)
    return f"{stakes.gain:,} of the token {token}, of the judge's fee"
