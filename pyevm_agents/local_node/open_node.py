"""A node in one call, for the command and for Python programs.

with open_node(NodeConfig(port=0)) as opened:
    print(opened.urls.http)
    opened.request("eth_blockNumber")

Source: anvil, `spawn(NodeConfig)`.
"""

from __future__ import annotations

import logging
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.abi.known_contracts import ArtifactFolders
from pyevm_agents.chain import GenesisAccount, read_chain_config
from pyevm_agents.chain.lmdb import LmdbRows, UnreadableChainError
from pyevm_agents.config import DEFAULT_FORK
from pyevm_agents.devnet.chain import CREATE2_DEPLOYER, build_predeploys
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking.options import ForkOpener, ForkOptions
from pyevm_agents.local_node.chain import NodeSetup
from pyevm_agents.local_node.config import NodeConfig
from pyevm_agents.local_node.genesis_file import GenesisFile, read_genesis
from pyevm_agents.local_node.state_file import (
    read_state,
    require_writable,
    resolve_state_path,
    write_json,
    write_state,
)
from pyevm_agents.node import Keys, Node
from pyevm_agents.node.journal import Journal
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.node.state_dump import dump, load, read_origin, read_start_seconds
from pyevm_agents.node.transaction_defaults import suggest_gas_price
from pyevm_agents.oracle.rpc_methods import METHODS as ORACLE_METHODS
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.server import Server, ServerOptions, serve_in_thread
from pyevm_agents.tracing import TracePool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.chain import Chain
    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.local_node.chain import NodeChain
    from pyevm_agents.models import LlamaModel, Progress
    from pyevm_agents.recordings import Fixture
    from pyevm_agents.rpc.dispatcher import RequestListener

log = logging.getLogger(__name__)

WEI = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUrls:
    """Addresses of a node's server."""

    http: str
    page: str | None = None
    """The page for browsers; None if there is none."""

    ipc_path: Path | None = None
    """The IPC socket; None if there is none."""

    @classmethod
    def from_server(cls, server: Server) -> NodeUrls:
        """Return the addresses of a server that listens."""
        return cls(http=server.url, page=server.page_url, ipc_path=server.ipc_path)

    @property
    def websocket(self) -> str:
        """The URL of WebSocket, on the port of HTTP."""
        return self.http.replace("http", "ws", 1)


