"""`pyevm-agents oracle run`: the worker."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.keystore import add_keystore_options
from pyevm_agents.cli.options.models import allow_host_option
from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.signing import chain_id_option, max_fee_option
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.options.worker import (
    MAX_CONFIRMATIONS,
    WEEK_SECONDS,
    WorkerOptions,
    open_worker,
    poll_option,
    run_until_signal,
)
from pyevm_agents.cli.options.worker_models import add_model_options, hardfork_option
from pyevm_agents.cli.worker_output import WorkerOutput
from pyevm_agents.client.head_subscription import HeadSubscription
from pyevm_agents.client.transaction_manager import FeeSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.recomputation import ModelOptions, open_computer
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.oracle.worker import Worker, WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.signing import FeeBounds
    from pyevm_agents.oracle.messages import AnswerComputer

SOCKET_URL = re.compile(r"wss?://\S+")

EXAMPLES = """\b
Examples:
  pyevm-agents oracle run --oracle 0x5FbD… --keystore worker.json
  pyevm-agents oracle run --rpc-url https://node --oracle 0x5FbD… --keystore worker.json \\
      --password-file password.txt --confirmations 3 --metrics-port 9464 --log-format json
"""


ARBITER_EXAMPLES = """\b
Examples:
  pyevm-agents oracle arbitrate --oracle 0x5FbD… --keystore arbiter.json
"""


def _parse_socket(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not SOCKET_URL.fullmatch(value):
        raise click.BadParameter(f"{value!r}: must be a WebSocket URL, such as ws://127.0.0.1:8545")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(WorkerOptions):
    """The options of `oracle run`."""

    open_computer: Callable[[], AnswerComputer]
    """Opens the models that compute answers."""

    output: WorkerOutput
    settings: WorkerSettings = field(default_factory=WorkerSettings)
    metrics_port: int | None = None
    metrics_hosts: frozenset[str] = frozenset()
    ws_url: str | None = None


_WORKER_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    rpc_option,
    click.option(
        "--oracle",
        required=True,
        metavar="ADDRESS",
        type=ADDRESS_TYPE,
        envvar="AGENT_ORACLE",
        show_envvar=True,
        help="The oracle's address.",
    ),
    add_keystore_options,
    chain_id_option,
    click.option(
        "--confirmations",
        type=click.IntRange(1, MAX_CONFIRMATIONS),
        default=1,
        show_default=True,
        metavar="BLOCKS",
        help="Blocks that a request must have, its own included, until it is answered.",
    ),
    click.option(
        "--turn-seconds",
        type=click.IntRange(1, WEEK_SECONDS),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="How long a worker has until the next one takes over, by the chain's time. "
        "The same for all workers.",
    ),
    poll_option,
    click.option(
        "--ws-url",
        metavar="URL",
        callback=_parse_socket,
        help="WebSocket of the node: a new block is looked at as soon as it announces it.",
    ),
    max_fee_option,
    click.option(
        "--max-bumps",
        type=click.IntRange(0, 100),
        default=10,
        show_default=True,
        metavar="COUNT",
        help="How often a transaction that is not mined is replaced with higher fees.",
    ),
    click.option(
        "--store",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File of requests, answers and signed transactions.  [default: one for each chain, "
        "oracle and worker in the user's state folder]",
    ),
    click.option(
        "--metrics-port",
        type=click.IntRange(0, 65_535),
        metavar="PORT",
        help="Serve /metrics for Prometheus and /health on 127.0.0.1.",
    ),
    allow_host_option,
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Lines to read, or JSON objects.",
    ),
    add_model_options,
    hardfork_option,
)


def add_worker_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a worker to a command, as the parameter `job`."""
    return add_option_group(command, "job", _build_options, _WORKER_OPTIONS)


def _build_options(  # noqa: PLR0913 - one for each option
    *,
    url: str,
    oracle: bytes,
    key: PrivateKey,
    chain_id: int | None,
    confirmations: int,
    turn_seconds: int,
    poll_interval: float,
    ws_url: str | None,
    max_fee: FeeBounds | None,
    max_bumps: int,
    store: Path | None,
    metrics_port: int | None,
    hosts: tuple[str, ...],
    log_format: str,
    options: ModelOptions,
    hardfork: str | None,
) -> RunOptions:
    output = WorkerOutput(is_json=log_format == "json")
    options = replace(options, progress=output.on_progress)
    return RunOptions(
        url=url,
        oracle=oracle,
        key=key,
        chain_id=chain_id,
        store=store,
        fees=FeeSettings.within(max_fee, max_bumps=max_bumps),
        open_computer=partial(open_computer, url, options, hardfork=hardfork),
        output=output,
        settings=WorkerSettings(
            confirmations=confirmations, turn_seconds=turn_seconds, poll_seconds=poll_interval
        ),
        metrics_port=metrics_port,
        metrics_hosts=frozenset(hosts),
        ws_url=ws_url,
    )


