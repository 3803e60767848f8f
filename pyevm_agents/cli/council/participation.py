"""Options of participants in a council, and the run of a participant's command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents.cli.council.output import CouncilOutput
from pyevm_agents.cli.errors import MISTAKE_STATUS
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.keystore import add_keystore_options
from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.signing import chain_id_option, max_fee_option
from pyevm_agents.cli.options.types import ADDRESS_TYPE, REQUEST_NUMBER_TYPE
from pyevm_agents.cli.options.worker import (
    MAX_CONFIRMATIONS,
    WEEK_SECONDS,
    WorkerOptions,
    open_worker,
    poll_option,
    run_until_signal,
)
from pyevm_agents.client.transaction_manager import FeeSettings
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.council_worker import CouncilSettings
from pyevm_agents.council.limits import RequestLimits
from pyevm_agents.council.store import CouncilStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.signing import FeeBounds
    from pyevm_agents.council.council_worker import CouncilWorker

DEFAULT_MAX_BOND = "0.1ether"
NO_LIMIT_WEI = 2**256
DEFAULT_COMMAND_SECONDS = 600.0
RACE_POLLS = 5
"""Looks at the chain in whose time info agents spread their commitments."""

oracle_option = click.option(
    "--oracle",
    "oracle",
    required=True,
    metavar="ADDRESS",
    type=ADDRESS_TYPE,
    envvar="COUNCIL_ORACLE",
    show_envvar=True,
    help="Address of the council: an AgentCouncilOracle, or another oracle of ERC-8033.",
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
    type=REQUEST_NUMBER_TYPE,
    multiple=True,
    metavar="NUMBER",
    help="Only this request; may be repeated.",
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
        "--all", "takes_all", is_flag=True,
        help="Take all requests within the limits, whoever asks them. One of --request, "
        "--min-reward and --all is needed.",
    ),
    click.option(
        "--max-bond", type=AMOUNT_TYPE, default=DEFAULT_MAX_BOND, show_default=True,
        metavar="AMOUNT", help="Take no request with a larger bond.",
    ),
    click.option(
        "--min-reward", type=AMOUNT_TYPE, metavar="AMOUNT",
        help="Take all requests with such a reward at least, shared by the council. For a token, "
        "in its base units.",
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
class Participation(WorkerOptions):
    """The options of a participant."""

    limits: RequestLimits
    settings: CouncilSettings
    is_once: bool
    output: CouncilOutput


def add_participant_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a participant to a command, as the parameter `participation`."""
    return add_participation(command, _OPTIONS)


def add_participation(
    command: Callable[..., None], options: Sequence[Callable[..., Any]]
) -> Callable[..., None]:
    """Add some of a participant's options to a command, as the parameter `participation`."""
    return add_option_group(command, "participation", build_participation, options)


def build_participation(  # noqa: PLR0913 - one for each option
    *,
    url: str,
    oracle: bytes,
    key: PrivateKey,
    chain_id: int | None,
    turn_seconds: int,
    poll_interval: float,
    max_fee: FeeBounds | None,
    store: Path | None,
    once: bool,
    as_json: bool,
    confirmations: int = 1,
    request_ids: Sequence[int] = (),
    takes_all: bool | None = None,
    max_bond: int = NO_LIMIT_WEI,
    min_reward: int | None = None,
    reward_tokens: Sequence[bytes] = (),
    capabilities: Sequence[str] = (),
    domains: Sequence[str] = (),
    no_withdraw: bool = False,
    dry_run: bool = False,
) -> Participation:
    """Return a participant's options.

    Input:  the values of the options; defaults of the others. takes_all: None for a participant
        that puts up no bonds for the requests of others.
    Raises: click.UsageError: nothing says which requests are taken.
    """
    if takes_all is False and not request_ids and not min_reward:
        raise click.UsageError(
            "which requests? Pass --request NUMBER, --min-reward AMOUNT, or --all to put up bonds "
            "for whatever anybody asks, up to --max-bond each"
        )
    return Participation(
        url=url,
        oracle=oracle,
        key=key,
        chain_id=chain_id,
        store=store,
        fees=FeeSettings.within(max_fee),
        limits=RequestLimits(
            max_bond=max_bond,
            min_reward=min_reward or 1,
            reward_tokens=frozenset(reward_tokens),
            capabilities=frozenset(capabilities),
            domains=frozenset(domains),
            request_ids=frozenset(request_ids),
        ),
        settings=CouncilSettings(
            confirmations=confirmations,
            turn_seconds=turn_seconds,
            poll_seconds=poll_interval,
            is_dry=dry_run,
            race_seconds=RACE_POLLS * poll_interval,
            withdraws=not no_withdraw,
        ),
        is_once=once,
        output=CouncilOutput(is_json=as_json),
    )


def take_part(
    participation: Participation,
    kind: type[CouncilWorker],
    prepare: Callable[[CouncilClient, CouncilStore], Mapping[str, Any]] = lambda *_: {},
) -> None:
    """Check the chain, and take part until Ctrl-C or SIGTERM; or once.

    Input:
        participation: the options.
        kind: the participant's class.
        prepare: returns the arguments of the class beside those of `CouncilWorker`.

    Raises: ConfigError: another chain, no council, or no ether.
    """

    def build(client: CouncilClient, store: CouncilStore, chain_id: int) -> CouncilWorker:
        return kind(
            client,
            store,
            key=participation.key,
            chain_id=chain_id,
            limits=participation.limits,
            settings=participation.settings,
            fees=participation.fees,
            log=participation.output,
            **prepare(client, store),
        )

    with open_worker(
        CouncilClient(participation.url, participation.oracle),
        participation,
        CouncilStore,
        build,
        check=CouncilClient.require_council,
        folder="council",
        role=kind.role,
    ) as worker:
        run_until_signal(worker, worker.run_once if participation.is_once else None)
        participation.output.write_summary(worker.log.counts)
        if participation.is_once and worker.unknown:  # The event `unknown` says it.
            click.get_current_context().exit(MISTAKE_STATUS)


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
