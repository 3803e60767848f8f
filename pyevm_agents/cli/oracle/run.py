"""`pyevm-agents oracle run`: the worker that answers an oracle's requests."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from pyevm_agents.cli.oracle.keystore_options import add_keystore_options
from pyevm_agents.cli.oracle_options import add_model_options, hardfork_option
from pyevm_agents.cli.output import StatusLine, err, out
from pyevm_agents.cli.rpc_client import RpcClient, rpc_option
from pyevm_agents.display import pluralize, sanitize
from pyevm_agents.forking.remote_client import RemoteClient
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.recomputation import open_computer
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.oracle.transactions import FeeSettings
from pyevm_agents.oracle.worker import (
    DEFAULT_CONFIRMATIONS,
    DEFAULT_POLL_SECONDS,
    DEFAULT_TURN_SECONDS,
    OracleWorker,
    WorkerSettings,
    check_start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.oracle.recomputation import ModelOptions

GWEI = 10**9
RETRIES = 1
"""Of one request to the node. The loop has its own back-off."""

SHOWN_BYTES = 5
"""Bytes of a request's ID in a line."""

EXAMPLES = """\b
Examples:
  pyevm-agents oracle run --rpc-url http://127.0.0.1:8545 --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore worker.json
  pyevm-agents oracle run --oracle 0x5FbD…0aa3 --keystore worker.json --password-file password.txt --log-format json
"""  # noqa: E501 - an address