class OpenNode:
    """A node with a JSON-RPC service, which `open_node` opened."""

    def __init__(
        self,
        node: Node,
        config: NodeConfig,
        *,
        agents: tuple[Address, ...] = (),
        notes: tuple[str, ...] = (),
        engines: Sequence[LlamaModel] = (),
    ) -> None:
        """Input: the node; the config; agents of the fixture; notes for people; the engines."""
        self.node, self.config = node, config
        self.agents = agents
        """Agents of the fixture."""

        self.notes = notes
        """What a user should read, such as files that were skipped."""

        self.artifacts: ArtifactFolders | None = None
        """Folders of compiled contracts, which are read when a name is looked up."""

        self.urls: NodeUrls | None = None
        """Addresses of the server; None without one."""

        self.service = build_node_service(
            node,
            throws_on_failure=config.throws_on_failure,
            call_gas=config.call_gas,
            call_seconds=config.call_seconds,
            trace_pool=TracePool(config.trace_bytes),
            tables=[ORACLE_METHODS],
        )
        """The JSON-RPC methods, for a provider of `pyevm_agents.rpc.web3_provider`."""

        self.engines = tuple(engines)
        """The models that the node opened and closes."""

        self._session = Session("in process")
        self._is_closed = False

    @property
    def chain(self) -> Chain:
        """The chain, which `anvil_reset` replaces."""
        return self.node.chain

    def request(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        """Send a JSON-RPC request without a server; return the result.

        Raises: RpcError: the method returned an error, or does not exist.
        """
        return self.service.call(method, params, self._session)

    def build_server(self, *, watch: RequestListener | None = None) -> Server:
        """Return a server of the service, for `async with` in an event loop of the caller.

        Input: a listener for each finished request, which must not block.
        """
        return Server(
            self.service, build_server_options(self.config), watch=watch, may_watch_wait=False
        )

    def abort(self) -> None:
        """End running transactions with a fault; these enter no block, and stay in the pool."""
        self.node.begin_stop()
        for engine in self.engines:
            engine.close()
        if self.node.fork is not None:
            self.node.fork.close()

    def finish(self) -> None:
        """Wait for the running transactions; dump the state to the config's file; close the node.

        Without a file the node is closed at once. After the close this does nothing.

        Raises: AgentsError: the file can't be written.
        """
        if self._is_closed:
            return
        if self.config.dump_path is not None:
            self.node.wait_idle()
            form = self.node.submit_change(lambda: dump(self.node)).result()
            write_state(self.config.dump_path, form)
        self.close()

    def close(self) -> None:
        """Close the node without a dump. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._session.close()
        self.node.close()


@contextmanager
def open_node(
    config: NodeConfig | None = None,
    *,
    serve: bool = True,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] = log.warning,
) -> Iterator[OpenNode]:
    """Open a node for the duration of the context.

    The state is dumped at a normal end: an exception leaves the file as it was.

    Input:
        config: None for that of `pyevm-agents node` without options.
        serve: whether the node listens, in a thread. Without a server no port is opened, and
            transactions that a kept chain's pool restores wait for `node.resume`.
        on_progress: called while a model is loaded and while the model reads and writes.
        on_warning: called with the generation store's first failure.

    Raises:
        ConfigError: a value is invalid, a file can't be read, the chain in the folder is another
            one, or the port is in use.
        RemoteFault: the node of the live chain does not answer.
        AgentsError: at the end, if the state can't be written.
    """
    config = NodeConfig() if config is None else config
    with ExitStack() as stack:
        opened = _open(config, stack, on_progress, on_warning)
        stack.callback(opened.close)
        with ExitStack() as serving:
            if serve:
                options = build_server_options(config)
                server = serving.enter_context(serve_in_thread(opened.service, options))
                opened.urls = NodeUrls.from_server(server)
                opened.node.resume()
            yield opened
        opened.finish()


def build_server_options(config: NodeConfig) -> ServerOptions:
    """Return the options of a node's server."""
    return ServerOptions(
        host=config.host,
        port=config.port,
        ipc_path=config.ipc_path,
        allowed_origins=frozenset(config.allowed_origins),
        allowed_hosts=frozenset(config.allowed_hosts),
        serves_page=config.serves_page,
    )


def _open(
    config: NodeConfig,
    stack: ExitStack,
    on_progress: Callable[[Progress], None] | None,
    on_warning: Callable[[str], None],
) -> OpenNode:
    started = time.time()
    state = None if config.load_path is None else read_state(config.load_path)
    start = read_start_seconds(state)
    if config.dump_path is not None:
        config = replace(config, dump_path=require_writable(config.dump_path))
    if config.config_path is not None:
        require_writable(config.config_path, "config file")
    folders = _open_artifacts(config.artifacts)
    genesis = _read_genesis(config.genesis)
    fixture = _read_fixture(config.fixture)
    keys = Keys(derive_keys(config.mnemonic, config.accounts, config.derivation_path.rstrip("/")))
    keys.impersonates_all = config.impersonates_all
    rows = _open_rows(config.state_dir)
    stack.callback(rows.close)
    live_chain = _choose_block(_read_live_chain(config.live_chain), rows, state)
    fork_block = None
    if live_chain is not None:
        fork_block = live_chain.open()
        stack.callback(fork_block.close)
    setup = NodeSetup(
        config=config,
        genesis=genesis,
        rows=rows,
        accounts=_build_accounts(config, keys, genesis, fork_block),
        fork_block=fork_block,
        start_seconds=int(started) if start is None else start,
        stack=stack,
        on_progress=on_progress,
        on_warning=on_warning,
    )
    node_chain = _open_chain(setup, fixture)
    node_chain.chain.known_contracts.watch(folders)
    node = Node(
        node_chain.chain,
        now=time.time,
        keys=keys,
        mining=config.mining,
        order=config.order,
        journal=None if config.state_dir is None else Journal(rows),
        open_fork=ForkOpener(live_chain) if config.state_dir is None else None,
        rehearses=True,
        since_seconds=started,
    )
    stack.callback(node.close)
    if fork_block is not None:
        _override_base_fee(node, config, fork_block)
    loaded = () if state is None else _load_state(node, config, state)
    if config.config_path is not None:
        write_config(config.config_path, node, config.mnemonic, config.derivation_path)
    skipped = [f"Skipped {file}: {text}" for file, text in folders.list_problems().items()]
    opened = OpenNode(
        node,
        config,
        agents=node_chain.agents,
        notes=(*node_chain.notes, *loaded, *skipped, *_list_restored(node)),
        engines=setup.engines,
    )
    opened.artifacts = folders
    return opened


def _override_base_fee(node: Node, config: NodeConfig, fork_block: RemoteFork) -> None:
    """Give a fork's first own block the config's base fee, as anvil does."""
    is_new = node.chain.head.block_number == fork_block.origin.block_number
    if config.base_fee_wei is not None and is_new:
        node.next_block.override_next(base_fee_wei=config.base_fee_wei)


def _open_chain(setup: NodeSetup, fixture: Fixture | None) -> NodeChain:
    """Open the chain; a damaged database is a mistake in the config."""
    try:
        return setup.open_chain() if fixture is None else setup.open_fixture_chain(fixture)
    except UnreadableChainError as error:
        raise ConfigError(str(error)) from error


def _open_artifacts(named: Sequence[Path] | None) -> ArtifactFolders:
    """Return the folders of compiled contracts.

    Raises: ConfigError: a named file or folder is missing, or holds no contract.
    """
    if named is None:
        return ArtifactFolders(root=Path.cwd())
    folders = ArtifactFolders(named)
    folders.load()
    return folders


def _read_genesis(genesis: GenesisFile | Path | None) -> GenesisFile:
    if isinstance(genesis, Path):
        return read_genesis(genesis)
    return GenesisFile() if genesis is None else genesis


def _read_fixture(fixture: Fixture | Path | str | None) -> Fixture | None:
    if not isinstance(fixture, Path | str):
        return fixture
    from pyevm_agents.recordings.bundled import load_bundled_fixture  # noqa: PLC0415 - seldom needed

    return load_bundled_fixture(str(fixture))


def _read_live_chain(live_chain: ForkOptions | str | None) -> ForkOptions | None:
    return ForkOptions.from_text(live_chain) if isinstance(live_chain, str) else live_chain


def _open_rows(folder: Path | None) -> LmdbRows:
    """Return the database in a folder.

    Without a folder the files are deleted at once, and disappear with the process in any case.
    """
    if folder is not None:
        return LmdbRows(folder)
    with tempfile.TemporaryDirectory(prefix="pyevm-agents-") as temporary:
        return LmdbRows(Path(temporary))


def _build_accounts(
    config: NodeConfig, keys: Keys, genesis: GenesisFile, fork_block: RemoteFork | None
) -> Mapping[Address, GenesisAccount]:
    """Return the accounts of genesis, or those that a fork funds."""
    funds = GenesisAccount(balance_wei=config.balance_ether * WEI)
    funded = dict.fromkeys(keys.addresses, funds)
    if fork_block is not None:
        return funded
    predeploys = dict(build_predeploys(config.fork_name or DEFAULT_FORK))
    if not config.has_create2_deployer:
        del predeploys[CREATE2_DEPLOYER]
    return {
        **funded,
        **predeploys,
        **({} if config.registries is None else build_registries(config.registries)),
        **genesis.accounts,
    }


def _choose_block(
    live_chain: ForkOptions | None, rows: LmdbRows, state: object
) -> ForkOptions | None:
    """Return the fork's options with a block: without a given one, that of the kept chain or dump.

    So a fork of the latest block continues after its remote chain has grown, and one of a block
    that is counted back from the latest.
    """
    number = None if live_chain is None else live_chain.block_number
    if live_chain is None or (number is not None and number >= 0):
        return live_chain
    try:
        stored = read_chain_config(rows)
    except UnreadableChainError as error:
        raise ConfigError(str(error)) from error
    origin = read_origin(state) if stored is None else stored.origin
    return live_chain if origin is None else replace(live_chain, block_number=origin.block_number)


def _load_state(node: Node, config: NodeConfig, state: object) -> tuple[str, ...]:
    """Load a dump into a chain without blocks; return notes for people.

    A kept chain with blocks goes on by itself if its dump is written to the same file at the end.
    """
    assert config.load_path is not None  # noqa: S101 - the caller has read it
    path = resolve_state_path(config.load_path)
    head, origin = node.chain.head.block_number, node.chain.config.origin
    if head > (0 if origin is None else origin.block_number):
        if config.dump_path == path:
            return (f"Continued the chain in {config.state_dir}; {path} was not loaded.",)
        raise ConfigError(
            f"state file {path}: can't be loaded into the chain in {config.state_dir}, which is at "
            f"block {head:,}; load it into a new chain"
        )
    try:
        node.submit_change(lambda: load(node, state)).result()
    except ConfigError as error:
        raise ConfigError(f"state file {path}: {error}") from error
    return ()


def _list_restored(node: Node) -> Iterator[str]:
    """Yield notes on transactions that the pool's journal restored."""
    count = len(node.restored.transactions)
    if count:
        yield f"Restored {pluralize(count, 'transaction')} of the pool from the last run."
    for place in node.restored.damaged:
        yield f"Skipped a damaged row of the pool's journal, {place}: send that transaction again."


def write_config(path: Path, node: Node, mnemonic: str, derivation_path: str) -> None:
    """Write a node's accounts, keys and parameters in anvil's format, for the owner alone.

    Input:
        mnemonic: the words that the node's keys are derived from.
        derivation_path: without the index.

    Source: anvil 1.7.1, `--config-out`.
    Raises: AgentsError: the file can't be written.
    """
    base_fee = int(node.next_block.build_header().base_fee_per_gas or 0)
    addresses = node.keys.addresses
    form = {
        "available_accounts": ["0x" + address.hex() for address in addresses],
        "private_keys": [str(node.keys.get_key(address)) for address in addresses],
        "wallet": {"mnemonic": mnemonic, "derivation_path": derivation_path.rstrip("/") + "/"},
        "base_fee": str(base_fee),
        "gas_price": str(suggest_gas_price(node)),
        "gas_limit": str(node.chain.config.block_gas_limit),
        "genesis_timestamp": str(node.chain.config.genesis_timestamp_seconds),
    }
    write_json(path, form, "config file")
