"""`pyevm-agents council watch`: all requests of a council, and due acts."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address
from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.council.commitment_output import print_commitments
from pyevm_agents.cli.council.participation import (
    build_participation,
    json_option,
    once_option,
    oracle_option,
    request_option,
    store_option,
    take_part,
    turn_option,
)
from pyevm_agents.cli.options.keystore import password_file_option, unlock
from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.sender import keystore_option
from pyevm_agents.cli.options.signing import chain_id_option, max_fee_option, require_chain
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.options.worker import poll_option
from pyevm_agents.cli.output import err, out, print_table
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.decisions import is_overdue, list_actors, list_erc_actors, pass_time
from pyevm_agents.council.messages import (
    NO_END,
    NOBODY,
    RequestPhase,
    RequestView,
    describe_request,
)
from pyevm_agents.council.participants import Keeper
from pyevm_agents.display import format_amount, sanitize
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyevm_agents.client.signing import FeeBounds

MAX_QUESTION = 120
COLUMNS = ("request", "question", "phase", "ends", "reward", "bond", "who can act")
FOLDED = frozenset({"question", "who can act"})

EXAMPLES = """\b
Examples:
  pyevm-agents council watch --oracle 0x5FbD… --once
  pyevm-agents council watch --oracle 0x5FbD… --advance --keystore keeper.json
