"""Options of those who take part in a council, and how a command of theirs runs."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents.cli.council.output import CouncilOutput
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.keystore import add_keystore_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.run import (
    MAX_CONFIRMATIONS,
    WEEK_SECONDS,
    chain_id_option,
    get_state_folder,
    max_fee_option,
    poll_option,
    require_chain,
    require_ether,
    run_until_signal,
)
from pyevm_agents.cli.rpc_client import RpcClient, rpc_option
from pyevm_agents.client.transactions import GWEI, FeeSettings
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.council_worker import CouncilSettings
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.store import CouncilIdentity, CouncilStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.council.council_worker import CouncilWorker

DEFAULT_MAX_BOND = "0.1ether"
DEFAULT_COMMAND_SECONDS = 600.0

oracle_option = click.option(
    "--oracle",
    "oracle",
    required=True,
    metavar="ADDRESS",
    type=ADDRESS_TYPE,
    envvar="COUNCIL_ORACLE",
    show_envvar=True,
    help="Address of the AgentCouncilOracle.",
)
once_option = click.option(
    "--once", is_flag=True, help="Do what is due now, wait until it is mined, and end."
)
json_option: Callable[..., Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON objects, one a line."
)
request_option = click.option(
    "--request",
    "request_ids",
    type=click.IntRange(1),
    multiple=True,
    metavar="NUMBER",
    help="Only this request; may be repeated.  [default: all that the limits allow]",
)
turn_option = click.option(
    "--turn-seconds",
    type=click.IntRange(0, WEEK_SECONDS),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long one participant leaves what anybody may do, such as advance, to the one before.",
)
store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of answers, nonces and signed transactions. Who loses it loses the bonds.  "
    "[default: one for each chain, council and account in the user's state folder]",
)
timeout_option = click.option(
    "--command-timeout",
    type=click.FloatRange(0, min_open=True),
    default=DEFAULT_COMMAND_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="After so long the command is ended, and tried again later.",
)
confirmations_option = click.option(
    "--confirmations",
    type=click.IntRange(1, MAX_CONFIRMATIONS),
    default=1,
    show_default=True,
    metavar="BLOCKS",
    help="Blocks, its own included, that a request must have until it is joined, a commitment "
    "until it is revealed, and answers until they are judged or disputed.",
)
no_withdraw_option = click.option(
    "--no-withdraw", is_flag=True, help="Leave in the council what is earned."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done; keep and send nothing."
)

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    rpc_option,
    oracle_option,
    add_keystore_options,
    chain_id_option,
    request_option,
    click.option(
        "--max-bond", type=AMOUNT_TYPE, default=DEFAULT_MAX_BOND, show_default=True,
        metavar="AMOUNT", help="Take no request with a larger bond.",
    ),
    click.option(
        "--min-reward", type=AMOUNT_TYPE, default="1wei", show_default=True, metavar="AMOUNT",
        help="Take no request with a smaller reward, shared by the council. For a token, in its "
        "base units.",
    ),
    click.option(
        "--reward-token", "reward_tokens", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="Take requests that pay in this token too; may be repeated.",
    ),
    click.option(
        "--capability", "capabilities", multiple=True, metavar="NAME",
        help="A capability that requests may require, such as text; may be repeated.",
    ),
    click.option(
        "--domain", "domains", multiple=True, metavar="NAME",
        help="An area of expertise that requests may require; may be repeated.",
    ),
    confirmations_option,
    turn_option,
    poll_option,
    max_fee_option,
    store_option,
    no_withdraw_option,
    dry_run_option,
    once_option,
    json_option,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Participation:
    """The options of who takes part."""

    url: str
    oracle: bytes
    key: PrivateKey
    chain_id: int | None
    limits: RequestLimits
    settings: CouncilSettings
    fees: FeeSettings
    store: Path | None
    is_once: bool
    output: CouncilOutput


def add_participant_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a participant to a command, which gets them as `participation`."""

    @wraps(command)
    def run(remote: RpcClient, **values: Any) -> None:  # noqa: ANN401 - of the options
        take = values.pop
        participation = Participation(
            url=remote.url,
            oracle=take("oracle"),
            key=take("key"),
            chain_id=take("chain_id"),
            limits=RequestLimits(
                max_bond=take("max_bond"),
                min_reward=take("min_reward"),
                reward_tokens=frozenset(take("reward_tokens")),
                capabilities=frozenset(take("capabilities")),
                domains=frozenset(take("domains")),
                request_ids=frozenset(take("request_ids")),
            ),
            settings=CouncilSettings(
                confirmations=take("confirmations"),
                turn_seconds=take("turn_seconds"),
                poll_seconds=take("poll_interval"),
                is_dry=take("dry_run"),
                withdraws=not take("no_withdraw"),
                takes_disputes=values.pop("disputes", False),
            ),
            fees=FeeSettings(max_fee_wei=int(take("max_fee") * GWEI)),
            store=take("store"),
            is_once=take("once"),
            output=CouncilOutput(is_json=take("as_json")),
        )
        command(participation, **values)

    result: Callable[..., None] = run
    for option in reversed(_OPTIONS):
        result = option(result)
    return result


def take_part(participation: Participation, role: str, build: Callable[..., CouncilWorker]) -> None:
    """Check the chain, and take part until Ctrl-C or SIGTERM; or once.

    Input: the options; the role's name; makes the participant, with the arguments of
           `CouncilWorker`.
    Raises: ConfigError: another chain, no council, or no ether.
    """
    with ExitStack() as stack:
        client = CouncilClient(participation.url, participation.oracle)
        stack.callback(client.close)
        chain_id = require_chain(client, participation.chain_id)
        client.require_council()
        account = bytes(participation.key.public_key.to_canonical_address())
        require_ether(client, account, role)
        identity = CouncilIdentity(
            chain_id=chain_id,
            genesis_hash=client.read_genesis_hash(),
            oracle=participation.oracle,
            account=account,
        )
        path = participation.store or get_store_path(identity)
        store = stack.enter_context(CouncilStore(path, identity))
        worker = build(
            client,
            store,
            key=participation.key,
            chain_id=chain_id,
            limits=participation.limits,
            settings=participation.settings,
            fees=participation.fees,
            log=participation.output,
        )
        run_until_signal(worker, worker.run_once if participation.is_once else None)
        participation.output.write_summary(worker.log.counts)


def get_store_path(identity: CouncilIdentity) -> Path:
    """Return the default store of a participant, in the user's state folder."""
    name = f"{identity.chain_id}-{identity.oracle.hex()}-{identity.account.hex()}.sqlite3"
    return get_state_folder() / "council" / name


def parse_command(
    _context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Return the words of a command line; quotes are those of a shell, which is not started."""
    if value is None:
        return None
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from error
    if not words:
        raise click.BadParameter(f"{value!r}: must name a program")
    del option
    return words