class _EventPrinter:
    """Prints the events of a worker, as lines of text or of JSON. Thread-safe."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json, self._lock = is_json, threading.Lock()
        self.counts: Counter[str] = Counter()

    def write(self, event: str, **fields: object) -> None:
        """Print an event."""
        serialized = {
            name: each for name, value in fields.items() if (each := _serialize(value)) is not None
        }
        with self._lock:
            self.counts[event] += 1
            if self._is_json:
                click.echo(
                    json.dumps({"time": round(time.time(), 3), "event": event, **serialized})
                )
            else:
                out.print(_format_line(event, fields), soft_wrap=True)


def _serialize(value: object) -> object:
    """Return a field in JSON: bytes in hexadecimal, a request as its ID."""
    match value:
        case bytes():
            return "0x" + value.hex()
        case (bytes() as request_id, bytes()):
            return "0x" + request_id.hex()
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _format_line(event: str, fields: dict[str, object]) -> str:
    request = fields.get("request")
    name = f"0x{request[0][:SHOWN_BYTES].hex()}…" if isinstance(request, tuple) else ""
    rest = " ".join(
        f"{key} {_serialize(value)}"
        for key, value in fields.items()
        if key != "request" and value is not None
    )
    style = "red" if event in {"fault", "unreachable", "rejected", "refused"} else "cyan"
    clock = time.strftime("%H:%M:%S")
    words = event.replace("_", " ")
    return f"[dim]{clock}[/] [{style}]{words:<12}[/] {name:<13} {escape(sanitize(rest))}".rstrip()


def _parse_address(_context: click.Context, _option: click.Parameter, value: str) -> bytes:
    try:
        address = bytes.fromhex(value.removeprefix("0x"))
    except ValueError:
        address = b""
    if len(address) != 20:  # noqa: PLR2004 - an address
        raise click.BadParameter(f"{value!r}: not an address; must be 0x and 40 hexadecimal digits")
    return address


@click.command(short_help="Answer an oracle's requests.", epilog=EXAMPLES)
@rpc_option
@click.option(
    "--oracle",
    metavar="ADDRESS",
    required=True,
    callback=_parse_address,
    help="The AgentOracle whose requests are answered.",
)
@add_keystore_options
@click.option(
    "--confirmations",
    type=click.IntRange(0, 10_000),
    default=DEFAULT_CONFIRMATIONS,
    show_default=True,
    metavar="N",
    help="Blocks on top of a request's block before it is answered.",
)
@click.option(
    "--turn-seconds",
    type=click.IntRange(1, 86_400),
    default=DEFAULT_TURN_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds of the chain's time after which the next worker answers.",
)
@click.option(
    "--poll-seconds",
    type=click.FloatRange(0.01, 600),
    default=DEFAULT_POLL_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds between two looks at the chain.",
)
@click.option(
    "--max-fee",
    type=click.FloatRange(0, min_open=True),
    default=500.0,
    show_default=True,
    metavar="GWEI",
    help="The most that a gas may cost.",
)
@click.option(
    "--from-block",
    type=click.IntRange(0),
    metavar="N",
    help="First block of a new store.  [default: the first of the last 7 days]",
)
@click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="SQLite file of requests and transactions.  [default: oracle-ORACLE-WORKER.sqlite]",
)
@click.option(
    "--watch",
    "is_watching",
    is_flag=True,
    help="Compute other workers' proposals again, and challenge those that differ.",
)
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="One line of text, or of JSON, for each event.",
)
@add_model_options
@hardfork_option
def run(  # noqa: PLR0913 - the options
    remote: RpcClient,
    *,
    oracle: bytes,
    key: PrivateKey,
    confirmations: int,
    turn_seconds: int,
    poll_seconds: float,
    max_fee: float,
    from_block: int | None,
    store_path: Path | None,
    is_watching: bool,
    log_format: str,
    options: ModelOptions,
    hardfork: str | None,
) -> None:
    """Answer the requests of an AgentOracle, on any EVM chain, until Ctrl-C.

    For each request it forks the chain at the request's block, runs the model there, signs the
    answer, and sends it. All is kept in a file: the process may be stopped or killed at any time,
    and goes on where it was.
    """
    settings = WorkerSettings(
        confirmations=confirmations,
        turn_seconds=turn_seconds,
        poll_seconds=poll_seconds,
        first_block=from_block,
        is_watching=is_watching,
        fees=FeeSettings(max_fee_wei=int(max_fee * GWEI)),
    )
    printer = _EventPrinter(is_json=log_format == "json")
    run_worker(
        remote.url,
        oracle,
        key,
        settings=settings,
        store_path=store_path,
        options=options,
        hardfork=hardfork,
        printer=printer,
    )


def run_worker(  # noqa: PLR0913 - keyword arguments
    url: str,
    oracle: bytes,
    key: PrivateKey,
    *,
    settings: WorkerSettings,
    store_path: Path | None,
    options: ModelOptions,
    hardfork: str | None,
    printer: _EventPrinter,
) -> None:
    """Run a worker until a signal ends it; print a summary.

    Raises: ConfigError: it can't start.
    """
    address = bytes(key.public_key.to_canonical_address())
    with ExitStack() as stack:
        client = OracleClient(
            stack.enter_context(closing(RemoteClient(url, retries=RETRIES))), oracle
        )
        identity = check_start(client, address)
        name = f"oracle-0x{oracle.hex()[:8]}-0x{address.hex()[:8]}.sqlite"
        store = stack.enter_context(WorkerStore(store_path or Path(name), identity))
        status = stack.enter_context(StatusLine())
        computer = open_computer(
            url, replace(options, progress=status.on_progress), hardfork=hardfork
        )
        worker = OracleWorker(
            client,
            store,
            key,
            computer,
            chain_id=identity.chain_id,
            log=printer,
            settings=settings,
        )
        stack.enter_context(_stop_on_signals(worker))
        printer.write(
            "started",
            worker=to_checksum_address(address),
            oracle=to_checksum_address(oracle),
            chain=identity.chain_id,
            store=str(store.path),
        )
        if worker.run():  # Otherwise the engine ends with this process.
            computer.close()
        counts = printer.counts
        printer.write("stopped", computed=counts["computed"], sent=counts["sent"])
        err.print(
            f"Stopped: {pluralize(counts['computed'], 'answer')} computed, "
            f"{pluralize(counts['sent'], 'transaction')} sent, "
            f"{pluralize(worker.open_count, 'request')} open.",
            soft_wrap=True,
        )


@contextmanager
def _stop_on_signals(worker: OracleWorker) -> Iterator[None]:
    """End the worker's loop at Ctrl-C and SIGTERM, inside the context."""
    names = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(name, lambda *_: worker.stop()) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)