"""


@click.command(epilog=EXAMPLES)
@rpc_option
@oracle_option
@chain_id_option
@request_option
@click.option(
    "--advance",
    is_flag=True,
    help="End phases whose time is over, draw judges, share rewards, and call requesters back that "
    "are contracts. Needs --keystore.",
)
@click.option(
    "--withdraw-for", "payees", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
    help="With --advance: send this account what it may withdraw. For contracts that know "
    "ERC-8033 alone. Repeatable.",
)  # fmt: skip
@keystore_option
@password_file_option
@turn_option
@poll_option
@max_fee_option
@store_option
@once_option
@json_option
def watch(  # noqa: PLR0913 - one for each option
    url: str,
    *,
    oracle: bytes,
    chain_id: int | None,
    request_ids: tuple[int, ...],
    advance: bool,
    payees: tuple[bytes, ...],
    keystore: Path | None,
    password_file: Path | None,
    turn_seconds: int,
    poll_interval: float,
    max_fee: FeeBounds | None,
    store: Path | None,
    once: bool,
    as_json: bool,
) -> None:
    """Show the requests of a council: phases, and accounts that can act.

    All are printed, and then those that change, until Ctrl-C. With --advance the command does, in
    place of that, the acts that are open to all, and pays the gas.
    """
    if payees and not advance:
        raise click.UsageError("--withdraw-for: needs --advance, whose account pays the gas")
    if not advance:
        with closing(CouncilClient(url, oracle)) as client:
            require_chain(client, chain_id)
            client.require_council()
            _follow(client, frozenset(request_ids), poll_interval, is_once=once, as_json=as_json)
        return
    if keystore is None:
        raise click.UsageError("--advance: needs --keystore FILE, whose account pays the gas")
    participation = build_participation(
        url=url,
        oracle=oracle,
        key=unlock(keystore, password_file),
        chain_id=chain_id,
        request_ids=request_ids,
        turn_seconds=turn_seconds,
        poll_interval=poll_interval,
        max_fee=max_fee,
        store=store,
        once=once,
        as_json=as_json,
        no_withdraw=not payees,
    )
    take_part(participation, Keeper, lambda *_: {"payees": payees})


def _follow(
    client: CouncilClient,
    request_ids: frozenset[int],
    poll_seconds: float,
    *,
    is_once: bool,
    as_json: bool,
) -> None:
    """Print all requests, then those that change."""
    terms = client.read_terms()
    _tell_commitments(client, is_quiet=as_json)
    printed: dict[int, tuple[object, ...]] = {}
    is_first = True
    while True:
        head = client.read_head()
        now = client.read_time(head)
        numbers = client.list_request_ids(head.number)
        unknown = [each for each in sorted(request_ids) if each not in numbers]
        if unknown and is_first:
            _tell_unknown(unknown, numbers, is_once=is_once)
        chosen = [each for each in numbers if not request_ids or each in request_ids]
        views = [pass_time(each, now, terms) for each in client.read_views(chosen, head.number)]
        changed = [
            each for each in views if printed.get(each.request.request_id) != _sum_up(each, now)
        ]
        if changed or (is_first and not unknown):
            _print(client, changed, now, head.number, as_json=as_json)
        printed |= {each.request.request_id: _sum_up(each, now) for each in changed}
        is_first = False
        if is_once:
            return
        time.sleep(poll_seconds)


def _tell_commitments(client: CouncilClient, *, is_quiet: bool) -> None:
    """Print which form commitments have, which agents must know before they pay a bond."""
    if is_quiet:
        return
    head = client.read_head()
    views = client.read_views(client.list_request_ids(head.number)[-1:], head.number)
    request = views[0].request if views and views[0].phase is RequestPhase.COMMIT else None
    print_commitments(client, request)


def _tell_unknown(unknown: Sequence[int], known: Sequence[int], *, is_once: bool) -> None:
    """Report that requests do not exist. Raises: ConfigError: without a wait for such requests."""
    names = ", ".join(map(str, unknown))
    last = f"its last one is {known[-1]:,}" if known else "it has none"
    told = f"request {names}: the council has no such request; {last}"
    if is_once:
        raise ConfigError(told)
    err.print(f"{told}; it is shown when it is made", highlight=False)


def _sum_up(view: RequestView, now: int) -> tuple[object, ...]:
    """Return the values whose change prints a request again."""
    counts = (len(view.commits), len(view.reveals))
    return (
        *(view.key, view.phase, view.ends_at, counts),
        *(view.panel, view.dispute_panel, is_overdue(view, now), view.callback),
    )


def _print(
    client: CouncilClient, views: Sequence[RequestView], now: int, head: int, *, as_json: bool
) -> None:
    if as_json:
        for each in views:
            form = _serialize(client, each, now, head)
            click.echo(json.dumps(form, ensure_ascii=False))
        return
    if not views:
        out.print("The council has no requests.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in COLUMNS:
        table.add_column(name, no_wrap=name not in FOLDED, overflow="fold")
    for each in views:
        table.add_row(*map(escape, _describe(client, each, now, head)))
    print_table(table)


def _describe(client: CouncilClient, view: RequestView, now: int, head: int) -> list[str]:
    request = view.request
    reward = f"{request.reward:,} of a token"
    if request.is_native:
        reward = format_amount(request.reward)
    is_over = view.phase.has_ended or is_overdue(view, now)
    return [
        str(request.request_id),
        sanitize(request.query, MAX_QUESTION),
        view.phase.name.lower().replace("_", "\n"),
        "over" if is_over else _format_end(view.ends_at, now),
        reward,
        format_amount(request.bond),
        _list_actors(client, view, now, head),
    ]


def _list_actors(client: CouncilClient, view: RequestView, now: int, head: int) -> str:
    if client.erc is None:
        return list_actors(view, now, head)
    return list_erc_actors(view, now)


def _format_end(ends_at: int, now: int) -> str:
    """Return the time until a phase ends, in the largest unit."""
    if ends_at >= NO_END:
        return "not stated"
    seconds = ends_at - now
    for name, unit in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= unit:
            return f"in {seconds // unit} {name}"
    return f"in {seconds} s"


def _serialize(client: CouncilClient, view: RequestView, now: int, head: int) -> dict[str, object]:
    """Return a request in JSON."""
    panel, dispute = view.panel, view.dispute_panel
    return {
        **describe_request(view.request),
        "phase": view.phase.name.title().replace("_", ""),
        "endsAt": None if view.ends_at >= NO_END else view.ends_at,
        "isOverdue": is_overdue(view, now),
        "whoCanAct": _list_actors(client, view, now, head),
        "agents": [to_checksum_address(each) for each in view.commits],
        "revealed": [to_checksum_address(each) for each in view.reveals],
        "judge": None if view.judge == NOBODY else to_checksum_address(view.judge),
        "candidates": [to_checksum_address(each) for each in panel.candidates],
        "judgeBondWei": str(panel.bond),
        "disputeJudges": [to_checksum_address(each) for each in dispute.judges],
        "disputeCandidates": [to_checksum_address(each) for each in dispute.candidates],
        "disputeJudgeBondWei": str(dispute.bond),
        "judged": [to_checksum_address(each) for each in dispute.judges if each in dispute.judged],
        "seedBlock": view.seed_block if 0 < view.seed_block < NO_END else None,
        "callback": view.callback.value,
        "finalAnswer": view.answer.decode(errors="replace"),
    }
