"""Options of commands that work for a contract until Ctrl-C, and how such a worker is opened."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from eth_utils import to_checksum_address

from pyevm_agents.cli.options.signing import choose_chain
from pyevm_agents.client.signing import quote_fees
from pyevm_agents.client.transaction_manager import TRANSFER_GAS, FeeSettings
from pyevm_agents.errors import ConfigError
from pyevm_agents.workers.identity import StoreIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import ChainClient
    from pyevm_agents.client.sqlite_store import SqliteStore
    from pyevm_agents.workers.round_loop import RoundLoop

    Client = TypeVar("Client", bound=ChainClient)
    Store = TypeVar("Store", bound=SqliteStore)
    Loop = TypeVar("Loop", bound=RoundLoop)

MAX_CONFIRMATIONS = 10_000
WEEK_SECONDS = 7 * 24 * 3_600
JOIN_SECONDS = 0.2

poll_option = click.option(
    "--poll-interval",
    type=click.FloatRange(0.05, 3_600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks at the chain.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Options of any worker: node, contract and account, store, and bounds of fees."""

    url: str
    oracle: bytes
    key: PrivateKey
    chain_id: int | None = None
    """The chain ID that the node must have; None for any."""

    store: Path | None = None
    """The store's file; None for the default one."""

    fees: FeeSettings = field(default_factory=FeeSettings)

    @property
    def address(self) -> bytes:
        """Address of the account."""
        return bytes(self.key.public_key.to_canonical_address())


@contextmanager
def open_worker(  # noqa: PLR0913 - keyword arguments
    client: Client,
    options: WorkerOptions,
    open_store: Callable[[Path, StoreIdentity], Store],
    build: Callable[[Client, Store, int], Loop],
    *,
    check: Callable[[Client], None],
    folder: str,
    role: str = "worker",
) -> Iterator[Loop]:
    """Check the chain and the account, and open a worker with a store.

    Input:
        client: of the contract; closed at the end.
        options: of the worker.
        open_store: the class of the store.
        build: returns the worker, for the client, the store and the chain's ID.
        check: raises ConfigError for another contract, or an account that can't work for the
            contract.
        folder: name of the stores' folder in the user's state folder.
        role: name of the worker for people.

    Raises: ConfigError: another chain, another contract, or no ether. FeeBoundError: the node
            proposes more than a transaction may cost. StoreInUseError.
    """
    with closing(client):
        chain_id = choose_chain(client, options.chain_id, options.address)
        head = client.read_head()
        options.fees.require(quote_fees(client, head), TRANSFER_GAS)
        check(client)
        require_ether(client, options.address, role)
        identity = StoreIdentity.read(client, chain_id, options.oracle, options.address)
        with open_store(options.store or get_store_path(folder, identity), identity) as store:
            yield build(client, store, chain_id)


def run_until_signal(worker: RoundLoop, work: Callable[[], None] | None = None) -> None:
    """Run a worker until the end, or until SIGINT or SIGTERM.

    Input: the work; None for the worker's `run`.

    A handler only notes the signal, because a handler may run while the main thread holds a lock.
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


def require_ether(client: ChainClient, address: bytes, role: str = "worker") -> None:
    """Raises: ConfigError: an account has no ether."""
    if client.read_balance(address) == 0:
        name = to_checksum_address(address)
        raise ConfigError(f"{role} {name}: has no ether to pay for transactions; send it some")


def get_store_path(folder: str, identity: StoreIdentity) -> Path:
    """Return a worker's default store, in the user's state folder.

    Raises: ConfigError: the user has no home folder.
    """
    return get_state_folder() / folder / identity.file_name


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