@click.command(epilog=EXAMPLES)
@add_worker_options
@click.option(
    "--watch", is_flag=True, help="Compute the proposals of others, and challenge wrong ones."
)
def run(job: RunOptions, *, watch: bool) -> None:
    """Answer the requests of an AgentOracle.

    For each request the worker forks the chain at the request's block, runs the model there, and
    hands in the signed answer. After a request's deadline the worker gives the fee back. Several
    workers share an oracle by turns.

    The worker goes on after faults of the node or the model, and from the last step after a kill.
    Ctrl-C ends the worker.
    """
    run_worker(replace(job, settings=replace(job.settings, is_watching=watch)))


@click.command(epilog=ARBITER_EXAMPLES)
@add_worker_options
def arbitrate(job: RunOptions) -> None:
    """Rule on challenged answers of a ChallengeableOracle, as the arbiter.

    For each challenge the arbiter forks the chain at the request's block, runs the model there, and
    hands in the hash of that answer: the account with another answer loses the bond. The arbiter
    answers no requests.

    The arbiter goes on after faults of the node or the model, and from the last step after a kill.
    Ctrl-C ends the arbiter.
    """
    run_worker(job, is_arbiter=True)


def run_worker(options: RunOptions, *, is_arbiter: bool = False) -> None:
    """Check the chain, and work until Ctrl-C or SIGTERM.

    Input: the options; whether the worker rules on challenges, in place of answering.
    Raises: ConfigError: another chain, no oracle, or the key can't work for the oracle.
    """
    output, computer = options.output, options.open_computer()

    def check(client: OracleClient) -> None:
        client.require_oracle()
        if is_arbiter:
            require_arbiter(client, options.address)
        else:
            require_worker(client, options.address, is_watching=options.settings.is_watching)

    def build(client: OracleClient, store: WorkerStore, chain_id: int) -> Worker:
        return Worker(
            client,
            computer,
            store,
            options.key,
            chain_id=chain_id,
            settings=options.settings,
            fees=options.fees,
            log=output,
        )

    client = OracleClient(options.url, options.oracle)
    with (
        open_worker(client, options, WorkerStore, build, check=check, folder="oracle") as worker,
        ExitStack() as stack,
    ):
        if options.metrics_port is not None:
            from pyevm_agents.server.metrics_server import (  # noqa: PLC0415 - imports the server
                MetricsServer,
            )

            server = stack.enter_context(
                MetricsServer(worker, options.metrics_port, allowed_hosts=options.metrics_hosts)
            )
            output.write("metrics", url=f"{server.url}/metrics")
        if options.ws_url is not None:
            stack.enter_context(HeadSubscription(options.ws_url, worker.wake))
        run_until_signal(worker)
        output.write_summary(worker.log.counts)
        if not worker.is_computing:  # It would wait for the model; the process ends it.
            computer.close()


def require_worker(client: OracleClient, worker: bytes, *, is_watching: bool) -> None:
    """Check that a key can work for an oracle.

    Raises: ConfigError: not registered.
    """
    name = to_checksum_address(worker)
    if worker not in client.read_workers() and not is_watching:
        raise ConfigError(
            f"worker {name}: is not registered with the oracle "
            f"{to_checksum_address(client.oracle)}; its owner registers it by `oracle worker add`"
        )


def require_arbiter(client: OracleClient, address: bytes) -> None:
    """Check that a key is an oracle's arbiter.

    Raises: ConfigError: another key, or an oracle without an arbiter.
    """
    oracle, terms = to_checksum_address(client.oracle), client.read_terms()
    if terms is None:
        raise ConfigError(
            f"oracle {oracle}: is no ChallengeableOracle, so there is nothing to rule on; pass the "
            "address that `oracle deploy --challengeable` printed"
        )
    if terms.arbiter != address:
        raise ConfigError(
            f"key of {to_checksum_address(address)}: is not the arbiter of the oracle {oracle}, "
            f"which is {to_checksum_address(terms.arbiter)}; pass that one's keystore"
        )
