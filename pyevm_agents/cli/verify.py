"""`pyevm-agents verify`: compute an oracle's answer again and compare byte for byte."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address
from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.worker_models import add_model_options, hardfork_option
from pyevm_agents.cli.output import StatusLine, err, json_option, out, print_json, print_table
from pyevm_agents.cli.trace import HASH
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.oracle.recomputation import open_computer
from pyevm_agents.oracle.verification import (
    describe_answer,
    find_answers,
    list_differences,
    verify_answer,
)

if TYPE_CHECKING:
    from pyevm_agents.oracle.recomputation import ModelOptions
    from pyevm_agents.oracle.verification import Verification

DIFFERS_STATUS = 1
UNCHECKED_STATUS = 3

SHOWN_DIGITS = 18
"""Characters of a long hexadecimal value in the table: 0x and eight bytes."""

EXAMPLES = """\b
Examples:
  pyevm-agents verify --rpc-url http://127.0.0.1:8545 0xd574a5d93e9143b07ddadf9fca739213354c4f3d803e486987a1c601561cc3dd
  pyevm-agents verify 0xd574…c3dd --json | jq '.[].isEqual'
"""  # noqa: E501 - a transaction hash


def _parse_hash(_context: click.Context, _argument: click.Parameter, value: str) -> bytes:
    if not HASH.fullmatch(value):
        raise click.BadParameter(
            f"{value!r}: not a transaction hash; must be 0x and 64 hexadecimal digits"
        )
    return bytes.fromhex(value[2:])


@click.command(epilog=EXAMPLES)
@click.argument("transaction", metavar="TX", callback=_parse_hash)
@rpc_option
@add_model_options
@hardfork_option
@json_option
def verify(
    transaction: bytes,
    url: str,
    *,
    options: ModelOptions,
    hardfork: str | None,
    as_json: bool,
) -> None:
    """Check the answers that transaction TX handed in to an AgentOracle.

    Finds the request, forks the chain at the request's block, runs the model there, and compares
    the answer and the evidence byte for byte.

    The exit status is 0 if all is equal, 1 if an answer differs, 2 for a mistake in the options,
    and 3 if no check was possible.
    """
    try:
        verifications = _verify_all(transaction, url, options, hardfork)
    except ConfigError:
        raise
    except AgentsError as error:
        err.print(f"[bold red]Not checked:[/] {escape(str(error))}", soft_wrap=True)
        raise SystemExit(UNCHECKED_STATUS) from error
    if as_json:
        print_json([serialize_verification(each) for each in verifications])
    else:
        for each in verifications:
            print_verification(each)
    if not all(each.is_equal for each in verifications):
        raise SystemExit(DIFFERS_STATUS)


def _verify_all(
    transaction: bytes, url: str, options: ModelOptions, hardfork: str | None
) -> list[Verification]:
    with closing(RemoteClient(url)) as client, StatusLine() as status:
        found = find_answers(client, transaction)
        chain_id = client.request_quantity("eth_chainId")
        options = replace(options, progress=status.on_progress)
        with open_computer(url, options, hardfork=hardfork) as computer:
            return [verify_answer(each, computer, chain_id) for each in found]


def print_verification(verification: Verification) -> None:
    """Print an answer, the computation, and the differences."""
    stated = verification.stated
    commitment = stated.request.commitment
    for name, text in (
        ("Request", f"0x{commitment.request_id:064x}"),
        ("Oracle", to_checksum_address(stated.request.oracle)),
        ("Client", to_checksum_address(commitment.client)),
        ("Worker", to_checksum_address(stated.answered.worker)),
        ("Block", f"{commitment.block_number:,}"),
        *_list_step(verification),
    ):
        out.print(f"[bold]{name.capitalize():<12}[/] {escape(sanitize(text))}", soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for heading in ("", "answered", "computed", ""):
        table.add_column(heading)
    for each in verification.comparisons:
        verdict = "[green]equal[/]" if each.is_equal else "[bold red]differs[/]"
        table.add_row(each.name, _shorten(each.stated), _shorten(each.computed), verdict)
    out.print()
    print_table(table)
    for note in verification.notes:
        out.print(f"Note: {escape(note)}.", soft_wrap=True)
    if verification.is_equal:
        out.print("\n[bold green]equal[/]: the answer is the one that this model gives")
        return
    out.print("\n[bold red]differs[/]: the answer is not the one that this model gives")
    for line in _list_differences(verification):
        out.print(f"  {escape(sanitize(line))}", soft_wrap=True)


def serialize_verification(verification: Verification) -> dict[str, Any]:
    """Return a verification in JSON."""
    stated = verification.stated
    commitment = stated.request.commitment
    answer = stated.answer
    return {
        "isEqual": verification.is_equal,
        "requestId": f"0x{commitment.request_id:064x}",
        "oracle": to_checksum_address(stated.request.oracle),
        "client": to_checksum_address(commitment.client),
        "worker": to_checksum_address(stated.answered.worker),
        "blockNumber": commitment.block_number,
        "isDirect": stated.is_direct,
        "comparisons": {
            each.name: {
                "answered": each.stated,
                "computed": each.computed,
                "isEqual": each.is_equal,
                "isDecisive": each.is_decisive,
            }
            for each in verification.comparisons
        },
        "answered": None if answer is None else dict(describe_answer(answer)),
        "computed": dict(describe_answer(verification.computed.answer)),
        "notes": [*verification.notes],
    }


def _list_step(verification: Verification) -> list[tuple[str, str]]:
    answer = verification.stated.answer
    return [] if answer is None else describe_answer(answer)


def _list_differences(verification: Verification) -> list[str]:
    answer = verification.stated.answer
    if answer is None:
        computed = describe_answer(verification.computed.answer)
        return [f"+{name}: {text}" for name, text in computed]
    return list_differences(describe_answer(answer), describe_answer(verification.computed.answer))


def _shorten(text: str) -> str:
    return f"{text[:SHOWN_DIGITS]}…" if len(text) > SHOWN_DIGITS else text
