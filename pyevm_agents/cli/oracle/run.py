"""`pyevm-agents oracle run`: the worker."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.keystore import add_keystore_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.options.worker_models import add_model_options, hardfork_option
from pyevm_agents.cli.oracle.worker_output import WorkerOutput
from pyevm_agents.cli.rpc_client import RpcClient, rpc_option
from pyevm_agents.client.head_subscription import HeadSubscription
from pyevm_agents.client.transactions import GWEI, FeeSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.recomputation import ModelOptions, open_computer
from pyevm_agents.oracle.store import StoreIdentity, WorkerStore
from pyevm_agents.oracle.worker import Worker, WorkerSettings
from pyevm_agents.workers.metrics_server import MetricsServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import ChainClient
    from pyevm_agents.oracle.messages import AnswerComputer
    from pyevm_agents.workers.round_loop import RoundLoop

SOCKET_URL = re.compile(r"wss?://\S+")
MAX_CONFIRMATIONS = 10_000
WEEK_SECONDS = 7 * 24 * 3_600
JOIN_SECONDS = 0.2

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
class RunOptions:
    """The options of `oracle run`, but for models and key."""

    url: str
    oracle: bytes
    chain_id: int | None = None
    store: Path | None = None
    settings: WorkerSettings = field(default_factory=WorkerSettings)
    fees: FeeSettings = field(default_factory=FeeSettings)
    metrics_port: int | None = None
    ws_url: str | None = None


chain_id_option = click.option(
    "--chain-id", type=click.IntRange(1), metavar="ID", help="Chain ID that the node must have."
)
poll_option = click.option(
    "--poll-interval",
    type=click.FloatRange(0.05, 3_600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks at the chain.",
)
max_fee_option = click.option(
    "--max-fee",
    type=click.FloatRange(0, min_open=True),
    default=500.0,
    show_default=True,
    metavar="GWEI",
    help="The most that one gas may cost.",
)

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
    """Add the options of a worker to a command, which gets what `WorkerJob` has."""

    @wraps(command)
    def start(  # noqa: PLR0913 - one for each option
        remote: RpcClient,
        *,
        oracle: bytes,
        key: PrivateKey,
        chain_id: int | None,
        confirmations: int,
        turn_seconds: int,
        poll_interval: float,
        ws_url: str | None,
        max_fee: float,
        max_bumps: int,
        store: Path | None,
        metrics_port: int | None,
        log_format: str,
        options: ModelOptions,
        hardfork: str | None,
        **values: Any,  # noqa: ANN401 - the command's own options
    ) -> None:
        run_options = RunOptions(
            url=remote.url,
            oracle=oracle,
            chain_id=chain_id,
            store=store,
            settings=WorkerSettings(
                confirmations=confirmations,
                turn_seconds=turn_seconds,
                poll_seconds=poll_interval,
            ),
            fees=FeeSettings(max_fee_wei=int(max_fee * GWEI), max_bumps=max_bumps),
            metrics_port=metrics_port,
            ws_url=ws_url,
        )
        output = WorkerOutput(is_json=log_format == "json")
        options = replace(options, progress=output.on_progress)
        open_models = partial(open_computer, remote.url, options, hardfork=hardfork)
        command(WorkerJob(run_options, key, open_models, output), **values)

    result: Callable[..., None] = start
    for option in reversed(_WORKER_OPTIONS):
        result = option(result)
    return result


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """What a command of a worker got from its options."""

    options: RunOptions
    key: PrivateKey
    open_computer: Callable[[], AnswerComputer]
    output: WorkerOutput


@click.command(short_help="Answer an oracle's requests.", epilog=EXAMPLES)
@add_worker_options
@click.option(
    "--watch", is_flag=True, help="Compute the proposals of others, and challenge wrong ones."
)
def run(job: WorkerJob, *, watch: bool) -> None:
    """Answer the requests of an AgentOracle.

    For each request it forks the chain at the request's block, runs the model there, and hands in
    the signed answer. After a request's deadline it gives the fee back. Several workers share an
    oracle by turns.

    It goes on after faults of the node or the model, and where it was after it was killed. Ctrl-C
    ends it.
    """
    settings = replace(job.options.settings, is_watching=watch)
    options = replace(job.options, settings=settings)
    run_worker(options, job.key, job.open_computer(), job.output)


@click.command(short_help="Rule on the challenges of an oracle.", epilog=ARBITER_EXAMPLES)
@add_worker_options
def arbitrate(job: WorkerJob) -> None:
    """Rule on challenged answers of a ChallengeableOracle, as its arbiter.

    For each challenge it forks the chain at the request's block, runs the model there, and tells
    the oracle the hash of that answer: whoever computed another one loses its bond. It answers no
    requests.

    It goes on after faults of the node or the model, and where it was after it was killed. Ctrl-C
    ends it.
    """
    run_worker(job.options, job.key, job.open_computer(), job.output, is_arbiter=True)


def run_worker(
    options: RunOptions,
    key: PrivateKey,
    computer: AnswerComputer,
    output: WorkerOutput,
    *,
    is_arbiter: bool = False,
) -> None:
    """Check the chain, and work until Ctrl-C or SIGTERM.

    Input: the options; the worker's key; computes the answers, closed here; where events go;
           whether it rules on challenges, in place of answering.
    Raises: ConfigError: another chain, no oracle, or the key can't work for it.
    """
    client = OracleClient(options.url, options.oracle)
    worker_address = bytes(key.public_key.to_canonical_address())
    with ExitStack() as stack:
        stack.callback(client.close)
        chain_id = require_chain(client, options.chain_id)
        client.require_oracle()
        if is_arbiter:
            require_arbiter(client, worker_address)
        else:
            require_worker(client, worker_address, is_watching=options.settings.is_watching)
        require_ether(client, worker_address)
        identity = StoreIdentity(
            chain_id=chain_id,
            genesis_hash=client.read_genesis_hash(),
            oracle=options.oracle,
            worker=worker_address,
        )
        store = stack.enter_context(
            WorkerStore(options.store or get_store_path(identity), identity)
        )
        worker = Worker(
            client,
            computer,
            store,
            key,
            chain_id=chain_id,
            settings=options.settings,
            fees=options.fees,
            log=output,
        )
        if options.metrics_port is not None:
            server = stack.enter_context(MetricsServer(worker, options.metrics_port))
            output.write("metrics", url=f"{server.url}/metrics")
        if options.ws_url is not None:
            stack.enter_context(HeadSubscription(options.ws_url, worker.wake))
        run_until_signal(worker)
        output.write_summary(worker.log.counts)
        if not worker.is_computing:  # It would wait for the model; the process ends it.
            computer.close()


def run_until_signal(worker: RoundLoop, work: Callable[[], None] | None = None) -> None:
    """Run a worker until it ends, or SIGINT or SIGTERM ends it.

    Input: what it does; None for its `run`.

    A handler only notes the signal: it may run while the main thread holds a lock.
    """
    failures: list[BaseException] = []
    signals: list[int] = []

    def try_work() -> None:
        try:
            (worker.run if work is None else work)()
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            failures.append(error)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda caught, _: signals.append(caught)) for number in numbers]
    thread = threading.Thread(target=try_work, name="worker", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(JOIN_SECONDS)
            if signals:
                worker.stop()
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    if failures:
        raise failures[0]


def require_chain(client: ChainClient, expected: int | None) -> int:
    """Return the node's chain ID.

    Raises: ConfigError: another one is expected.
    """
    chain_id = client.read_chain_id()
    if expected not in {None, chain_id}:
        raise ConfigError(
            f"chain ID {chain_id} at {client.host}: must be {expected}; pass the URL of a node of "
            "that chain, or another --chain-id"
        )
    return chain_id


def require_worker(client: OracleClient, worker: bytes, *, is_watching: bool) -> None:
    """Check that a key can work for an oracle.

    Raises: ConfigError: it is not registered.
    """
    name = to_checksum_address(worker)
    if worker not in client.read_workers() and not is_watching:
        raise ConfigError(
            f"worker {name}: is not registered with the oracle "
            f"{to_checksum_address(client.oracle)}; its owner registers it by `oracle worker add`"
        )


def require_arbiter(client: OracleClient, address: bytes) -> None:
    """Check that a key is an oracle's arbiter.

    Raises: ConfigError: it is not, or the oracle has none.
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


def require_ether(client: ChainClient, address: bytes, role: str = "worker") -> None:
    """Raises: ConfigError: an account has no ether."""
    if client.read_balance(address) == 0:
        name = to_checksum_address(address)
        raise ConfigError(f"{role} {name}: has no ether to pay for transactions; send it some")


def get_store_path(identity: StoreIdentity) -> Path:
    """Return the default store of a worker, in the user's state folder.

    Raises: ConfigError: the user has no home folder.
    """
    name = f"{identity.chain_id}-{identity.oracle.hex()}-{identity.worker.hex()}.sqlite3"
    return get_state_folder() / "oracle" / name


def get_state_folder() -> Path:
    """Return this package's folder of state for the user.

    Raises: ConfigError: the user has no home folder.
    """
    named = os.environ.get("XDG_STATE_HOME", "")
    if Path(named).is_absolute():
        folder = Path(named)
    else:
        try:
            home = Path.home()
        except RuntimeError as error:
            raise ConfigError("there is no home folder; pass a file with --store") from error
        is_mac = sys.platform == "darwin"
        folder = home / ("Library/Application Support" if is_mac else ".local/state")
    return folder / "pyevm-agents"
